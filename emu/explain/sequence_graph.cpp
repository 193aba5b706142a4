// SPDX-License-Identifier: BSD-3-Clause
#include "explain/sequence_graph.hpp"

#include <algorithm>

namespace softrnic::explain {

std::string_view to_string(SequenceMark mark) {
  switch (mark) {
    case SequenceMark::request:
      return "request";
    case SequenceMark::response:
      return "response";
    case SequenceMark::ack:
      return "ack";
    case SequenceMark::retransmission:
      return "retransmission";
    case SequenceMark::gap:
      return "gap";
    case SequenceMark::late:
      return "late";
    case SequenceMark::duplicate:
      return "duplicate";
    case SequenceMark::nak:
      return "nak";
    case SequenceMark::rnr:
      return "rnr";
    case SequenceMark::ecn:
      return "ecn";
    case SequenceMark::cnp:
      return "cnp";
    case SequenceMark::bad_icrc:
      break;
  }
  return "bad_icrc";
}

void SequenceGraph::Thinned::thin() {
  stride_ *= 2;
  for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
  points_.resize((points_.size() + 1) / 2);
}

std::vector<SequencePoint> SequenceGraph::points() const {
  std::vector<SequencePoint> all(plain_.points().size() + marks_.points().size());
  std::merge(plain_.points().begin(), plain_.points().end(), marks_.points().begin(),
             marks_.points().end(), all.begin(),
             [](const auto& a, const auto& b) { return a.frame < b.frame; });
  return all;
}

}  // namespace softrnic::explain
