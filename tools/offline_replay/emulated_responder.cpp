// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/emulated_responder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/icrc.hpp"

namespace softrnic::offline_replay {
namespace {

using transport::QueuePairState;
using wire::ByteSpan;
using wire::ByteView;

constexpr wire::MacAddress kOurMac{{0x02, 0, 0, 0, 0, 0x01}};
constexpr wire::MacAddress kFarMac{{0x02, 0, 0, 0, 0, 0x02}};
// Carries any path MTU.
constexpr std::uint32_t kLinkMtu = 9000;
constexpr std::uint32_t kCompletions = 64;
// As many READs and atomics at once as a queue pair may serve: what the captured one was set to is
// not in the capture.
constexpr std::uint8_t kMostReads = 128;
constexpr std::uint64_t kScratchAddress = std::uint64_t{1} << 40;
constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 31;
constexpr std::uint32_t kKeyByteBits = 8;
// Any number but zero, which would draw one.
constexpr std::uint64_t kSeed = 1;
// Turns of the crank for one request, after which the NIC must be at rest: one packet is sent in
// each at least, and the longest READ has 2^31 / 256.
constexpr std::uint64_t kMostTurns = std::uint64_t{1} << 24;

nic::NicConfig config_of(const wire::Gid& address) {
  nic::NicConfig config;
  config.mac = kOurMac;
  config.addresses = {{address, static_cast<std::uint8_t>(address.is_ipv4_mapped() ? 32 : 128)}};
  config.seed = kSeed;
  config.announce = false;
  return config;
}

// The captured frame from the network header on, behind an Ethernet header of ours: tags and MAC
// addresses are not the transport's matter, nor under the ICRC.
std::vector<std::byte> readdress(const Packet& packet) {
  const auto ethernet = wire::EthernetHeader::parse(packet.bytes).value_or(wire::EthernetHeader{});
  wire::EthernetHeader ours = ethernet;
  ours.destination = kOurMac;
  ours.source = kFarMac;
  ours.vlan.reset();
  std::vector<std::byte> frame(ours.size() + packet.bytes.size() - ethernet.size());
  ours.serialize(frame);
  const ByteView network = packet.bytes.subspan(ethernet.size());
  std::copy(network.begin(), network.end(), frame.begin() + ours.size());
  if (ours.ethertype == wire::ethertype::kIpv4) {
    // The host that captured its own frames may have left the checksum to its hardware.
    const std::span<std::byte, wire::Ipv4Header::kSize> bytes(frame.data() + ours.size(),
                                                              wire::Ipv4Header::kSize);
    wire::Ipv4Header header = wire::Ipv4Header::parse(bytes);
    header.checksum = header.computed_checksum();
    header.serialize(bytes);
  }
  return frame;
}

}  // namespace

EmulatedResponder::EmulatedResponder(const wire::Gid& address, std::size_t domains,
                                     std::uint64_t longest_message,
                                     const std::set<std::uint32_t>& captured_keys)
    : address_(address),
      wire_(kLinkMtu),
      nic_(config_of(address), wire_.attach("responder")),
      far_(wire_.attach("capture")),
      scratch_size_(std::clamp<std::uint64_t>(longest_message, 1, kLargestMessage)) {
  const auto completions = nic_.create_completion_queue(nic::CompletionQueueInit{kCompletions});
  if (!completions) {
    refusal_ = fmt::format("no completion queue: {}", nic::to_string(completions.error()));
    return;
  }
  completions_ = *completions;
  scratch_ = std::make_unique<SparseMemory>(kScratchAddress, scratch_size_);
  if (scratch_->data() == nullptr) {
    refusal_ = fmt::format("no address space for {} bytes of receive buffer", scratch_size_);
    return;
  }
  std::set<std::uint32_t> indexes;
  for (const std::uint32_t key : captured_keys) indexes.insert(key >> kKeyByteBits);
  std::uint32_t index = 1;
  for (std::size_t i = 0; i < std::max<std::size_t>(domains, 1); ++i) {
    while (indexes.count(index) != 0) ++index;
    domains_.push_back(nic_.allocate_domain());
    const auto keys = nic_.memory().add({.domain = domains_.back(),
                                         .base = scratch_->data(),
                                         .length = scratch_size_,
                                         .access = transport::kLocalWrite | transport::kRemoteWrite,
                                         .virtual_address = kScratchAddress,
                                         .key = index << kKeyByteBits});
    if (!keys) {
      refusal_ = "the region table is full";
      return;
    }
    scratch_keys_.push_back(keys->local);
    ++index;
  }
}

std::optional<std::uint32_t> EmulatedResponder::gid_index(wire::RoceVersion version) const {
  const auto entries = nic_.gids().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].gid == address_ && entries[i].version == version) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> EmulatedResponder::prime(const ResponderPriming& priming) {
  const auto index = gid_index(priming.version);
  if (!index) return fmt::format("{} cannot be an interface's address", address_.to_string());
  nic_.add_neighbor(priming.requester, kFarMac);
  if (nic_.find_queue_pair(priming.qpn) != nullptr) nic_.destroy_queue_pair(priming.qpn);
  const auto queue_pair = nic_.create_queue_pair({.domain = domains_[priming.domain],
                                                  .send_completions = completions_,
                                                  .receive_completions = completions_,
                                                  .capacity = {},
                                                  .qpn = priming.qpn});
  const auto refused = [&priming](nic::ResourceError error) {
    return fmt::format("queue pair {:#08x} cannot be made: {}", priming.qpn, to_string(error));
  };
  if (!queue_pair) return refused(queue_pair.error());

  transport::QueuePairAttributes attributes;
  attributes.partition_key = priming.partition_key;
  attributes.remote_access = priming.remote_access;
  attributes.path_mtu = priming.path_mtu;
  attributes.destination_qpn = priming.requester_qpn;
  attributes.receive_psn = priming.expected_psn;
  attributes.max_dest_rd_atomic = kMostReads;
  attributes.min_rnr_timer = priming.min_rnr_timer;
  const nic::AddressAttributes address{.gid_index = *index,
                                       .destination = priming.requester,
                                       .traffic_class = priming.traffic_class};
  for (const QueuePairState state : {QueuePairState::init, QueuePairState::ready_to_receive}) {
    if (const auto error = nic_.modify(priming.qpn, state, attributes, &address)) {
      return refused(*error);
    }
  }
  (*queue_pair)->prime_msn(priming.msn);
  return std::nullopt;
}

