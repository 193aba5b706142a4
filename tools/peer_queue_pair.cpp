// SPDX-License-Identifier: BSD-3-Clause
#include "peer_queue_pair.hpp"

#include <algorithm>

#include "failure.hpp"
#include "limited_resources.hpp"

namespace softrnic::tools {

namespace {

constexpr std::uint32_t kGrhSize = 40;
constexpr std::uint8_t kReadsAtOnce = 16;
// The queue pair grants all; what may be done to the memory, the memory's own rights say. So what
// is forbidden there is a remote access error, and not an invalid request.
constexpr std::uint32_t kEveryRight = transport::kRemoteAccess;
// UD senders it remembers how to reach.
constexpr std::size_t kMostHandles = 1024;

void require(const std::optional<nic::ResourceError>& error, const char* what) {
  if (error) fail("{}: {}", what, nic::to_string(*error));
}

// The sender's address in the 40 bytes before a UD payload: an IPv6 or global routing header, or
// an IPv4 header in the last 20 bytes (IBTA annex A17, 17.4.7.2).
wire::Gid source_of(std::span<const std::byte> grh) {
  wire::Gid source;
  constexpr std::size_t kIpv4At = 20;
  if (std::to_integer<int>(grh[0]) >> 4 == 6) {
    for (std::size_t i = 0; i < 16; ++i) {
      source.bytes[i] = std::to_integer<std::uint8_t>(grh[8 + i]);
    }
    return source;
  }
  return wire::Gid::from_ipv4(wire::load_be32(grh.data() + kIpv4At + 12));
}

}  // namespace

PeerQueuePair::PeerQueuePair(nic::Nic& nic, transport::ProtectionDomain domain,
                             const PeerQueuePairOptions& options)
    : nic_(nic),
      domain_(domain),
      options_(options),
      slot_size_(options.message_size + (datagram() ? kGrhSize : 0)),
      memory_(slot_size_ * std::max(1u, options.receives)) {}

// Of two, so that the destructor gives back what was made when the limits refuse the next.
PeerQueuePair::PeerQueuePair(nic::Nic& nic, transport::ProtectionDomain domain,
                             const PeerQueuePairOptions& options, std::uint32_t psn)
    : PeerQueuePair(nic, domain, options) {
  completions_ = make_completion_queue(nic_, 2 * std::max(1u, options.receives));
  keys_ = register_memory(nic_,
                          {.domain = domain,
                           .base = memory_.data(),
                           .length = memory_.size(),
                           .access = transport::kLocalWrite,
                           .virtual_address = {},
                           .key = {}},
                          "the message buffers of a queue pair");

  nic::QueuePairInit init;
  init.type = transport::type_of(options_.service);
  init.domain = domain;
  init.send_completions = completions_;
  init.receive_completions = completions_;
  init.capacity.send_requests = std::max(1u, options_.receives);
  init.capacity.receive_requests = std::max(1u, options_.receives);
  init.qpn = options_.qpn;
  local_.qpn = make_queue_pair(nic_, init)->qpn();
  local_.psn = psn;
  local_.gid = nic_.gids().find(options_.gid_index)->gid;
  local_.offers_selective_repeat = options_.selective_repeat;

  transport::QueuePairAttributes attributes;
  attributes.queue_key = options_.queue_key;
  attributes.remote_access = kEveryRight;
  require(nic_.modify(local_.qpn, transport::QueuePairState::init, attributes), "to INIT");
  for (std::uint64_t i = 0; i < options_.receives; ++i) post_receive(i);
  if (datagram()) connect({});
}

PeerQueuePair::~PeerQueuePair() {
  nic_.destroy_queue_pair(local_.qpn);
  if (completions_ != nullptr) nic_.destroy_completion_queue(*completions_);
  for (const auto& [gid, handle] : handles_) nic_.destroy_address_handle(handle);
  nic_.memory().remove(keys_.local);
}

void PeerQueuePair::connect(const EndpointAddress& remote) {
  nic::AddressAttributes address;
  address.gid_index = options_.gid_index;
  address.destination = remote.gid;
  transport::QueuePairAttributes attributes;
  attributes.queue_key = options_.queue_key;
  attributes.remote_access = kEveryRight;
  attributes.path_mtu = options_.path_mtu;
  attributes.destination_qpn = remote.qpn;
  attributes.receive_psn = wire::Psn(remote.psn);
  attributes.send_psn = wire::Psn(local_.psn);
  attributes.max_dest_rd_atomic = responder_depth(nic_, kReadsAtOnce);
  attributes.max_rd_atomic = initiator_depth(nic_, kReadsAtOnce);
  attributes.min_rnr_timer = options_.min_rnr_timer;
  attributes.selective_repeat = options_.selective_repeat && remote.offers_selective_repeat;
  attributes.advertise_credits = options_.credits;
  using transport::QueuePairState;
  const nic::AddressAttributes* connected = datagram() ? nullptr : &address;
  require(nic_.modify(local_.qpn, QueuePairState::ready_to_receive, attributes, connected),
          "the queue pair cannot be made ready to receive");
  require(nic_.modify(local_.qpn, QueuePairState::ready_to_send, attributes, connected),
          "the queue pair cannot be made ready to send");
  if (!datagram()) remote_ = remote;
}

std::span<std::byte> PeerQueuePair::buffer(std::uint64_t index) {
  return memory_.span().subspan(index * slot_size_, slot_size_);
}

transport::Sge PeerQueuePair::sge(std::uint64_t index, std::size_t offset, std::uint32_t length) {
  return {reinterpret_cast<std::uintptr_t>(buffer(index).data() + offset), length, keys_.local};
}

void PeerQueuePair::post_receive(std::uint64_t index) {
  const transport::Sge room = sge(index, 0, static_cast<std::uint32_t>(slot_size_));
  nic_.post_receive(local_.qpn, {index, {&room, 1}});
}

std::optional<std::string> PeerQueuePair::turn() {
  std::optional<std::string> trouble;
  transport::Completion batch[16];
  while (const std::size_t n = completions_->poll(batch)) {
    for (const transport::Completion& completion : std::span(batch).first(n)) {
      if (completion.status != transport::CompletionStatus::success) {
        if (!broken_) trouble = std::string(transport::to_string(completion.status));
        broken_ = true;
      } else if (completion.operation == transport::CompletionOperation::receive ||
                 completion.operation ==
                     transport::CompletionOperation::receive_rdma_with_immediate) {
        take_message(completion);
      } else {
        ++echoed_;
        post_receive(completion.id);
      }
    }
  }
  return trouble;
}

void PeerQueuePair::take_message(const transport::Completion& completion) {
  ++messages_;
  if (options_.on_message && completion.operation == transport::CompletionOperation::receive) {
    const std::uint32_t offset = datagram() ? kGrhSize : 0;
    options_.on_message(buffer(completion.id).subspan(offset, completion.byte_length - offset));
  }
  if (options_.echo && completion.operation == transport::CompletionOperation::receive) {
    send_back(completion);
  } else {
    post_receive(completion.id);
  }
}

// From the buffer it came in, which is posted again when the echo is away.
void PeerQueuePair::send_back(const transport::Completion& completion) {
  const std::uint32_t offset = datagram() ? kGrhSize : 0;
  const transport::Sge message = sge(completion.id, offset, completion.byte_length - offset);
  transport::SendRequest request;
  request.id = completion.id;
  request.sges = {&message, message.length == 0 ? 0u : 1u};
  if (completion.has_immediate) {
    request.operation = transport::SendOperation::send_with_immediate;
    request.immediate = completion.immediate;
  }
  if (datagram()) {
    request.address_handle = handle_for(buffer(completion.id).first(kGrhSize));
    request.remote_qpn = completion.source_qpn;
    request.remote_queue_key = options_.queue_key;
  }
  // A sender that cannot be answered is not answered.
  if (nic_.post_send(local_.qpn, request)) post_receive(completion.id);
}

std::uint32_t PeerQueuePair::handle_for(std::span<const std::byte> grh) {
  const wire::Gid source = source_of(grh);
  if (const auto found = handles_.find(source); found != handles_.end()) return found->second;
  if (handles_.size() == kMostHandles) return 0;
  nic::AddressAttributes address;
  address.gid_index = options_.gid_index;
  address.destination = source;
  auto handle = nic_.create_address_handle(domain_, address);
  if (!handle) return 0;
  handles_.emplace(source, *handle);
  return *handle;
}

}  // namespace softrnic::tools
