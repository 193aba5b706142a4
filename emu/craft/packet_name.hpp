// SPDX-License-Identifier: BSD-3-Clause
// What a packet is called in a description: "rc write_only_immediate", "xrc read 3000", "rc nak",
// "cm req", "cnp", "raw". The names come from the tables of opcodes and of CM messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/cm_message.hpp"
#include "wire/opcode.hpp"

namespace softrnic::craft {

struct PacketName {
  enum class Form : std::uint8_t {
    packet,   // one packet of `opcode`
    message,  // all packets of `operation`, by the path MTU
    answer,   // an acknowledgement of the kind that `answer` says
    cm,       // the datagram of `cm`
    raw,      // bytes as they are
  };
  enum class Answer : std::uint8_t { ack, nak, rnr };

  Form form = Form::packet;
  const wire::OpcodeInfo* opcode = nullptr;  // of a message: its packet when there is only one
  wire::Operation operation{};
  Answer answer{};
  wire::CmAttribute cm{};
};

// "rc", "write_only"; `second` is empty when there is only one word ("cnp", "rc_write_only").
std::optional<PacketName> find_packet_name(std::string_view first, std::string_view second);
// Whether the name's first word needs a second one.
bool is_service_word(std::string_view word);

// "rc write_only_immediate", "cnp".
std::string packet_name(const wire::OpcodeInfo& opcode);
// "req", "sidr_rep".
std::string cm_name(wire::CmAttribute attribute);

// Every second word that may follow `first`.
std::vector<std::string> second_words(std::string_view first);

// The row for a packet of a message, which differs from `only` in its place; null when there is
// none. An immediate or a key to invalidate stands in the last packet alone.
const wire::OpcodeInfo* opcode_at(const wire::OpcodeInfo& only, wire::Position position);
// The row that differs in what the message ends with: ImmDt, IETH or neither (0).
const wire::OpcodeInfo* opcode_with(const wire::OpcodeInfo& row, std::uint16_t ending);

}  // namespace softrnic::craft
