// SPDX-License-Identifier: BSD-3-Clause
#include "craft/packet_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "craft/time_text.hpp"
#include "fabric/fault_terms.hpp"
#include "fabric/header_field.hpp"

namespace softrnic::craft {

namespace {

using fabric::FieldValue;
using Answer = PacketName::Answer;
using Form = PacketName::Form;

constexpr std::array<FieldAlias, 21> kAliases{{
    {"ack", "ack_request"},
    {"add", "swap_add"},
    {"dport", "destination_port"},
    {"id", "identification"},
    {"imm", "immediate"},
    {"invalidate", "ieth.remote_key"},
    {"len", "dma_length"},
    {"migreq", "migration_request"},
    {"pkey", "partition_key"},
    {"qkey", "queue_key"},
    {"qp", "destination_qpn"},
    {"rkey", "remote_key"},
    {"se", "solicited"},
    {"sport", "source_port"},
    {"sqp", "source_qpn"},
    {"srqn", "shared_receive_queue"},
    {"swap", "swap_add"},
    {"tos", "traffic_class"},
    {"tver", "version"},
    {"va", "virtual_address"},
    {"udp.source_port", "source_port"},
}};

constexpr std::array<WordHelp, 29> kWords{{
    {">, <", "from the first end to the second, or back; else requests go and answers come back"},
    {"@TIME, +TIME", "when: since the beginning, or since the packet before (1us)"},
    {"SIZE", "bytes of payload, or those a READ asks for"},
    {"payload=BYTES",
     "00ff12, 'text', pattern, pattern:16, zeros, fill:ab, random:SEED, file:PATH"},
    {"mtu=N", "path MTU by which a message is divided (1024)"},
    {"xN, repeat=N", "so many times, with PSNs and times that go on"},
    {"step=N", "of the PSN from one repetition to the next; 0: the same packet again"},
    {"gap=TIME", "between packets"},
    {"comment='TEXT'", "of the packet, in a pcapng file"},
    {"v1, v2", "version of RoCE"},
    {"smac=MAC, dmac=MAC", "Ethernet addresses of this packet"},
    {"vlan=ID[:PRIORITY]", "802.1Q tag"},
    {"ethertype=N", "of the innermost Ethernet header, wrong on purpose"},
    {"ecn=N|ect0|ect1|ce", "explicit congestion notification"},
    {"dscp=N", "differentiated services"},
    {"ttl=N", "time to live, or hop limit"},
    {"timer=N|TIME", "of an RNR NAK: its code, or one of the times that have one"},
    {"credits=N", "of an ACK: the code of the credits"},
    {"syndrome=N", "of an AETH; also in words, syndrome='nak access'"},
    {"reason=N|NAME", "of a CM REJ, such as invalid_service_id"},
    {"port=N", "of the service that a CM REQ or SIDR REQ names"},
    {"pad=N", "bytes of pad; pad_count follows unless it is given"},
    {"icrc=bad|N", "every bit wrong, or this value"},
    {"udp.checksum=right|N", "one that is right, or this value; else 0, none"},
    {"trailer=BYTES", "behind the ICRC"},
    {"trim=N", "bytes missing at the end of the frame"},
    {"cut=N", "bytes that the capture keeps, as by a snap length"},
    {"wire_size=N", "bytes that the frame of these had, of which the capture kept them"},
    {"FIELD=VALUE", "any field of a header, to any value or a step (+1, -1) from its right one"},
}};

constexpr std::size_t kMostFrame = 65000;
constexpr std::uint64_t kMostRepeats = std::uint64_t{1} << 40;

std::string field_name(std::string_view word, const PacketName& name) {
  const auto found = std::ranges::find(kAliases, word, &FieldAlias::alias);
  const bool known = found != kAliases.end();
  // A DETH or MAD word may stand behind an alias; all others are as they are.
  (void)name;
  return std::string(known ? found->name : word);
}

bool is_flag(std::string_view word) {
  return word == "ack" || word == "solicited" || word == "se" || word == "fecn" || word == "becn" ||
         word == "migration_request" || word == "migreq" || word == "ack_request";
}

bool is_payload_word(const Word& word) {
  return word.quoted || word.text == "pattern" || word.text == "zeros" ||
         word.text.starts_with("pattern:") || word.text.starts_with("fill:") ||
         word.text.starts_with("random:") || word.text.starts_with("file:");
}

// The names of NAK codes as the standard has them, and as fault rules shorten them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNakNames{{
    {"psn-sequence-error", "sequence"},
    {"remote-access-error", "access"},
    {"remote-operational-error", "operational"},
    {"invalid-rd-request", "invalid-rd"},
}};

