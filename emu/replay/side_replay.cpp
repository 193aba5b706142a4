// SPDX-License-Identifier: BSD-3-Clause
#include "replay/side_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace softrnic::replay {

namespace {

using transport::QueuePairState;
using transport::SendOperation;
using wire::Operation;

constexpr std::uint32_t kMsnMask = 0xffffff;
constexpr std::uint64_t kLeastLanding = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostReceiveMemory = std::uint64_t{1} << 30;
constexpr std::uint32_t kMostReceives = 512;
constexpr std::uint32_t kLeastReceives = 16;
constexpr std::uint32_t kSpareCompletions = 16;
constexpr std::uint64_t kPage = 4096;
// READs and atomics it serves at once: what RoCE cards commonly do.
constexpr std::uint8_t kReadsServed = 16;
// The id of a receive is its slot, that of a send its operation.

bool fetches(const RecordedOperation& operation) {
  return operation.is_read() || operation.is_atomic();
}

SendOperation send_operation(const RecordedOperation& operation, bool invalidates) {
  switch (operation.operation) {
    case Operation::write:
      return operation.has_immediate ? SendOperation::rdma_write_with_immediate
                                     : SendOperation::rdma_write;
    case Operation::read_request:
      return SendOperation::rdma_read;
    case Operation::compare_swap:
      return SendOperation::compare_swap;
    case Operation::fetch_add:
      return SendOperation::fetch_add;
    case Operation::flush:
      return SendOperation::flush;
    case Operation::atomic_write:
      return SendOperation::atomic_write;
    default:
      if (operation.has_immediate) return SendOperation::send_with_immediate;
      return operation.has_invalidate && invalidates ? SendOperation::send_with_invalidate
                                                     : SendOperation::send;
  }
}

// The right that an operation needs; 0 for those that name no memory.
std::uint32_t right_for(const RecordedOperation& operation) {
  switch (operation.operation) {
    case Operation::write:
    case Operation::atomic_write:
      return transport::kRemoteWrite;
    case Operation::read_request:
      return transport::kRemoteRead;
    case Operation::compare_swap:
    case Operation::fetch_add:
      return transport::kRemoteAtomic;
    case Operation::flush:
      return transport::kFlushGlobal | transport::kFlushPersistent;
    default:
      return 0;
  }
}

std::uint32_t longest_send(const RecordedSide& side) {
  std::uint32_t longest = 0;
  for (const RecordedOperation& operation : side.operations) {
    if (operation.takes_receive()) longest = std::max(longest, operation.length);
  }
  return longest;
}

}  // namespace

SideReplay::SideReplay(nic::Nic& nic, RecordedConnection& connection, std::uint8_t side,
                       const SideReplayOptions& options)
    : nic_(nic),
      connection_(connection),
      side_(side),
      options_(options),
      schedule_(connection.sides[side], options.pace, options.patience,
                static_cast<std::uint32_t>(connection.sides[1 - side].operations.size())) {
  auto memory = RecordedMemory::of(connection, side);
  if (!memory) {
    fail(memory.error());
    return;
  }
  memory_ = std::move(*memory);
  memory_->rewind(options_.primed);
  domain_ = nic_.allocate_domain();
  // The captured keys first, before the NIC draws others.
  if (options_.exposes_memory && !expose_memory()) return;
  if (!register_payloads()) return;
  make_receives() && make_queue_pair();
}

SideReplay::~SideReplay() {
  if (queue_pair_ != nullptr) nic_.destroy_queue_pair(qpn_);
  if (completions_ != nullptr) nic_.destroy_completion_queue(*completions_);
  for (const std::uint32_t key : registered_) nic_.memory().remove(key);
  for (const auto& [key, region] : exposed_) nic_.memory().remove(region.local_key);
  if (domain_ != transport::ProtectionDomain{}) nic_.free_domain(domain_);
}

bool SideReplay::fail(std::string why) {
  error_ = std::move(why);
  return false;
}

LiveEnd SideReplay::local() const {
  return {qpn_, options_.psn, nic_.gids().find(options_.gid_index)->gid};
}

std::uint32_t SideReplay::heard_in_capture() const {
  return static_cast<std::uint32_t>(connection_.sides[1 - side_].operations.size());
}

// --- setting up ---

