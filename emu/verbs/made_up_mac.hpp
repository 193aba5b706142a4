// SPDX-License-Identifier: BSD-3-Clause
// The MAC address of a NIC that nobody gave one. Allocates nothing, so that whoever only asks for
// it can do so anywhere.
#pragma once

#include <string_view>

#include "wire/ethernet.hpp"

namespace softrnic::verbs {

// Made from the names of machine and link and the interface's own address: the same whenever it is
// asked for, and not the interface's.
wire::MacAddress made_up_mac(std::string_view link, const wire::MacAddress& interface);

}  // namespace softrnic::verbs