std::string nak_word(std::string word) {
  std::ranges::replace(word, '_', '-');
  for (const auto& [name, short_name] : kNakNames) {
    if (word == name) return std::string(short_name);
  }
  return word;
}

class RequestReader {
 public:
  explicit RequestReader(const Line& line) : line_(line) { request_.where = line.where; }

  RequestOrComplaint read(std::span<const Word> defaults) {
    read_front();
    if (ok()) read_name();
    by_default_ = true;
    for (const Word& word : defaults) {
      if (ok()) read_word(word);
    }
    by_default_ = false;
    if (ok() && request_.name.form == Form::answer) read_answer();
    while (ok() && at_ < line_.words.size()) read_word(line_.words[at_++]);
    if (ok()) finish();
    if (!ok()) return wire::Unexpected{*complaint_};
    return std::move(request_);
  }

 private:
  bool ok() const { return !complaint_.has_value(); }
  template <class... Arguments>
  void complain(const Word& word, fmt::format_string<Arguments...> format,
                Arguments&&... arguments) {
    if (ok()) {
      complaint_ = complaint_of(line_.where, word,
                                fmt::format(format, std::forward<Arguments>(arguments)...));
    }
  }
  const Word& last() const { return line_.words.back(); }

  // Times and the direction, which stand before the name or anywhere behind it.
  bool read_place(const Word& word) {
    if (word.value || word.quoted || word.text.empty()) return false;
    const char first = word.text.front();
    if (word.text == ">" || word.text == "<") {
      request_.from = static_cast<std::uint8_t>(first == '<');
      return true;
    }
    if (first != '@' && first != '+' && first != '-') return false;
    const auto time = read_time(std::string_view(word.text).substr(1));
    if (!time) {
      complain(word, "\"{}\" is no time: use one such as {}10us, {}1.5ms or {}2s", word.text, first,
               first, first);
      return true;
    }
    request_.when = PacketRequest::When{first == '@', first == '-' ? -*time : *time};
    return true;
  }

  void read_front() {
    while (ok() && at_ < line_.words.size() && read_place(line_.words[at_])) ++at_;
  }

  void read_name() {
    if (at_ == line_.words.size()) {
      return complain(last(), "no packet is named: write one such as rc send_only behind it");
    }
    const Word& word = line_.words[at_++];
    request_.column = word.column;
    std::string second;
    const Word* behind = at_ < line_.words.size() ? &line_.words[at_] : nullptr;
    if (is_service_word(word.text)) {
      if (behind == nullptr || behind->value) {
        return complain(behind != nullptr ? *behind : word,
                        "\"{}\" is followed by what is sent, such as {}", word.text,
                        word.text == "cm" ? "cm req" : word.text + " send_only");
      }
      second = behind->text;
      ++at_;
    }
    const auto name = find_packet_name(word.text, second);
    if (name) {
      request_.name = *name;
    } else if (second.empty()) {
      complain(word,
               "\"{}\" begins no line: use rc, uc, ud, xrc, cm, cnp, raw, from, to, set, start or "
               "repeat",
               word.value ? word.to_string() : word.text);
    } else {
      const std::vector<std::string> words = second_words(word.text);
      const std::string near = closest(second, words);
      complain(*behind, "{} has no \"{}\": {}", word.text, second,
               near.empty() ? fmt::format("use {}", fmt::join(words, ", "))
                            : fmt::format("did you mean {}?", near));
    }
  }

  // "nak psn_sequence_error", "rnr 12", "rnr timer=0.64ms", "ack".
  void read_answer() {
    const Word* word = at_ < line_.words.size() ? &line_.words[at_] : nullptr;
    const bool bare = word != nullptr && !word->value && !word->quoted;
    std::uint8_t syndrome = wire::Syndrome::ack().raw();
    if (request_.name.answer == Answer::nak) {
      if (!bare)
        return complain(last(),
                        "nak needs its code: psn_sequence_error, invalid_request, "
                        "remote_access_error or remote_operational_error");
      const auto read = syndrome_of(*word, "nak " + nak_word(word->text));
      if (!read) return;
      syndrome = *read;
      ++at_;
    } else if (request_.name.answer == Answer::rnr) {
      syndrome = wire::Syndrome::rnr_nak(12).raw();  // 0.64 ms
      if (bare && fabric::read_number(word->text)) {
        const auto read = syndrome_of(*word, "rnr " + word->text);
        if (!read) return;
        syndrome = *read;
        ++at_;
      }
    }
    set_syndrome(syndrome, word != nullptr ? *word : last());
  }