bool SideReplay::expose_memory() {
  auto memory = RecordedMemory::of(connection_, 1 - side_);
  if (!memory) return fail(memory.error());
  struct Extent {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    std::uint32_t access = 0;
  };
  std::map<std::uint32_t, Extent> extents;
  for (const RecordedOperation& operation : connection_.sides[1 - side_].operations) {
    const bool refused = options_.faithful && operation.refusal.is_nak();
    const std::uint64_t end = operation.remote_address + operation.length;
    if (!operation.has_key() || operation.length == 0 || refused) continue;
    if (end < operation.remote_address) continue;
    Extent& extent = extents[operation.remote_key];
    extent.begin = std::min(extent.begin, operation.remote_address);
    extent.end = std::max(extent.end, end);
    extent.access |= options_.faithful ? right_for(operation) : transport::kRemoteAccess;
  }
  for (const auto& [key, extent] : extents) {
    ExposedRegion region;
    region.key = key;
    region.begin = extent.begin;
    region.end = extent.end;
    if (!expose(*memory, std::move(region), extent.access)) return false;
  }
  find_host_changes(*memory);
  return true;
}

bool SideReplay::expose(const RecordedMemory& memory, ExposedRegion region, std::uint32_t access) {
  const std::uint64_t size = region.end - region.begin;
  // Aligned as the captured memory was.
  const std::uint64_t shift = region.begin % kPage;
  region.memory = SparseBytes(size + shift);
  if (!region.memory.valid()) {
    return fail(
        fmt::format("there is no room for the {} bytes that key {:#x} opens", size, region.key));
  }
  region.first = region.memory.data() + shift;
  for (const RecordedRange& range : memory.ranges()) {
    if (range.key != region.key) continue;
    const std::uint64_t begin = std::max(range.begin, region.begin);
    const std::uint64_t end = std::min(range.end, region.end);
    if (begin >= end) continue;
    const auto from = memory.initial().subspan(range.offset + (begin - range.begin), end - begin);
    std::copy(from.begin(), from.end(), region.first + (begin - region.begin));
  }
  const auto keys = nic_.memory().add({.domain = domain_,
                                       .base = region.first,
                                       .length = size,
                                       .access = access | transport::kLocalWrite,
                                       .virtual_address = region.begin,
                                       .key = region.key});
  if (!keys) {
    return fail(fmt::format("the captured key {:#x} cannot be opened: {}", region.key,
                            nic::to_string(keys.error())));
  }
  region.local_key = keys->local;
  exposed_.emplace(region.key, std::move(region));
  return true;
}

void SideReplay::find_host_changes(RecordedMemory& memory) {
  const std::vector<RecordedOperation>& asked = connection_.sides[1 - side_].operations;
  memory.rewind(true);
  // Per page of the image, one more than the last operation that names it: a change is made as
  // early as nothing before it is disturbed, for operations may come several at a time.
  std::vector<std::uint32_t> touched(memory.size() / kPage + 1);
  for (std::uint32_t i = 0; i < asked.size(); ++i) {
    const bool changed = memory.change_before(asked[i]);
    const auto at = memory.locate(asked[i].remote_key, asked[i].remote_address, asked[i].length);
    if (at && asked[i].has_key() && asked[i].length != 0) {
      const auto first = touched.begin() + static_cast<std::ptrdiff_t>(*at / kPage);
      const auto last =
          touched.begin() + static_cast<std::ptrdiff_t>((*at + asked[i].length - 1) / kPage);
      if (changed) host_changes_.push_back({*std::max_element(first, last + 1), i});
      std::fill(first, last + 1, i + 1);
    }
    memory.execute(asked[i]);
  }
  std::stable_sort(host_changes_.begin(), host_changes_.end(),
                   [](const HostChange& a, const HostChange& b) { return a.after < b.after; });
  asked_memory_ = std::move(memory);
}

std::byte* SideReplay::exposed_at(const RecordedOperation& operation) {
  const auto found = exposed_.find(operation.remote_key);
  if (found == exposed_.end()) return nullptr;
  const ExposedRegion& region = found->second;
  const bool inside = operation.remote_address >= region.begin &&
                      operation.remote_address <= region.end &&
                      operation.length <= region.end - operation.remote_address;
  return inside ? region.first + (operation.remote_address - region.begin) : nullptr;
}

// Before the operation comes that found them, when all have come that they would disturb.
void SideReplay::make_host_changes() {
  while (next_host_change_ < host_changes_.size() &&
         host_changes_[next_host_change_].after <= heard_) {
    const HostChange& change = host_changes_[next_host_change_++];
    // Too late: it would undo what has been written since.
    if (change.operation < heard_) continue;
    const RecordedOperation& operation = connection_.sides[1 - side_].operations[change.operation];
    const std::span<const std::byte> answer = asked_memory_->captured_answer(operation);
    std::byte* at = exposed_at(operation);
    if (at != nullptr) std::copy(answer.begin(), answer.end(), at);
  }
}

