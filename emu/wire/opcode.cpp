// SPDX-License-Identifier: BSD-3-Clause
#include "wire/opcode.hpp"

#include <array>

#include "wire/transport_headers.hpp"

namespace softrnic::wire {
namespace {

constexpr std::uint8_t size_of(std::uint16_t set) {
  std::size_t size = 0;
  if (set & kXrceth) size += Xrceth::kSize;
  if (set & kDeth) size += Deth::kSize;
  if (set & kFeth) size += Feth::kSize;
  if (set & kReth) size += Reth::kSize;
  if (set & kAtomicEth) size += AtomicEth::kSize;
  if (set & kAeth) size += Aeth::kSize;
  if (set & kAtomicAckEth) size += AtomicAckEth::kSize;
  if (set & kImmDt) size += ImmDt::kSize;
  if (set & kIeth) size += Ieth::kSize;
  if (set & kCnpReserved) size += CnpReserved::kSize;
  return static_cast<std::uint8_t>(size);
}

constexpr OpcodeInfo row(Opcode opcode, std::string_view name, Service service, Operation operation,
                         Position position, int extension_headers, bool carries_payload) {
  const auto set = static_cast<std::uint16_t>(extension_headers);
  return {opcode, name, service, operation, position, set, size_of(set), carries_payload};
}

using enum Operation;
using enum Position;
constexpr auto kRc = Service::reliable_connection;
constexpr auto kUc = Service::unreliable_connection;
constexpr auto kUd = Service::unreliable_datagram;
constexpr auto kXrc = Service::extended_reliable_connection;
constexpr bool kPayload = true;
constexpr bool kNoPayload = false;

// The names are the values of Wireshark's field infiniband.bth.opcode, with the service's short
// name in front. FLUSH and ATOMIC WRITE: IBTA vol. 1, memory placement extensions annex. XRC
// requests, and only they, carry an XRCETH (annex A14).
constexpr std::array kRows = {
    row(Opcode::rc_send_first, "RC SEND First", kRc, send, first, 0, kPayload),
    row(Opcode::rc_send_middle, "RC SEND Middle", kRc, send, middle, 0, kPayload),
    row(Opcode::rc_send_last, "RC SEND Last", kRc, send, last, 0, kPayload),
    row(Opcode::rc_send_last_immediate, "RC SEND Last with Immediate", kRc, send, last, kImmDt,
        kPayload),
    row(Opcode::rc_send_only, "RC SEND Only", kRc, send, only, 0, kPayload),
    row(Opcode::rc_send_only_immediate, "RC SEND Only with Immediate", kRc, send, only, kImmDt,
        kPayload),
    row(Opcode::rc_write_first, "RC RDMA WRITE First", kRc, write, first, kReth, kPayload),
    row(Opcode::rc_write_middle, "RC RDMA WRITE Middle", kRc, write, middle, 0, kPayload),
    row(Opcode::rc_write_last, "RC RDMA WRITE Last", kRc, write, last, 0, kPayload),
    row(Opcode::rc_write_last_immediate, "RC RDMA WRITE Last with Immediate", kRc, write, last,
        kImmDt, kPayload),
    row(Opcode::rc_write_only, "RC RDMA WRITE Only", kRc, write, only, kReth, kPayload),
    row(Opcode::rc_write_only_immediate, "RC RDMA WRITE Only with Immediate", kRc, write, only,
        kReth | kImmDt, kPayload),
    row(Opcode::rc_read_request, "RC RDMA READ Request", kRc, read_request, only, kReth,
        kNoPayload),
    row(Opcode::rc_read_response_first, "RC RDMA READ response First", kRc, read_response, first,
        kAeth, kPayload),
    row(Opcode::rc_read_response_middle, "RC RDMA READ response Middle", kRc, read_response, middle,
        0, kPayload),
    row(Opcode::rc_read_response_last, "RC RDMA READ response Last", kRc, read_response, last,
        kAeth, kPayload),
    row(Opcode::rc_read_response_only, "RC RDMA READ response Only", kRc, read_response, only,
        kAeth, kPayload),
    row(Opcode::rc_acknowledge, "RC Acknowledge", kRc, acknowledge, only, kAeth, kNoPayload),
    row(Opcode::rc_atomic_acknowledge, "RC ATOMIC Acknowledge", kRc, atomic_acknowledge, only,
        kAeth | kAtomicAckEth, kNoPayload),
    row(Opcode::rc_compare_swap, "RC CmpSwap", kRc, compare_swap, only, kAtomicEth, kNoPayload),
    row(Opcode::rc_fetch_add, "RC FetchAdd", kRc, fetch_add, only, kAtomicEth, kNoPayload),
    row(Opcode::rc_send_last_invalidate, "RC SEND Last with Invalidate", kRc, send, last, kIeth,
        kPayload),
    row(Opcode::rc_send_only_invalidate, "RC SEND Only with Invalidate", kRc, send, only, kIeth,
        kPayload),
    row(Opcode::rc_flush, "RC FLUSH", kRc, flush, only, kFeth | kReth, kNoPayload),
    row(Opcode::rc_atomic_write, "RC ATOMIC WRITE", kRc, atomic_write, only, kReth, kPayload),
    row(Opcode::uc_send_first, "UC SEND First", kUc, send, first, 0, kPayload),
    row(Opcode::uc_send_middle, "UC SEND Middle", kUc, send, middle, 0, kPayload),
    row(Opcode::uc_send_last, "UC SEND Last", kUc, send, last, 0, kPayload),
    row(Opcode::uc_send_last_immediate, "UC SEND Last with Immediate", kUc, send, last, kImmDt,
        kPayload),
    row(Opcode::uc_send_only, "UC SEND Only", kUc, send, only, 0, kPayload),
    row(Opcode::uc_send_only_immediate, "UC SEND Only with Immediate", kUc, send, only, kImmDt,
        kPayload),
    row(Opcode::uc_write_first, "UC RDMA WRITE First", kUc, write, first, kReth, kPayload),
    row(Opcode::uc_write_middle, "UC RDMA WRITE Middle", kUc, write, middle, 0, kPayload),
    row(Opcode::uc_write_last, "UC RDMA WRITE Last", kUc, write, last, 0, kPayload),
    row(Opcode::uc_write_last_immediate, "UC RDMA WRITE Last with Immediate", kUc, write, last,
        kImmDt, kPayload),
    row(Opcode::uc_write_only, "UC RDMA WRITE Only", kUc, write, only, kReth, kPayload),
    row(Opcode::uc_write_only_immediate, "UC RDMA WRITE Only with Immediate", kUc, write, only,
        kReth | kImmDt, kPayload),
    row(Opcode::ud_send_only, "UD SEND only", kUd, send, only, kDeth, kPayload),
    row(Opcode::ud_send_only_immediate, "UD SEND only with Immediate", kUd, send, only,
        kDeth | kImmDt, kPayload),
    row(Opcode::cnp, "CNP", Service::congestion_notification, Operation::cnp, only, kCnpReserved,
        kNoPayload),
    row(Opcode::xrc_send_first, "XRC SEND First", kXrc, send, first, kXrceth, kPayload),
    row(Opcode::xrc_send_middle, "XRC SEND Middle", kXrc, send, middle, kXrceth, kPayload),
    row(Opcode::xrc_send_last, "XRC SEND Last", kXrc, send, last, kXrceth, kPayload),
    row(Opcode::xrc_send_last_immediate, "XRC SEND Last with Immediate", kXrc, send, last,
        kXrceth | kImmDt, kPayload),
    row(Opcode::xrc_send_only, "XRC SEND Only", kXrc, send, only, kXrceth, kPayload),
    row(Opcode::xrc_send_only_immediate, "XRC SEND Only with Immediate", kXrc, send, only,
        kXrceth | kImmDt, kPayload),
    row(Opcode::xrc_write_first, "XRC RDMA WRITE First", kXrc, write, first, kXrceth | kReth,
        kPayload),
    row(Opcode::xrc_write_middle, "XRC RDMA WRITE Middle", kXrc, write, middle, kXrceth, kPayload),
    row(Opcode::xrc_write_last, "XRC RDMA WRITE Last", kXrc, write, last, kXrceth, kPayload),
    row(Opcode::xrc_write_last_immediate, "XRC RDMA WRITE Last with Immediate", kXrc, write, last,
        kXrceth | kImmDt, kPayload),
    row(Opcode::xrc_write_only, "XRC RDMA WRITE Only", kXrc, write, only, kXrceth | kReth,
        kPayload),
    row(Opcode::xrc_write_only_immediate, "XRC RDMA WRITE Only with Immediate", kXrc, write, only,
        kXrceth | kReth | kImmDt, kPayload),
    row(Opcode::xrc_read_request, "XRC RDMA READ Request", kXrc, read_request, only,
        kXrceth | kReth, kNoPayload),
    row(Opcode::xrc_read_response_first, "XRC RDMA READ response First", kXrc, read_response, first,
        kAeth, kPayload),
    row(Opcode::xrc_read_response_middle, "XRC RDMA READ response Middle", kXrc, read_response,
        middle, 0, kPayload),
    row(Opcode::xrc_read_response_last, "XRC RDMA READ response Last", kXrc, read_response, last,
        kAeth, kPayload),
    row(Opcode::xrc_read_response_only, "XRC RDMA READ response Only", kXrc, read_response, only,
        kAeth, kPayload),
    row(Opcode::xrc_acknowledge, "XRC Acknowledge", kXrc, acknowledge, only, kAeth, kNoPayload),
    row(Opcode::xrc_atomic_acknowledge, "XRC ATOMIC Acknowledge", kXrc, atomic_acknowledge, only,
        kAeth | kAtomicAckEth, kNoPayload),
    row(Opcode::xrc_compare_swap, "XRC CmpSwap", kXrc, compare_swap, only, kXrceth | kAtomicEth,
        kNoPayload),
    row(Opcode::xrc_fetch_add, "XRC FetchAdd", kXrc, fetch_add, only, kXrceth | kAtomicEth,
        kNoPayload),
    row(Opcode::xrc_send_last_invalidate, "XRC SEND Last with Invalidate", kXrc, send, last,
        kXrceth | kIeth, kPayload),
    row(Opcode::xrc_send_only_invalidate, "XRC SEND Only with Invalidate", kXrc, send, only,
        kXrceth | kIeth, kPayload),
    row(Opcode::xrc_flush, "XRC FLUSH", kXrc, flush, only, kXrceth | kFeth | kReth, kNoPayload),
    row(Opcode::xrc_atomic_write, "XRC ATOMIC WRITE", kXrc, atomic_write, only, kXrceth | kReth,
        kPayload),
};

// Position in kRows of each opcode, plus one; 0 for a reserved one.
constexpr std::array<std::uint8_t, 256> kIndex = [] {
  std::array<std::uint8_t, 256> index{};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    index[static_cast<std::uint8_t>(kRows[i].opcode)] = static_cast<std::uint8_t>(i + 1);
  }
  return index;
}();

}  // namespace

const OpcodeInfo* find_opcode(std::uint8_t value) {
  const std::size_t index = kIndex[value];
  return index == 0 ? nullptr : &kRows[index - 1];
}

const OpcodeInfo& info(Opcode opcode) {
  const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(opcode));
  static constexpr OpcodeInfo kUnknown{.name = "unknown"};
  return row == nullptr ? kUnknown : *row;
}

std::string_view to_string(Service service) {
  switch (service) {
    case Service::reliable_connection:
      return "RC";
    case Service::unreliable_connection:
      return "UC";
    case Service::reliable_datagram:
      return "RD";
    case Service::unreliable_datagram:
      return "UD";
    case Service::congestion_notification:
      return "CNP";
    case Service::extended_reliable_connection:
      return "XRC";
    case Service::unknown:
      break;
  }
  return "unknown";
}

}  // namespace softrnic::wire
