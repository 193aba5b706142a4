// SPDX-License-Identifier: BSD-3-Clause
#include "craft/describer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "craft/time_text.hpp"
#include "fabric/fault_terms.hpp"
#include "fabric/header_field.hpp"
#include "wire/icrc.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::craft {

namespace {

using fabric::BitRange;
using wire::PacketView;

constexpr wire::ParseOptions kAnyChecksum{.verify_ipv4_checksum = false};
// A field that others follow from is put right first, and the sums last.
constexpr int kPasses = 5;

Word bare(std::string text) {
  return {std::move(text), std::nullopt, false, 0};
}
Word pair(std::string key, std::string value) {
  return {std::move(key), std::move(value), false, 0};
}

const std::vector<std::string>& field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    fabric::for_each_header_field([&](std::string_view name) { all.emplace_back(name); });
    return all;
  }();
  return names;
}

std::uint64_t read(wire::ByteView frame, const BitRange& range) {
  return wire::get(frame.data() + range.first / 8, {"", static_cast<std::uint16_t>(range.first % 8),
                                                    static_cast<std::uint8_t>(range.count)});
}

int pass_of(std::string_view name) {
  if (name == "bth.destination_qpn" || name == "deth.source_qpn") return 0;
  if (name == "bth.psn") return 1;
  if (name.ends_with(".checksum")) return 3;
  return 2;
}

// The shortest name by which the field is found.
std::string short_name(const PacketView& packet, std::string_view name, const BitRange& place) {
  const std::string_view alone = name.substr(name.find('.') + 1);
  const auto found = fabric::find_header_field(packet, alone);
  const bool clear = alone != "checksum" && found && found->first == place.first;
  std::string best(clear ? alone : name);
  if (name == "ieth.remote_key") return "invalidate";
  for (const std::string_view alias : {"qp", "va", "rkey", "len", "sqp", "qkey", "pkey", "imm"}) {
    for (const FieldAlias& known : field_aliases()) {
      if (known.alias == alias && known.name == best) return std::string(alias);
    }
  }
  return best;
}

Word field_word(const PacketView& packet, std::string_view name, const BitRange& place,
                std::uint64_t value) {
  std::string key = short_name(packet, name, place);
  if (value == 1 && key == "ack_request") return bare("ack");
  if (value == 1 &&
      (key == "solicited" || key == "migration_request" || key == "fecn" || key == "becn"))
    return bare(key);
  const bool decimal = key == "psn" || key == "msn" || key == "len" || place.count == 1 ||
                       key.ends_with("length") || key == "pad_count";
  return pair(std::move(key), decimal ? fmt::format("{}", value) : fmt::format("{:#x}", value));
}

using Words = std::vector<Word>;

bool is_cm(const PacketView& packet) {
  if (packet.opcode().opcode != wire::Opcode::ud_send_only) return false;
  Bytes payload(packet.payload().size());
  packet.payload().copy_to(0, payload);
  return wire::CmMad::parse(payload).has_value();
}

Bytes payload_of(const PacketView& packet) {
  Bytes payload(packet.payload().size());
  packet.payload().copy_to(0, payload);
  return payload;
}

std::string vlan_text(const std::optional<wire::VlanTag>& vlan) {
  if (!vlan) return "none";
  const int priority = vlan->priority + (vlan->drop_eligible ? 8 : 0);
  return priority == 0 ? fmt::format("{}", vlan->id) : fmt::format("{}:{}", vlan->id, priority);
}

Words payload_words(const wire::OpcodeInfo& row, const Bytes& payload) {
  Words words;
  if (payload.empty()) {
    const bool may_be_more = row.operation != wire::Operation::send || !row.ends_message();
    if (row.carries_payload && may_be_more) words.push_back(bare("0"));
    return words;
  }
  const std::string text = payload_text(payload);
  const bool patterned =
      text.starts_with("pattern") || text == "zeros" || text.starts_with("fill:");
  if (patterned) words.push_back(bare(fmt::format("{}", payload.size())));
  if (text == "pattern") return words;
  if (patterned) {
    words.push_back(bare(text));
  } else if (text.starts_with('"')) {
    words.push_back({"payload",
                     std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
                     true, 0});
  } else {
    words.push_back(pair("payload", text));
  }
  return words;
}

Words acknowledge_words(wire::Syndrome syndrome) {
  std::vector<Word> words;
  if (syndrome.is_rnr_nak()) {
    words = {bare("rnr"), bare(fmt::format("{}", syndrome.value()))};
  } else if (syndrome.is_nak()) {
    const std::string text = fabric::syndrome_text(syndrome);
    words = {bare("nak"), bare(text.substr(text.find(' ') + 1))};
    const std::string_view name =
        syndrome.value() <= 4 ? wire::to_string(static_cast<wire::NakCode>(syndrome.value()))
                              : std::string_view{};
    std::string full(name);
    std::ranges::replace(full, ' ', '_');
    if (!full.empty()) words.back() = bare(fabric::to_lower(full));
  } else {
    words = {bare("ack")};
  }
  return words;
}

