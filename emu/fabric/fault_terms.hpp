// SPDX-License-Identifier: BSD-3-Clause
// The words of fault rules that both their forms share: numbers, times, ordinals, names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/aeth.hpp"
#include "wire/expected.hpp"
#include "wire/instant.hpp"

namespace softrnic::fabric {

bool is_digit(char c);
// Whether `word`, in any case, is `keyword`, which is in lower case.
bool is_word(std::string_view word, std::string_view keyword);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::vector<std::string_view> words_of(std::string_view text);

// All of `word` as a number, decimal or 0x hexadecimal.
std::optional<std::uint64_t> read_number(std::string_view word);
// "3rd", "100th".
std::optional<std::uint64_t> read_ordinal(std::string_view word);
std::string ordinal_text(std::uint64_t n);
// A decimal fraction at the front of `word`, which is then shortened by it.
std::optional<double> take_fraction(std::string_view& word);
// "2ms", "0.5s": from 1 ns to an hour.
std::optional<wire::Duration> read_duration(std::string_view word);
std::string duration_text(wire::Duration duration);

// Whether `word`, in upper case, is a word of the opcode's name or at least its first three
// letters.
bool is_word_of_name(std::string_view word, std::string_view name);
bool is_word_of_any_name(std::string_view word);

// An AETH's syndrome by its words: "ack", "ack 5" (credit code), "rnr 12" (timer code), "nak
// sequence", "nak 2", "0x63". Takes as many of the words as it needs from the front of `words`.
wire::Expected<wire::Syndrome, std::string> take_syndrome(std::span<const std::string_view>& words);
std::string syndrome_text(wire::Syndrome syndrome);

}  // namespace softrnic::fabric
