// SPDX-License-Identifier: BSD-3-Clause
// Where known RoCE implementations answer otherwise than the standard says. An answer that differs
// in such a way is named in the report and is no difference.
#pragma once

#include <span>
#include <string_view>

#include "offline_replay/request_fate.hpp"

namespace softrnic::offline_replay {

struct KnownDeviation {
  std::string_view id;    // short, for reports and programs
  std::string_view what;  // what the implementation does
  std::string_view rule;  // what the standard says instead
};

std::span<const KnownDeviation> known_deviations();

// The deviation that explains `captured` where the standard's answer has `expected`; `request` is
// what both answer. Null when none does.
const KnownDeviation* explain_syndrome(const Packet& request, wire::Syndrome captured,
                                       wire::Syndrome expected);
// The same for a captured answer where the standard asks for silence; `step` is the last request
// before it for the PSN that it names.
const KnownDeviation* explain_answer(const Step& step, wire::Syndrome captured);

// The same for another opcode; `step` is the request that both answer.
const KnownDeviation* explain_opcode(const Step& step, wire::Opcode captured,
                                     wire::Opcode expected);

}  // namespace softrnic::offline_replay
