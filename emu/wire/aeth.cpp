// SPDX-License-Identifier: BSD-3-Clause
#include "wire/aeth.hpp"

#include <algorithm>

namespace softrnic::wire {
namespace {

// IBTA vol. 1, table 45, in units of 10 microseconds.
constexpr std::array<std::int32_t, 32> kRnrTimers = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

// IBTA vol. 1, table 46.
constexpr std::array<std::uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

}  // namespace

std::string_view to_string(NakCode code) {
  switch (code) {
    case NakCode::psn_sequence_error:
      return "PSN Sequence Error";
    case NakCode::invalid_request:
      return "Invalid Request";
    case NakCode::remote_access_error:
      return "Remote Access Error";
    case NakCode::remote_operational_error:
      return "Remote Operational Error";
    case NakCode::invalid_rd_request:
      return "Invalid RD Request";
  }
  return "Reserved";
}

Duration rnr_timer(std::uint8_t code) {
  return kRnrTimers[code & 0x1f] * std::chrono::microseconds(10);
}

std::optional<std::uint32_t> credit_count(std::uint8_t code) {
  if (code >= kCredits.size()) return std::nullopt;
  return kCredits[code];
}

std::uint8_t credit_code(std::uint32_t receives) {
  const auto above = std::upper_bound(kCredits.begin(), kCredits.end(), receives);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

Aeth Aeth::parse(std::span<const std::byte, kSize> bytes) {
  const std::byte* p = bytes.data();
  Aeth h;
  h.syndrome = Syndrome(static_cast<std::uint8_t>(get(p, kSyndrome)));
  h.msn = static_cast<std::uint32_t>(get(p, kMsn));
  return h;
}

void Aeth::serialize(std::span<std::byte, kSize> bytes) const {
  std::byte* p = bytes.data();
  std::fill_n(p, kSize, std::byte{});
  put(p, kSyndrome, syndrome.raw());
  put(p, kMsn, msn);
}

}  // namespace softrnic::wire
