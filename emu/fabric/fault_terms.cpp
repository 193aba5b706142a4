// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/opcode.hpp"

namespace softrnic::fabric {

namespace {

constexpr wire::Duration kMaxDelay = std::chrono::hours(1);
// A word of an opcode's name may be cut short, but not below this.
constexpr std::size_t kShortestPrefix = 3;
constexpr std::uint8_t kLargestCode = 31;

constexpr std::array<std::pair<std::string_view, wire::NakCode>, 5> kNakNames{{
    {"sequence", wire::NakCode::psn_sequence_error},
    {"invalid-request", wire::NakCode::invalid_request},
    {"access", wire::NakCode::remote_access_error},
    {"operational", wire::NakCode::remote_operational_error},
    {"invalid-rd", wire::NakCode::invalid_rd_request},
}};
constexpr std::string_view kSyndromes =
    "use ack, rnr 12 (a timer code), nak sequence, nak invalid-request, nak access, nak "
    "operational or a number such as 0x63";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

using Words = std::span<const std::string_view>;
using SyndromeOrComplaint = wire::Expected<wire::Syndrome, std::string>;

// The 5-bit code at the front of `words`, which is then taken; `otherwise` when there is none.
std::optional<std::uint8_t> take_code(Words& words, std::optional<std::uint8_t> otherwise) {
  const auto number = words.empty() ? std::nullopt : read_number(words.front());
  if (!number) return otherwise;
  if (*number > kLargestCode) return std::nullopt;
  words = words.subspan(1);
  return static_cast<std::uint8_t>(*number);
}

SyndromeOrComplaint take_nak(Words& words) {
  if (!words.empty()) {
    for (const auto& [name, code] : kNakNames) {
      if (!is_word(words.front(), name)) continue;
      words = words.subspan(1);
      return wire::Syndrome::nak(code);
    }
  }
  const auto code = take_code(words, std::nullopt);
  if (!code) {
    return wire::Unexpected{fmt::format("\"nak {}\" says not which NAK: {}",
                                        words.empty() ? "" : words.front(), kSyndromes)};
  }
  return wire::Syndrome::nak(static_cast<wire::NakCode>(*code));
}

}  // namespace

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(std::string_view word, std::string_view keyword) {
  return std::ranges::equal(word, keyword, {}, lower);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), upper);
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<std::uint64_t> read_number(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X")) {
    base = 16;
    word.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_ordinal(std::string_view word) {
  if (word.size() < 3 || !is_digit(word[0])) return std::nullopt;
  const std::string_view ending = word.substr(word.size() - 2);
  if (!is_word(ending, "st") && !is_word(ending, "nd") && !is_word(ending, "rd") &&
      !is_word(ending, "th")) {
    return std::nullopt;
  }
  return read_number(word.substr(0, word.size() - 2));
}

std::string ordinal_text(std::uint64_t n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  const std::uint64_t digit = teen ? 0 : n % 10;
  return fmt::format("{}{}", n, digit == 1 ? "st" : digit == 2 ? "nd" : digit == 3 ? "rd" : "th");
}

std::optional<double> take_fraction(std::string_view& word) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || word.empty() || !is_digit(word[0])) return std::nullopt;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  return value;
}

std::optional<wire::Duration> read_duration(std::string_view word) {
  const auto value = take_fraction(word);
  if (!value) return std::nullopt;
  double nanoseconds = 0;
  if (is_word(word, "ns")) nanoseconds = *value;
  if (is_word(word, "us")) nanoseconds = *value * 1e3;
  if (is_word(word, "ms")) nanoseconds = *value * 1e6;
  if (is_word(word, "s")) nanoseconds = *value * 1e9;
  if (nanoseconds < 1 || nanoseconds > static_cast<double>(kMaxDelay.count())) {
    return std::nullopt;
  }
  return wire::Duration(static_cast<wire::Duration::rep>(nanoseconds));
}

std::string duration_text(wire::Duration duration) {
  const auto count = duration.count();
  if (count % 1'000'000'000 == 0) return fmt::format("{}s", count / 1'000'000'000);
  if (count % 1'000'000 == 0) return fmt::format("{}ms", count / 1'000'000);
  if (count % 1'000 == 0) return fmt::format("{}us", count / 1'000);
  return fmt::format("{}ns", count);
}

bool is_word_of_name(std::string_view word, std::string_view name) {
  for (const std::string_view candidate : words_of(name)) {
    const std::string whole = to_upper(candidate);
    if (whole == word) return true;
    if (word.size() >= kShortestPrefix && whole.starts_with(word)) return true;
  }
  return false;
}

bool is_word_of_any_name(std::string_view word) {
  for (int value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row != nullptr && is_word_of_name(word, row->name)) return true;
  }
  return false;
}

SyndromeOrComplaint take_syndrome(Words& words) {
  if (words.empty()) return wire::Unexpected{fmt::format("a syndrome is missing: {}", kSyndromes)};
  const std::string_view word = words.front();
  words = words.subspan(1);
  if (is_word(word, "nak")) return take_nak(words);
  if (is_word(word, "ack")) {
    if (const auto code = take_code(words, wire::Syndrome::kNoCredits)) {
      return wire::Syndrome::ack(*code);
    }
  } else if (is_word(word, "rnr")) {
    if (const auto code = take_code(words, std::nullopt)) return wire::Syndrome::rnr_nak(*code);
    return wire::Unexpected{
        std::string("rnr needs the code of its timer, 0 to 31, such as rnr 12")};
  } else if (const auto raw = read_number(word); raw && *raw <= 0xff) {
    return wire::Syndrome(static_cast<std::uint8_t>(*raw));
  }
  return wire::Unexpected{fmt::format("\"{}{}{}\" is no syndrome: {}", word,
                                      words.empty() ? "" : " ", words.empty() ? "" : words.front(),
                                      kSyndromes)};
}

std::string syndrome_text(wire::Syndrome syndrome) {
  if (syndrome == wire::Syndrome::ack()) return "ack";
  if (syndrome.is_ack()) return fmt::format("ack {}", syndrome.value());
  if (syndrome.is_rnr_nak()) return fmt::format("rnr {}", syndrome.value());
  if (!syndrome.is_nak()) return fmt::format("{:#04x}", syndrome.raw());
  for (const auto& [name, code] : kNakNames) {
    if (syndrome == wire::Syndrome::nak(code)) return fmt::format("nak {}", name);
  }
  return fmt::format("nak {}", syndrome.value());
}

}  // namespace softrnic::fabric
