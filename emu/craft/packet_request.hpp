// SPDX-License-Identifier: BSD-3-Clause
// What one line of a description asks for, before anything that it leaves open is filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "craft/cm_datagram.hpp"
#include "craft/packet_name.hpp"
#include "craft/packet_plan.hpp"
#include "craft/words.hpp"
#include "fabric/field_value.hpp"
#include "wire/instant.hpp"

namespace softrnic::craft {

struct PacketRequest {
  struct When {
    bool absolute = false;  // from the beginning, and not from the packet before
    wire::Duration time{};  // may be negative
  };
  struct Field {
    fabric::FieldValue value;
    Word word;
    bool everywhere = false;  // by "set": left out where the packet has no such field
  };
  struct CmField {
    CmPlace place;
    Word word;
  };

  PacketName name;
  std::string where;
  std::uint32_t column = 0;          // of the name
  std::optional<std::uint8_t> from;  // '>' 0, '<' 1
  std::optional<When> when;
  std::optional<std::size_t> size;  // of the payload, or what a READ asks for
  std::optional<Word> payload;
  std::vector<Field> fields;
  std::vector<CmField> cm_fields;
  std::optional<fabric::FieldValue> psn;
  std::optional<std::uint32_t> qpn;         // destination
  std::optional<std::uint32_t> source_qpn;  // UD
  std::optional<std::uint16_t> source_port;
  std::optional<std::uint16_t> identification;
  std::optional<std::uint32_t> mtu;
  std::optional<wire::Duration> gap;
  std::uint64_t repeat = 1;
  std::optional<std::int64_t> step;  // of the PSN when repeated
  std::uint16_t ending = 0;          // kImmDt, kIeth: what the message is to end with
  std::string comment;
  std::optional<wire::RoceVersion> version;
  std::optional<wire::MacAddress> source_mac;
  std::optional<wire::MacAddress> destination_mac;
  std::optional<wire::VlanTag> vlan;
  std::optional<std::uint16_t> ethertype;
  std::optional<std::uint8_t> ecn;
  std::optional<std::uint8_t> dscp;
  std::optional<std::uint8_t> hop_limit;
  std::optional<std::size_t> pad;
  PacketPlan::Icrc icrc = PacketPlan::Icrc::right;
  std::uint32_t icrc_value = 0;
  bool udp_checksum = false;
  Bytes trailer;
  std::size_t trim = 0;            // bytes taken from the end
  std::optional<std::size_t> cut;  // bytes that the capture keeps
  std::size_t wire_size = 0;       // bytes that there were, when they are more than these
  std::uint16_t port = 4791;       // of a CM service
};

using RequestOrComplaint = wire::Expected<PacketRequest, Complaint>;

// `defaults`: the words of "set", which come before those of the line.
RequestOrComplaint read_request(const Line& line, std::span<const Word> defaults);

// The short words for fields, and their names in the tables of headers.
struct FieldAlias {
  std::string_view alias;
  std::string_view name;
};
std::span<const FieldAlias> field_aliases();
// The words that are no fields, with what each takes, for --list.
struct WordHelp {
  std::string_view word;
  std::string_view meaning;
};
std::span<const WordHelp> word_help();

}  // namespace softrnic::craft
