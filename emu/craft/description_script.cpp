// SPDX-License-Identifier: BSD-3-Clause
#include "craft/description_script.hpp"

#include <fmt/format.h>

namespace softrnic::craft {

namespace {

using fabric::ScriptMember;
using fabric::ScriptPlace;
using fabric::ScriptValue;
using Kind = ScriptValue::Kind;

class ScriptReader {
 public:
  wire::Expected<std::vector<Line>, Complaint> read(const ScriptValue& root) {
    if (!root.is(Kind::table)) complain({}, "a description is a table with the key packets");
    for (const ScriptMember& member : root.members) check_key(member);
    // Whatever their order in the script, the settings come first.
    for (const std::string_view key : {"link", "start", "from", "to", "set", "packets"}) {
      for (const ScriptMember& member : root.members) {
        if (!complaint_ && member.key == key) read_member(member);
      }
    }
    if (complaint_) return wire::Unexpected{*complaint_};
    return std::move(lines_);
  }

 private:
  void complain(const ScriptPlace& place, std::string message) {
    if (complaint_) return;
    std::string where = where_;
    if (place.line != 0) where = fmt::format("line {}", place.line);
    complaint_ = Complaint{where, place.line != 0 ? place.column : 0, std::move(message)};
  }

  void check_key(const ScriptMember& member) {
    for (const std::string_view key : {"link", "start", "from", "to", "set", "packets"}) {
      if (member.key == key) return;
    }
    complain(member.place, fmt::format("\"{}\" is no key of a description: use packets, from, to, "
                                       "set, start or link",
                                       member.key));
  }

  void read_member(const ScriptMember& member) {
    where_ = member.key;
    if (member.key == "packets") return read_packets(member.value);
    Line line{where_of(member.place), {Word{member.key, {}, false, 0}}};
    if (member.key == "from" || member.key == "to") {
      if (!member.value.is(Kind::table))
        return complain(member.place, "an end is a table: address = ...");
      read_end(member.value, line);
    } else if (member.key == "set") {
      if (!member.value.is(Kind::table))
        return complain(member.place, "set is a table: mtu = 1024");
      for (const ScriptMember& word : member.value.members) add_word(word, line);
    } else {
      line.words.push_back({member.value.text, {}, false, 0});
    }
    lines_.push_back(std::move(line));
  }

  std::string where_of(const ScriptPlace& place) const {
    return place.line != 0 ? fmt::format("line {}", place.line) : where_;
  }

  void read_end(const ScriptValue& table, Line& line) {
    const ScriptMember* address = nullptr;
    for (const ScriptMember& member : table.members) {
      if (member.key == "address") address = &member;
    }
    if (address == nullptr) return complain(table.place, "an end needs its address");
    line.words.push_back({address->value.text, {}, false, address->value.place.column});
    for (const ScriptMember& member : table.members) {
      if (member.key != "address") add_word(member, line);
    }
  }

  void read_packets(const ScriptValue& packets) {
    if (!packets.is(Kind::array)) return complain(packets.place, "packets is an array");
    for (std::size_t i = 0; i < packets.elements.size() && !complaint_; ++i) {
      where_ = fmt::format("packet {}", i + 1);
      const ScriptValue& element = packets.elements[i];
      if (element.is(Kind::string)) {
        read_text(element);
      } else if (element.is(Kind::table)) {
        read_packet(element);
      } else {
        complain(element.place, "a packet is a line in quotes, or a table");
      }
    }
  }

  void read_text(const ScriptValue& element) {
    auto lines = read_lines(element.text, where_of(element.place));
    if (!lines) {
      if (!complaint_) complaint_ = lines.error();
      return;
    }
    for (Line& line : *lines) lines_.push_back(std::move(line));
  }

  void read_packet(const ScriptValue& table) {
    const ScriptMember* name = nullptr;
    for (const ScriptMember& member : table.members) {
      if (member.key == kPacketKey) name = &member;
    }
    if (name == nullptr)
      return complain(table.place, "a packet needs the key packet: \"rc send_only\"");
    auto lines = read_lines(name->value.text, where_of(table.place));
    if (!lines || lines->size() != 1) return complain(name->place, "packet names one packet");
    Line line = std::move(lines->front());
    for (Word& word : line.words) word.column = 0;
    for (const ScriptMember& member : table.members) {
      if (&member != name) add_word(member, line);
    }
    lines_.push_back(std::move(line));
  }

  // "text" is a payload of these characters; true is a word alone where it stands for no number.
  void add_word(const ScriptMember& member, Line& line) {
    const ScriptValue& value = member.value;
    if (value.is(Kind::table) || value.is(Kind::array) || value.is(Kind::other)) {
      return complain(member.place,
                      fmt::format("{} takes a number, a text, true or false", member.key));
    }
    Word word{member.key, value.text, false, member.place.column, member.place.line};
    if (member.key == "text") {
      word.text = "payload";
      word.quoted = true;
    } else if (value.is(Kind::boolean)) {
      const bool yes = value.text == "true";
      word.value->assign(1, yes ? '1' : '0');
      if (yes && (member.key == "v1" || member.key == "v2")) word.value.reset();
    }
    line.words.push_back(std::move(word));
  }

  std::vector<Line> lines_;
  std::string where_;
  std::optional<Complaint> complaint_;
};

}  // namespace

wire::Expected<std::vector<Line>, Complaint> read_script(const ScriptValue& root) {
  return ScriptReader().read(root);
}

}  // namespace softrnic::craft