bool SideReplay::register_payloads() {
  const auto add = [&](std::span<std::byte> bytes, std::uint32_t& key) {
    if (bytes.empty()) return true;
    const auto keys = nic_.memory().add({.domain = domain_,
                                         .base = bytes.data(),
                                         .length = bytes.size(),
                                         .access = transport::kLocalWrite,
                                         .virtual_address = {},
                                         .key = {}});
    if (!keys) {
      return fail(
          fmt::format("the payloads cannot be registered: {}", nic::to_string(keys.error())));
    }
    key = keys->local;
    registered_.push_back(key);
    return true;
  };
  const std::span<std::byte> payloads = connection_.store.bytes();
  if (payloads.empty() && connection_.store.size() != 0) {
    return fail("the capture's payloads cannot be mapped: there is not enough address space");
  }
  payload_base_ = reinterpret_cast<std::uintptr_t>(payloads.data());
  std::uint64_t fetched = 0;
  std::uint64_t largest = 0;
  for (const RecordedOperation& operation : operations()) {
    if (!fetches(operation)) continue;
    fetched += operation.length;
    largest = std::max<std::uint64_t>(largest, operation.length);
  }
  landing_ = SparseBytes(std::min(fetched, std::max(kLeastLanding, 2 * largest)));
  if (!landing_.valid()) return fail("there is no room for what READs fetch");
  return add(payloads, payload_key_) && add(landing_.span(), landing_key_);
}

bool SideReplay::make_receives() {
  const RecordedSide& other = connection_.sides[1 - side_];
  for (std::uint32_t i = 0; i < other.operations.size(); ++i) {
    if (other.operations[i].takes_receive()) receiving_.push_back(i);
  }
  slot_size_ = std::max(
      {options_.longest_receive, longest_send(other), longest_send(connection_.sides[side_])});
  receive_slots_ =
      std::clamp(static_cast<std::uint32_t>(receiving_.size()), kLeastReceives, kMostReceives);
  const auto affordable = static_cast<std::uint32_t>(kMostReceiveMemory / slot_size_);
  receive_slots_ = std::clamp(affordable, 1u, receive_slots_);
  receive_slots_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(receive_slots_, nic_.limits().requests));
  receive_memory_ = SparseBytes(receive_slots_ * slot_size_);
  if (!receive_memory_.valid()) return fail("there is no room for the messages to be received");
  const auto keys = nic_.memory().add({.domain = domain_,
                                       .base = receive_memory_.data(),
                                       .length = receive_memory_.size(),
                                       .access = transport::kLocalWrite,
                                       .virtual_address = {},
                                       .key = {}});
  if (!keys) {
    return fail(fmt::format("the receives cannot be registered: {}", nic::to_string(keys.error())));
  }
  receive_key_ = keys->local;
  registered_.push_back(receive_key_);
  for (std::uint32_t slot = receive_slots_; slot > 0; --slot) free_slots_.push_back(slot - 1);
  return true;
}

bool SideReplay::make_queue_pair() {
  const RecordedSide& side = connection_.sides[side_];
  depth_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      side.most_outstanding, 1, std::max<std::uint64_t>(nic_.limits().requests, 1)));
  auto completions = nic_.create_completion_queue(
      nic::CompletionQueueInit{depth_ + receive_slots_ + kSpareCompletions});
  if (!completions) return fail(std::string(nic::to_string(completions.error())));
  completions_ = *completions;
  nic::QueuePairInit init;
  init.domain = domain_;
  init.send_completions = completions_;
  init.receive_completions = completions_;
  init.capacity.send_requests = depth_;
  init.capacity.receive_requests = receive_slots_;
  init.qpn = options_.qpn;
  auto made = nic_.create_queue_pair(init);
  if (!made) {
    return fail(fmt::format("no queue pair: {}", nic::to_string(made.error())));
  }
  queue_pair_ = *made;
  qpn_ = queue_pair_->qpn();
  transport::QueuePairAttributes attributes;
  attributes.remote_access = transport::kRemoteAccess;
  if (const auto error = nic_.modify(qpn_, QueuePairState::init, attributes)) {
    return fail(fmt::format("the queue pair cannot be made: {}", nic::to_string(*error)));
  }
  post_receives();
  return true;
}