std::optional<std::string> EmulatedResponder::open(const MemoryRange& range) {
  const std::uint32_t index = range.key >> kKeyByteBits;
  if (const auto old = open_keys_.find(index); old != open_keys_.end()) {
    nic_.memory().remove(old->second);
  }
  const auto keys = nic_.memory().add({.domain = domains_[range.domain],
                                       .base = range.memory->data(),
                                       .length = range.end - range.begin,
                                       .access = range.access | transport::kLocalWrite,
                                       .virtual_address = range.begin,
                                       .key = range.key});
  if (!keys) return fmt::format("the region of R_Key {:#010x} cannot be registered", range.key);
  open_keys_[index] = range.key;
  return std::nullopt;
}

void EmulatedResponder::close(std::uint32_t key) {
  if (nic_.memory().remove(key)) open_keys_.erase(key >> kKeyByteBits);
}

std::optional<std::string> EmulatedResponder::post_receive(std::uint32_t qpn,
                                                           std::uint64_t length) {
  const transport::QueuePair* queue_pair = nic_.find_queue_pair(qpn);
  if (queue_pair == nullptr) return "no queue pair to post a receive to";
  const auto domain = std::find(domains_.begin(), domains_.end(), queue_pair->domain());
  const transport::Sge sge{
      .address = kScratchAddress,
      .length = static_cast<std::uint32_t>(std::min(length, scratch_size_)),
      .local_key = scratch_keys_[static_cast<std::size_t>(domain - domains_.begin())]};
  const auto error = nic_.post_receive(qpn, {.sges = std::span(&sge, 1)});
  if (error) return fmt::format("a receive cannot be posted: {}", to_string(*error));
  return std::nullopt;
}

