// SPDX-License-Identifier: BSD-3-Clause
// What the page has room for: it stays below two megabytes however much there is to explain, so
// that it can be mailed, attached to an issue, and opens at once.
//
// Those connections are kept that matter most: those of the worst moments and the first fault, then
// with plots before without, with faults before without, then by the bytes they carried. Plots go
// into the first of them, as far as they fit.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace softrnic::explain {

struct PageRoom {
  std::size_t plots = 1'000'000;  // bytes of JSON
  std::size_t all = 1'600'000;    // bytes of JSON and of the table's rows
  std::size_t losses = 150'000;   // bytes of JSON, besides
};

// The explanation with the connections that fit, in the order given, and without members that say
// nothing: zero, null, empty. `connection_count` says how many there are.
nlohmann::ordered_json page_selection(const nlohmann::ordered_json& explanation,
                                      const PageRoom& room = {});

}  // namespace softrnic::explain
