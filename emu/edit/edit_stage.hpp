// SPDX-License-Identifier: BSD-3-Clause
// One stage of an edit at work: one pass over a frame that is taken apart, its sums made right
// afterwards.
#pragma once

#include <string>

#include "edit/edit_counts.hpp"
#include "edit/edit_plan.hpp"
#include "edit/flat_frame.hpp"
#include "edit/frame_context.hpp"
#include "edit/frame_filter.hpp"

namespace softrnic::edit {

class StageAtWork {
 public:
  StageAtWork(EditStage stage, IcrcPolicy icrc, std::uint64_t seed);

  enum class Outcome : std::uint8_t {
    done,
    dropped,     // by a rule
    duplicated,  // by a rule
    mixed,       // its addresses would be of two IP versions: nothing was done
  };
  Outcome apply(FrameParts& frame, const FrameContext& context, EditCounts& counts);

 private:
  Outcome edit(FrameParts& frame, const FrameContext& context, EditCounts& counts);
  Outcome apply_rule(FrameParts& frame, const FrameContext& context, EditCounts& counts);
  void rewrite(FrameParts& frame, const wire::PacketView& packet);
  void shift_psns(FrameParts& frame, const FrameContext& context, EditCounts& counts);
  void edit_tags(FrameParts& frame, EditCounts& counts) const;

  EditStage stage_;
  IcrcPolicy icrc_;
  PsnShift psns_;
  std::optional<FrameFilter> only_;
  std::optional<fabric::FaultScript> rule_;
  FlatFrame flat_;
};

}  // namespace softrnic::edit
