// SPDX-License-Identifier: BSD-3-Clause
// A NIC with a queue pair of each type in RTS, and one on a shared receive queue, fed frames a
// stranger chose.
//
// The input is a sequence of records: a byte of flags, a 16-bit little-endian length, and that
// many bytes of frame. The flags let a mutated frame past the outer checks, so that the fuzzer
// reaches the transport, and let time pass and work be posted between frames. Checked: memory that
// no key opens never changes, every frame sent is well-formed, completions are of work posted and
// come once, the crank always comes to rest, and every deadline that falls due goes away.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "fuzz/fuzz_link.hpp"
#include "fuzz/require.hpp"
#include "nic/nic.hpp"
#include "wire/icrc.hpp"
#include "wire/ipv4.hpp"
#include "wire/packet_view.hpp"

namespace softrnic {
namespace {

using fuzz::require;
using transport::QueuePairState;
using transport::QueuePairType;
using wire::Gid;
using wire::Service;

enum Flags : std::uint8_t {
  kFixSums = 1 << 0,    // lengths, IPv4 checksum and ICRC
  kAddressUs = 1 << 1,  // MAC and IP addresses of the peer and of the NIC
  kSplit = 1 << 2,      // in three segments
  kTimeShift = 3,       // two bits: how much time passes afterwards
  kPostWork = 1 << 5,   // a request and a receive on each queue pair first
  kFailQueue = 1 << 6,  // to ERR, RESET and up again first
  kDropQueue = 1 << 7,  // XRC's shared receive queue goes first, and another comes
};

constexpr std::uint32_t kPeerQpn = 0x99;
constexpr std::uint32_t kQueueKey = 0x11111111;
constexpr std::uint32_t kOpenKey = 0x123456;    // every right
constexpr std::uint32_t kShownKey = 0x234567;   // remote read alone
constexpr std::uint32_t kHiddenKey = 0x345678;  // local alone
const wire::MacAddress kOwnMac{{2, 0, 0, 0, 0, 1}};
const wire::MacAddress kPeerMac{{2, 0, 0, 0, 0, 9}};
const Gid kOwnV4 = Gid::from_ipv4(0x0a000001);
const Gid kPeerV4 = Gid::from_ipv4(0x0a000009);
const Gid kOwnV6{{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
const Gid kPeerV6{{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};

// Memory with a known pattern, registered or not.
class Pattern {
 public:
  explicit Pattern(std::uint8_t first) : first_(first) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = expected(i);
  }
  std::byte* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  bool intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (bytes_[i] != expected(i)) return false;
    }
    return true;
  }

 private:
  std::byte expected(std::size_t i) const { return static_cast<std::byte>(first_ + i * 7); }

  std::uint8_t first_;
  alignas(8) std::array<std::byte, 2048> bytes_;
};

class Subject {
 public:
  Subject() {
    auto link = std::make_unique<fuzz::FuzzLink>(kOwnMac);
    link_ = link.get();
    nic::NicConfig config;
    config.mac = kOwnMac;
    config.addresses = {{kOwnV4, 24}, {kOwnV6, 64}};
    config.seed = 1;
    nic_ = std::make_unique<nic::Nic>(config, std::move(link));
    nic_->add_neighbor(kPeerV4, kPeerMac);
    nic_->add_neighbor(kPeerV6, kPeerMac);
    domain_ = nic_->allocate_domain();
    completions_ = &nic_->create_completion_queue(4096);
    const std::uint32_t local = transport::kLocalWrite;
    add_region(memory_->open, kOpenKey,
               local | transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic);
    add_region(memory_->shown, kShownKey, transport::kRemoteRead);
    add_region(memory_->hidden, kHiddenKey, local);
    nic::AddressAttributes peer;
    peer.gid_index = 3;  // 10.0.0.1, v2
    peer.destination = kPeerV4;
    handle_ = nic_->create_address_handle(domain_, peer).value();
    nic::QueuePairInit init;
    init.domain = domain_;
    init.send_completions = init.receive_completions = completions_;
    init.capacity = {16, 16, 2, 2};
    for (const QueuePairType type : {QueuePairType::rc, QueuePairType::uc, QueuePairType::ud}) {
      init.type = type;
      add_queue_pair(init);
    }
    init.type = QueuePairType::rc;
    shared_ = nic_->create_shared_receive_queue({domain_, {16, 2}, nullptr, nullptr}).value();
    init.shared_receive_queue = shared_;
    add_queue_pair(init);
    init.shared_receive_queue = nullptr;
    init.type = QueuePairType::xrc_initiator;
    add_queue_pair(init);
    init.type = QueuePairType::xrc_target;
    xrc_domain_ = init.xrc_domain = &nic_->create_xrc_domain();
    add_queue_pair(init);
    add_extended_queue();
    post_shared();
    turn();
  }

