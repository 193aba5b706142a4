// SPDX-License-Identifier: BSD-3-Clause
// What numbers of one kind become: "FROM=TO", read from text.
//
//   5           every one becomes 5
//   +5, -5      every one goes up or down; steps wrap in the field's width
//   0x11=0x99   that one
//   A..B=C      A becomes C, A+1 becomes C+1, ... up to B
//   A..B=+5     these go up
//   0x11@10.0.0.1=0x99    that one, where it belongs to this host
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/expected.hpp"
#include "wire/gid.hpp"

namespace softrnic::edit {

struct NumberRule {
  enum class Kind : std::uint8_t { set, rebase, plus, minus };

  Kind kind = Kind::set;
  bool every = true;  // no FROM was given
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
  std::optional<wire::Gid> owner;
  std::uint64_t value = 0;

  bool covers(std::uint64_t number, const wire::Gid& host) const {
    return number >= first && number <= last && (!owner || *owner == host);
  }

  // For a field of that many bits; or a sentence saying what is wrong.
  static wire::Expected<NumberRule, std::string> read(std::string_view text, unsigned bits);
};

class NumberMap {
 public:
  explicit NumberMap(unsigned bits = 64) : bits_(bits) {}

  unsigned bits() const { return bits_; }
  bool empty() const { return rules_.empty(); }
  void add(const NumberRule& rule) { rules_.push_back(rule); }
  // The first rule that covers the number says. `named_only`: only one that names the number.
  std::uint64_t apply(std::uint64_t number, const wire::Gid& owner, bool named_only = false) const;

 private:
  unsigned bits_;
  std::vector<NumberRule> rules_;
};

}  // namespace softrnic::edit
