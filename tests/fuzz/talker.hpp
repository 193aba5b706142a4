// SPDX-License-Identifier: BSD-3-Clause
// One of two NICs that talk: its memory, its queue pairs, what it was asked to do, and whether what
// came of it is right.
//
// Whatever the wire does: every request posted completes once and in order, and no byte changes
// that no key opens. While the wire only loses, repeats, delays and damages, as networks do
// (`honest`): what a reliable connection says is done is done, exactly once, in order, and right;
// and what the unreliable services deliver is some message that was sent, whole.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fuzz/fuzz_link.hpp"
#include "fuzz/pattern.hpp"
#include "fuzz/require.hpp"
#include "nic/nic.hpp"

namespace softrnic::fuzz {

class Talker {
 public:
  static constexpr std::size_t kSlots = 64;  // requests of a kind, over a whole run
  static constexpr std::size_t kSlotSize = 1152;
  static constexpr std::size_t kSourceSize = 4096;
  static constexpr std::size_t kGuard = 64;
  static constexpr std::size_t kGrhSize = 40;
  static constexpr std::uint32_t kQueueKey = 0x11111111;
  static constexpr std::uint64_t kBase = 0x10000;
  // RC; UC; UD; RC with selective repeat and credits.
  static constexpr std::size_t kQueuePairs = 4;

  // `number`: 1 or 2.
  Talker(std::uint8_t number, std::function<void(FuzzLink::Bytes)> on_sent) : number_(number) {
    auto link = std::make_unique<FuzzLink>(mac(number), std::move(on_sent));
    link_ = link.get();
    nic::NicConfig config;
    config.mac = mac(number);
    config.addresses = {{address(number), 24}};
    config.seed = number;
    config.announce = false;
    nic_ = std::make_unique<nic::Nic>(config, std::move(link));
    nic_->add_neighbor(address(other()), mac(other()));
    lay_memory();
    make_queue_pairs();
  }

  nic::Nic& nic() { return *nic_; }
  FuzzLink& link() { return *link_; }
  std::uint32_t qpn(std::size_t which) const { return qpns_[which]; }

  void connect(Talker& peer) {
    peer_ = &peer;
    for (std::size_t i = 0; i < kQueuePairs; ++i) bring_up(i);
  }

  struct Work {
    std::size_t queue_pair = 0;
    transport::SendOperation operation{};
    std::uint32_t length = 0;
    std::uint32_t place = 0;  // in the source memory, of either side
    bool fence = false;
    bool solicited = false;
    bool is_inline = false;
  };

  void post_send(Work work) {
    if (sends_.size() == kSlots) return;
    const bool datagram = is_datagram(work.queue_pair);
    work.length = std::min<std::uint32_t>(work.length, datagram ? 1024 : kSlotSize);
    if (is_word(work.operation)) work.length = 8;
    work.place %= kSourceSize - kSlotSize;
    const std::size_t slot = sends_.size();
    transport::SendRequest request;
    request.id = next_id_;
    request.operation = work.operation;
    request.fence = work.fence;
    request.solicited = work.solicited;
    request.immediate = static_cast<std::uint32_t>(next_id_);
    const bool reads = work.operation == transport::SendOperation::rdma_read;
    const bool answered = reads || is_atomic(work.operation);
    const transport::Sge sge{answered ? landing_address(slot) : kBase + work.place, work.length,
                             answered ? landing_keys_.local : source_keys_.local};
    const std::span<const std::byte> bytes = source().subspan(work.place, work.length);
    if (work.is_inline && !answered && work.length <= kInline) {
      request.inline_data = bytes;
    } else {
      request.sges = {&sge, 1};
    }
    request.remote_address = reads ? kBase + work.place : peer_->target_address(slot);
    request.remote_key = reads ? peer_->source_keys_.remote : peer_->target_keys_.remote;
    if (is_atomic(work.operation)) {
      request.remote_address = peer_->counter_address(work.operation);
      request.remote_key = peer_->counter_keys_.remote;
      request.swap_add = 1;
      request.compare = work.place % 4;
    }
    if (work.operation == transport::SendOperation::flush) request.sges = {};
    request.flush_length = work.length;
    request.placement = transport::kGlobalVisibility;
    request.address_handle = handle_;
    request.remote_qpn = peer_->qpn(work.queue_pair);
    request.remote_queue_key = kQueueKey;
    if (nic_->post_send(qpn(work.queue_pair), request)) return;
    if (work.operation == transport::SendOperation::fetch_add) ++may_add_;
    sends_.push_back({next_id_, slot, work});
    pending_sends_[work.queue_pair].push_back(next_id_++);
  }

