// SPDX-License-Identifier: BSD-3-Clause
#include "edit/number_line.hpp"

#include <algorithm>

namespace softrnic::edit {

using wire::Psn;

std::uint32_t packets_of(std::uint64_t bytes, std::uint32_t path_mtu) {
  if (bytes == 0 || path_mtu == 0) return 1;
  return static_cast<std::uint32_t>((bytes + path_mtu - 1) / path_mtu);
}

std::uint32_t NumberLine::new_mtu(const LineSpan& span) const {
  return path_mtu_ != 0 ? path_mtu_ : span.old_mtu;
}

LineSpan& NumberLine::begin(Psn psn, bool kept) {
  if (!begun_) next_old_ = next_new_ = psn;
  begun_ = true;
  if (spans_.size() >= kRemembered) spans_.pop_front();
  LineSpan span;
  span.old_first = psn;
  span.new_first = next_new_;
  span.kept = kept;
  span.dropped_before = dropped_;
  if (!kept) ++dropped_;
  spans_.push_back(span);
  return spans_.back();
}

void NumberLine::settle(LineSpan& span) {
  if (!span.kept) {
    span.new_count = 0;
  } else if (path_mtu_ != 0) {
    span.new_count = packets_of(span.bytes, path_mtu_);
  } else {
    span.new_count = span.old_count;
  }
  if (&span != &spans_.back()) return;
  next_old_ = span.old_first + span.old_count;
  next_new_ = span.new_first + span.new_count;
}

void NumberLine::close_open_read(Psn psn) {
  if (spans_.empty() || !spans_.back().is_read || spans_.back().old_count != 0) return;
  LineSpan& read = spans_.back();
  const std::int32_t count = psn.since(read.old_first);
  for (std::uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
    if (count <= 0 || packets_of(read.bytes, mtu) != static_cast<std::uint32_t>(count)) continue;
    read.old_count = static_cast<std::uint32_t>(count);
    // With one packet any MTU will do that is as large.
    if (count > 1) read.old_mtu = mtu;
    return settle(read);
  }
}

void NumberLine::skip_to(Psn psn) {
  next_new_ = next_new_ + static_cast<std::uint32_t>(psn.since(next_old_));
  next_old_ = psn;
}

LineSpan* NumberLine::find(Psn psn) {
  for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {
    if (psn.since(span->old_first) >= 0) return &*span;
  }
  return nullptr;
}

Psn NumberLine::acknowledged(Psn psn) {
  const LineSpan* span = find(psn);
  if (span == nullptr) return psn;
  const auto index = static_cast<std::uint32_t>(psn.since(span->old_first));
  if (!span->kept) return span->new_first - 1;
  // A READ of which nobody knows how long it is, yet.
  if (span->old_count == 0) return span->new_first + index;
  if (span->complete && index + 1 >= span->old_count) {
    return span->new_first + (span->new_count - 1) + (index + 1 - span->old_count);
  }
  if (span->old_mtu == 0) return span->new_first + index;
  const std::uint64_t bytes = std::uint64_t{index + 1} * span->old_mtu;
  return span->new_first + static_cast<std::uint32_t>(bytes / new_mtu(*span)) - 1;
}

Psn NumberLine::expected(Psn psn) {
  const LineSpan* span = find(psn);
  if (span == nullptr) return psn;
  const auto index = static_cast<std::uint32_t>(psn.since(span->old_first));
  if (!span->kept) return span->new_first;
  if (span->old_count == 0) return span->new_first + index;
  if (span->complete && index >= span->old_count) {
    return span->new_first + span->new_count + (index - span->old_count);
  }
  if (span->old_mtu == 0) return span->new_first + index;
  const std::uint64_t bytes = std::uint64_t{index} * span->old_mtu;
  return span->new_first + static_cast<std::uint32_t>(bytes / new_mtu(*span));
}

}  // namespace softrnic::edit