  std::optional<std::uint8_t> syndrome_of(const Word& word, const std::string& text) {
    const std::vector<std::string_view> all = fabric::words_of(text);
    std::span<const std::string_view> words(all);
    const auto syndrome = fabric::take_syndrome(words);
    if (!syndrome || !words.empty()) {
      complain(word, "{}",
               syndrome ? fmt::format("\"{}\" is no syndrome", text) : syndrome.error());
      return std::nullopt;
    }
    return syndrome->raw();
  }

  void set_syndrome(std::uint8_t syndrome, const Word& word) {
    FieldValue value;
    value.name = "aeth.syndrome";
    value.number = syndrome;
    add_field(std::move(value), word);
  }

  void add_field(FieldValue value, const Word& word) {
    std::erase_if(request_.fields, [&](const PacketRequest::Field& field) {
      return field.value.name == value.name;
    });
    request_.fields.push_back({std::move(value), word, by_default_});
  }

  std::optional<std::uint64_t> number(const Word& word, std::uint64_t most) {
    const auto value = fabric::read_number(*word.value);
    if (value && *value <= most) return value;
    complain(word, "{} takes a number from 0 to {}, not \"{}\"", word.text, most, *word.value);
    return std::nullopt;
  }

  void read_word(const Word& word) {
    if (read_place(word)) return;
    if (!word.value) return read_bare(word);
    if (request_.name.form == Form::cm && read_cm(word)) return;
    if (read_control(word) || !ok()) return;
    read_field(word, *word.value);
  }

  void read_bare(const Word& word) {
    const bool bytes_of_raw = request_.name.form == Form::raw && !request_.payload && !by_default_;
    if (word.quoted || is_payload_word(word) || bytes_of_raw) {
      request_.payload = word;
    } else if (const auto size = fabric::read_number(word.text)) {
      request_.size = *size;
    } else if (word.text == "v1" || word.text == "v2") {
      request_.version = word.text == "v1" ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
    } else if (word.text.size() > 1 && word.text[0] == 'x' &&
               fabric::read_number(word.text.substr(1))) {
      set_repeat(word, *fabric::read_number(word.text.substr(1)));
    } else if (is_flag(word.text)) {
      read_field(word, "1");
    } else if (fabric::is_header_field(field_name(word.text, request_.name))) {
      complain(word, "\"{}\" needs a value: {}=VALUE", word.text, word.text);
    } else {
      complain(word,
               "\"{}\" means nothing here: use a size, FIELD=VALUE, payload=BYTES, or one of the "
               "words that softrnic craft --list shows",
               word.text);
    }
  }

  void set_repeat(const Word& word, std::uint64_t count) {
    if (count == 0 || count > kMostRepeats) {
      return complain(word, "a packet is repeated at least once and at most 2^40 times");
    }
    request_.repeat = count;
  }

  bool read_cm(const Word& word) {
    const auto place = find_cm_place(request_.name.cm, word.text);
    if (word.text == "port") {
      if (const auto port = number(word, 0xffff)) request_.port = static_cast<std::uint16_t>(*port);
      return true;
    }
    if (!place || by_default_) return false;
    Word named = word;
    if (word.text == "reason") name_reason(named);
    Bytes scratch(wire::kMadSize);
    const auto wrong = write_cm_field(scratch, *place, *named.value, named.quoted);
    if (wrong) complain(word, "{}", *wrong);
    request_.cm_fields.push_back({*place, std::move(named)});
    return true;
  }

  static void name_reason(Word& word) {
    for (std::uint16_t code = 1; code <= 35; ++code) {
      std::string name(wire::to_string(static_cast<wire::CmRejectReason>(code)));
      std::ranges::replace(name, ' ', '_');
      if (name == *word.value) word.value = fmt::format("{}", code);
    }
  }

  // The words that are no fields. False for a field.
  bool read_control(const Word& word) {
    const std::string_view key = word.text;
    const std::string& value = *word.value;
    if (key == "payload") {
      request_.payload = Word{value, std::nullopt, word.quoted, word.column};
    } else if (key == "size") {
      if (const auto size = number(word, kMostPayload)) request_.size = *size;
    } else if (key == "mtu") {
      if (const auto mtu = number(word, kMostFrame))
        request_.mtu = static_cast<std::uint32_t>(*mtu);
      if (request_.mtu == 0u) complain(word, "mtu takes a number of bytes, such as 256 or 4096");
    } else if (key == "repeat") {
      if (const auto count = number(word, kMostRepeats)) set_repeat(word, *count);
    } else if (key == "step") {
      read_step(word);
    } else if (key == "gap" || key == "time") {
      read_time_word(word);
    } else if (key == "comment") {
      request_.comment = value;
    } else if (key == "timer" || key == "credits" || key == "syndrome") {
      read_syndrome(word);
    } else if (key == "icrc") {
      read_icrc(word);
    } else if (key == "pad" || key == "trim" || key == "cut" || key == "trailer" ||
               key == "wire_size") {
      read_size_word(word);
    } else {
      return read_network_word(word);
    }
    return true;
  }

