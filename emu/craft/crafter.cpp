// SPDX-License-Identifier: BSD-3-Clause
#include "craft/crafter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "craft/time_text.hpp"
#include "fabric/fault_terms.hpp"

namespace softrnic::craft {

namespace {

using capture::LinkType;

constexpr std::array kLinkTypes{
    LinkType::ethernet, LinkType::linux_cooked, LinkType::linux_cooked_2,
    LinkType::raw_ip,   LinkType::erf,          LinkType::infiniband};
constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostBlockLines = 100'000;
constexpr std::uint32_t kMostQpn = 0xffffff;

Complaint at(const Line& line, const Word& word, std::string message) {
  return complaint_of(line.where, word, std::move(message));
}

bool begins(const Line& line, std::string_view keyword) {
  const Word& word = line.words.front();
  return word.text == keyword && !word.value && !word.quoted;
}

// "mac X", "mac=X": a name, and its value in the same word or the next.
class EndReader {
 public:
  explicit EndReader(const Line& line) : line_(line) {}

  std::optional<Complaint> read(Exchange& exchange) {
    while (at_ < line_.words.size() && !complaint_) read_end(exchange);
    return complaint_;
  }

 private:
  void read_end(Exchange& exchange) {
    const Word& keyword = line_.words[at_++];
    if (keyword.text != "from" && keyword.text != "to") {
      return complain(keyword,
                      fmt::format("\"{}\" is nothing of an end: use mac, qp, psn, qkey, or "
                                  "to and its address",
                                  keyword.text));
    }
    const auto which = static_cast<std::uint8_t>(keyword.text == "to");
    const std::string text = value_of(keyword);
    if (complaint_) return;
    const auto address = wire::Gid::from_string(text);
    if (!address) {
      return complain(
          line_.words[at_ - 1],
          fmt::format("\"{}\" is no address: use one such as 10.0.0.1 or fd00::1", text));
    }
    End end = End::at(*address, which);
    while (at_ < line_.words.size() && !complaint_) {
      const Word& word = line_.words[at_];
      if (word.text == "from" || word.text == "to") break;
      ++at_;
      read_property(end, word);
    }
    exchange.set_end(which, end);
  }

  void read_property(End& end, const Word& word) {
    if (word.text == "mac") {
      const std::string text = value_of(word);
      const auto mac = wire::MacAddress::from_string(text);
      if (mac) {
        end.mac = *mac;
      } else {
        complain(word, "mac takes an address such as 02:00:00:00:00:01");
      }
    } else if (word.text == "qp") {
      end.qpn = number(word, kMostQpn);
    } else if (word.text == "psn") {
      end.first_psn = number(word, kMostQpn);
    } else if (word.text == "qkey") {
      end.queue_key = number(word, 0xffffffff);
    } else {
      complain(word,
               fmt::format("\"{}\" is nothing of an end: use mac, qp, psn, qkey, or to and its "
                           "address",
                           word.text));
    }
  }

  std::string value_of(const Word& word) {
    if (word.value) return *word.value;
    if (at_ < line_.words.size()) return line_.words[at_++].to_string();
    complain(word, fmt::format("\"{}\" is followed by its value", word.text));
    return {};
  }

  std::uint32_t number(const Word& word, std::uint32_t most) {
    const std::string text = value_of(word);
    const auto value = fabric::read_number(text);
    if (value && *value <= most) return static_cast<std::uint32_t>(*value);
    complain(word,
             fmt::format("{} takes a number from 0 to {:#x}, not \"{}\"", word.text, most, text));
    return 0;
  }

  void complain(const Word& word, std::string message) {
    if (!complaint_) complaint_ = at(line_, word, std::move(message));
  }

