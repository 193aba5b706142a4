// SPDX-License-Identifier: BSD-3-Clause
#include "scenes.hpp"

#include <chrono>
#include <cstring>

namespace softrnic::pcaps {

namespace {

using transport::SendOperation;
using wire::RoceVersion;
using wire::Service;

constexpr std::uint32_t kSmall = 64;   // one packet
constexpr std::uint32_t kLarge = 700;  // three packets of path MTU 256: first, middle, last

Setting on(RoceVersion version, bool ipv6, Service service = Service::reliable_connection) {
  Setting setting;
  setting.version = version;
  setting.ipv6 = ipv6;
  setting.service = service;
  return setting;
}

const Setting kV2Ipv4 = on(RoceVersion::v2, false);

Setting with_alice_faults(std::vector<std::string> rules) {
  Setting setting = kV2Ipv4;
  setting.alice_faults = std::move(rules);
  return setting;
}

Setting with_bob_faults(std::vector<std::string> rules) {
  Setting setting = kV2Ipv4;
  setting.bob_faults = std::move(rules);
  return setting;
}

// --- what is acted; each step is over before the next begins ---

void act_sends(Stage& stage) {
  for (int i = 0; i < 4; ++i) stage.post_receive(stage.bob(), 1024);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::send, kSmall - 3, true);
  stage.run();
  stage.post(stage.alice(), SendOperation::send_with_immediate, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::send, kLarge);
  stage.run();
}

void act_writes(Stage& stage) {
  stage.post_receive(stage.bob(), 0);
  stage.post_receive(stage.bob(), 0);
  stage.post(stage.alice(), SendOperation::rdma_write, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::rdma_write, kLarge);
  stage.run();
  stage.post(stage.alice(), SendOperation::rdma_write_with_immediate, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::rdma_write_with_immediate, kLarge);
  stage.run();
}

void act_reads(Stage& stage) {
  stage.post(stage.alice(), SendOperation::rdma_read, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::rdma_read, kLarge);
  stage.run();
  stage.post(stage.alice(), SendOperation::rdma_read, 0);
  stage.run();
}

void act_atomics(Stage& stage) {
  stage.post(stage.alice(), SendOperation::rdma_write, 8);
  stage.run();
  stage.post_atomic(stage.alice(), SendOperation::fetch_add, 1, 0);
  stage.run();
  stage.post_atomic(stage.alice(), SendOperation::compare_swap, 7, 12345);  // not equal: no swap
  stage.run();
  std::uint64_t now_there = 0;
  std::memcpy(&now_there, stage.bob().memory.data(), sizeof now_there);
  stage.post_atomic(stage.alice(), SendOperation::compare_swap, 7, now_there);
  stage.run();
}

void act_all_reliable(Stage& stage) {
  act_sends(stage);
  act_writes(stage);
  act_reads(stage);
  act_atomics(stage);
}

void act_all_unreliable(Stage& stage) {
  act_sends(stage);
  act_writes(stage);
}

void act_datagrams(Stage& stage) {
  stage.post_receive(stage.bob(), 512);
  stage.post_receive(stage.bob(), 512);
  stage.post_receive(stage.alice(), 512);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
  stage.post(stage.alice(), SendOperation::send_with_immediate, kSmall);
  stage.run();
  stage.post(stage.bob(), SendOperation::send, 200);
  stage.run();
}

void act_one_write(Stage& stage) {
  stage.post(stage.alice(), SendOperation::rdma_write, 5 * 256);
  stage.run();
}

void act_one_read(Stage& stage) {
  stage.post(stage.alice(), SendOperation::rdma_read, 5 * 256);
  stage.run();
}

void act_two_writes(Stage& stage) {
  for (int i = 0; i < 2; ++i) {
    stage.post(stage.alice(), SendOperation::rdma_write, kLarge);
    stage.run();
  }
}

void act_one_atomic(Stage& stage) {
  stage.post_atomic(stage.alice(), SendOperation::fetch_add, 1, 0);
  stage.run();
}

void act_one_send(Stage& stage) {
  stage.post_receive(stage.bob(), 1024);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
}

void act_write_and_send_later(Stage& stage) {
  act_one_write(stage);
  stage.run_for(std::chrono::milliseconds(3));
  act_one_send(stage);
}

void act_late_receive(Stage& stage) {
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run_for(std::chrono::microseconds(1500));  // two RNR waits of 0.64 ms
  stage.post_receive(stage.bob(), 1024);
  stage.post_receive(stage.bob(), 1024);
  stage.run();
}

void act_no_receive(Stage& stage) {
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
}

void act_ping(Stage& stage) {
  stage.ping(stage.alice());
  stage.run();
  act_one_send(stage);
}

std::vector<Scene> operations() {
  const auto act = act_all_reliable;
  return {
      {"rc-send-v4", "RC SEND, solicited, with immediate, and in three packets", kV2Ipv4,
       act_sends},
      {"rc-write-v4", "RC RDMA WRITE in one packet and in three, without and with immediate",
       kV2Ipv4, act_writes},
      {"rc-read-v4", "RC RDMA READ answered by one packet, by three, and of nothing", kV2Ipv4,
       act_reads},
      {"rc-atomic-v4", "FETCH and ADD; COMPARE and SWAP that fails, and one that swaps", kV2Ipv4,
       act_atomics},
      {"rc-all-v6", "every RC operation over IPv6", on(RoceVersion::v2, true), act},
      {"rc-all-v1", "every RC operation over RoCE v1 (GRH), with IPv4-mapped GIDs",
       on(RoceVersion::v1, false), act},
      {"rc-all-v1-v6", "every RC operation over RoCE v1 (GRH), with IPv6 GIDs",
       on(RoceVersion::v1, true), act},
      {"uc-all-v4", "every UC operation: no acknowledgements",
       on(RoceVersion::v2, false, Service::unreliable_connection), act_all_unreliable},
      {"uc-all-v6", "every UC operation over IPv6",
       on(RoceVersion::v2, true, Service::unreliable_connection), act_all_unreliable},
      {"uc-all-v1", "every UC operation over RoCE v1",
       on(RoceVersion::v1, true, Service::unreliable_connection), act_all_unreliable},
      {"xrc-all-v4", "every XRC operation: each request names the shared receive queue (XRCETH)",
       on(RoceVersion::v2, false, Service::extended_reliable_connection), act},
      {"xrc-all-v6", "every XRC operation over IPv6",
       on(RoceVersion::v2, true, Service::extended_reliable_connection), act},
      {"xrc-all-v1", "every XRC operation over RoCE v1",
       on(RoceVersion::v1, true, Service::extended_reliable_connection), act},
      {"ud-send-v4", "UD SENDs, with DETH, both ways",
       on(RoceVersion::v2, false, Service::unreliable_datagram), act_datagrams},
      {"ud-send-v6", "UD SENDs over IPv6", on(RoceVersion::v2, true, Service::unreliable_datagram),
       act_datagrams},
      {"ud-send-v1", "UD SENDs over RoCE v1",
       on(RoceVersion::v1, true, Service::unreliable_datagram), act_datagrams},
  };
}

std::vector<Scene> losses() {
  Setting wrap = with_alice_faults({"tx drop 2nd WRITE MIDDLE"});
  wrap.alice_psn = 0xfffffe;
  Setting dead = with_alice_faults({"tx drop"});
  dead.retry_count = 3;
  Setting both_lose = with_alice_faults({"tx drop 2nd WRITE MIDDLE"});
  both_lose.bob_faults = {"tx drop 1st NAK"};
  Setting uc_loss = with_alice_faults({"tx drop 1st WRITE MIDDLE"});
  uc_loss.service = Service::unreliable_connection;
  Setting ud_loss = with_alice_faults({"tx drop 1st SEND"});
  ud_loss.service = Service::unreliable_datagram;
  Setting ud_wrong_key = with_alice_faults({"tx rewrite queue_key 0x22222222 1st SEND"});
  ud_wrong_key.service = Service::unreliable_datagram;
  Setting selective = with_alice_faults({"tx drop 2nd WRITE MIDDLE"});
  selective.selective_repeat = true;
  return {
      {"loss-nak", "a lost WRITE Middle: NAK (PSN sequence error), all resent from there",
       with_alice_faults({"tx drop 2nd WRITE MIDDLE"}), act_one_write},
      {"loss-psn-wrap", "the same while the PSN wraps from 0xffffff to 0", wrap, act_one_write},
      {"loss-timeout", "a lost SEND, and nothing behind it: resent after the timeout of 67 ms",
       with_alice_faults({"tx drop 1st SEND"}), act_one_send},
      {"loss-ack", "a lost ACK: the SEND is resent, recognised as a duplicate, acknowledged again",
       with_bob_faults({"tx drop 1st ACK"}), act_one_send},
      {"loss-read-response",
       "a lost READ response: the rest is asked for again, from the missing PSN on",
       with_bob_faults({"tx drop 3rd READ RESPONSE"}), act_one_read},
      {"loss-rnr-nak", "a lost RNR NAK: the timeout of 67 ms takes its place",
       with_bob_faults({"tx drop 1st RNR"}), act_late_receive},
      {"loss-nak-itself", "a lost packet, and the NAK for it lost as well: the timeout mends it",
       both_lose, act_one_write},
      {"loss-icrc", "a bit flipped on the way: the ICRC is wrong, the frame dropped, all resent",
       with_alice_faults({"tx corrupt payload 2nd WRITE MIDDLE"}), act_one_write},
      {"loss-ip-header",
       "a bit flipped in the IPv4 header: its checksum is wrong, the frame dropped",
       with_alice_faults({"tx corrupt ipv4.identification 2nd WRITE MIDDLE"}), act_one_write},
      {"loss-transport-header", "a bit flipped in the PSN: only the ICRC shows it",
       with_alice_faults({"tx corrupt psn 2nd WRITE MIDDLE"}), act_one_write},
      {"loss-atomic-ack",
       "a lost atomic response: FETCH and ADD is asked again, and answered without adding again",
       with_bob_faults({"tx drop 1st ATOMIC ACKNOWLEDGE"}), act_one_atomic},
      {"uc-loss", "UC: a lost WRITE Middle loses the message, and nobody says so", uc_loss,
       act_two_writes},
      {"ud-loss", "UD: a lost datagram is lost", ud_loss, act_datagrams},
      {"selective-repeat",
       "a lost WRITE Middle between two that agreed on selective repeat: only it is resent",
       selective, act_one_write},
      {"ghost", "a copy of a WRITE Middle that comes 2 ms late, when all is done: a duplicate",
       with_alice_faults({"tx duplicate 2ms 2nd WRITE MIDDLE"}), act_write_and_send_later},
      {"partition-mismatch", "a SEND with a foreign P_Key: silence; the next try has the right one",
       with_alice_faults({"tx rewrite partition_key 0x8001 1st SEND"}), act_one_send},
      {"ud-queue-key-mismatch", "UD: a datagram with a wrong Q_Key is dropped without a word",
       ud_wrong_key, act_datagrams},
      {"duplicate", "a doubled WRITE Middle, known by its PSN and not executed again",
       with_alice_faults({"tx duplicate 2nd WRITE MIDDLE"}), act_one_write},
      {"reorder", "two packets exchanged on the way: RC takes that for a loss",
       with_alice_faults({"tx reorder 1 2nd WRITE MIDDLE"}), act_one_write},
      {"retry-exceeded", "a peer out of reach, retry_count 3: four tries, then the end", dead,
       act_one_send},
      {"ecn-marked", "a WRITE marked 'congestion experienced' on its way (ECN 3)",
       [] {
         Setting setting = with_alice_faults({"tx mark-ecn 2nd WRITE MIDDLE"});
         setting.traffic_class = 0x02;  // ECT(0)
         return setting;
       }(),
       act_one_write},
  };
}

std::vector<Scene> refusals() {
  Setting exhausted = kV2Ipv4;
  exhausted.rnr_retry = 2;
  return {
      {"rnr",
       "SENDs before the receive is posted: RNR NAKs with a timer of 0.64 ms, at last an ACK",
       kV2Ipv4, act_late_receive},
      {"rnr-exceeded", "no receive ever, rnr_retry 2: three tries, then the end", exhausted,
       act_no_receive},
      {"nak-invalid-request", "a SEND longer than the receive: NAK (invalid request)", kV2Ipv4,
       [](Stage& stage) {
         stage.post_receive(stage.bob(), 300);
         stage.post(stage.alice(), SendOperation::send, kLarge);
         stage.run();
       }},
      {"nak-remote-access-write", "a WRITE with a wrong R_Key: NAK (remote access error)", kV2Ipv4,
       [](Stage& stage) {
         stage.post_with_bad_key(stage.alice(), SendOperation::rdma_write, kLarge);
         stage.run();
       }},
      {"nak-remote-access-read", "a READ with a wrong R_Key: NAK (remote access error)", kV2Ipv4,
       [](Stage& stage) {
         stage.post_with_bad_key(stage.alice(), SendOperation::rdma_read, kLarge);
         stage.run();
       }},
      {"nak-out-of-bounds",
       "a WRITE to the end of a region succeeds, a longer one to the same place is refused",
       kV2Ipv4,
       [](Stage& stage) {
         const Stage::Card& bob = stage.bob();
         const std::uint64_t place = bob.address + Stage::kMemory - 256;
         for (const std::uint32_t length : {256u, kLarge}) {
           stage.post_to(stage.alice(), SendOperation::rdma_write, length, place, bob.keys.remote);
           stage.run();
         }
       }},
      {"nak-write-refused", "a READ succeeds, a WRITE to the same place is refused", kV2Ipv4,
       [](Stage& stage) {
         const Stage::Card& bob = stage.bob();
         for (const auto operation : {SendOperation::rdma_read, SendOperation::rdma_write}) {
           stage.post_to(stage.alice(), operation, kSmall, bob.address, bob.read_only_keys.remote);
           stage.run();
         }
       }},
      {"nak-unknown-key", "a WRITE succeeds, another one with a wrong R_Key is refused", kV2Ipv4,
       [](Stage& stage) {
         stage.post(stage.alice(), SendOperation::rdma_write, kSmall);
         stage.run();
         stage.post_with_bad_key(stage.alice(), SendOperation::rdma_write, kSmall);
         stage.run();
       }},
      {"nak-remote-operational",
       "a SEND whose receive lies in memory bob may not write: NAK (remote operational error)",
       kV2Ipv4,
       [](Stage& stage) {
         stage.post_receive_read_only(stage.bob(), 1024);
         stage.post(stage.alice(), SendOperation::send, kSmall);
         stage.run();
       }},
  };
}

std::vector<Scene> surroundings() {
  Setting vlan = kV2Ipv4;
  vlan.vlan = wire::VlanTag{3, false, 42};
  Setting vlan_v1 = on(RoceVersion::v1, true);
  vlan_v1.vlan = wire::VlanTag{3, false, 42};
  Setting strangers_v4 = kV2Ipv4;
  strangers_v4.strangers = true;
  Setting strangers_v6 = on(RoceVersion::v2, true);
  strangers_v6.strangers = true;
  return {
      {"vlan-v4", "RC SENDs in VLAN 42, priority 3", vlan, act_sends},
      {"vlan-v1", "the same over RoCE v1", vlan_v1, act_sends},
      {"neighbors-v4", "ARP, ping, then an RC SEND", strangers_v4, act_ping},
      {"neighbors-v6", "neighbour discovery, ping, then an RC SEND", strangers_v6, act_ping},
  };
}

}  // namespace

std::vector<Scene> scenes() {
  std::vector<Scene> all;
  for (auto part :
       {operations(), scenes_of_memory(), losses(), refusals(), surroundings(), scenes_by_hand()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace softrnic::pcaps
