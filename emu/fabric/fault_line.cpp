// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_line.hpp"

#include "fabric/fault_draft.hpp"
#include "fabric/fault_terms.hpp"

namespace softrnic::fabric {

namespace {

using Action = FaultRule::Action;
using Sums = FaultRule::Sums;
using Which = FaultRule::Which;

bool is_filler(std::string_view word) {
  return is_word(word, "the") || is_word(word, "packet") || is_word(word, "packets") ||
         is_word(word, "frame") || is_word(word, "frames");
}

// Reads the words of one rule from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text), words_(words_of(text)) {}

  wire::Expected<FaultRule, std::string> read() {
    read_way();
    draft_.set_action(next());
    if (draft_.ok()) read_argument();
    while (draft_.ok() && at_ < words_.size()) read_condition();
    return draft_.finish(text_);
  }

 private:
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

  void read_way() {
    if (is_word(peek(), "tx") || is_word(peek(), "rx")) draft_.set_way(next());
  }

  void read_argument() {
    switch (draft_.action()) {
      case Action::drop:
      case Action::mark_ecn:
        return;
      case Action::reorder:
        if (read_number(peek())) draft_.set_displacement(next());
        return;
      case Action::delay:
        return draft_.set_delay(next());
      case Action::duplicate:
        return read_time();
      case Action::corrupt:
        return draft_.set_field(next());
      case Action::rewrite:
        return read_assignments();
      case Action::answer:
        return read_answer();
      case Action::silence:
        return read_silence();
    }
  }

  // A time that may be left out. "3601s" and "2h" can be meant for nothing else, and are complained
  // of as times.
  void read_time() {
    const std::string_view word = peek();
    if (word.empty() || !is_digit(word.front())) return;
    const bool ends_in_letter = !is_digit(word.back()) && word.back() != '%';
    if (ends_in_letter && !read_ordinal(word)) draft_.set_delay(next());
  }

  void read_assignments() {
    do {
      const std::string_view field = next();
      const std::string_view value = next();
      if (value.empty())
        return draft_.complain("rewrite needs a field and its value: rewrite psn +1");
      draft_.add_assignment(field, value);
    } while (draft_.ok() && accept("and"));
  }

  void read_answer() {
    skip_fillers();
    std::span<const std::string_view> rest = std::span(words_).subspan(at_);
    draft_.take_answer(rest);
    at_ = words_.size() - rest.size();
    if (accept("to")) {
      if (!accept("qp")) return draft_.complain("whom to answer is written to QP N");
      draft_.set_answer_qpn(next());
    }
    if (accept("and")) {
      if (!accept("deliver")) return draft_.complain("an answer may be given \"and deliver\"");
      draft_.set_delivers_request(true);
    }
  }

  void read_silence() {
    if (is_word(peek(), "tx") || is_word(peek(), "rx")) draft_.set_silenced(next());
    read_time();
  }

  bool accept(std::string_view keyword) {
    if (!is_word(peek(), keyword)) return false;
    ++at_;
    return true;
  }

  void read_condition() {
    const std::string_view word = next();
    if (word.empty()) return;  // fillers at the end
    if (is_word(word, "of")) return read_after_of();
    if (is_word(word, "all")) return draft_.set_which(word, Which::all, 0);
    if (is_word(word, "every")) return read_counted("every", "every 10th", Which::every_nth);
    if (is_word(word, "from")) return read_counted("from", "from 10th", Which::from_nth);
    if (is_word(word, "first") && read_first()) return;
    if (is_word(word, "qp")) return draft_.set_destination_qpn(next());
    if (is_word(word, "psn")) return draft_.set_psn(next());
    if (is_word(word, "keep-icrc")) return draft_.set_sums(Sums::kept);
    if (is_word(word, "repair-icrc")) return draft_.set_sums(Sums::repaired);
    if (word.back() == '%') return draft_.set_probability(word);
    if (const auto n = read_ordinal(word)) return draft_.set_which(word, Which::nth, *n);
    if (is_digit(word[0])) {
      return draft_.complain("\"{}\" chooses no frames: use 3rd, every 3rd, first 3 or 5%", word);
    }
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
      return draft_.add_condition(word.substr(0, equals), word.substr(equals + 1));
    }
    draft_.add_packet_word(word);
  }

  void read_after_of() {
    if (peek().empty()) draft_.complain("nothing follows \"of\": write of QP N");
  }

  // "every 10th", "from 10".
  void read_counted(std::string_view keyword, std::string_view example, Which which) {
    const std::string_view word = next();
    auto n = read_ordinal(word);
    if (!n) n = read_number(word);
    if (!n) return draft_.complain("\"{}\" needs a number: {}", keyword, example);
    draft_.set_which(keyword, which, *n);
  }

  // "first 3", but "WRITE FIRST". False when it is an opcode's word.
  bool read_first() {
    if (const auto n = read_number(peek())) {
      next();
      draft_.set_which("first", Which::first_n, *n);
      return true;
    }
    if (draft_.has_opcode_words()) return false;
    draft_.complain(
        "\"first\" needs a number (first 3), or comes after the operation (WRITE FIRST)");
    return true;
  }

  std::string_view text_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  FaultDraft draft_;
};

}  // namespace

wire::Expected<FaultRule, std::string> read_fault_line(std::string_view text) {
  return LineReader(text).read();
}

}  // namespace softrnic::fabric
