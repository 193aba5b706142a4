// SPDX-License-Identifier: BSD-3-Clause
// What MAC and IP addresses become: "[source:|destination:]FROM=TO", read from text. FROM and TO
// may be prefixes, whose rest is carried over; IPv4 and IPv6 may stand on either side.
//
//   10.0.0.1=192.0.2.7      10.0.0.0/8=fd00::/64      source:fd00::/64=10.0.0.0/8
//   52:54:00:00:00:01=02:00:00:00:00:01               52:54:00=02:00:5e
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edit/translation.hpp"
#include "wire/expected.hpp"

namespace softrnic::edit {

struct IpRule {
  std::optional<Side> side;  // both, when there is none
  wire::Gid from;
  wire::Gid to;
  unsigned from_bits = 128;  // of the prefix; an IPv4 address is the mapped one
  unsigned to_bits = 128;

  static wire::Expected<IpRule, std::string> read(std::string_view text);
  // No value when the address does not begin with the prefix, or its rest does not fit.
  std::optional<wire::Gid> apply(const wire::Gid& address) const;
};

struct MacRule {
  std::optional<Side> side;
  wire::MacAddress from;
  wire::MacAddress to;
  unsigned bytes = 6;  // 3: the vendor's half

  static wire::Expected<MacRule, std::string> read(std::string_view text);
  std::optional<wire::MacAddress> apply(const wire::MacAddress& address) const;
};

// The first rule that covers an address says.
template <class Rule, class Address>
class AddressMap {
 public:
  bool empty() const { return rules_.empty(); }
  void add(const Rule& rule) { rules_.push_back(rule); }

  Address apply(const Address& address, Side side) const {
    for (const Rule& rule : rules_) {
      if (rule.side && *rule.side != side) continue;
      if (const auto changed = rule.apply(address)) return *changed;
    }
    return address;
  }

 private:
  std::vector<Rule> rules_;
};

using IpMap = AddressMap<IpRule, wire::Gid>;
using MacMap = AddressMap<MacRule, wire::MacAddress>;

}  // namespace softrnic::edit