void SideReplay::connect(const LiveEnd& remote, const KeyMap& keys) {
  keys_ = keys;
  nic::AddressAttributes address;
  address.gid_index = options_.gid_index;
  address.destination = remote.gid;
  transport::QueuePairAttributes attributes;
  attributes.remote_access = transport::kRemoteAccess;
  attributes.path_mtu = options_.path_mtu;
  attributes.destination_qpn = remote.qpn;
  attributes.receive_psn = wire::Psn(remote.psn);
  attributes.send_psn = wire::Psn(options_.psn);
  attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(
      std::min<std::uint64_t>(kReadsServed, nic_.limits().responder_depth));
  attributes.max_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint64_t>(
      {connection_.sides[side_].most_reads, kReadsServed, nic_.limits().initiator_depth}));
  attributes.timeout = options_.ack_timeout;
  attributes.retry_count = options_.retry_count;
  attributes.rnr_retry = options_.rnr_retry;
  for (const QueuePairState to :
       {QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    if (const auto error = nic_.modify(qpn_, to, attributes, &address)) {
      fail(fmt::format("the queue pair cannot be made {}: {}", transport::to_string(to),
                       nic::to_string(*error)));
      return;
    }
  }
  last_msn_ = queue_pair_->msn();
  make_host_changes();
  connected_ = true;
}

// --- receiving ---