// In place of the same with another value, or as the last one.
void add_word(Words& words, Word word) {
  const auto found = std::ranges::find(words, word.text, &Word::text);
  if (found != words.end() && found->value) {
    *found = std::move(word);
  } else {
    words.push_back(std::move(word));
  }
}

void add_cm_words(Words& words, wire::CmAttribute message, const Bytes& wanted,
                  const Bytes& built) {
  if (wanted.size() != built.size()) return;
  for_each_cm_place(message, [&](const CmPlace& place) {
    const std::string text = cm_field_text(wanted, place);
    if (text != cm_field_text(built, place)) add_word(words, pair(place.name, text));
  });
}

// The direction is left out where it is the one that is taken without it.
template <class Gives>
void drop_direction(Words& words, Gives gives) {
  Words fewer = words;
  std::erase_if(fewer, [](const Word& word) {
    return !word.value && !word.quoted && (word.text == ">" || word.text == "<");
  });
  if (gives(fewer)) words = std::move(fewer);
}

}  // namespace

Describer::Describer() : crafter_([](const CraftedFrame&) { return true; }) {}

void Describer::say(Words words) {
  Line line{"", std::move(words)};
  crafter_.on_line(line);
  lines_.push_back(std::move(line));
}

void Describer::begin(capture::LinkType link_type, const capture::Record& record) {
  begun_ = true;
  last_ = record.at;
  if (link_type != capture::LinkType::ethernet) {
    say({bare("link"), bare(std::string(link_name(link_type)))});
  }
  say({bare("start"), bare(instant_text(record.at))});
}

std::vector<Line> Describer::describe(capture::LinkType link_type, const capture::Record& record) {
  lines_.clear();
  Words time;
  if (!begun_) {
    begin(link_type, record);
  } else if (const wire::Duration gap = record.at - last_; gap != Exchange::kGap) {
    const bool back = gap < wire::Duration::zero();
    time.push_back(bare((back ? "-" : "+") + time_text(back ? -gap : gap)));
  }
  last_ = record.at;
  const bool packet = link_type == capture::LinkType::ethernet && !record.cut();
  if (packet && describe_packet(record, time.empty() ? nullptr : &time.front())) return lines_;
  Words raw = std::move(time);
  raw.push_back(bare("raw"));
  raw.push_back(bare(record.bytes.empty() ? "\"\"" : to_hex(record.bytes)));
  if (record.bytes.empty()) raw.back() = Word{"", std::nullopt, true, 0};
  if (record.cut()) raw.push_back(pair("wire_size", fmt::format("{}", record.wire_size)));
  say(std::move(raw));
  return lines_;
}

bool Describer::describe_packet(const capture::Record& record, const Word* time) {
  const auto packet = PacketView::parse(wire::ByteChain(record.bytes), kAnyChecksum);
  if (!packet || packet->ethernet().ethertype == wire::ethertype::kVlan) return false;
  meet(*packet);
  for (const bool as_cm : {true, false}) {
    if (as_cm && !is_cm(*packet)) continue;
    Words words;
    if (time != nullptr) words.push_back(*time);
    for (Word& word : name_words(*packet, as_cm)) words.push_back(std::move(word));
    if (improve(words, *packet, record.bytes)) {
      say(std::move(words));
      return true;
    }
  }
  return false;
}

// The ends, when they are others than before, and how their packets travel.
void Describer::meet(const PacketView& packet) {
  const wire::EthernetHeader ethernet = packet.ethernet();
  const auto is_end = [&](std::uint8_t which, const wire::Gid& address,
                          const wire::MacAddress& mac) {
    const End& end = crafter_.exchange().end(which);
    return end.address == address && end.mac == mac;
  };
  const wire::Gid source = packet.source();
  const wire::Gid destination = packet.destination();
  for (const std::uint8_t from : {std::uint8_t{0}, std::uint8_t{1}}) {
    if (is_end(from, source, ethernet.source) &&
        is_end(static_cast<std::uint8_t>(1 - from), destination, ethernet.destination)) {
      return;
    }
  }
  say({bare("from"), bare(source.to_string()), bare("mac"), bare(ethernet.source.to_string()),
       bare("to"), bare(destination.to_string()), bare("mac"),
       bare(ethernet.destination.to_string())});
  set_network(packet);
}

void Describer::set_network(const PacketView& packet) {
  Words words;
  if (packet.version() == wire::RoceVersion::v1) words.push_back(bare("v1"));
  const auto vlan = packet.ethernet().vlan;
  if (vlan) words.push_back(pair("vlan", vlan_text(vlan)));
  const bool ipv4 = packet.network_layer() == wire::NetworkLayer::ipv4;
  const int ttl = ipv4 ? packet.ipv4().time_to_live : packet.ipv6().hop_limit;
  if (ttl != 64) words.push_back(pair("ttl", fmt::format("{}", ttl)));
  if (const int dscp = packet.traffic_class() >> 2; dscp != 0) {
    words.push_back(pair("dscp", fmt::format("{}", dscp)));
  }
  constexpr std::array<std::string_view, 4> kEcn{"none", "ect1", "ect0", "ce"};
  if (packet.ecn() != 0) words.push_back(pair("ecn", std::string(kEcn[packet.ecn()])));
  if (ipv4 && packet.ipv4().flags != wire::Ipv4Header{}.flags) {
    words.push_back(pair("ipv4.flags", fmt::format("{}", packet.ipv4().flags)));
  }
  if (packet.bth().migration_request) words.push_back(bare("migration_request"));
  if (words == crafter_.defaults()) return;
  if (!crafter_.defaults().empty()) say({bare("set"), bare("none")});
  words.insert(words.begin(), bare("set"));
  if (words.size() > 1) say(std::move(words));
}

