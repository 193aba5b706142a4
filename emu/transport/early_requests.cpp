// SPDX-License-Identifier: BSD-3-Clause
#include "transport/early_requests.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <span>

namespace softrnic::transport {

using wire::Psn;

namespace {

// What the payload of a placed packet points to: nobody reads it.
constexpr std::array<std::byte, 4096> kPlacedPayload{};

}  // namespace

void EarlyRequests::disable() {
  slots_.reset();
  path_mtu_ = count_ = 0;
}

std::uint32_t EarlyRequests::run_up_to(Psn psn, std::uint32_t most) const {
  std::uint32_t run = 0;
  while (run < most && holds(psn - run)) ++run;
  return run;
}

std::optional<WriteExtent> EarlyRequests::extent_of(Psn psn, Psn expected,
                                                    const std::optional<WriteExtent>& now) const {
  // The nearest packet before it that is known tells: either its WRITE reaches as far as here, or
  // where this one begins was lost.
  for (Psn before = psn - 1; !before.before(expected); before = before - 1) {
    if (!holds(before)) continue;
    const Slot& kept = slot(before);
    if (kept.placed && kept.extent.holds(psn)) return kept.extent;
    return std::nullopt;
  }
  return now && now->holds(psn) ? now : std::nullopt;
}

bool EarlyRequests::has_room() {
  if (!slots_) slots_.reset(new (std::nothrow) Slot[kWindow]);
  return slots_ != nullptr;
}

EarlyRequests::Slot& EarlyRequests::take(const InboundPacket& packet) {
  Slot& kept = slot(packet.headers.bth.psn);
  if (!kept.kept) ++count_;
  kept.kept = true;
  kept.placed = false;
  kept.psn = packet.headers.bth.psn;
  kept.size = static_cast<std::uint32_t>(packet.payload.size());
  kept.headers = packet.headers;
  return kept;
}

bool EarlyRequests::keep(const InboundPacket& packet) {
  std::unique_ptr<std::byte[]>& room = slot(packet.headers.bth.psn).room;
  if (!packet.payload.empty() && !room) room.reset(new (std::nothrow) std::byte[path_mtu_]);
  if (!packet.payload.empty() && !room) return false;
  take(packet);
  packet.payload.copy_to(0, wire::ByteSpan(room.get(), packet.payload.size()));
  return true;
}

void EarlyRequests::keep_placed(const InboundPacket& packet, const WriteExtent& extent,
                                std::uint64_t location) {
  Slot& kept = take(packet);
  kept.placed = true;
  kept.extent = extent;
  kept.location = location;
}

InboundPacket EarlyRequests::packet(Psn psn) const {
  const Slot& kept = slot(psn);
  const std::byte* const bytes = kept.placed ? kPlacedPayload.data() : kept.room.get();
  return {kept.headers,
          wire::info(kept.headers.bth.opcode),
          kept.size == 0 ? wire::ByteChain{} : wire::ByteChain(wire::ByteView(bytes, kept.size)),
          {}};
}

void EarlyRequests::drop(Psn psn) {
  if (!holds(psn)) return;
  slot(psn).kept = false;
  --count_;
}

void EarlyRequests::drop_range(Psn from, Psn end) {
  for (std::uint32_t i = 0; i < kWindow && !empty() && (from + i).before(end); ++i) drop(from + i);
}

std::optional<EarlyRequests::Run> EarlyRequests::placed_behind(Psn psn, std::uint64_t location,
                                                               std::uint64_t size) const {
  std::optional<Run> first;
  if (empty()) return first;
  for (const Slot& kept : std::span(slots_.get(), kWindow)) {
    if (!kept.kept || !kept.placed || !kept.psn.after(psn)) continue;
    if (kept.location >= location + size || location >= kept.location + kept.size) continue;
    if (!first || kept.location < first->begin) {
      first = Run{kept.location, kept.location + kept.size};
    }
  }
  return first;
}

}  // namespace softrnic::transport