  void feed(std::uint8_t flags, std::vector<std::byte> frame) {
    if ((flags & kFailQueue) != 0) fail_and_bring_up();
    if ((flags & kPostWork) != 0) {
      for (const std::uint32_t qpn : qpns_) post_work(qpn);
      post_shared();
    }
    if ((flags & kDropQueue) != 0) {
      require(!nic_->destroy_shared_receive_queue(*extended_), "a queue of XRC may go");
      add_extended_queue();
    }
    if ((flags & kAddressUs) != 0) address(frame);
    if ((flags & kFixSums) != 0) fix(frame);
    link_->arrive(frame, (flags & kSplit) != 0);
    turn();
    pass_time(flags >> kTimeShift & 3);
    check();
  }

  // Lets every timer run out.
  void finish() {
    constexpr int kMostDeadlines = 20'000;
    for (int i = 0; nic_->next_deadline() != wire::kNever; ++i) {
      require(i < kMostDeadlines, "no timer runs for ever");
      now_ = std::max(now_, nic_->next_deadline());
      turn();
    }
    check();
  }

 private:
  struct Memory {
    // Between them lies what belongs to no region.
    Pattern before{1};
    Pattern open{2};
    Pattern between{3};
    Pattern shown{4};
    Pattern after{5};
    Pattern hidden{6};  // takes receives and READs
    Pattern last{7};
  };

  void add_region(Pattern& bytes, std::uint32_t key, std::uint32_t access) {
    nic::RegionAttributes region;
    region.domain = domain_;
    region.base = bytes.data();
    region.length = bytes.size();
    region.access = access;
    region.virtual_address = 0x10000;
    region.key = key;
    require(nic_->memory().add(region).has_value(), "a region is registered");
  }

  void add_queue_pair(const nic::QueuePairInit& init) {
    qpns_.push_back(nic_->create_queue_pair(init).value()->qpn());
    bring_up(qpns_.back());
    post_work(qpns_.back());
  }

  void add_extended_queue() {
    extended_ =
        nic_->create_shared_receive_queue({domain_, {16, 2}, xrc_domain_, completions_}).value();
  }

  void bring_up(std::uint32_t qpn) {
    transport::QueuePairAttributes a;
    a.remote_access = transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
    a.queue_key = kQueueKey;
    a.destination_qpn = kPeerQpn;
    a.path_mtu = 256;
    a.max_dest_rd_atomic = a.max_rd_atomic = 4;
    a.timeout = 10;
    a.retry_count = 2;
    a.rnr_retry = 2;
    nic::AddressAttributes peer;
    peer.gid_index = 3;
    peer.destination = kPeerV4;
    for (const QueuePairState state :
         {QueuePairState::reset, QueuePairState::init, QueuePairState::ready_to_receive,
          QueuePairState::ready_to_send}) {
      require(!nic_->modify(qpn, state, a, &peer), "a queue pair comes up");
    }
  }

  void fail_and_bring_up() {
    for (const std::uint32_t qpn : qpns_) {
      nic_->modify(qpn, QueuePairState::error, {});
      poll();
      bring_up(qpn);
    }
    // RESET forgets what was posted, without completions; a shared receive queue does not.
    pending_.clear();
  }

  void post_work(std::uint32_t qpn) {
    using transport::SendOperation;
    transport::QueuePair& qp = *nic_->find_queue_pair(qpn);
    const transport::Sge sge{0x10000, 1024, kHiddenKey};
    const transport::Sge word{0x10008, 8, kHiddenKey};
    transport::SendRequest request;
    request.address_handle = handle_;
    request.remote_qpn = kPeerQpn;
    request.remote_queue_key = kQueueKey;
    request.remote_address = 0x10000;
    request.remote_key = kOpenKey;
    request.remote_srq = 2;
    for (const SendOperation operation :
         {SendOperation::send, SendOperation::rdma_write_with_immediate, SendOperation::rdma_read,
          SendOperation::fetch_add}) {
      const bool small =
          operation == SendOperation::fetch_add || qp.service() == Service::unreliable_datagram;
      request.operation = operation;
      request.sges = {small ? &word : &sge, 1};
      request.id = next_id_;
      if (!nic_->post_send(qpn, request)) pending_.insert(next_id_++);
    }
    transport::ReceiveRequest receive{next_id_, {&sge, 1}};
    if (!nic_->post_receive(qpn, receive)) pending_.insert(next_id_++);
  }

  void post_shared() {
    const transport::Sge sge{0x10000, 1024, kHiddenKey};
    for (transport::SharedReceiveQueue* queue : {shared_, extended_}) {
      if (!queue->post({next_id_, {&sge, 1}})) shared_pending_.insert(next_id_++);
    }
  }

  void address(std::vector<std::byte>& frame) const {
    if (frame.size() < 14) return;
    wire::store_mac(frame.data(), kOwnMac);
    wire::store_mac(frame.data() + 6, kPeerMac);
    const std::uint16_t type = wire::load_be16(frame.data() + 12);
    if (type == wire::ethertype::kIpv4 && frame.size() >= 34) {
      wire::store_be32(frame.data() + 26, kPeerV4.ipv4());
      wire::store_be32(frame.data() + 30, kOwnV4.ipv4());
    } else if ((type == wire::ethertype::kIpv6 || type == wire::ethertype::kRoceV1) &&
               frame.size() >= 54) {
      std::memcpy(frame.data() + 22, kPeerV6.bytes.data(), 16);
      std::memcpy(frame.data() + 38, kOwnV6.bytes.data(), 16);
    }
  }