// All there is room for; a faithful stand-in holds back where the captured end was not ready.
void SideReplay::post_receives() {
  while (!free_slots_.empty()) {
    if (options_.faithful && receives_posted_ < receiving_.size()) {
      const RecordedOperation& next =
          connection_.sides[1 - side_].operations[receiving_[receives_posted_]];
      const auto sent = nic_.counters().send_rnr_err;
      if (next.rnr_naks != 0 && next_refusal_ != receives_posted_ + 1) {
        next_refusal_ = receives_posted_ + 1;
        refusals_ = static_cast<std::uint32_t>(sent);
      }
      if (next.rnr_naks != 0 && sent - refusals_ < next.rnr_naks) return;
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    post_receive(slot);
  }
}

void SideReplay::post_receive(std::uint32_t slot) {
  std::uint64_t length = slot_size_;
  if (options_.faithful && receives_posted_ < receiving_.size()) {
    const RecordedOperation& next =
        connection_.sides[1 - side_].operations[receiving_[receives_posted_]];
    // It was too short for the message (IBTA vol. 1, 9.9.3).
    if (next.operation == Operation::send && next.refusal.is_nak() && next.length != 0) {
      length = next.length - 1;
    }
  }
  ++receives_posted_;
  const transport::Sge room{
      reinterpret_cast<std::uintptr_t>(receive_memory_.data() + slot * slot_size_),
      static_cast<std::uint32_t>(length), receive_key_};
  nic_.post_receive(qpn_, {slot, {&room, 1}});
}

void SideReplay::take_message(const transport::Completion& completion) {
  const auto slot = static_cast<std::uint32_t>(completion.id);
  const RecordedSide& other = connection_.sides[1 - side_];
  if (counts_.messages < receiving_.size()) {
    const RecordedOperation& captured = other.operations[receiving_[counts_.messages]];
    const bool message = captured.operation == Operation::send;
    bool same = completion.has_immediate == captured.has_immediate &&
                completion.immediate == captured.immediate &&
                completion.byte_length == captured.length;
    if (same && message && captured.unknown == 0) {
      const std::span<const std::byte> expected = connection_.bytes(captured.payload);
      same =
          std::equal(expected.begin(), expected.end(), receive_memory_.data() + slot * slot_size_);
    }
    if (same) ++counts_.messages_as_captured;
  }
  ++counts_.messages;
  free_slots_.push_back(slot);
}

// --- sending ---

std::optional<std::uint64_t> SideReplay::land(std::uint32_t size) {
  if (landing_next_ + size > landing_.size()) landing_next_ = 0;
  const std::uint64_t end = landing_next_ + size;
  for (const Landing& busy : landings_) {
    if (landing_next_ < busy.at + busy.size && busy.at < end) return {};
  }
  const std::uint64_t at = landing_next_;
  landing_next_ = end;
  return at;
}

transport::SendRequest SideReplay::request_for(const RecordedOperation& operation) {
  transport::SendRequest request;
  request.id = schedule_.next();
  request.operation = send_operation(operation, options_.invalidates);
  request.solicited = operation.solicited;
  request.immediate = operation.immediate;
  request.swap_add = operation.swap_add;
  request.compare = operation.compare;
  request.placement = operation.placement;
  request.flush_all = operation.whole_region;
  if (operation.operation == Operation::flush) request.flush_length = operation.length;
  request.invalidate_key = keys_.place(operation.invalidated_key, 0).key;
  const bool kept = options_.keeps_refused && operation.refusal.is_nak();
  const RemotePlace place = kept ? RemotePlace{operation.remote_key, operation.remote_address}
                                 : keys_.place(operation.remote_key, operation.remote_address);
  request.remote_key = place.key;
  request.remote_address = place.address;
  return request;
}

bool SideReplay::post(const RecordedOperation& operation) {
  transport::SendRequest request = request_for(operation);
  transport::Sge sge;
  if (operation.length != 0 && operation.carries_payload()) {
    sge = {payload_base_ + operation.payload.at, operation.length, payload_key_};
    request.sges = {&sge, 1};
  } else if (operation.length != 0 && fetches(operation)) {
    const auto at = land(operation.length);
    if (!at) return false;
    sge = {reinterpret_cast<std::uintptr_t>(landing_.data()) + *at, operation.length, landing_key_};
    request.sges = {&sge, 1};
    landings_.push_back({*at, operation.length});
  }
  if (const auto error = nic_.post_send(qpn_, request)) {
    if (!request.sges.empty() && fetches(operation)) landings_.pop_back();
    if (*error == transport::PostError::queue_full) return false;
    trouble_ = {schedule_.next(), transport::CompletionStatus::local_qp_operation_error};
    return false;
  }
  if (operation.has_invalidate && !options_.invalidates) ++counts_.plain_sends;
  if (operation.carries_payload()) counts_.unknown_bytes += operation.unknown;
  ++counts_.posted;
  schedule_.pop();
  return true;
}

void SideReplay::compare_answer(const RecordedOperation& operation) {
  ++counts_.answers;
  if (operation.has_response) ++counts_.answers_captured;
  const Landing& landing = landings_.front();
  const AnswerCheck check =
      memory_->check(operation, landing_.span().subspan(landing.at, landing.size));
  if (check.compared == 0) return;
  ++counts_.answers_compared;
  counts_.answer_bytes_compared += check.compared;
  if (check.different == 0) return;
  if (counts_.answers_different++ == 0) first_different_ = {counts_.completed, check.first};
}

void SideReplay::take_completed(const transport::Completion& completion) {
  if (completion.status != transport::CompletionStatus::success) {
    if (!trouble_) trouble_ = {static_cast<std::uint32_t>(completion.id), completion.status};
    return;
  }
  const RecordedOperation& operation = operations()[completion.id];
  const bool landed = fetches(operation) && operation.length != 0;
  if (landed) {
    compare_answer(operation);
    landings_.pop_front();
  }
  memory_->execute(operation);
  counts_.bytes += operation.length;
  ++counts_.completed;
}

void SideReplay::take(const transport::Completion& completion) {
  using transport::CompletionOperation;
  const bool received = completion.operation == CompletionOperation::receive ||
                        completion.operation == CompletionOperation::receive_rdma_with_immediate;
  if (!received) {
    take_completed(completion);
  } else if (completion.status == transport::CompletionStatus::success) {
    take_message(completion);
  }
}

void SideReplay::note_progress(wire::Instant now) {
  const std::uint32_t msn = queue_pair_->msn();
  heard_ += (msn - last_msn_) & kMsnMask;
  last_msn_ = msn;
  make_host_changes();
  schedule_.note(now, counts_.completed, heard_);
}

bool SideReplay::turn(wire::Instant now) {
  if (!connected_) return false;
  bool busy = false;
  transport::Completion batch[32];
  while (const std::size_t n = completions_->poll(batch)) {
    for (const transport::Completion& completion : std::span(batch).first(n)) take(completion);
    busy = true;
  }
  if (!trouble_ && queue_pair_->state() == QueuePairState::error) {
    trouble_ = {counts_.completed, transport::CompletionStatus::work_request_flushed};
  }
  if (trouble_) return busy;
  post_receives();
  note_progress(now);
  while (const RecordedOperation* operation = schedule_.due(now)) {
    if (!post(*operation)) break;
    busy = true;
  }
  return busy;
}

}  // namespace softrnic::replay
