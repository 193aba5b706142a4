// SPDX-License-Identifier: BSD-3-Clause
// What an edit changed, counted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "edit/translation.hpp"

namespace softrnic::edit {

struct EditCounts {
  std::uint64_t frames = 0;    // read
  std::uint64_t left_out = 0;  // of those, not chosen
  std::uint64_t written = 0;
  std::uint64_t changed = 0;     // frames written that are not as they were read
  std::uint64_t roce = 0;        // frames edited as RoCE packets
  std::uint64_t other = 0;       // others, of which addresses alone are edited
  std::uint64_t cut = 0;         // that a snap length had cut before
  std::uint64_t wrong_icrc = 0;  // RoCE frames whose ICRC was wrong before

  // Values that became others.
  std::uint64_t macs = 0;
  std::uint64_t vlans = 0;
  std::uint64_t addresses = 0;
  std::uint64_t versions = 0;
  std::uint64_t psns = 0;
  std::uint64_t virtual_addresses = 0;
  std::uint64_t payloads = 0;
  std::uint64_t ruled = 0;  // frames that a rule acted on
  std::array<std::uint64_t, static_cast<std::size_t>(Quantity::count)> numbers{};

  // Of messages that were cut or numbered anew.
  bool segmented = false;
  std::uint64_t messages = 0;
  std::uint64_t messages_left_out = 0;
  std::uint64_t packets_in = 0;  // that carry messages
  std::uint64_t packets_out = 0;

  // What could not be done.
  std::uint64_t no_other_version = 0;  // no RoCE v2: have no form in the other IP version
  std::uint64_t flow_unknown = 0;      // answers of which the capture does not say whose they are
  std::uint64_t not_ethernet = 0;      // in ERF records: left out
  std::uint64_t headers_cut = 0;       // RoCE packets whose BTH was cut off
  std::uint64_t identifications = 0;   // of IPv4, that the new network header has no place for
};

// "queue pair numbers".
std::string_view plural_name(Quantity quantity);
// "qpn".
std::string_view word_of(Quantity quantity);

// A translation that counts what becomes something else.
class CountedTranslation : public Translation {
 public:
  CountedTranslation(const Translation& inner, EditCounts& counts)
      : inner_(inner), counts_(counts) {}

  wire::MacAddress mac(const wire::MacAddress& address, Side side) const override;
  wire::Gid address(const wire::Gid& address, Side side) const override;
  std::uint64_t number(Quantity quantity, std::uint64_t value,
                       const wire::Gid& owner) const override;
  std::uint64_t virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                const wire::Gid& owner) const override;
  bool keeps_identification() const override { return inner_.keeps_identification(); }

 private:
  const Translation& inner_;
  EditCounts& counts_;
};

}  // namespace softrnic::edit
