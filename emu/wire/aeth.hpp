// SPDX-License-Identifier: BSD-3-Clause
// ACK extended transport header, 4 bytes: a syndrome and the message sequence number
// (IBTA vol. 1, 9.3.5 and table 44).
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "wire/field.hpp"
#include "wire/instant.hpp"

namespace softrnic::wire {

enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

std::string_view to_string(NakCode code);

// Bits 7 to 5 select the kind, bits 4 to 0 its value: a credit code, an RNR timer code or a
// NAK code.
class Syndrome {
 public:
  enum class Kind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

  // The credit code that says "no end-to-end credits kept".
  static constexpr std::uint8_t kNoCredits = 0x1f;

  constexpr Syndrome() = default;
  constexpr explicit Syndrome(std::uint8_t raw) : raw_(raw) {}
  static constexpr Syndrome ack(std::uint8_t credit_code = kNoCredits) {
    return Syndrome(credit_code & 0x1f);
  }
  static constexpr Syndrome rnr_nak(std::uint8_t timer_code) {
    return Syndrome(static_cast<std::uint8_t>(0x20 | (timer_code & 0x1f)));
  }
  static constexpr Syndrome nak(NakCode code) {
    return Syndrome(static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code)));
  }

  // softrnic's own: the reserved kind, which others drop (docs/selective-repeat.md). A run of 1 to
  // 32 packets that came before their turn.
  static constexpr std::uint32_t kLongestRun = 32;
  static constexpr Syndrome selective(std::uint32_t run) {
    return Syndrome(static_cast<std::uint8_t>(0x40 | ((run - 1) & 0x1f)));
  }
  constexpr bool is_selective() const { return raw_ >> 5 == 2; }
  constexpr std::uint32_t selective_run() const { return value() + 1u; }

  constexpr std::uint8_t raw() const { return raw_; }
  constexpr std::uint8_t value() const { return raw_ & 0x1f; }
  // Bit 7 is reserved; a set bit 7 is Kind::reserved.
  constexpr Kind kind() const {
    return (raw_ & 0x80) != 0 ? Kind::reserved : static_cast<Kind>(raw_ >> 5);
  }
  constexpr bool is_ack() const { return kind() == Kind::ack; }
  constexpr bool is_rnr_nak() const { return kind() == Kind::rnr_nak; }
  constexpr bool is_nak() const { return kind() == Kind::nak; }

  friend constexpr bool operator==(Syndrome, Syndrome) = default;

 private:
  std::uint8_t raw_ = 0;
};

// What an RNR timer code (0 to 31) means (IBTA vol. 1, table 45). Code 0 is the longest, 655.36 ms.
Duration rnr_timer(std::uint8_t code);

// Receives available for a credit code 0 to 30; no value for 31 (IBTA vol. 1, table 46).
std::optional<std::uint32_t> credit_count(std::uint8_t code);
// The code for as many receives, or for the next smaller number that has one.
std::uint8_t credit_code(std::uint32_t receives);

struct Aeth {
  static constexpr std::size_t kSize = 4;

  Syndrome syndrome;
  std::uint32_t msn = 0;  // 24 bits: messages the responder has completed

  static Aeth parse(std::span<const std::byte, kSize> bytes);
  void serialize(std::span<std::byte, kSize> bytes) const;

  friend bool operator==(const Aeth&, const Aeth&) = default;

  static constexpr Field kSyndrome{"syndrome", 0, 8};
  static constexpr Field kMsn{"msn", 8, 24};
  static constexpr std::array kFields{kSyndrome, kMsn};
};

}  // namespace softrnic::wire