  void post_receive(std::size_t queue_pair) {
    if (receives_.size() == kSlots) return;
    const transport::Sge sge{received_address(receives_.size()), kSlotSize, received_keys_.local};
    if (nic_->post_receive(qpn(queue_pair), {next_id_, {&sge, 1}})) return;
    receives_.push_back({next_id_, receives_.size()});
    pending_receives_[queue_pair].push_back(next_id_++);
  }

  void fail(std::size_t queue_pair) {
    nic_->modify(qpn(queue_pair), transport::QueuePairState::error, {});
  }

  // Takes the completions and looks at what they claim. `honest`: see above.
  void take_completions(bool honest) {
    std::array<transport::Completion, 16> out;
    while (const std::size_t n = completions_->poll(out)) {
      for (std::size_t i = 0; i < n; ++i) take(out[i], honest);
    }
  }

  // At the end, every queue pair in ERR: nothing that was posted is left.
  void check_nothing_pending() const {
    for (std::size_t i = 0; i < kQueuePairs; ++i) {
      require(pending_sends_[i].empty(), "every send completes");
      require(pending_receives_[i].empty(), "every receive completes");
    }
  }

  void check_memory(bool honest) const {
    require(matches(memory_->source, number_), "memory that can only be read stays as it is");
    for (std::size_t i = 0; i < kGuards; ++i) {
      require(matches(*memory_->guards()[i], guard_key(i)),
              "memory that no key opens stays as it is");
    }
    if (!honest) return;
    require(counter() >= peer_->added_ && counter() <= peer_->may_add_,
            "the counter has counted what completed, and no more than was asked");
  }

 private:
  static constexpr std::uint32_t kInline = 64;
  static constexpr std::size_t kGuards = 6;

  using Guard = std::array<std::byte, kGuard>;
  // Registered memory with memory between that is not.
  struct Memory {
    Guard first;
    alignas(8) std::array<std::byte, kSourceSize> source;
    Guard second;
    alignas(8) std::array<std::byte, kSlots * kSlotSize> target;
    Guard third;
    alignas(8) std::array<std::byte, kSlots * kSlotSize> landing;
    Guard fourth;
    alignas(8) std::array<std::byte, kSlots * kSlotSize> received;
    Guard fifth;
    alignas(8) std::array<std::byte, 16> counters;  // one for additions, one for swaps
    Guard last;

    std::array<Guard*, kGuards> guards() {
      return {&first, &second, &third, &fourth, &fifth, &last};
    }
  };
  struct Sent {
    std::uint64_t id;
    std::size_t slot;
    Work work;
  };
  struct Posted {
    std::uint64_t id;
    std::size_t slot;
  };

  static wire::MacAddress mac(std::uint8_t number) { return {{2, 0, 0, 0, 0, number}}; }
  static wire::Gid address(std::uint8_t number) {
    return wire::Gid::from_ipv4(0x0a000000 + number);
  }
  std::uint8_t other() const { return static_cast<std::uint8_t>(3 - number_); }
  std::uint8_t guard_key(std::size_t i) const {
    return static_cast<std::uint8_t>(100 + 10 * number_ + static_cast<int>(i));
  }

  static bool is_reliable(std::size_t queue_pair) { return queue_pair == 0 || queue_pair == 3; }
  static bool is_datagram(std::size_t queue_pair) { return queue_pair == 2; }

  static bool is_atomic(transport::SendOperation operation) {
    return operation == transport::SendOperation::fetch_add ||
           operation == transport::SendOperation::compare_swap;
  }
  static bool is_word(transport::SendOperation operation) {
    return is_atomic(operation) || operation == transport::SendOperation::atomic_write;
  }
  // Takes a receive at the other side.
  static bool is_message(transport::SendOperation operation) {
    using Operation = transport::SendOperation;
    return operation == Operation::send || operation == Operation::send_with_immediate ||
           operation == Operation::rdma_write_with_immediate;
  }
  static bool is_write(transport::SendOperation operation) {
    using Operation = transport::SendOperation;
    return operation == Operation::rdma_write ||
           operation == Operation::rdma_write_with_immediate ||
           operation == Operation::atomic_write;
  }