std::vector<EmulatedAnswer> EmulatedResponder::feed(const Packet& request) {
  return deliver(request.at, readdress(request));
}

std::vector<EmulatedAnswer> EmulatedResponder::feed_opening(const ResponderPriming& priming,
                                                            wire::Instant at,
                                                            wire::Operation operation,
                                                            std::uint64_t rest) {
  wire::TransportHeaders headers;
  const bool write = operation == wire::Operation::write;
  headers.bth.opcode = write ? wire::Opcode::rc_write_first : wire::Opcode::rc_send_first;
  headers.bth.partition_key = priming.partition_key;
  headers.bth.destination_qpn = priming.qpn;
  headers.bth.psn = priming.expected_psn;
  headers.reth.virtual_address = kScratchAddress;
  headers.reth.remote_key = scratch_keys_[priming.domain];
  headers.reth.dma_length =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(priming.path_mtu + rest, kLargestMessage));

  wire::AddressVector vector;
  vector.version = priming.version;
  vector.source_mac = kFarMac;
  vector.destination_mac = kOurMac;
  vector.source = priming.requester;
  vector.destination = address_;
  const std::size_t below = vector.size();
  const std::size_t transport = headers.size() + priming.path_mtu + sizeof(std::uint32_t);
  std::vector<std::byte> frame(below + transport);
  vector.serialize(frame, transport, 0);
  headers.serialize(ByteSpan(frame).subspan(below));
  const std::size_t payload = below + headers.size();
  const std::size_t network = wire::EthernetHeader::kSize;
  const std::uint32_t icrc =
      wire::icrc(vector.network_layer(), ByteView(frame).subspan(network, payload - network),
                 below - network, ByteView(frame).subspan(payload, priming.path_mtu));
  wire::store_icrc(frame.data() + payload + priming.path_mtu, icrc);
  return deliver(at, frame);
}

std::vector<EmulatedAnswer> EmulatedResponder::deliver(wire::Instant at, ByteView frame) {
  std::vector<EmulatedAnswer> answers;
  // Stamps of a capture may run backwards; time does not.
  at = std::max(at, now_);
  for (std::uint64_t turns = 0; nic_.next_deadline() <= at && turns < kMostTurns; ++turns) {
    now_ = std::max(now_, nic_.next_deadline());
    turn(now_, answers);
  }
  now_ = at;

  link::Frame* out = nullptr;
  if (far_->tx_alloc(std::span(&out, 1)) == 0) return answers;
  std::size_t done = 0;
  for (const auto& piece : out->append(frame.size()).pieces()) {
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(done), piece.size(), piece.begin());
    done += piece.size();
  }
  far_->tx_push(now_, std::span(&out, 1));
  turn(now_, answers);
  return answers;
}

void EmulatedResponder::turn(wire::Instant now, std::vector<EmulatedAnswer>& answers) {
  std::array<transport::Completion, kCompletions> completions;
  for (std::uint64_t turns = 0; turns < kMostTurns; ++turns) {
    const bool busy = nic_.turn(now);
    collect(now, answers);
    completions_->poll(completions);
    if (!busy) return;
  }
}

void EmulatedResponder::collect(wire::Instant now, std::vector<EmulatedAnswer>& answers) {
  std::array<link::Frame*, 32> frames;
  for (std::size_t n = 0; (n = far_->rx_burst(now, frames)) > 0;) {
    for (link::Frame* frame : std::span(frames).first(n)) {
      const auto view = wire::PacketView::parse(frame->bytes());
      if (!view || view->opcode().service != wire::Service::reliable_connection) continue;
      EmulatedAnswer answer;
      answer.headers = view->headers();
      answer.opcode = &view->opcode();
      answer.payload.resize(view->payload().size());
      view->payload().copy_to(0, answer.payload);
      answers.push_back(std::move(answer));
    }
    far_->rx_release(std::span(frames).first(n));
  }
}

}  // namespace softrnic::offline_replay
