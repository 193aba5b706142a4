// SPDX-License-Identifier: BSD-3-Clause
// The edit of a capture: told record by record, it hands on the records of the edited one.
//
// Memory depends on the connections and not on the size of the capture.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/analyzer.hpp"
#include "edit/anonymised.hpp"
#include "edit/edit_stage.hpp"
#include "edit/segmentation.hpp"
#include "wire/expected_void.hpp"

namespace softrnic::edit {

class Editor {
 public:
  using Sink = std::function<void(wire::Instant, wire::ByteView, std::uint32_t wire_size,
                                  std::string_view comment)>;
  using Result = wire::Expected<void, std::string>;

  Editor(EditPlan plan, capture::LinkType link_type, Sink sink);
  ~Editor();

  // Why the plan cannot be followed in a capture of that link type; empty when it can.
  static std::string refuse(const EditPlan& plan, capture::LinkType link_type);
  // The link type of what is handed on.
  static capture::LinkType link_type_out(capture::LinkType link_type);

  // The error is one sentence: which frame cannot be edited, why, and what to do. No record may
  // follow it.
  Result on_record(const capture::Record& record);
  // After the last record. It is an error that what was chosen by its number was nowhere.
  Result finish();

  const EditCounts& counts() const { return counts_; }

 private:
  FrameContext context_of(const capture::Record& record, const capture::PacketReading& reading,
                          const analysis::PacketRecord* followed);
  std::optional<FlowName> flow_of(const analysis::Frame& frame,
                                  const analysis::PacketRecord* followed) const;
  bool chosen(const capture::Record& record, std::uint32_t stream);
  bool passes_filters(wire::Instant at);
  void count(const capture::Record& record, const capture::PacketReading& reading);
  Result cut_anew(const FrameContext& context, const capture::PacketReading& reading,
                  const analysis::PacketRecord* followed, wire::ByteView original);
  void anonymise();
  Result edit_parts(const FrameContext& context, wire::ByteView original);
  void emit(const FrameContext& context, wire::ByteView original);
  wire::Instant moved(wire::Instant at) const;

  EditPlan plan_;
  capture::LinkType link_type_;
  Sink sink_;
  EditCounts counts_;
  std::vector<StageAtWork> stages_;
  std::vector<FrameFilter> keep_;
  std::vector<FrameFilter> drop_;
  std::unique_ptr<analysis::Analyzer> analyzer_;
  std::unique_ptr<Anonymised> anonymised_;
  std::optional<Segmentation> segmentation_;
  std::vector<FrameParts> pieces_;
  std::vector<bool> seen_;  // of the streams that are chosen, whether a frame is of them
  std::optional<wire::Instant> first_;
  std::string_view comment_;  // of the record at hand
  FrameParts parts_;
  FlatFrame flat_;
  Bytes bytes_;
};

}  // namespace softrnic::edit
