// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "explain/page_selection.hpp"
#include "explain/page_summary.hpp"
#include "explain/page_table.hpp"
#include "explain/page_text.hpp"

namespace softrnic::explain {

// Made by page.cmake.
extern const unsigned char page_template[];
extern const std::size_t page_template_size;
extern const unsigned char page_style[];
extern const std::size_t page_style_size;
extern const unsigned char page_script[];
extern const std::size_t page_script_size;
extern const unsigned char page_digests[];
extern const std::size_t page_digests_size;

namespace {

using Json = nlohmann::ordered_json;

std::string_view text_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// A SHA-256 from hexadecimal to base64 (RFC 4648), as a content security policy writes it.
std::string base64_of_hexadecimal(std::string_view digits) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto value = [](char digit) {
    return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  };
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 6) {
    const std::string_view part = digits.substr(at, 6);  // three bytes, at the end fewer
    std::uint32_t bits = 0;
    for (const char digit : part) bits = bits << 4 | value(digit);
    bits <<= (6 - part.size()) * 4;
    const std::size_t letters = part.size() / 2 + 1;
    for (std::size_t i = 0; i < 4; ++i) {
      out += i < letters ? kAlphabet[bits >> (18 - 6 * i) & 0x3f] : '=';
    }
  }
  return out;
}

std::string title(const Json& explanation) {
  return escaped(text_in(explanation, "file")) + " – softrnic explain";
}

// One of the names between double braces in the template.
std::string part(std::string_view name, const Json& explanation) {
  const std::string_view digests = text_of(page_digests, page_digests_size);
  constexpr std::size_t kDigits = 64;
  if (name == "title") return title(explanation);
  if (name == "file") return escaped(text_in(explanation, "file"));
  if (name == "summary") return page_summary(explanation);
  if (name == "connections") return page_table(explanation);
  if (name == "data") return json_for_script(explanation);
  if (name == "style") return std::string(text_of(page_style, page_style_size));
  if (name == "script") return std::string(text_of(page_script, page_script_size));
  if (name == "style digest") return base64_of_hexadecimal(digests.substr(0, kDigits));
  if (name == "script digest") return base64_of_hexadecimal(digests.substr(kDigits + 1, kDigits));
  return {};
}

}  // namespace

std::string page(const Json& given) {
  const Json explanation = page_selection(given);
  std::string_view rest = text_of(page_template, page_template_size);
  std::string out;
  // What is put in is never looked at again, so that it cannot hold a name of the template.
  while (true) {
    const std::size_t begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = rest.find("}}", begin);
    out += part(rest.substr(begin + 2, end - begin - 2), explanation);
    rest.remove_prefix(end + 2);
  }
}

}  // namespace softrnic::explain
