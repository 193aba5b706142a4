// SPDX-License-Identifier: BSD-3-Clause
#include "craft_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "craft/cm_datagram.hpp"
#include "craft/packet_name.hpp"
#include "craft/packet_request.hpp"
#include "fabric/header_field.hpp"
#include "failure.hpp"

namespace softrnic::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Packet {
  std::string name;
  std::string opcode;   // "0x0a", empty for CM
  std::string meaning;  // Wireshark's name
  std::vector<std::string> fields;
};

std::vector<std::string> fields_of_headers(const wire::OpcodeInfo& row) {
  std::vector<std::string> fields;
  const std::vector<std::pair<std::uint16_t, std::string>> headers{
      {0, "bth."},
      {wire::kXrceth, "xrceth."},
      {wire::kDeth, "deth."},
      {wire::kFeth, "feth."},
      {wire::kReth, "reth."},
      {wire::kAtomicEth, "atomic_eth."},
      {wire::kAeth, "aeth."},
      {wire::kAtomicAckEth, "atomic_ack_eth."},
      {wire::kImmDt, "immdt."},
      {wire::kIeth, "ieth."}};
  fabric::for_each_header_field([&](std::string_view name) {
    for (const auto& [bit, prefix] : headers) {
      if (!name.starts_with(prefix) || (bit != 0 && (row.extension_headers & bit) == 0)) continue;
      fields.emplace_back(name);
    }
  });
  return fields;
}

std::vector<Packet> all_packets() {
  std::vector<Packet> packets;
  for (int value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    packets.push_back({craft::packet_name(*row), fmt::format("{:#04x}", value),
                       std::string(row->name), fields_of_headers(*row)});
  }
  for (const std::string& word : craft::second_words("cm")) {
    const auto name = craft::find_packet_name("cm", word);
    Packet packet{"cm " + word, "", fmt::format("CM {}", wire::to_string(name->cm)), {}};
    craft::for_each_cm_place(
        name->cm, [&](const craft::CmPlace& place) { packet.fields.push_back(place.name); });
    packets.push_back(std::move(packet));
  }
  return packets;
}

std::vector<Packet> chosen(const std::vector<std::string>& names) {
  std::vector<Packet> packets = all_packets();
  std::erase_if(packets, [&](const Packet& packet) {
    return !std::ranges::all_of(names, [&](const std::string& name) {
      return packet.name.find(name) != std::string::npos;
    });
  });
  if (packets.empty()) {
    fail_usage("no packet has \"{}\" in its name; softrnic craft --list shows all",
               fmt::join(names, " "));
  }
  return packets;
}

// Words of a list, as many in a line as fit.
std::string wrapped(const std::vector<std::string>& words) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::string line = "   ";
  for (const std::string& word : words) {
    if (line.size() + word.size() > kWidth) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

}  // namespace

std::string craft_list_text(const std::vector<std::string>& names) {
  std::string text = names.empty() ? "Packets\n" : "";
  for (const Packet& packet : chosen(names)) {
    text += fmt::format("  {:<30} {:<5} {}\n", packet.name, packet.opcode, packet.meaning);
    if (!names.empty()) text += wrapped(packet.fields);
  }
  if (!names.empty()) return text;
  text +=
      "  SERVICE send|write|read_response SIZE   all packets of a message, by the path MTU\n"
      "  SERVICE read SIZE, SERVICE ack, SERVICE nak CODE, SERVICE rnr TIMER\n"
      "  raw BYTES                               a frame as it is\n"
      "Lines of their own\n"
      "  from ADDRESS [mac MAC] [qp N] [psn N] [qkey N] to ADDRESS [...]\n"
      "  set WORD...      for all packets from here on; set none\n"
      "  start SECONDS    since 1970, of the first packet\n"
      "  link TYPE        ethernet, linux_cooked, linux_cooked_2, raw_ip, erf, infiniband\n"
      "  repeat N         the lines up to end\n"
      "Words\n";
  for (const craft::WordHelp& word : craft::word_help()) {
    text += fmt::format("  {:<22} {}\n", word.word, word.meaning);
  }
  text += "Fields, with HEADER. in front or without\n";
  std::vector<std::string> fields;
  fabric::for_each_header_field([&](std::string_view name) { fields.emplace_back(name); });
  text += wrapped(fields) + "Short for them\n";
  std::vector<std::string> aliases;
  for (const craft::FieldAlias& alias : craft::field_aliases()) {
    aliases.push_back(fmt::format("{}={}", alias.alias, alias.name));
  }
  return text + wrapped(aliases);
}

std::string craft_list_json(const std::vector<std::string>& names) {
  Json list{{"packets", Json::array()}};
  for (const Packet& packet : chosen(names)) {
    list["packets"].push_back({{"name", packet.name},
                               {"opcode", packet.opcode.empty() ? Json() : Json(packet.opcode)},
                               {"meaning", packet.meaning},
                               {"fields", packet.fields}});
  }
  for (const craft::WordHelp& word : craft::word_help()) {
    list["words"].push_back({{"word", word.word}, {"meaning", word.meaning}});
  }
  for (const craft::FieldAlias& alias : craft::field_aliases()) {
    list["aliases"][std::string(alias.alias)] = alias.name;
  }
  fabric::for_each_header_field([&](std::string_view name) { list["fields"].push_back(name); });
  return list.dump(2) + "\n";
}

}  // namespace softrnic::tools
