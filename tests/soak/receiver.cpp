// SPDX-License-Identifier: BSD-3-Clause
#include "soak/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "soak/slot.hpp"

namespace softrnic::soak {

using transport::Completion;
using transport::CompletionOperation;
using transport::CompletionStatus;

namespace {

// A receive's layout has a name of its own, or it would be the sender's.
std::uint64_t receive_name(const Operation& operation) {
  return operation.name ^ 0x5a5a;
}

Layout receive_layout(const Operation& operation) {
  const std::uint32_t room = operation.is_send() ? operation.length : 0;
  return lay_out(receive_name(operation), room + operation.receive_slack, operation.receive_pieces);
}

}  // namespace

Receiver::Receiver(const Noise& noise, nic::Nic& nic, std::uint32_t qpn,
                   std::span<std::byte> receives, std::span<std::byte> targets, std::uint32_t key)
    : noise_(noise), nic_(nic), qpn_(qpn), receives_(receives), targets_(targets), key_(key) {}

void Receiver::restart(std::uint64_t seed, std::uint32_t depth) {
  coming_ = checked_ = OperationStream(seed, std::max(depth / 2, 1u));
  looked_at_ = posted_ = completed_ = 0;
  flushing_ = false;
  guard(targets_);
}

std::span<std::byte> Receiver::receive_slot(std::uint64_t index) const {
  return receives_.subspan(index % kReceives * kSlotSize, kSlotSize);
}

void Receiver::post() {
  for (; posted_ - completed_ < kReceives; ++posted_) {
    Operation operation = coming_.next();
    while (!operation.consumes_receive()) operation = coming_.next();
    const std::span<std::byte> room = receive_slot(posted_);
    guard(room);
    std::array<transport::Sge, kMaxPieces> sges;
    const auto error = nic_.post_receive(
        qpn_, {.id = posted_, .sges = elements(receive_layout(operation), room, key_, sges)});
    if (error) {
      return fail(operation, fmt::format("receive refused: {}", transport::to_string(*error)));
    }
  }
}

void Receiver::on_completion(const Completion& completion) {
  if (completion.id != completed_ || completed_ == posted_) {
    if (failure_.empty()) {
      failure_ = fmt::format("receive {} of queue pair {:#x} completed, {} of {} was next",
                             completion.id, qpn_, completed_, posted_);
    }
    return;
  }
  if (completion.status == CompletionStatus::work_request_flushed && flushing_) {
    ++completed_;
    return;
  }
  Operation operation = checked_.next();
  for (; !operation.consumes_receive(); operation = checked_.next()) {
    ++looked_at_;
    if (operation.is_write()) check_write(operation);
  }
  ++looked_at_;
  if (completion.status != CompletionStatus::success) {
    return fail(operation, fmt::format("ended in: {}", transport::to_string(completion.status)));
  }
  if (operation.is_write()) check_write(operation);
  check_receive(operation, completion);
  ++completed_;
}

void Receiver::check_write(const Operation& operation) {
  const std::span<std::byte> target =
      targets_.subspan(operation.write % kWriteTargets * kSlotSize, kSlotSize);
  Layout whole;
  whole.count = 1;
  whole.offsets[0] = 0;
  whole.lengths[0] = operation.length;
  const std::string wrong = difference(whole, noise_.of(operation.name, operation.length), target);
  if (!wrong.empty()) fail(operation, "wrote something wrong: " + wrong);
  guard(target);
  ++verified_;
}

void Receiver::check_receive(const Operation& operation, const Completion& completion) {
  const CompletionOperation expected = operation.is_send()
                                           ? CompletionOperation::receive
                                           : CompletionOperation::receive_rdma_with_immediate;
  if (completion.operation != expected) return fail(operation, "was received as something else");
  if (completion.byte_length != operation.length) {
    return fail(operation, fmt::format("was received with {} bytes", completion.byte_length));
  }
  if (completion.has_immediate != operation.has_immediate() ||
      (operation.has_immediate() && completion.immediate != operation.immediate)) {
    return fail(operation, "was received with another immediate");
  }
  if (completion.solicited != operation.solicited) return fail(operation, "solicited differs");
  const auto payload = noise_.of(operation.name, operation.is_send() ? operation.length : 0);
  const std::string wrong =
      difference(receive_layout(operation), payload, receive_slot(completion.id));
  if (!wrong.empty()) fail(operation, "was received wrongly: " + wrong);
  ++verified_;
}

void Receiver::finish(std::uint64_t posted) {
  for (; looked_at_ < posted && failure_.empty(); ++looked_at_) {
    const Operation operation = checked_.next();
    if (operation.consumes_receive()) return fail(operation, "was never received");
    if (operation.is_write()) check_write(operation);
  }
  if (looked_at_ != posted) {
    failure_ = fmt::format("queue pair {:#x} received {} operations, {} were sent", qpn_,
                           looked_at_, posted);
  }
}

void Receiver::fail(const Operation& operation, const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = fmt::format("at queue pair {:#x}, #{} ({}, {} bytes) {}", qpn_, operation.index,
                         transport::to_string(operation.kind), operation.length, what);
}

}  // namespace softrnic::soak
