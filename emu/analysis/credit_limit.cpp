// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/credit_limit.hpp"

#include "wire/psn.hpp"

namespace softrnic::analysis {

namespace {

// A WRITE shows only with its last packet that it has an immediate.
bool takes_receive(const wire::OpcodeInfo& opcode) {
  if (opcode.operation == wire::Operation::send) return opcode.starts_message();
  return opcode.operation == wire::Operation::write && opcode.has(wire::kImmDt);
}

}  // namespace

std::uint32_t CreditLimit::on_request(const wire::OpcodeInfo& opcode) {
  if (!takes_receive(opcode)) return 0;
  ++asked_;
  if (!limited_) return 0;
  const auto beyond = static_cast<std::int32_t>(asked_ - limit_);
  return beyond > 0 ? static_cast<std::uint32_t>(beyond) : 0;
}

void CreditLimit::on_acknowledge(const wire::Aeth& aeth, bool idle) {
  if (!aeth.syndrome.is_ack()) return;
  if (idle) done_ = asked_;
  last_msn_ = aeth.msn & wire::Psn::kMask;
  last_credits_ = aeth.syndrome.value() & 0x1fu;
  const auto credits = wire::credit_count(aeth.syndrome.value());
  limited_ = credits.has_value();
  if (!limited_) return;
  limit_ = done_ + *credits;
}

std::uint32_t CreditLimit::limit_msn() const {
  const auto credits = wire::credit_count(last_credits_);
  return (last_msn_ + credits.value_or(0)) & wire::Psn::kMask;
}

bool CreditLimit::is_update(const wire::Aeth& aeth) const {
  return aeth.syndrome.is_ack() && aeth.msn == last_msn_ && aeth.syndrome.value() != last_credits_;
}

}  // namespace softrnic::analysis
