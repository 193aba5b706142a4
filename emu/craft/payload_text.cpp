// SPDX-License-Identifier: BSD-3-Clause
#include "craft/payload_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "craft/words.hpp"
#include "fabric/fault_terms.hpp"
#include "fabric/splitmix64.hpp"

namespace softrnic::craft {

namespace {

using BytesOrComplaint = wire::Expected<Bytes, std::string>;

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text.data(), text.size()));
  return {view.begin(), view.end()};
}

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  fabric::SplitMix64 source(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(source.next());
  return bytes;
}

BytesOrComplaint read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return wire::Unexpected{fmt::format("the file \"{}\" cannot be read: name one that can", path)};
  }
  Bytes bytes;
  char block[4096];
  while (file.read(block, sizeof block), file.gcount() > 0) {
    const auto view = std::as_bytes(std::span(block, static_cast<std::size_t>(file.gcount())));
    bytes.insert(bytes.end(), view.begin(), view.end());
    if (bytes.size() > kMostPayload) {
      return wire::Unexpected{fmt::format("the file \"{}\" holds more than 64 MiB", path)};
    }
  }
  if (file.bad()) {
    return wire::Unexpected{fmt::format("the file \"{}\" cannot be read to its end", path)};
  }
  return bytes;
}

Bytes fitted(Bytes bytes, std::optional<std::size_t> size) {
  if (!size || bytes.empty()) {
    if (size) bytes.resize(*size);
    return bytes;
  }
  const std::size_t period = bytes.size();
  bytes.resize(*size);
  for (std::size_t i = period; i < bytes.size(); ++i) bytes[i] = bytes[i - period];
  return bytes;
}

// "pattern:16" as ("pattern", "16").
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_uniform(wire::ByteView bytes) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == bytes.front(); });
}

bool counts_up(wire::ByteView bytes) {
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (wire::load_u8(&bytes[i]) != static_cast<std::uint8_t>(wire::load_u8(&bytes[i - 1]) + 1)) {
      return false;
    }
  }
  return true;
}

bool is_text(wire::ByteView bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    return (byte >= std::byte{0x20} && byte < std::byte{0x7f}) || byte == std::byte{'\n'} ||
           byte == std::byte{'\t'};
  });
}

}  // namespace

Bytes counting_pattern(std::size_t size, std::uint8_t start) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(start + i);
  return bytes;
}

std::optional<Bytes> read_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = hex_digit(text[i]);
    const auto low = hex_digit(text[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(*high << 4 | *low));
  }
  return bytes;
}

std::string to_hex(wire::ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[wire::load_u8(&byte) >> 4];
    text += kDigits[wire::load_u8(&byte) & 15];
  }
  return text;
}

BytesOrComplaint read_payload(std::string_view text, bool quoted, std::optional<std::size_t> size) {
  if (size && *size > kMostPayload) {
    return wire::Unexpected{std::string("a message has at most 64 MiB (67108864 bytes) here")};
  }
  if (quoted) return fitted(bytes_of(text), size);
  const auto [kind, argument] = split(text);
  const bool alone = argument.empty() && kind.size() == text.size();
  if (kind == "file" && !alone) {
    auto bytes = read_file(std::string(argument));
    return bytes ? BytesOrComplaint(fitted(std::move(*bytes), size)) : bytes;
  }
  if (kind == "text" && !alone) return fitted(bytes_of(argument), size);
  const auto number = fabric::read_number(argument);
  if (kind == "pattern" && (alone || (number && *number <= 0xff))) {
    return counting_pattern(size.value_or(0), static_cast<std::uint8_t>(number.value_or(0)));
  }
  if (kind == "random" && (alone || number))
    return random_bytes(size.value_or(0), number.value_or(0));
  if (kind == "zeros" && alone) return Bytes(size.value_or(0));
  if (kind == "fill") {
    const auto byte = read_hex(argument);
    if (byte && byte->size() == 1) return Bytes(size.value_or(0), byte->front());
  }
  if (const auto bytes = read_hex(text)) return fitted(*bytes, size);
  if (alone) return fitted(bytes_of(text), size);
  return wire::Unexpected{fmt::format(
      "\"{}\" says no bytes: use digits such as 00ff12, 'text', pattern, pattern:16, zeros, "
      "fill:ab, random:SEED or file:PATH",
      text)};
}

bool is_of_any_size(std::string_view text, bool quoted) {
  const std::string_view kind = split(text).first;
  return !quoted && (kind == "pattern" || kind == "zeros" || kind == "fill" || kind == "random");
}

std::string payload_text(wire::ByteView bytes) {
  if (bytes.empty()) return "\"\"";
  if (bytes.size() >= 4 && counts_up(bytes)) {
    const std::uint8_t start = wire::load_u8(&bytes[0]);
    return start == 0 ? "pattern" : fmt::format("pattern:{}", start);
  }
  if (bytes.size() > 2 && is_uniform(bytes)) {
    return bytes.front() == std::byte{} ? "zeros" : "fill:" + to_hex(bytes.first(1));
  }
  if (bytes.size() > 1 && is_text(bytes)) {
    return quoted({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return to_hex(bytes);
}

}  // namespace softrnic::craft
