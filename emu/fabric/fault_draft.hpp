// SPDX-License-Identifier: BSD-3-Clause
// A fault rule while it is being read, from a line or from a table: takes the words of its parts,
// checks each, and keeps the first complaint.
//
// What belongs to an action is taken after the action.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fabric/fault_rule.hpp"
#include "wire/expected.hpp"

namespace softrnic::fabric {

class FaultDraft {
 public:
  bool ok() const { return complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }
  FaultRule::Action action() const { return rule_.action; }

  template <class... Args>
  void complain(fmt::format_string<Args...> form, Args&&... args) {
    if (ok()) complaint_ = fmt::format(form, std::forward<Args>(args)...);
  }

  void set_way(std::string_view word);
  void set_action(std::string_view word);

  // What the actions need.
  void set_displacement(std::string_view word);
  void set_delay(std::string_view word);
  void set_field(std::string_view word);
  void add_assignment(std::string_view field, std::string_view value);
  void set_sums(FaultRule::Sums sums);
  // Takes the words it needs from the front.
  void take_answer(std::span<const std::string_view>& words);
  void set_answer_qpn(std::string_view word);
  void set_delivers_request(bool delivers);
  void set_silenced(std::string_view word);

  // Which frames. `word` is what a complaint names.
  void set_which(std::string_view word, FaultRule::Which which, std::uint64_t n);
  void set_probability(std::string_view percent);
  bool has_opcode_words() const { return !rule_.opcode_words.empty(); }
  void add_packet_word(std::string_view word);
  void set_destination_qpn(std::string_view word);
  void set_psn(std::string_view word);  // one, or a range such as 5..9
  void add_condition(std::string_view field, std::string_view value);

  // The rule with `text`, or with its own line when that is empty; or the complaint.
  wire::Expected<FaultRule, std::string> finish(std::string_view text);

 private:
  void set_24_bits(std::string_view what, std::string_view word,
                   std::optional<std::uint32_t>& target);
  void set_reply(FaultRule::Reply reply);
  void check_action();
  void check_packet();

  FaultRule rule_;
  bool which_given_ = false;
  bool probability_given_ = false;
  bool answer_given_ = false;
  std::string complaint_;
};

}  // namespace softrnic::fabric
