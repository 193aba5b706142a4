// SPDX-License-Identifier: BSD-3-Clause
// Edits of any frames by any words.
//
// The first byte says the link type and whether the text that follows, up to a zero byte, is lines
// "WORD VALUE" or a script; behind it are captured records. What an edit hands on has to be in
// order: frames without an edit stay as they are, what was right is right afterwards, counts add
// up.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edit/edit_script.hpp"
#include "edit/edit_words.hpp"
#include "edit/editor.hpp"
#include "edit/frame_translation.hpp"
#include "fuzz/input_records.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace softrnic;
using fuzz::require;

constexpr std::size_t kMostStages = 20;

// False when there is something to complain of.
bool take_line(std::string_view line, edit::EditPlan& plan) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const edit::EditWord* word = edit::find_edit_word(line.substr(0, blank));
  if (word == nullptr || plan.stages.size() > kMostStages) return false;
  line.remove_prefix(std::min(blank + 1, line.size()));
  const auto complaint = word->take(plan, 0, line);
  require(!complaint || !complaint->empty(), "a complaint says something");
  return !complaint;
}

bool take_words(std::string_view text, edit::EditPlan& plan) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!take_line(text.substr(0, end), plan)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool take_script(std::string_view text, fabric::ScriptForm form, edit::EditPlan& plan) {
  const auto complaint = edit::read_edit_script(text, form, plan);
  require(!complaint || !complaint->empty(), "a complaint says something");
  return !complaint && plan.stages.size() <= kMostStages;
}

// Whether the plan leaves every frame one RoCE packet, with the ICRC it had: right or wrong.
bool keeps_icrcs(const edit::EditPlan& plan) {
  return plan.icrc == edit::IcrcPolicy::follow && plan.path_mtu == 0 && plan.thin == 1 &&
         plan.snap_length == 0 && std::ranges::none_of(plan.stages, [](const edit::EditStage& s) {
           return s.rule.has_value() || s.payload == edit::Payload::cut;
         });
}

bool does_nothing(const edit::EditPlan& plan) {
  return keeps_icrcs(plan) && std::ranges::all_of(plan.stages, [](const edit::EditStage& s) {
           return s.values.empty() && s.vlans.empty() && s.priorities.empty() && s.psns.empty() &&
                  !s.version && s.payload == edit::Payload::kept;
         });
}

// What is handed on, record by record.
class Checked {
 public:
  Checked(const edit::EditPlan& plan, capture::LinkType link_type)
      : link_type_(edit::Editor::link_type_out(link_type)),
        same_(does_nothing(plan) && link_type == link_type_),
        same_icrc_(keeps_icrcs(plan) && link_type == link_type_) {}

  void begin(const capture::Record& record) {
    given_ = record;
    before_ = capture::read_packet(link_type_, record);
  }

  void on_edited(wire::ByteView bytes, std::uint32_t wire_size) {
    ++written_;
    require(bytes.size() <= wire_size, "no more is kept than there is");
    if (same_) {
      require(std::ranges::equal(bytes, given_.bytes), "nothing was to be edited");
      require(wire_size == given_.wire_size, "nothing was to be edited, nor cut");
    }
    anonymise(bytes, wire_size);
    if (!same_icrc_ || given_.cut() || !before_.analysable()) return;
    capture::Record record = given_;
    record.bytes = bytes;
    record.wire_size = wire_size;
    const capture::PacketReading after = capture::read_packet(link_type_, record);
    require(after.is_roce(), "a RoCE packet stays one");
    require(after.frame.icrc == before_.frame.icrc, "right stays right, and wrong wrong");
  }
  std::uint64_t written() const { return written_; }

 private:
  // As `--anonymise` does it, with a key that is made once.
  void anonymise(wire::ByteView bytes, std::uint32_t wire_size) {
    static const auto translation = std::make_unique<edit::Anonymised>("a key");
    capture::Record record = given_;
    record.bytes = bytes;
    record.wire_size = wire_size;
    const capture::PacketReading reading = capture::read_packet(link_type_, record);
    edit::FrameParts parts;
    parts.take_apart(link_type_, record, reading);
    edit::FrameSums sums;
    sums.remember(parts);
    edit::translate_frame(parts, *translation);
    edit::erase_contents(parts);
    sums.restore(parts, edit::IcrcPolicy::follow);
    edit::Bytes hidden;
    parts.put_together(hidden);
    require(parts.wire_size() == wire_size && hidden.size() == bytes.size(), "nothing grows");
    record.bytes = hidden;
    const capture::PacketReading after = capture::read_packet(link_type_, record);
    if (!reading.analysable()) return;
    require(after.is_roce() && after.frame.icrc == reading.frame.icrc,
            "who is hidden sends the same packets");
  }

  capture::LinkType link_type_;
  bool same_;
  bool same_icrc_;
  std::uint64_t written_ = 0;
  capture::Record given_;
  capture::PacketReading before_;
};

void edit_all(const edit::EditPlan& plan, capture::LinkType link_type, wire::ByteView input) {
  Checked checked(plan, link_type);
  edit::Editor editor(plan, link_type,
                      [&checked](wire::Instant, wire::ByteView bytes, std::uint32_t wire_size,
                                 std::string_view) { checked.on_edited(bytes, wire_size); });
  for (const capture::Record& record : fuzz::records_of(input)) {
    checked.begin(record);
    if (const auto done = editor.on_record(record); !done) {
      require(fuzz::is_one_line(done.error()), "a complaint is one line");
      return;
    }
    const edit::EditCounts& counts = editor.counts();
    require(counts.frames == record.number, "every frame is counted");
    require(counts.written == checked.written(), "what is written is counted");
    require(counts.changed <= counts.written && counts.left_out <= counts.frames, "parts of it");
  }
  if (const auto done = editor.finish(); !done) {
    require(fuzz::is_one_line(done.error()), "a complaint is one line");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto link_type = static_cast<capture::LinkType>(data[0] % 7);
  const unsigned form = data[0] / 7 % 4;
  const auto* const end = std::find(data + 1, data + size, std::uint8_t{0});
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              static_cast<std::size_t>(end - data - 1));
  const wire::ByteView records =
      std::as_bytes(std::span(data, size)).subspan(std::min(text.size() + 2, size));
  edit::EditPlan plan;
  const bool good =
      form < 2 ? take_words(text, plan)
               : take_script(text, form == 2 ? fabric::ScriptForm::json : fabric::ScriptForm::toml,
                             plan);
  plan.anonymise.reset();  // a key takes longer than all else
  if (!good || !edit::contradiction(plan).empty()) return 0;
  if (!edit::Editor::refuse(plan, link_type).empty()) return 0;
  edit_all(plan, link_type, records);
  return 0;
}
