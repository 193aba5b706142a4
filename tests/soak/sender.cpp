// SPDX-License-Identifier: BSD-3-Clause
#include "soak/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "soak/slot.hpp"

namespace softrnic::soak {

using transport::Completion;
using transport::CompletionOperation;
using transport::CompletionStatus;
using transport::SendOperation;

namespace {

CompletionOperation completion_of(SendOperation kind) {
  switch (kind) {
    case SendOperation::rdma_write:
    case SendOperation::rdma_write_with_immediate:
      return CompletionOperation::rdma_write;
    case SendOperation::rdma_read:
      return CompletionOperation::rdma_read;
    case SendOperation::compare_swap:
      return CompletionOperation::compare_swap;
    case SendOperation::fetch_add:
      return CompletionOperation::fetch_add;
    case SendOperation::atomic_write:
      return CompletionOperation::atomic_write;
    case SendOperation::flush:
      return CompletionOperation::flush;
    default:
      return CompletionOperation::send;
  }
}

}  // namespace

Sender::Sender(const Noise& noise, nic::Nic& nic, std::uint32_t qpn, std::uint32_t depth,
               std::span<std::byte> slots, std::uint32_t key)
    : noise_(noise), nic_(nic), qpn_(qpn), depth_(depth), slots_(slots), key_(key), ring_(depth) {}

void Sender::restart(std::uint64_t seed, std::uint64_t word, const RemoteTargets& targets) {
  stream_ = OperationStream(seed, std::max(depth_ / 2, 1u));
  targets_ = targets;
  word_ = word;
  posted_ = accounted_ = succeeded_ = 0;
  flushing_ = flushed_ = exhausted_ = false;
}

void Sender::post(std::uint64_t most) {
  while (posted_ < most && posted_ - accounted_ < depth_ && failure_.empty()) {
    // The last has to be seen to complete.
    if (!post_one(posted_ + 1 == most)) return;
  }
}

std::span<std::byte> Sender::slot(std::uint64_t index) const {
  return slots_.subspan(index % depth_ * kSlotSize, kSlotSize);
}

bool Sender::post_one(bool last) {
  Posted& posted = ring_[posted_ % depth_];
  posted.operation = stream_.next();
  posted.operation.signaled |= last;
  const Operation& operation = posted.operation;
  const std::span<std::byte> room = slot(posted_);
  const std::uint32_t bytes = operation.is_flush() ? 0 : operation.length;
  const Layout layout = lay_out(operation.name, bytes, operation.pieces);
  const bool fetches = operation.is_read() || operation.is_atomic();
  const auto payload = noise_.of(operation.name, bytes);
  if (fetches) {
    guard(room);
  } else {
    scatter(layout, payload, room);
  }
  std::array<transport::Sge, kMaxPieces> sges;
  transport::SendRequest request;
  request.id = operation.index;
  request.operation = operation.kind;
  request.signaled = operation.signaled;
  request.solicited = operation.solicited;
  request.fence = operation.fence;
  request.immediate = operation.immediate;
  if (operation.is_inline) {
    request.inline_data = payload;
  } else if (!operation.is_flush()) {
    request.sges = elements(layout, room, key_, sges);
  }
  request.remote_key = targets_.key;
  if (operation.is_write()) {
    request.remote_address = targets_.writes + operation.write % kWriteTargets * kSlotSize;
  } else if (operation.is_read() || operation.is_flush()) {
    request.remote_address = targets_.source;
    request.flush_length = operation.length;
    request.placement = transport::kGlobalVisibility;
  } else if (operation.is_atomic()) {
    request.remote_address = targets_.word;
    request.swap_add = operation.operand;
    request.compare = operation.compare_hits ? word_ : ~word_;
    posted.original = word_;
  }
  if (const auto error = nic_.post_send(qpn_, request)) {
    fail(operation, fmt::format("was refused: {}", transport::to_string(*error)));
    return false;
  }
  if (operation.kind == SendOperation::fetch_add) word_ += operation.operand;
  if (operation.kind == SendOperation::compare_swap && operation.compare_hits) {
    word_ = operation.operand;
  }
  ++posted_;
  return true;
}

void Sender::on_completion(const Completion& completion) {
  if (completion.id >= posted_ || completion.id < accounted_) {
    failure_ = fmt::format("#{} of queue pair {:#x} completed, which was {}", completion.id, qpn_,
                           completion.id >= posted_ ? "not posted" : "completed before");
    return;
  }
  settle_until(completion.id);
  const Posted& posted = ring_[accounted_++ % depth_];
  if (completion.status != CompletionStatus::success) return on_error(posted, completion);
  const Operation& operation = posted.operation;
  if (flushed_) return fail(operation, "succeeded after an error");
  if (!operation.signaled) return fail(operation, "is unsignaled, and completed");
  if (completion.operation != completion_of(operation.kind)) {
    return fail(operation, fmt::format("completed as {}", static_cast<int>(completion.operation)));
  }
  const bool fetches = operation.is_read() || operation.is_atomic();
  if (fetches && completion.byte_length != operation.length) {
    return fail(operation, fmt::format("fetched {} bytes", completion.byte_length));
  }
  succeed(posted);
}

// Unsignaled requests complete silently, but only successfully; flushed ones are all reported.
void Sender::settle_until(std::uint64_t end) {
  for (; accounted_ < end && failure_.empty(); ++accounted_) {
    const Posted& posted = ring_[accounted_ % depth_];
    if (posted.operation.signaled || flushed_) return fail(posted.operation, "never completed");
    succeed(posted);
  }
}

void Sender::settle() {
  settle_until(posted_);
}

void Sender::on_error(const Posted& posted, const Completion& completion) {
  const bool first = !flushed_;
  flushed_ = true;
  if (completion.status == CompletionStatus::work_request_flushed && flushing_) return;
  if (completion.status == CompletionStatus::retry_exceeded && first) {
    exhausted_ = flushing_ = true;
    return;
  }
  fail(posted.operation, fmt::format("ended in: {}", transport::to_string(completion.status)));
}

void Sender::succeed(const Posted& posted) {
  ++succeeded_;
  const Operation& operation = posted.operation;
  if (operation.is_read() || operation.is_atomic()) check_fetched(posted);
}

void Sender::check_fetched(const Posted& posted) {
  const Operation& operation = posted.operation;
  std::array<std::byte, 8> word;
  std::memcpy(word.data(), &posted.original, word.size());
  const auto expected = operation.is_read() ? noise_.of(targets_.source_name, operation.length)
                                            : std::span<const std::byte>(word);
  const Layout layout = lay_out(operation.name, operation.length, operation.pieces);
  const std::string wrong = difference(layout, expected, slot(operation.index));
  if (!wrong.empty()) fail(operation, "fetched something wrong: " + wrong);
}

void Sender::fail(const Operation& operation, const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = fmt::format("#{} ({}, {} bytes, {} pieces) of queue pair {:#x} {}", operation.index,
                         transport::to_string(operation.kind), operation.length, operation.pieces,
                         qpn_, what);
}

}  // namespace softrnic::soak
