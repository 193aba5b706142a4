// SPDX-License-Identifier: BSD-3-Clause
// Text as it may stand in the page: escaped, or made from figures.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace softrnic::explain {

// As the text of an element or the value of a quoted attribute. Bytes that are no UTF-8 become
// U+FFFD, control characters but tab and newline too.
std::string escaped(std::string_view text);

// JSON that may stand inside a script element: no "<", ">" or "&" is left in it.
std::string json_for_script(const nlohmann::ordered_json& json);

std::string grouped(std::uint64_t number);                    // "12,345"
std::string count_of(std::uint64_t n, std::string_view one);  // "12 frames"
std::string page_duration(std::int64_t ns);                   // "12.3 ms"
std::string page_bytes(std::uint64_t bytes);                  // "4.2 MB"
std::string page_rate(double bits_per_second);                // "3.1 Gbit/s"
std::string capitalized(std::string_view sentence);

// A member, or what stands for it when it is not there or of another kind.
std::uint64_t number_in(const nlohmann::ordered_json& object, std::string_view member,
                        std::uint64_t otherwise = 0);
std::int64_t time_in(const nlohmann::ordered_json& object, std::string_view member);
std::string text_in(const nlohmann::ordered_json& object, std::string_view member);
// null when it is not there.
const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& object,
                                        std::string_view member);

}  // namespace softrnic::explain
