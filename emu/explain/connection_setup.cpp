// SPDX-License-Identifier: BSD-3-Clause
#include "explain/connection_setup.hpp"

#include <algorithm>

#include "analysis/packet_record.hpp"

namespace softrnic::explain {

namespace {

using analysis::FindingKind;

std::uint64_t key_of(std::uint32_t a, std::uint32_t b) {
  return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
}

}  // namespace

CmSetup* ConnectionSetup::of_request(std::uint32_t frame) {
  const auto found = by_frame_.find(frame);
  return frame == 0 || found == by_frame_.end() ? nullptr : &setups_[found->second];
}

void ConnectionSetup::on_finding(const analysis::Frame& frame, const analysis::Finding& finding) {
  const bool datagram_service = finding.b == analysis::kNone;  // SIDR
  switch (finding.kind) {
    case FindingKind::connection_request: {
      if (datagram_service || setups_.size() == kMost) return;
      CmSetup setup;
      setup.address[0] = frame.source;
      setup.address[1] = frame.destination;
      setup.qpn[0] = static_cast<std::uint32_t>(finding.a);
      setup.request_frame = frame.number;
      setup.requested_at = frame.time;
      by_frame_[frame.number] = static_cast<std::uint32_t>(setups_.size());
      setups_.push_back(setup);
      return;
    }
    case FindingKind::connection_established: {
      CmSetup* setup = datagram_service ? nullptr : of_request(finding.related);
      if (setup == nullptr) return;
      if (finding.a == 0) {
        setup->ready_frame = frame.number;
        return;
      }
      const auto number = static_cast<std::uint32_t>(setup - setups_.data());
      setup->reply_frame = frame.number;
      setup->qpn[1] = static_cast<std::uint32_t>(finding.a);
      by_frame_[frame.number] = number;
      by_qpns_.emplace(key_of(setup->qpn[0], setup->qpn[1]), number);
      return;
    }
    case FindingKind::connection_rejected:
      if (CmSetup* setup = datagram_service ? nullptr : of_request(finding.related)) {
        setup->reject_frame = frame.number;
      }
      return;
    case FindingKind::connection_closed:
      if (CmSetup* setup = of_request(finding.related)) {
        if (setup->disconnect_frame != 0) return;
        setup->disconnect_frame = frame.number;
        setup->disconnected_at = frame.time;
      }
      return;
    default:
      return;
  }
}

const CmSetup* ConnectionSetup::find(const analysis::Stream& stream) const {
  const analysis::StreamSide& a = stream.sides[0];
  const analysis::StreamSide& b = stream.sides[1];
  const auto [from, to] = by_qpns_.equal_range(key_of(a.qpn, b.qpn));
  const CmSetup* newest = nullptr;
  for (auto i = from; i != to; ++i) {
    const CmSetup& setup = setups_[i->second];
    const bool same = (setup.address[0] == a.address && setup.qpn[0] == a.qpn &&
                       setup.address[1] == b.address && setup.qpn[1] == b.qpn) ||
                      (setup.address[0] == b.address && setup.qpn[0] == b.qpn &&
                       setup.address[1] == a.address && setup.qpn[1] == a.qpn);
    if (!same || setup.request_frame > stream.last_frame) continue;
    if (newest == nullptr || setup.request_frame > newest->request_frame) newest = &setup;
  }
  return newest;
}

}  // namespace softrnic::explain