  const Line& line_;
  std::size_t at_ = 0;
  std::optional<Complaint> complaint_;
};

}  // namespace

std::string_view link_name(LinkType type) {
  switch (type) {
    case LinkType::ethernet:
      return "ethernet";
    case LinkType::linux_cooked:
      return "linux_cooked";
    case LinkType::linux_cooked_2:
      return "linux_cooked_2";
    case LinkType::raw_ip:
      return "raw_ip";
    case LinkType::erf:
      return "erf";
    case LinkType::infiniband:
      return "infiniband";
    case LinkType::other:
      return "other";
  }
  return "ethernet";
}

std::optional<Complaint> Crafter::on_line(const Line& line) {
  if (stopped_ || line.words.empty()) return std::nullopt;
  return block_ ? in_block(line) : run(line);
}

std::optional<Complaint> Crafter::finish() const {
  if (!block_) return std::nullopt;
  return Complaint{block_->where, 0, "the repetition is not ended: write end behind its lines"};
}

std::optional<Complaint> Crafter::run(const Line& line) {
  if (begins(line, "repeat")) return begin_block(line);
  if (begins(line, "from") || begins(line, "to")) return read_ends(line);
  if (line.words.front().value &&
      (line.words.front().text == "from" || line.words.front().text == "to")) {
    return read_ends(line);
  }
  if (begins(line, "start")) return read_start(line);
  if (begins(line, "link")) return read_link(line);
  if (begins(line, "set")) return read_defaults(line);
  if (begins(line, "end")) return at(line, line.words.front(), "no repetition is to be ended here");
  return read_packet(line);
}

std::optional<Complaint> Crafter::begin_block(const Line& line) {
  const auto times =
      line.words.size() == 2 ? fabric::read_number(line.words[1].text) : std::nullopt;
  if (!times || *times == 0) {
    return at(line, line.words.back(), "repeat is followed by how often: repeat 10");
  }
  block_.emplace();
  block_->times = *times;
  block_->where = line.where;
  return std::nullopt;
}

std::optional<Complaint> Crafter::in_block(const Line& line) {
  RepeatedLines& block = *block_;
  const bool ends = begins(line, "end") && block.depth == 0;
  if (!ends) {
    if (begins(line, "repeat") && ++block.depth >= kDeepest) {
      return at(line, line.words.front(), "repetitions stand in each other more than 8 deep");
    }
    if (begins(line, "end")) --block.depth;
    block.lines.push_back(line);
    if (block.lines.size() <= kMostBlockLines) return std::nullopt;
    return at(line, line.words.front(), "a repetition has more than 100,000 lines");
  }
  const RepeatedLines whole = std::move(block);
  block_.reset();
  for (std::uint64_t i = 0; i < whole.times && !stopped_; ++i) {
    const std::uint64_t said = said_;
    for (const Line& inside : whole.lines) {
      if (auto wrong = on_line(inside)) return wrong;
    }
    if (said_ == said) break;  // without a packet, once more is the same
  }
  return std::nullopt;
}

std::optional<Complaint> Crafter::read_ends(const Line& line) {
  if (auto wrong = EndReader(line).read(exchange_)) return wrong;
  return std::nullopt;
}

std::optional<Complaint> Crafter::read_start(const Line& line) {
  const auto start = line.words.size() == 2 ? read_instant(line.words[1].text) : std::nullopt;
  if (!start) {
    return at(line, line.words.back(),
              "start is followed by seconds since 1970, such as start 1700000000.5");
  }
  exchange_.set_start(*start);
  return std::nullopt;
}

std::optional<Complaint> Crafter::read_link(const Line& line) {
  for (const LinkType type : kLinkTypes) {
    if (line.words.size() != 2 || line.words[1].text != link_name(type)) continue;
    link_type_ = type;
    return std::nullopt;
  }
  return at(
      line, line.words.back(),
      "link is followed by ethernet, linux_cooked, linux_cooked_2, raw_ip, erf or infiniband");
}

// The words are read once with any packet, so that a wrong one is complained of here.
std::optional<Complaint> Crafter::read_defaults(const Line& line) {
  Line trial{line.where, {{"rc", {}, false, 0}, {"send_only", {}, false, 0}}};
  trial.words.insert(trial.words.end(), line.words.begin() + 1, line.words.end());
  if (line.words.size() == 2 && line.words[1].text == "none" && !line.words[1].value) {
    defaults_.clear();
    return std::nullopt;
  }
  const auto request = read_request(trial, {});
  if (!request) return request.error();
  for (const Word& word : std::span(line.words).subspan(1)) {
    std::erase_if(defaults_, [&](const Word& old) { return old.text == word.text; });
    defaults_.push_back(word);
  }
  return std::nullopt;
}

std::optional<Complaint> Crafter::read_packet(const Line& line) {
  auto request = read_request(line, defaults_);
  if (!request) return request.error();
  return repeat(std::move(request).value());
}

std::optional<Complaint> Crafter::repeat(PacketRequest request) {
  std::uint32_t first_psn = 0;
  for (std::uint64_t i = 0; i < request.repeat && !stopped_; ++i) {
    if (i > 0) request.psn.reset();
    if (i > 0 && request.step) {
      const std::int64_t psn = first_psn + *request.step * static_cast<std::int64_t>(i & 0xffffff);
      request.psn.emplace();
      request.psn->number = static_cast<std::uint64_t>(psn) & 0xffffff;
    }
    const auto message = exchange_.fill(request);
    if (!message) return message.error();
    if (i == 0) first_psn = message->psn();
    stopped_ = !say(*message, i == 0);
    if (i > 0 || !request.identification) continue;
    // The first has it; the others count on from there.
    request.identification.reset();
    std::erase_if(request.fields, [](const PacketRequest::Field& field) {
      return field.value.name == "identification";
    });
  }
  return std::nullopt;
}

bool Crafter::say(const Message& message, bool first_repetition) {
  const PacketRequest& request = message.request();
  const wire::Duration gap = request.gap.value_or(Exchange::kGap);
  for (std::size_t i = 0; i < message.count(); ++i) {
    // A time that was given is when the message begins; a step is also one between repetitions.
    auto when = i == 0 ? request.when : std::nullopt;
    if (when && when->absolute && !first_repetition) when.reset();
    const wire::Instant now = exchange_.next_time(when, gap);
    const Bytes bytes = message.frame(i);
    const std::size_t kept = std::min(request.cut.value_or(bytes.size()), bytes.size());
    const std::size_t whole = std::max(bytes.size(), request.wire_size);
    if (!sink_({now, wire::ByteView(bytes).first(kept), whole, request.comment, request.where})) {
      return false;
    }
    exchange_.set_time(now);
    ++said_;
  }
  exchange_.commit(message);
  return true;
}

}  // namespace softrnic::craft
