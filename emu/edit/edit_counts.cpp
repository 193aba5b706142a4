// SPDX-License-Identifier: BSD-3-Clause
#include "edit/edit_counts.hpp"

namespace softrnic::edit {
namespace {

constexpr auto kQuantities = static_cast<std::size_t>(Quantity::count);

template <class Value>
Value counted(const Value& before, const Value& after, std::uint64_t& count) {
  if (before != after) ++count;
  return after;
}

}  // namespace

std::string_view plural_name(Quantity quantity) {
  constexpr std::array<std::string_view, kQuantities> kNames{"queue pair numbers",
                                                             "numbers of shared receive queues",
                                                             "R_Keys",
                                                             "P_Keys",
                                                             "Q_Keys",
                                                             "UDP source ports",
                                                             "DSCPs",
                                                             "ECN fields",
                                                             "times to live",
                                                             "flow labels",
                                                             "immediates",
                                                             "GUIDs"};
  return kNames[static_cast<std::size_t>(quantity)];
}

std::string_view word_of(Quantity quantity) {
  constexpr std::array<std::string_view, kQuantities> kNames{
      "qpn",  "srqn", "rkey", "pkey",       "qkey",      "udp_port",
      "dscp", "ecn",  "ttl",  "flow_label", "immediate", "ca_guid"};
  return kNames[static_cast<std::size_t>(quantity)];
}

wire::MacAddress CountedTranslation::mac(const wire::MacAddress& address, Side side) const {
  return counted(address, inner_.mac(address, side), counts_.macs);
}

wire::Gid CountedTranslation::address(const wire::Gid& address, Side side) const {
  return counted(address, inner_.address(address, side), counts_.addresses);
}

std::uint64_t CountedTranslation::number(Quantity quantity, std::uint64_t value,
                                         const wire::Gid& owner) const {
  return counted(value, inner_.number(quantity, value, owner),
                 counts_.numbers[static_cast<std::size_t>(quantity)]);
}

std::uint64_t CountedTranslation::virtual_address(std::uint64_t address, std::uint32_t remote_key,
                                                  const wire::Gid& owner) const {
  return counted(address, inner_.virtual_address(address, remote_key, owner),
                 counts_.virtual_addresses);
}

}  // namespace softrnic::edit