  void read_step(const Word& word) {
    std::string_view digits = *word.value;
    const bool down = digits.starts_with('-');
    if (down || digits.starts_with('+')) digits.remove_prefix(1);
    const auto step = fabric::read_number(digits);
    if (!step || *step > 0xffffff) return complain(word, "step takes a number such as 1, 0 or -1");
    request_.step = down ? -static_cast<std::int64_t>(*step) : static_cast<std::int64_t>(*step);
  }

  void read_time_word(const Word& word) {
    if (word.text == "time") {
      const Word time{*word.value, std::nullopt, false, word.column};
      if (!read_place(time) || !request_.when) {
        complain(word, "time takes @1ms (since the beginning) or +1ms, not \"{}\"", *word.value);
      }
      return;
    }
    request_.gap = read_time(*word.value);
    if (!request_.gap) complain(word, "gap takes a time such as 10us, not \"{}\"", *word.value);
  }

  void read_syndrome(const Word& word) {
    const bool may_say = request_.name.opcode != nullptr && request_.name.opcode->has(wire::kAeth);
    if (!may_say && by_default_) return;
    std::string text = *word.value;
    if (word.text == "credits") text = "ack " + text;
    if (word.text == "timer") {
      if (const auto time = read_time(text)) {
        for (std::uint8_t code = 0; code < 32; ++code) {
          if (wire::rnr_timer(code) == *time) text = fmt::format("{}", code);
        }
      }
      text = "rnr " + text;
    }
    if (text.starts_with("nak ")) text = "nak " + nak_word(text.substr(4));
    if (const auto syndrome = syndrome_of(word, text)) set_syndrome(*syndrome, word);
  }

  void read_icrc(const Word& word) {
    using Icrc = PacketPlan::Icrc;
    request_.icrc = *word.value == "right" ? Icrc::right
                    : *word.value == "bad" ? Icrc::inverted
                                           : Icrc::given;
    if (request_.icrc != Icrc::given) return;
    const auto value = fabric::read_number(*word.value);
    if (!value || *value > 0xffffffff) {
      return complain(word, "icrc is bad, right or a value such as 0x1234abcd, not \"{}\"",
                      *word.value);
    }
    request_.icrc_value = static_cast<std::uint32_t>(*value);
  }

  void read_size_word(const Word& word) {
    if (word.text == "trailer") {
      auto bytes = read_payload(*word.value, word.quoted, std::nullopt);
      if (!bytes) return complain(word, "{}", bytes.error());
      if (bytes->size() > kMostFrame) return complain(word, "the trailer is too long for a frame");
      request_.trailer = std::move(*bytes);
      return;
    }
    const auto size = number(word, kMostFrame);
    if (!size) return;
    if (word.text == "pad") request_.pad = *size;
    if (word.text == "trim") request_.trim = *size;
    if (word.text == "cut") request_.cut = *size;
    if (word.text == "wire_size") request_.wire_size = *size;
  }

  bool read_network_word(const Word& word) {
    const std::string_view key = word.text;
    if (key == "smac" || key == "dmac") {
      const auto mac = wire::MacAddress::from_string(*word.value);
      if (!mac) complain(word, "{} takes an address such as 02:00:00:00:00:01", key);
      (key == "smac" ? request_.source_mac : request_.destination_mac) = mac;
    } else if (key == "vlan") {
      read_vlan(word);
    } else if (key == "ethertype") {
      if (const auto type = number(word, 0xffff)) {
        request_.ethertype = static_cast<std::uint16_t>(*type);
      }
    } else if (key == "ecn") {
      read_ecn(word);
    } else if (key == "dscp") {
      if (const auto dscp = number(word, 63)) request_.dscp = static_cast<std::uint8_t>(*dscp);
    } else if (key == "ttl") {
      if (const auto ttl = number(word, 255)) request_.hop_limit = static_cast<std::uint8_t>(*ttl);
    } else if (key == "udp.checksum" && *word.value == "right") {
      request_.udp_checksum = true;
    } else {
      return false;
    }
    return true;
  }

