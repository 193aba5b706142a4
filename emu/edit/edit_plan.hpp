// SPDX-License-Identifier: BSD-3-Clause
// What an edit is to do, as plain values: which frames stay, and what is done to them in which
// order. edit_words reads it from a command line or a script (docs/edit.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edit/frame_sums.hpp"
#include "edit/mapped_values.hpp"
#include "fabric/fault_rule.hpp"
#include "wire/instant.hpp"

namespace softrnic::edit {

struct FrameRange {
  std::uint32_t first = 1;
  std::uint32_t last = 0xffffffff;
};

// A moment of the capture: since its first frame, or since 1970.
struct Moment {
  wire::Duration since{};
  bool absolute = false;
};

// A frame stays when every member that says anything lets it.
struct FrameChoice {
  std::vector<FrameRange> frames;
  std::vector<std::uint32_t> streams;  // as `softrnic check --json` numbers them
  std::optional<Moment> from;
  std::optional<Moment> to;
  std::vector<fabric::FaultRule> keep;  // one of these filters passes
  std::vector<fabric::FaultRule> drop;  // none of these does
};

struct VlanRule {
  enum class From : std::uint8_t { any, untagged, tagged };

  From from = From::any;
  std::optional<std::uint16_t> from_id;
  std::optional<std::uint16_t> to;  // no value: stripped
};

enum class Payload : std::uint8_t {
  kept,
  cut,      // the frame ends behind its headers, as after a snap length
  zeroed,   // as many zeros
  removed,  // gone, and the lengths of the frame with it
};

struct EditStage {
  std::optional<fabric::FaultRule> only;  // frames that this filter passes
  std::optional<fabric::FaultRule> rule;  // of the fault language; a stage of its own
  MappedValues values;
  std::vector<VlanRule> vlans;
  NumberMap priorities{3};
  std::vector<NumberRule> psns;  // set: what the first PSN becomes; FROM: the responder's QPN
  std::optional<wire::RoceVersion> version;
  Payload payload = Payload::kept;
};

struct EditPlan {
  FrameChoice choice;
  std::uint32_t path_mtu = 0;  // 0: packets stay as they were cut
  std::uint32_t thin = 1;      // every n-th message stays
  std::vector<EditStage> stages{1};
  std::optional<std::string> anonymise;  // the key
  IcrcPolicy icrc = IcrcPolicy::follow;
  std::uint32_t snap_length = 0;  // 0: none
  std::optional<Moment> begins;   // when the first frame is to be
  wire::Duration time_shift{};
  double time_scale = 1;
  std::uint64_t seed = 1;

  // Whether connections have to be followed.
  bool needs_analysis() const;
};

}  // namespace softrnic::edit