// The direction, the name, what is in it: all that the headers' fields do not say.
Describer::Words Describer::name_words(const PacketView& packet, bool as_cm) const {
  Words words;
  const wire::EthernetHeader ethernet = packet.ethernet();
  const End& first = crafter_.exchange().end(0);
  const bool onward = first.address == packet.source() && first.mac == ethernet.source;
  words.push_back(bare(onward ? ">" : "<"));
  const wire::OpcodeInfo& row = packet.opcode();
  const Bytes payload = payload_of(packet);
  if (as_cm) {
    const auto mad = wire::CmMad::parse(payload);
    const auto attribute = static_cast<wire::CmAttribute>(mad->header.attribute_id);
    words.push_back(bare("cm"));
    words.push_back(bare(cm_name(attribute)));
    const auto service = find_cm_place(attribute, "service_id");
    if (service) {
      const auto id = wire::IpServiceId::from(wire::load_be64(&payload[service->bit / 8]));
      if (id) words.push_back(pair("port", fmt::format("{}", id->port)));
    }
  } else if (row.operation == wire::Operation::acknowledge) {
    words.push_back(bare(fabric::to_lower(wire::to_string(row.service))));
    for (Word& word : acknowledge_words(packet.headers().aeth.syndrome)) words.push_back(word);
    if (!payload.empty()) words.push_back(pair("payload", to_hex(payload)));
  } else {
    const std::string name = packet_name(row);
    for (const std::string_view word : fabric::words_of(name)) {
      words.push_back(bare(std::string(word)));
    }
    for (Word& word : payload_words(row, payload)) words.push_back(std::move(word));
  }
  add_link_words(words, packet);
  return words;
}

// What is in front of and behind the packet.
void Describer::add_link_words(Words& words, const PacketView& packet) const {
  const auto set = [&](std::string_view text) {
    const auto found = std::ranges::find(crafter_.defaults(), text, &Word::text);
    return found == crafter_.defaults().end() ? std::nullopt : std::optional(*found);
  };
  const Word vlan = pair("vlan", vlan_text(packet.ethernet().vlan));
  if (set("vlan").value_or(pair("vlan", "none")) != vlan) words.push_back(vlan);
  const bool is_v1 = packet.version() == wire::RoceVersion::v1;
  if (set("v1").has_value() != is_v1) words.push_back(bare(is_v1 ? "v1" : "v2"));
  if (packet.icrc() != packet.computed_icrc()) {
    const bool inverted = packet.icrc() == ~packet.computed_icrc();
    words.push_back(pair("icrc", inverted ? "bad" : fmt::format("{:#010x}", packet.icrc())));
  }
  if (!is_v1 && packet.udp().checksum != 0) words.push_back(pair("udp.checksum", "right"));
  const std::size_t trailer = packet.frame().size() - packet.size();
  if (trailer != 0) {
    words.push_back(pair("trailer", to_hex(packet.frame().front().last(trailer))));
  }
}

bool Describer::gives(const Words& words, wire::ByteView frame) const {
  const auto request = read_request(Line{"", words}, crafter_.defaults());
  if (!request) return false;
  const auto message = crafter_.exchange().fill(*request);
  return message && message->count() == 1 && std::ranges::equal(message->frame(0), frame);
}

// Adds words until the line gives the frame. False when it never does.
bool Describer::improve(Words& words, const PacketView& packet, wire::ByteView frame) const {
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto request = read_request(Line{"", words}, crafter_.defaults());
    if (!request) return false;
    const auto message = crafter_.exchange().fill(*request);
    if (!message || message->count() != 1) return false;
    const Bytes built = message->frame(0);
    if (std::ranges::equal(built, frame)) {
      drop_direction(words, [&](const Words& fewer) { return gives(fewer, frame); });
      return true;
    }
    const auto other = PacketView::parse(wire::ByteChain(wire::ByteView(built)), kAnyChecksum);
    if (!other || other->bth_offset() != packet.bth_offset()) return false;
    if (request->name.form == PacketName::Form::cm) {
      add_cm_words(words, request->name.cm, payload_of(packet), payload_of(*other));
    }
    for (const std::string& name : field_names()) {
      if (pass_of(name) > pass) continue;
      const auto place = fabric::find_header_field(packet, name);
      if (!place || place->count > 64) continue;
      const std::uint64_t value = read(frame, *place);
      if (value != read(built, *place)) add_word(words, field_word(packet, name, *place, value));
    }
  }
  return false;
}

}  // namespace softrnic::craft
