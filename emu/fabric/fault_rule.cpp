// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "fabric/header_field.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Reply = FaultRule::Reply;
using Way = FaultRule::Way;
using Which = FaultRule::Which;

constexpr std::uint32_t kMax24Bits = 0xffffff;
constexpr std::uint32_t kMaxDisplacement = 10'000;
constexpr wire::Duration kMaxDelay = std::chrono::hours(1);
// A word of an opcode's name may be cut short, but not below this.
constexpr std::size_t kShortestPrefix = 3;

constexpr std::array<std::pair<std::string_view, Action>, 6> kActions{{
    {"drop", Action::drop},
    {"duplicate", Action::duplicate},
    {"reorder", Action::reorder},
    {"delay", Action::delay},
    {"corrupt", Action::corrupt},
    {"mark-ecn", Action::mark_ecn},
}};
constexpr std::string_view kActionList = "drop, duplicate, reorder, delay, corrupt or mark-ecn";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is(std::string_view word, std::string_view keyword) {
  return std::ranges::equal(word, keyword, {}, lower);
}

std::string to_upper(std::string_view word) {
  std::string out(word);
  std::ranges::transform(out, out.begin(), upper);
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// All of `word` as a number, decimal or 0x hexadecimal.
std::optional<std::uint64_t> number(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x") || word.starts_with("0X")) {
    base = 16;
    word.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// "3rd", "100th".
std::optional<std::uint64_t> ordinal(std::string_view word) {
  if (word.size() < 3 || !is_digit(word[0])) return std::nullopt;
  const std::string_view ending = word.substr(word.size() - 2);
  if (!is(ending, "st") && !is(ending, "nd") && !is(ending, "rd") && !is(ending, "th")) {
    return std::nullopt;
  }
  return number(word.substr(0, word.size() - 2));
}

// A decimal fraction at the front of `word`, which is then shortened by it.
std::optional<double> take_fraction(std::string_view& word) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || word.empty() || !is_digit(word[0])) return std::nullopt;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  return value;
}

// "2ms", "0.5s".
std::optional<wire::Duration> duration(std::string_view word) {
  const auto value = take_fraction(word);
  if (!value) return std::nullopt;
  double nanoseconds = 0;
  if (is(word, "ns")) nanoseconds = *value;
  if (is(word, "us")) nanoseconds = *value * 1e3;
  if (is(word, "ms")) nanoseconds = *value * 1e6;
  if (is(word, "s")) nanoseconds = *value * 1e9;
  if (nanoseconds < 1 || nanoseconds > static_cast<double>(kMaxDelay.count())) {
    return std::nullopt;
  }
  return wire::Duration(static_cast<wire::Duration::rep>(nanoseconds));
}

// Whether `word`, in upper case, is or begins a word of the opcode's name.
bool word_in_name(std::string_view word, std::string_view name) {
  for (const std::string_view candidate : words_of(name)) {
    const std::string whole = to_upper(candidate);
    if (whole == word) return true;
    if (word.size() >= kShortestPrefix && whole.starts_with(word)) return true;
  }
  return false;
}

bool word_in_any_name(std::string_view word) {
  for (int value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row != nullptr && word_in_name(word, row->name)) return true;
  }
  return false;
}

