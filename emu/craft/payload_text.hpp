// SPDX-License-Identifier: BSD-3-Clause
// Bytes as a description says them: 00ff12, 'text', pattern, pattern:16, zeros, fill:ab,
// random:SEED, file:PATH.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"
#include "wire/expected.hpp"

namespace softrnic::craft {

using Bytes = std::vector<std::byte>;

// Most bytes that one message may have.
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20;

// `size`: how many there are to be; what is written out is then repeated or cut to it. Without one
// there are as many as are written out, and a pattern has none. The error is a sentence.
wire::Expected<Bytes, std::string> read_payload(std::string_view text, bool quoted,
                                                std::optional<std::size_t> size);

// Whether the text is of a form that has as many bytes as one likes.
bool is_of_any_size(std::string_view text, bool quoted);

// The shortest of these forms that, with its size, gives the same bytes.
std::string payload_text(wire::ByteView bytes);

// Counts up from `start`, byte by byte.
Bytes counting_pattern(std::size_t size, std::uint8_t start = 0);

std::optional<Bytes> read_hex(std::string_view text);
std::string to_hex(wire::ByteView bytes);

}  // namespace softrnic::craft
