// SPDX-License-Identifier: BSD-3-Clause
// NICs on one wire under a virtual clock, and a plain port beside them that sends and keeps raw
// frames.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace softrnic::nic::test {

using Bytes = std::vector<std::byte>;

inline wire::Gid gid(std::string_view text) {
  return wire::Gid::from_string(text).value();
}

inline InterfaceAddress address(std::string_view text) {
  return InterfaceAddress::from_string(text).value();
}

inline wire::MacAddress mac(std::uint8_t last) {
  return {{0x02, 0, 0, 0, 0, last}};
}

inline Bytes random_bytes(std::size_t n, std::uint32_t seed) {
  Bytes bytes(n);
  std::uint32_t x = seed * 2654435761u + 1;
  for (auto& b : bytes) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    b = static_cast<std::byte>(x);
  }
  return bytes;
}

// A link's port used directly.
class RawPort {
 public:
  explicit RawPort(std::unique_ptr<link::Link> link) : link_(std::move(link)) {}

  void send(wire::Instant now, wire::ByteView bytes) {
    link::Frame* frame = nullptr;
    REQUIRE(link_->tx_alloc({&frame, 1}) == 1);
    wire::copy(wire::ByteChain(bytes), frame->append(bytes.size()));
    link_->tx_push(now, {&frame, 1});
  }

  // Everything that has arrived.
  std::vector<Bytes> take(wire::Instant now) {
    std::vector<Bytes> out;
    link::Frame* frame = nullptr;
    while (link_->rx_burst(now, {&frame, 1}) == 1) {
      Bytes bytes(frame->size());
      frame->bytes().copy_to(0, bytes);
      out.push_back(std::move(bytes));
      link_->rx_release({&frame, 1});
    }
    return out;
  }

 private:
  std::unique_ptr<link::Link> link_;
};

class NicWorld {
 public:
  explicit NicWorld(std::uint32_t mtu = 4200) : wire_(mtu) {}

  static NicConfig config(std::uint8_t n) {
    NicConfig config;
    config.mac = mac(n);
    config.seed = n;
    config.announce = false;
    config.addresses = {address("10.0.0." + std::to_string(n) + "/24"),
                        address("fd00::" + std::to_string(n) + "/64")};
    return config;
  }

  Nic& add(std::uint8_t n) { return add(config(n)); }
  Nic& add(const NicConfig& config) { return add(config, attach()); }
  Nic& add(const NicConfig& config, std::unique_ptr<link::Link> link) {
    nics_.push_back(std::make_unique<Nic>(config, std::move(link)));
    return *nics_.back();
  }
  std::unique_ptr<link::Link> attach() {
    return wire_.attach("nic" + std::to_string(nics_.size()));
  }
  RawPort port() { return RawPort(wire_.attach("port")); }

  wire::Instant now() const { return now_; }

  // Turns every crank at this instant until none has anything to do.
  void settle() {
    constexpr int kLimit = 1'000'000;
    int turns = 0;
    bool active = true;
    while (active) {
      active = false;
      for (auto& nic : nics_) active |= nic->turn(now_);
      REQUIRE(++turns < kLimit);
    }
  }

  // Lets time pass, from deadline to deadline.
  void run_for(wire::Duration duration) {
    const wire::Instant end = now_ + duration;
    for (;;) {
      settle();
      wire::Instant next = wire::kNever;
      for (auto& nic : nics_) next = std::min(next, nic->next_deadline());
      if (next > end) break;
      now_ = std::max(now_, next);
    }
    now_ = end;
    settle();
  }

 private:
  link::MemoryWire wire_;
  std::vector<std::unique_ptr<Nic>> nics_;
  wire::Instant now_{};
};

// A queue pair with its completion queue and a registered buffer.
struct Endpoint {
  Nic* nic = nullptr;
  transport::ProtectionDomain domain{};
  CompletionQueue* completions = nullptr;
  transport::QueuePair* queue_pair = nullptr;
  Bytes buffer;
  MemoryKeys keys;

  std::uint32_t qpn() const { return queue_pair->qpn(); }
  std::uint64_t address(std::size_t offset = 0) const {
    return reinterpret_cast<std::uintptr_t>(buffer.data() + offset);
  }
  transport::Sge sge(std::size_t offset, std::size_t length) const {
    return {address(offset), static_cast<std::uint32_t>(length), keys.local};
  }

  void send(transport::SendRequest request, std::size_t offset, std::size_t length) {
    const transport::Sge element = sge(offset, length);
    request.sges = {&element, 1};
    REQUIRE_FALSE(nic->post_send(qpn(), request));
  }
  void receive(std::uint64_t id, std::size_t offset, std::size_t length) {
    const transport::Sge element = sge(offset, length);
    REQUIRE_FALSE(nic->post_receive(qpn(), {id, {&element, 1}}));
  }
  std::vector<transport::Completion> poll() {
    std::vector<transport::Completion> out(completions->size());
    out.resize(completions->poll(out));
    return out;
  }
};

inline Endpoint make_endpoint(Nic& nic, wire::Service service, std::size_t buffer_size) {
  Endpoint e;
  e.nic = &nic;
  e.domain = nic.allocate_domain();
  e.completions = &nic.create_completion_queue(1024);
  QueuePairInit init;
  init.type = transport::type_of(service);
  init.domain = e.domain;
  init.send_completions = init.receive_completions = e.completions;
  init.capacity = {256, 256, 4, 4};
  e.queue_pair = nic.create_queue_pair(init).value();
  e.buffer.resize(buffer_size);
  RegionAttributes region;
  region.domain = e.domain;
  region.base = e.buffer.data();
  region.length = e.buffer.size();
  region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead |
                  transport::kRemoteAtomic;
  e.keys = nic.memory().add(region).value();
  return e;
}

inline transport::QueuePairAttributes attributes_to(std::uint32_t qpn,
                                                    std::uint32_t path_mtu = 1024) {
  transport::QueuePairAttributes a;
  a.remote_access = transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
  a.queue_key = 0x11111111;
  a.path_mtu = path_mtu;
  a.destination_qpn = qpn;
  a.receive_psn = wire::Psn(0xfffff0);
  a.send_psn = wire::Psn(0xfffff0);  // so that PSNs wrap in every test
  a.max_rd_atomic = a.max_dest_rd_atomic = 4;
  return a;
}

inline void bring_up(Endpoint& e, const transport::QueuePairAttributes& attributes,
                     const AddressAttributes* address) {
  using transport::QueuePairState;
  for (const QueuePairState state :
       {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    REQUIRE(e.nic->modify(e.qpn(), state, attributes, address) == std::nullopt);
  }
}

inline std::uint32_t gid_index(const Nic& nic, const wire::Gid& own, wire::RoceVersion version) {
  const auto entries = nic.gids().entries();
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].gid == own && entries[i].version == version) return i;
  }
  FAIL("no such GID");
  return 0;
}

inline void connect(Endpoint& a, const wire::Gid& a_gid, Endpoint& b, const wire::Gid& b_gid,
                    wire::RoceVersion version, std::uint32_t path_mtu = 1024) {
  AddressAttributes to_b;
  to_b.gid_index = gid_index(*a.nic, a_gid, version);
  to_b.destination = b_gid;
  AddressAttributes to_a;
  to_a.gid_index = gid_index(*b.nic, b_gid, version);
  to_a.destination = a_gid;
  bring_up(a, attributes_to(b.qpn(), path_mtu), &to_b);
  bring_up(b, attributes_to(a.qpn(), path_mtu), &to_a);
}

}  // namespace softrnic::nic::test
