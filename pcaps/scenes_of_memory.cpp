// SPDX-License-Identifier: BSD-3-Clause
// Scenes with the operations that are about memory itself: FLUSH, ATOMIC WRITE, windows, keys that
// are invalidated.
#include "scenes.hpp"

namespace softrnic::pcaps {

namespace {

using transport::SendOperation;
using wire::RoceVersion;
using wire::Service;

constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kLarge = 700;

Setting on(RoceVersion version, bool ipv6, Service service = Service::reliable_connection) {
  Setting setting;
  setting.version = version;
  setting.ipv6 = ipv6;
  setting.service = service;
  return setting;
}

// What was written is made visible, and a flag set behind it.
void act_placement(Stage& stage) {
  stage.post(stage.alice(), SendOperation::rdma_write, kLarge);
  stage.run();
  stage.post_flush(stage.alice(), kLarge);
  stage.run();
  stage.post(stage.alice(), SendOperation::atomic_write, 8);
  stage.run();
}

// Bob lends a window; the SEND that ends the loan takes its key away.
void act_window(Stage& stage) {
  const std::uint32_t key = stage.open_window(stage.bob());
  stage.post_receive(stage.bob(), 1024);
  for (const auto operation : {SendOperation::rdma_write, SendOperation::rdma_read}) {
    stage.post_to(stage.alice(), operation, kSmall, stage.bob().address, key);
    stage.run();
  }
  stage.post_invalidating_send(stage.alice(), kSmall, key);
  stage.run();
}

void act_invalidated_key(Stage& stage) {
  const std::uint32_t key = stage.open_window(stage.bob());
  stage.post_receive(stage.bob(), 1024);
  stage.post_to(stage.alice(), SendOperation::rdma_write, kSmall, stage.bob().address, key);
  stage.run();
  stage.post_invalidating_send(stage.alice(), kLarge, key);
  stage.run();
  stage.post_to(stage.alice(), SendOperation::rdma_write, kSmall, stage.bob().address, key);
  stage.run();
}

}  // namespace

std::vector<Scene> scenes_of_memory() {
  return {
      {"rc-flush-v4", "a WRITE, a FLUSH that makes it visible, and an ATOMIC WRITE behind it",
       on(RoceVersion::v2, false), act_placement},
      {"rc-flush-v6", "the same over IPv6", on(RoceVersion::v2, true), act_placement},
      {"rc-flush-v1", "the same over RoCE v1", on(RoceVersion::v1, true), act_placement},
      {"xrc-flush-v4", "the same over XRC",
       on(RoceVersion::v2, false, Service::extended_reliable_connection), act_placement},
      {"rc-window-v4",
       "a WRITE and a READ through a memory window; a SEND with invalidate takes its key away",
       on(RoceVersion::v2, false), act_window},
      {"rc-window-v6", "the same over IPv6", on(RoceVersion::v2, true), act_window},
      {"rc-window-v1", "the same over RoCE v1", on(RoceVersion::v1, true), act_window},
      {"nak-invalidated-key",
       "a window's key after a SEND with invalidate, in three packets: NAK (remote access error)",
       on(RoceVersion::v2, false), act_invalidated_key},
  };
}

}  // namespace softrnic::pcaps