  // The checksum of ICMP, or with a pseudo-header of ICMPv6, two bytes into what begins at
  // `offset`.
  static void fix_icmp(std::vector<std::byte>& frame, std::size_t offset, bool v6) {
    if (frame.size() < offset + 4) return;
    const wire::ByteView message = wire::ByteView(frame).subspan(offset);
    std::uint32_t sum = 0;
    if (v6) {
      sum = static_cast<std::uint32_t>(message.size()) + wire::ip_protocol::kIcmpv6;
      for (std::size_t i = 22; i < 54; i += 2) sum += wire::load_be16(frame.data() + i);
    }
    wire::store_be16(frame.data() + offset + 2, 0);
    wire::store_be16(frame.data() + offset + 2, wire::internet_checksum(message, sum));
  }

  static void fix(std::vector<std::byte>& frame) {
    if (frame.size() < 14) return;
    const auto rest = [&frame](std::size_t offset) {
      return static_cast<std::uint16_t>(frame.size() - offset);
    };
    const std::uint16_t type = wire::load_be16(frame.data() + 12);
    if (type == wire::ethertype::kIpv4 && frame.size() >= 42) {
      wire::store_be16(frame.data() + 16, rest(14));
      const bool icmp = wire::load_u8(frame.data() + 23) == wire::ip_protocol::kIcmp;
      if (!icmp) wire::store_be16(frame.data() + 38, rest(34));
      if (icmp) fix_icmp(frame, 34, false);
      wire::store_be16(frame.data() + 24, 0);
      wire::store_be16(frame.data() + 24,
                       wire::internet_checksum(wire::ByteView(frame).subspan(14, 20)));
    } else if (type == wire::ethertype::kIpv6 && frame.size() >= 62) {
      wire::store_be16(frame.data() + 18, rest(54));
      const bool icmp = wire::load_u8(frame.data() + 20) == wire::ip_protocol::kIcmpv6;
      if (!icmp) wire::store_be16(frame.data() + 58, rest(54));
      if (icmp) fix_icmp(frame, 54, true);
    } else if (type == wire::ethertype::kRoceV1 && frame.size() >= 54) {
      wire::store_be16(frame.data() + 18, rest(54));
    }
    const auto packet = wire::PacketView::parse(wire::ByteView(frame));
    if (packet) wire::store_icrc(frame.data() + packet->icrc_offset(), packet->computed_icrc());
  }

  void turn() {
    constexpr int kMostTurns = 10'000;
    int turns = 0;
    while (nic_->turn(now_)) require(++turns < kMostTurns, "the crank comes to rest");
    require(nic_->next_deadline() > now_, "what was due has been dealt with");
    poll();
  }

  void pass_time(unsigned how_much) {
    switch (how_much) {
      case 0:
        return;
      case 1:
        now_ += std::chrono::microseconds(10);
        break;
      case 2:
        if (nic_->next_deadline() != wire::kNever) now_ = nic_->next_deadline();
        break;
      default:
        now_ += std::chrono::seconds(1);
    }
    turn();
  }

  void poll() {
    std::array<transport::Completion, 16> out;
    while (const std::size_t n = completions_->poll(out)) {
      for (std::size_t i = 0; i < n; ++i) {
        require(pending_.erase(out[i].id) + shared_pending_.erase(out[i].id) == 1,
                "a completion is of work posted, and comes once");
      }
    }
    require(!completions_->overrun(), "the completion queue holds what was posted");
  }

  void check() const {
    for (const Pattern* bytes :
         {&memory_->before, &memory_->between, &memory_->shown, &memory_->after, &memory_->last}) {
      require(bytes->intact(), "memory that no key opens stays as it is");
    }
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  std::unique_ptr<nic::Nic> nic_;
  fuzz::FuzzLink* link_ = nullptr;
  transport::ProtectionDomain domain_{};
  nic::CompletionQueue* completions_ = nullptr;
  std::uint32_t handle_ = 0;
  std::vector<std::uint32_t> qpns_;
  transport::SharedReceiveQueue* shared_ = nullptr;
  transport::XrcDomain* xrc_domain_ = nullptr;
  transport::SharedReceiveQueue* extended_ = nullptr;
  std::set<std::uint64_t> pending_;
  std::set<std::uint64_t> shared_pending_;
  std::uint64_t next_id_ = 1;
  wire::Instant now_{};
};

}  // namespace
}  // namespace softrnic

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostFrames = 64;
  constexpr std::size_t kRecordHeader = 3;
  softrnic::Subject subject;
  for (std::size_t n = 0; n < kMostFrames && size >= kRecordHeader; ++n) {
    const std::uint8_t flags = data[0];
    const std::size_t wanted = data[1] | std::size_t{data[2]} << 8;
    data += kRecordHeader;
    size -= kRecordHeader;
    const std::size_t length = std::min(wanted, size);
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    subject.feed(flags, std::vector<std::byte>(bytes, bytes + length));
    data += length;
    size -= length;
  }
  subject.finish();
  return 0;
}