  void read_vlan(const Word& word) {
    const std::size_t colon = word.value->find(':');
    const auto id = fabric::read_number(word.value->substr(0, colon));
    std::optional<std::uint64_t> priority = 0;
    if (*word.value == "none") {
      request_.vlan.reset();
      return;
    }
    if (colon != std::string::npos) priority = fabric::read_number(word.value->substr(colon + 1));
    if (!id || *id > 4095 || !priority || *priority > 15) {
      return complain(word, "vlan takes none, an id from 0 to 4095, or with a priority 42:3");
    }
    // A priority of 8 and more has the drop eligible bit: 8 + priority.
    request_.vlan = wire::VlanTag{static_cast<std::uint8_t>(*priority & 7), *priority >= 8,
                                  static_cast<std::uint16_t>(*id)};
  }

  void read_ecn(const Word& word) {
    constexpr std::array<std::string_view, 4> kNames{"none", "ect1", "ect0", "ce"};
    const auto found = std::ranges::find(kNames, *word.value);
    if (found != kNames.end()) {
      request_.ecn = static_cast<std::uint8_t>(found - kNames.begin());
    } else if (const auto ecn = fabric::read_number(*word.value); ecn && *ecn <= 3) {
      request_.ecn = static_cast<std::uint8_t>(*ecn);
    } else {
      complain(word, "ecn takes none, ect0, ect1, ce or 0 to 3, not \"{}\"", *word.value);
    }
  }

  void read_field(const Word& word, const std::string& text) {
    const std::string name = field_name(word.text, request_.name);
    FieldValue value;
    if (!fabric::is_header_field(name)) return complain_of_field(word);
    if (const auto wrong = FieldValue::read(name, text, value)) return complain(word, "{}", *wrong);
    const bool whole = value.kind == FieldValue::Kind::number;
    if (name == "psn") {
      request_.psn = value;
      return;
    }
    if (name == "immediate") request_.ending = wire::kImmDt;
    if (name == "ieth.remote_key") request_.ending = wire::kIeth;
    if (whole && name == "destination_qpn") {
      request_.qpn = static_cast<std::uint32_t>(value.number);
    } else if (whole && name == "source_qpn") {
      request_.source_qpn = static_cast<std::uint32_t>(value.number);
    } else if (whole && name == "source_port") {
      request_.source_port = static_cast<std::uint16_t>(value.number);
    } else if (whole && name == "identification") {
      request_.identification = static_cast<std::uint16_t>(value.number);
    }
    add_field(std::move(value), word);
  }

  void complain_of_field(const Word& word) {
    std::vector<std::string> names;
    for (const FieldAlias& alias : kAliases) names.emplace_back(alias.alias);
    fabric::for_each_header_field([&](std::string_view name) {
      names.emplace_back(name);
      names.emplace_back(name.substr(name.find(".") + 1));
    });
    for (const std::string_view name :
         {"payload", "size", "mtu", "repeat", "step", "gap", "comment", "icrc", "pad", "trailer",
          "vlan", "ecn", "dscp", "ttl"}) {
      names.emplace_back(name);
    }
    if (request_.name.form == Form::cm) {
      for_each_cm_place(request_.name.cm,
                        [&](const CmPlace& place) { names.push_back(place.name); });
    }
    const std::string near = closest(word.text, names);
    complain(word, "\"{}\" is no field{}: {}", word.text,
             request_.name.form == Form::cm ? " of this message or of a header" : "",
             near.empty() ? "softrnic craft --list shows them all"
                          : fmt::format("did you mean {}?", near));
  }

  void finish() {
    const bool raw = request_.name.form == Form::raw;
    if (raw && !request_.payload) {
      return complain(last(), "raw needs the bytes of the frame: raw 0200... or raw file:PATH");
    }
    if (request_.size && *request_.size > kMostPayload &&
        request_.name.operation != wire::Operation::read_request) {
      complain(last(), "a message has at most 64 MiB (67108864 bytes) here");
    }
  }

  const Line& line_;
  PacketRequest request_;
  std::optional<Complaint> complaint_;
  std::size_t at_ = 0;
  bool by_default_ = false;
};

}  // namespace

RequestOrComplaint read_request(const Line& line, std::span<const Word> defaults) {
  return RequestReader(line).read(defaults);
}

std::span<const FieldAlias> field_aliases() {
  return kAliases;
}

std::span<const WordHelp> word_help() {
  return kWords;
}

}  // namespace softrnic::craft