// Reads the words of one rule from left to right. The first complaint stands.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : words_(words_of(text)) { rule_.text = text; }

  wire::Expected<FaultRule, std::string> read() {
    read_way();
    read_action();
    while (ok() && at_ < words_.size()) read_condition();
    if (ok()) check_opcode_words();
    if (!ok()) return wire::Unexpected{complaint_};
    return rule_;
  }

 private:
  bool ok() const { return complaint_.empty(); }

  template <class... Args>
  void complain(fmt::format_string<Args...> form, Args&&... args) {
    if (ok()) complaint_ = fmt::format(form, std::forward<Args>(args)...);
  }

  static bool is_filler(std::string_view word) {
    return is(word, "the") || is(word, "packet") || is(word, "packets") || is(word, "frame") ||
           is(word, "frames");
  }

  void skip_fillers() {
    while (at_ < words_.size() && is_filler(words_[at_])) ++at_;
  }

  // The next word that means something; empty at the end.
  std::string_view peek() {
    skip_fillers();
    return at_ < words_.size() ? words_[at_] : std::string_view{};
  }
  std::string_view next() {
    const std::string_view word = peek();
    if (!word.empty()) ++at_;
    return word;
  }
  bool accept(std::string_view keyword) {
    if (!is(peek(), keyword)) return false;
    ++at_;
    return true;
  }

  void read_way() {
    if (accept("tx"))
      rule_.way = Way::tx;
    else if (accept("rx"))
      rule_.way = Way::rx;
  }

  void read_action() {
    const std::string_view word = next();
    const auto* found = std::ranges::find_if(
        kActions, [word](const auto& action) { return is(word, action.first); });
    if (word.empty()) return complain("a fault rule needs an action: {}", kActionList);
    if (found == kActions.end()) {
      return complain("\"{}\" is no action: use {}", word, kActionList);
    }
    rule_.action = found->second;
    if (rule_.action == Action::reorder) read_displacement();
    if (rule_.action == Action::delay) read_delay();
    if (rule_.action == Action::corrupt) read_field();
  }

  void read_displacement() {
    const auto value = number(peek());
    if (!value) return;
    const std::string_view word = next();
    if (*value < 1 || *value > kMaxDisplacement) {
      return complain("cannot hold a frame until {} others have passed: use 1 to {}", word,
                      kMaxDisplacement);
    }
    rule_.displacement = static_cast<std::uint32_t>(*value);
  }

  void read_delay() {
    const std::string_view word = next();
    const auto value = duration(word);
    if (word.empty()) return complain("delay needs a time: 500us, 2ms or 1s");
    if (!value) {
      return complain("\"{}\" is no time to delay by: use 1ns to 3600s, such as 500us, 2ms or 1s",
                      word);
    }
    rule_.delay = *value;
  }

  void read_field() {
    const std::string_view word = next();
    std::string name(word);
    std::ranges::transform(name, name.begin(), lower);
    if (name == "icrc" || name == "payload" || is_header_field(name)) {
      rule_.field = std::move(name);
    } else if (word.empty()) {
      complain("corrupt needs what to corrupt: icrc, payload or a header field such as psn");
    } else {
      complain(
          "\"{}\" cannot be corrupted: use icrc, payload or a header field such as psn, "
          "remote_key or ipv4.checksum",
          word);
    }
  }

  void read_condition() {
    const std::string_view word = next();
    if (word.empty()) return;  // fillers at the end
    if (is(word, "of")) return read_after_of();
    if (is(word, "all")) return set_which(word, Which::all, 0);
    if (is(word, "every")) return read_every();
    if (is(word, "first") && read_first()) return;
    if (is(word, "qp")) return read_24_bits("qp", rule_.destination_qpn);
    if (is(word, "psn")) return read_24_bits("psn", rule_.psn);
    if (word.back() == '%') return read_probability(word);
    if (const auto n = ordinal(word)) return set_which(word, Which::nth, *n);
    if (is_digit(word[0])) {
      return complain("\"{}\" chooses no frames: use 3rd, every 3rd, first 3 or 5%", word);
    }
    read_opcode_word(word);
  }

  void read_after_of() {
    if (peek().empty()) complain("nothing follows \"of\": write of QP N");
  }

  void set_which(std::string_view word, Which which, std::uint64_t n) {
    if (which_given_) {
      return complain(
          "\"{}\" is a second choice of frames: a rule takes one of Nth, every Nth, "
          "first N and all",
          word);
    }
    if (which != Which::all && n == 0) return complain("frames are counted from 1, not 0");
    which_given_ = true;
    rule_.which = which;
    rule_.n = n;
  }

  void read_every() {
    const std::string_view word = next();
    auto n = ordinal(word);
    if (!n) n = number(word);
    if (!n) return complain("\"every\" needs a number: every 10th");
    set_which("every", Which::every_nth, *n);
  }

  // "first 3", but "WRITE FIRST". False when it is an opcode's word.
  bool read_first() {
    if (const auto n = number(peek())) {
      next();
      set_which("first", Which::first_n, *n);
      return true;
    }
    if (!rule_.opcode_words.empty()) return false;
    complain("\"first\" needs a number (first 3), or comes after the operation (WRITE FIRST)");
    return true;
  }

  void read_24_bits(std::string_view what, std::optional<std::uint32_t>& target) {
    const std::string_view word = next();
    const auto value = number(word);
    if (!value || *value > kMax24Bits) {
      return complain("{} needs a number from 0 to 0xffffff, not \"{}\"", what, word);
    }
    target = static_cast<std::uint32_t>(*value);
  }

  void read_probability(std::string_view word) {
    std::string_view rest = word;
    const auto percent = take_fraction(rest);
    if (!percent || rest != "%" || *percent > 100) {
      return complain("\"{}\" is no probability: use 0% to 100%", word);
    }
    if (probability_given_) return complain("\"{}\" is a second probability", word);
    probability_given_ = true;
    rule_.probability = *percent / 100;
  }

  void read_opcode_word(std::string_view word) {
    if (is(word, "ack")) return set_reply(Reply::ack);
    if (is(word, "nak")) return set_reply(Reply::nak);
    if (is(word, "rnr")) return set_reply(Reply::rnr);
    std::string name = to_upper(word);
    if (!word_in_any_name(name)) {
      return complain(
          "\"{}\" is no word of a fault rule or of a packet's name, such as WRITE "
          "MIDDLE, READ RESPONSE or ACK",
          word);
    }
    rule_.opcode_words.push_back(std::move(name));
  }

  void set_reply(Reply reply) {
    // "RNR NAK" is one thing, in either order.
    const bool rnr_nak = (reply == Reply::nak && rule_.reply == Reply::rnr) ||
                         (reply == Reply::rnr && rule_.reply == Reply::nak);
    if (rule_.reply != Reply::any && rule_.reply != reply && !rnr_nak) {
      return complain("a packet cannot be both ACK and NAK: use one of them");
    }
    rule_.reply = rnr_nak ? Reply::rnr : reply;
  }

  void check_opcode_words() {
    // "ATOMIC ACK" is an opcode of its own, not an ACK.
    if (rule_.reply == Reply::ack && std::ranges::count(rule_.opcode_words, "ATOMIC") > 0) {
      rule_.opcode_words.push_back("ACKNOWLEDGE");
      rule_.reply = Reply::any;
    }
    if (rule_.opcodes().none()) {
      complain("no packet is called \"{}{}\": use words of one name, such as WRITE MIDDLE",
               fmt::join(rule_.opcode_words, " "), reply_word());
    }
  }

  std::string_view reply_word() const {
    switch (rule_.reply) {
      case Reply::any:
        return "";
      case Reply::ack:
        return " ACK";
      case Reply::nak:
        return " NAK";
      case Reply::rnr:
        return " RNR";
    }
    return "";
  }

  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  FaultRule rule_;
  bool which_given_ = false;
  bool probability_given_ = false;
  std::string complaint_;
};

}  // namespace

std::bitset<256> FaultRule::opcodes() const {
  std::bitset<256> set;
  for (std::size_t value = 0; value < set.size(); ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    if (reply != Reply::any && row->operation != wire::Operation::acknowledge) continue;
    set[value] = std::ranges::all_of(
        opcode_words, [row](const std::string& word) { return word_in_name(word, row->name); });
  }
  return set;
}

bool FaultRule::has_filter() const {
  return !opcode_words.empty() || reply != Reply::any || destination_qpn || psn ||
         action == Action::corrupt || action == Action::mark_ecn;
}

wire::Expected<FaultRule, std::string> FaultRule::parse(std::string_view text) {
  return RuleReader(text).read();
}

}  // namespace softrnic::fabric