  std::span<const std::byte> source() const { return memory_->source; }
  std::uint64_t target_address(std::size_t slot) const { return kBase + slot * kSlotSize; }
  std::uint64_t landing_address(std::size_t slot) const { return kBase + slot * kSlotSize; }
  std::uint64_t received_address(std::size_t slot) const { return kBase + slot * kSlotSize; }
  std::uint64_t counter_address(transport::SendOperation operation) const {
    return operation == transport::SendOperation::fetch_add ? kBase : kBase + 8;
  }
  std::uint64_t counter() const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_->counters.data(), sizeof value);
    return value;
  }

  void lay_memory() {
    for (std::size_t i = 0; i < kGuards; ++i) fill(*memory_->guards()[i], guard_key(i));
    fill(memory_->source, number_);
    domain_ = nic_->allocate_domain();
    source_keys_ = add_region(memory_->source, transport::kRemoteRead);
    target_keys_ = add_region(memory_->target, transport::kLocalWrite | transport::kRemoteWrite |
                                                   transport::kFlushGlobal);
    landing_keys_ = add_region(memory_->landing, transport::kLocalWrite);
    received_keys_ = add_region(memory_->received, transport::kLocalWrite);
    counter_keys_ =
        add_region(memory_->counters, transport::kLocalWrite | transport::kRemoteAtomic);
  }

  nic::MemoryKeys add_region(std::span<std::byte> bytes, std::uint32_t access) {
    nic::RegionAttributes region;
    region.domain = domain_;
    region.base = bytes.data();
    region.length = bytes.size();
    region.access = access;
    region.virtual_address = kBase;
    return nic_->memory().add(region).value();
  }

  void make_queue_pairs() {
    completions_ = &nic_->create_completion_queue(1024);
    nic::AddressAttributes peer;
    peer.gid_index = kGidIndex;
    peer.destination = address(other());
    handle_ = nic_->create_address_handle(domain_, peer).value();
    for (const auto type : {transport::QueuePairType::rc, transport::QueuePairType::uc,
                            transport::QueuePairType::ud, transport::QueuePairType::rc}) {
      nic::QueuePairInit init;
      init.type = type;
      init.domain = domain_;
      init.send_completions = init.receive_completions = completions_;
      init.capacity = {16, 16, 1, 1, kInline};
      qpns_.push_back(nic_->create_queue_pair(init).value()->qpn());
    }
  }

  void bring_up(std::size_t which) {
    transport::QueuePairAttributes a;
    a.remote_access = transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic |
                      transport::kFlushGlobal;
    a.queue_key = kQueueKey;
    a.destination_qpn = peer_->qpn(which);
    a.path_mtu = 256;
    // At the edge of the number space, so that it wraps.
    a.send_psn = wire::Psn(0xfffff0 + number_);
    a.receive_psn = wire::Psn(0xfffff0 + other());
    a.max_dest_rd_atomic = a.max_rd_atomic = 4;
    a.timeout = 10;
    a.selective_repeat = a.advertise_credits = which == 3;
    a.retry_count = 3;
    a.rnr_retry = 3;
    nic::AddressAttributes peer;
    peer.gid_index = kGidIndex;
    peer.destination = address(other());
    using State = transport::QueuePairState;
    for (const State state : {State::init, State::ready_to_receive, State::ready_to_send}) {
      require(!nic_->modify(qpn(which), state, a, &peer), "a queue pair comes up");
    }
  }

  void take(const transport::Completion& completion, bool honest) {
    const auto which = static_cast<std::size_t>(
        std::find(qpns_.begin(), qpns_.end(), completion.qpn) - qpns_.begin());
    require(which < kQueuePairs, "a completion is of a queue pair there is");
    // What failed does not say reliably which operation it was.
    const bool of_send =
        !pending_sends_[which].empty() && pending_sends_[which].front() == completion.id;
    auto& pending = of_send ? pending_sends_[which] : pending_receives_[which];
    require(!pending.empty() && pending.front() == completion.id,
            "completions come once, and in the order of posting");
    pending.pop_front();
    if (completion.status != transport::CompletionStatus::success || !honest) return;
    if (of_send) {
      check_sent(completion);
    } else {
      check_received(which, completion);
    }
  }

  void check_sent(const transport::Completion& completion) {
    const auto sent = std::find_if(sends_.begin(), sends_.end(), [&](const Sent& candidate) {
      return candidate.id == completion.id;
    });
    const Work& work = sent->work;
    if (!is_reliable(work.queue_pair)) return;  // sent is all the unreliable services say
    const std::size_t at = sent->slot * kSlotSize;
    if (is_write(work.operation)) {
      const auto there = std::span(peer_->memory_->target).subspan(at, work.length);
      require(matches(there, number_, work.place), "a completed WRITE is in memory");
    }
    if (work.operation == transport::SendOperation::rdma_read) {
      const auto here = std::span(memory_->landing).subspan(at, work.length);
      require(matches(here, other(), work.place), "a completed READ brought what was there");
    }
    if (work.operation == transport::SendOperation::fetch_add) {
      std::uint64_t original = 0;
      std::memcpy(&original, memory_->landing.data() + at, sizeof original);
      require(++originals_[original] == 1, "no two additions found the same number");
      ++added_;
    }
  }

  void check_received(std::size_t which, const transport::Completion& completion) {
    const auto posted = std::find_if(receives_.begin(), receives_.end(),
                                     [&](const Posted& p) { return p.id == completion.id; });
    const std::size_t at = posted->slot * kSlotSize;
    const bool wrote =
        completion.operation == transport::CompletionOperation::receive_rdma_with_immediate;
    const auto is_it = [&](const Sent& sent) {
      if (sent.work.queue_pair != which || !is_message(sent.work.operation)) return false;
      const bool has_immediate = sent.work.operation != transport::SendOperation::send;
      if (completion.has_immediate != has_immediate) return false;
      if (has_immediate && completion.immediate != static_cast<std::uint32_t>(sent.id)) {
        return false;
      }
      const std::size_t front = is_datagram(which) ? kGrhSize : 0;
      if (completion.byte_length != sent.work.length + front) return false;
      if (wrote) return sent.work.operation == transport::SendOperation::rdma_write_with_immediate;
      const auto bytes = std::span(memory_->received).subspan(at + front, sent.work.length);
      return matches(bytes, other(), sent.work.place);
    };
    if (!is_reliable(which)) {
      require(std::any_of(peer_->sends_.begin(), peer_->sends_.end(), is_it),
              "what is delivered was sent");
      return;
    }
    // The next message, in order.
    auto next = peer_->sends_.begin() + static_cast<std::ptrdiff_t>(next_message_[which]);
    while (next != peer_->sends_.end() &&
           (next->work.queue_pair != which || !is_message(next->work.operation))) {
      ++next;
    }
    require(next != peer_->sends_.end() && is_it(*next),
            "a reliable connection delivers each message once, in order");
    next_message_[which] = static_cast<std::size_t>(next - peer_->sends_.begin()) + 1;
  }

  static constexpr std::uint32_t kGidIndex = 3;

  std::uint8_t number_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  std::unique_ptr<nic::Nic> nic_;
  FuzzLink* link_ = nullptr;
  Talker* peer_ = nullptr;
  transport::ProtectionDomain domain_{};
  nic::CompletionQueue* completions_ = nullptr;
  nic::MemoryKeys source_keys_, target_keys_, landing_keys_, received_keys_, counter_keys_;
  std::uint32_t handle_ = 0;
  std::vector<std::uint32_t> qpns_;
  std::vector<Sent> sends_;
  std::vector<Posted> receives_;
  std::array<std::deque<std::uint64_t>, kQueuePairs> pending_sends_;
  std::array<std::deque<std::uint64_t>, kQueuePairs> pending_receives_;
  std::map<std::uint64_t, int> originals_;
  std::uint64_t added_ = 0;
  std::uint64_t may_add_ = 0;
  std::array<std::size_t, kQueuePairs> next_message_{};  // of the peer's, to be delivered
  std::uint64_t next_id_ = 1;
};

}  // namespace softrnic::fuzz
