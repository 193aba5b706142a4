// SPDX-License-Identifier: BSD-3-Clause
#include "edit/mapped_values.hpp"

#include <algorithm>

#include "wire/mad.hpp"

namespace softrnic::edit {
namespace {

constexpr std::uint64_t kMulticastQpn = 0xffffff;

unsigned bits_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::qpn:
    case Quantity::shared_receive_queue:
      return 24;
    case Quantity::remote_key:
    case Quantity::queue_key:
    case Quantity::immediate:
      return 32;
    case Quantity::partition_key:
    case Quantity::udp_port:
      return 16;
    case Quantity::dscp:
      return 6;
    case Quantity::ecn:
      return 2;
    case Quantity::time_to_live:
      return 8;
    case Quantity::flow_label:
      return 20;
    case Quantity::ca_guid:
    case Quantity::count:
      break;
  }
  return 64;
}

}  // namespace

bool is_well_known(Quantity quantity, std::uint64_t value) {
  if (quantity == Quantity::qpn) return value <= wire::kGeneralServiceQpn || value == kMulticastQpn;
  return quantity == Quantity::queue_key && value == wire::kGeneralServiceQueueKey;
}

MappedValues::MappedValues() {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    numbers_[i] = NumberMap(bits_of(static_cast<Quantity>(i)));
  }
}

bool MappedValues::empty() const {
  return macs.empty() && addresses.empty() && virtual_addresses.empty() &&
         std::ranges::all_of(numbers_, [](const NumberMap& map) { return map.empty(); });
}

wire::MacAddress MappedValues::mac(const wire::MacAddress& address, Side side) const {
  return macs.apply(address, side);
}

wire::Gid MappedValues::address(const wire::Gid& address, Side side) const {
  return addresses.apply(address, side);
}

std::uint64_t MappedValues::number(Quantity quantity, std::uint64_t value,
                                   const wire::Gid& owner) const {
  const NumberMap& map = numbers_[static_cast<std::size_t>(quantity)];
  return map.empty() ? value : map.apply(value, owner, is_well_known(quantity, value));
}

std::uint64_t MappedValues::virtual_address(std::uint64_t address, std::uint32_t /*remote_key*/,
                                            const wire::Gid& owner) const {
  return virtual_addresses.apply(address, owner);
}

}  // namespace softrnic::edit
