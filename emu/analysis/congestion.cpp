// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/congestion.hpp"

#include <cstring>

namespace softrnic::analysis {

namespace {

constexpr std::uint8_t kCongestionExperienced = 3;
constexpr auto kLongest = static_cast<std::uint64_t>(Congestion::kWindowTime.count());

bool differs_by_a_quarter(std::uint64_t before, std::uint64_t after) {
  const std::uint64_t change = after > before ? after - before : before - after;
  return change > before / 4;
}

// Datagrams name the queue pair they come from; packets of connections do not.
std::uint32_t source_qpn(const Frame& frame) {
  return frame.opcode->has(wire::kDeth) ? frame.headers.deth.source_qpn : kUnknownQpn;
}

std::uint64_t hash_of(const wire::Gid& gid) {
  std::uint64_t words[2];
  std::memcpy(words, gid.bytes.data(), sizeof words);
  const std::uint64_t hash = (words[0] * 0x9e3779b97f4a7c15u ^ words[1]) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 32;
}

}  // namespace

Congestion::Place& Congestion::place(const wire::Gid& source, const wire::Gid& destination,
                                     std::uint32_t qpn) {
  if (places_.empty()) places_.resize(kPlaces);
  std::uint64_t hash = hash_of(source) * 3 + hash_of(destination) * 5 + qpn;
  hash *= 0x9e3779b97f4a7c15u;
  return places_[(hash >> 32) % kPlaces];
}

void Congestion::on_packet(Observation& o, std::uint32_t& flow) {
  const Frame& frame = o.frame;
  if (flow == kNone) {
    if (frame.ecn == 0) return;
    flow = flows_.push_back(Flow{});
  }
  Flow& f = flows_[flow];
  if (frame.payload_size != 0) count_data(o, f);
  if (frame.ecn != kCongestionExperienced) return;
  f.marked_frame = frame.number;
  f.marked_time = frame.time;
  const std::uint32_t qpn = source_qpn(frame);
  place(frame.source, frame.destination, qpn) = {frame.source, frame.destination, qpn, flow};
  o.find(FindingKind::ecn_marked);
}

void Congestion::count_data(Observation& o, Flow& flow) {
  flow.bytes += o.frame.payload_size;
  flow.samples[flow.packets++ % kWindow] = {o.frame.time, flow.bytes};
  if (flow.cnp_frame == 0 || flow.packets - flow.packets_at_cnp < kWindow) return;
  const std::uint64_t after = rate_since(flow, flow.cnp_time);
  if (after != 0 && differs_by_a_quarter(flow.rate_before, after)) {
    o.find(FindingKind::rate_changed, flow.cnp_frame, flow.rate_before, after);
  }
  flow.cnp_frame = 0;
}

std::uint64_t Congestion::rate_until(const Flow& flow, wire::Instant cnp) {
  if (flow.packets < kWindow) return 0;
  const Sample& first = flow.samples[flow.packets % kWindow];
  const Sample& last = flow.samples[(flow.packets - 1) % kWindow];
  if (last.time > cnp || nanoseconds(first.time, cnp) > kLongest) return 0;
  return rate(first, last);
}

std::uint64_t Congestion::rate_since(const Flow& flow, wire::Instant cnp) {
  const Sample& first = flow.samples[flow.packets % kWindow];
  const Sample& last = flow.samples[(flow.packets - 1) % kWindow];
  if (first.time < cnp || nanoseconds(cnp, last.time) > kLongest) return 0;
  return rate(first, last);
}

std::uint64_t Congestion::rate(const Sample& first, const Sample& last) {
  const std::uint64_t time = nanoseconds(first.time, last.time);
  if (time == 0) return 0;
  // A window's bytes are few enough for no overflow.
  return (last.bytes - first.bytes) * 1'000'000'000 / time;
}

// Of the datagrams of the queue pair it names, else of whatever was marked between the two hosts.
std::uint32_t Congestion::find_flow(const Frame& cnp) {
  for (const std::uint32_t qpn : {cnp.headers.bth.destination_qpn, kUnknownQpn}) {
    const Place& p = place(cnp.destination, cnp.source, qpn);
    const bool found = p.flow != kNone && p.source_qpn == qpn && p.source == cnp.destination &&
                       p.destination == cnp.source;
    if (found) return p.flow;
  }
  return kNone;
}

void Congestion::on_cnp(Observation& o, std::uint32_t* known) {
  if (known != nullptr && *known == kNone) *known = flows_.push_back(Flow{});
  const std::uint32_t number = known != nullptr ? *known : find_flow(o.frame);
  if (number == kNone) {
    o.find(FindingKind::cnp_without_mark);
    return;
  }
  Flow& flow = flows_[number];
  if (flow.marked_frame == 0) {
    o.find(FindingKind::cnp_without_mark);
  } else {
    o.find(FindingKind::cnp, flow.marked_frame, nanoseconds(flow.marked_time, o.frame.time));
  }
  if (flow.cnp_frame == 0) {
    flow.rate_before = rate_until(flow, o.frame.time);
    if (flow.rate_before == 0) return;
    flow.cnp_frame = o.frame.number;
  }
  flow.cnp_time = o.frame.time;
  flow.packets_at_cnp = flow.packets;
}

std::size_t Congestion::memory() const {
  return flows_.memory() + places_.capacity() * sizeof(Place);
}

}  // namespace softrnic::analysis
