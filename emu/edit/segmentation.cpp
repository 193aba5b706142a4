// SPDX-License-Identifier: BSD-3-Clause
#include "edit/segmentation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "edit/cm_translation.hpp"
#include "edit/frame_sums.hpp"
#include "edit/packet_position.hpp"

namespace softrnic::edit {

using wire::Operation;
using wire::Psn;
using wire::Unexpected;

struct Segmentation::Packet {
  const FrameParts& parts;
  const analysis::Frame& frame;
  std::uint32_t known_mtu;
  std::vector<FrameParts>& out;

  const wire::OpcodeInfo& opcode() const { return *frame.opcode; }
  Psn psn() const { return frame.headers.bth.psn; }
  bool is_read() const { return opcode().operation == Operation::read_request; }
};

namespace {

constexpr std::size_t kIcrcSize = 4;
// The smallest path MTU: as long a response is one packet whatever the MTU.
constexpr std::uint32_t kSmallestMtu = 256;

template <class... Args>
Unexpected<std::string> refuse(const analysis::Frame& frame, fmt::format_string<Args...> form,
                               Args&&... args) {
  return {fmt::format("frame {}: {}: its connection cannot be numbered anew", frame.number,
                      fmt::format(form, std::forward<Args>(args)...))};
}

std::uint32_t index_in(const LineSpan& span, Psn psn) {
  return static_cast<std::uint32_t>(psn.since(span.old_first));
}

// A new frame around a packet's headers: same link and network, another BTH and payload.
FrameParts frame_like(const FrameParts& like, const wire::TransportHeaders& headers,
                      wire::ByteView payload, std::size_t pad) {
  FrameParts frame = like;
  FrameSums sums;
  sums.remember(like);
  frame.body.assign(headers.size() + payload.size() + pad + kIcrcSize, std::byte{});
  headers.serialize(frame.body);
  std::ranges::copy(payload, frame.body.begin() + static_cast<std::ptrdiff_t>(headers.size()));
  frame.set_lengths();
  sums.restore(frame, IcrcPolicy::follow);
  return frame;
}

}  // namespace

Segmentation::Flow& Segmentation::flow_of(const FlowName& name, std::uint32_t stream,
                                          bool is_request) {
  const auto [entry, is_new] = flows_.try_emplace(name);
  Flow& flow = entry->second;
  // The queue pair has another connection than before.
  if (is_new || (is_request && flow.stream != stream)) {
    flow = Flow{};
    flow.stream = stream;
    flow.line = NumberLine(path_mtu_);
  }
  return flow;
}

bool Segmentation::keeps(Flow& flow) {
  const bool kept = flow.messages++ % thin_ == 0;
  ++(kept ? counts_.messages : counts_.messages_left_out);
  return kept;
}

Segmentation::Result Segmentation::on_frame(const FrameParts& parts, const FrameContext& context,
                                            const analysis::Frame& frame, std::uint32_t stream,
                                            std::uint32_t known_mtu, std::vector<FrameParts>& out) {
  if (context.announced) flows_.erase(*context.announced);
  if (!context.has_psn) {
    out.push_back(parts);
    if (context.announced && path_mtu_ != 0) announce_mtu(out.back(), path_mtu_);
    return {};
  }
  if (!parts.is_whole()) return refuse(frame, "a snap length cut it");
  if (!context.flow) return refuse(frame, "the capture does not tell whose answer it is");
  const Packet packet{parts, frame, known_mtu, out};
  Flow& flow = flow_of(*context.flow, stream, !frame.opcode->is_response());
  switch (frame.opcode->operation) {
    case Operation::read_response:
      return on_response(flow, packet);
    case Operation::acknowledge:
    case Operation::atomic_acknowledge:
      return on_acknowledgement(flow, packet);
    default:
      return on_request(flow, packet);
  }
}

void Segmentation::announce_mtu(FrameParts& parts, std::uint32_t path_mtu) {
  const wire::ByteSpan cm = cm_datagram(parts);
  if (cm.empty() || cm_attribute(cm) != wire::CmAttribute::connect_request) return;
  FrameSums sums;
  sums.remember(parts);
  const int code = std::countr_zero(path_mtu) - std::countr_zero(kSmallestMtu) + 1;
  wire::put(cm.data() + wire::MadHeader::kSize, wire::CmReq::kPathMtu,
            static_cast<std::uint64_t>(code));
  sums.restore(parts, IcrcPolicy::follow);
}

Segmentation::Result Segmentation::on_request(Flow& flow, const Packet& packet) {
  NumberLine& line = flow.line;
  const Psn psn = packet.psn();
  line.close_open_read(psn);
  const bool starts = packet.opcode().starts_message();
  LineSpan* newest = line.newest();
  const bool in_progress = newest != nullptr && !newest->complete;
  if (newest != nullptr && newest->is_read && newest->old_count == 0) {
    return refuse(packet.frame, "the capture does not tell how many packets the READ before has");
  }
  std::int32_t ahead = line.begun() ? psn.since(line.next_old()) : 0;
  const bool reliable = packet.opcode().service == wire::Service::reliable_connection ||
                        packet.opcode().service == wire::Service::extended_reliable_connection;
  if (ahead > 0 && !reliable && starts && !in_progress) {
    line.skip_to(psn);
    ahead = 0;
  }
  if (ahead > 0) {
    return refuse(packet.frame, "PSN {} is missing before it", line.next_old().value());
  }
  if (ahead == 0 && starts) {
    if (in_progress) return refuse(packet.frame, "the message before it has no end");
    return on_new_request(flow, packet);
  }
  LineSpan* span = ahead == 0 ? newest : line.find(psn);
  if (span == nullptr || (ahead == 0 && !in_progress)) {
    return refuse(packet.frame, "it belongs to a message that begins before the capture");
  }
  if (packet.is_read() || span->is_read) {
    if (!packet.is_read() || !span->is_read) return refuse(packet.frame, "its PSN is a READ's");
    return on_read(flow, *span, packet);
  }
  if (starts && psn != span->old_first) {
    return refuse(packet.frame, "its PSN is in the middle of another message");
  }
  return on_continued(flow, *span, packet);
}

Segmentation::Result Segmentation::on_new_request(Flow& flow, const Packet& packet) {
  const std::uint32_t size = packet.frame.payload_size;
  if (packet.opcode().has(wire::kDeth) && path_mtu_ != 0 && size > path_mtu_) {
    return refuse(packet.frame, "a datagram of {} bytes cannot be cut", size);
  }
  LineSpan& span = flow.line.begin(packet.psn(), keeps(flow));
  if (!packet.is_read()) {
    if (!packet.opcode().ends_message()) span.old_mtu = size;
    return on_continued(flow, span, packet);
  }
  span.is_read = span.complete = true;
  span.bytes = packet.frame.headers.reth.dma_length;
  span.old_mtu = packet.known_mtu;
  if (span.bytes <= kSmallestMtu) {
    span.old_count = 1;
  } else if (span.old_mtu != 0) {
    span.old_count = packets_of(span.bytes, span.old_mtu);
  }
  flow.line.settle(span);
  return on_read(flow, span, packet);
}

Segmentation::Result Segmentation::on_continued(Flow& flow, LineSpan& span, const Packet& packet) {
  const std::uint32_t index = index_in(span, packet.psn());
  if (index >= span.old_count) {
    span.old_count = index + 1;
    span.bytes = std::uint64_t{index} * span.old_mtu + packet.frame.payload_size;
    span.complete = packet.opcode().ends_message();
    flow.line.settle(span);
  }
  return feed(flow.request, span, packet);
}

Segmentation::Result Segmentation::on_read(Flow& /*flow*/, LineSpan& span, const Packet& packet) {
  if (!span.kept) return {};
  const std::uint32_t index = index_in(span, packet.psn());
  if (index == 0 || path_mtu_ == 0) {
    renumbered(packet, span.new_first + index, 0);
    return {};
  }
  const std::uint64_t offset = std::uint64_t{index} * span.old_mtu;
  if (span.old_mtu == 0 || offset % path_mtu_ != 0) {
    return refuse(packet.frame, "it asks for a READ again from where no new packet begins");
  }
  renumbered(packet, span.new_first + static_cast<std::uint32_t>(offset / path_mtu_), 0);
  return {};
}

Segmentation::Result Segmentation::on_response(Flow& flow, const Packet& packet) {
  LineSpan* span = flow.line.find(packet.psn());
  if (span == nullptr || !span->is_read) {
    return refuse(packet.frame, "it answers a READ that the capture does not hold");
  }
  const std::uint32_t index = index_in(*span, packet.psn());
  if (span->old_count == 0 || (span->old_mtu == 0 && span->old_count > 1)) {
    const bool first = packet.opcode().position == wire::Position::first;
    if (first) span->old_mtu = packet.frame.payload_size;
    if (index == 0 && (!first || span->old_mtu != 0)) {
      span->old_count = first ? packets_of(span->bytes, span->old_mtu) : 1;
      flow.line.settle(*span);
    }
  }
  if (index > 0 && span->old_mtu == 0) {
    return refuse(packet.frame, "the capture does not tell the path MTU of the READ it answers");
  }
  return feed(flow.response, *span, packet);
}

Segmentation::Result Segmentation::on_acknowledgement(Flow& flow, const Packet& packet) {
  const LineSpan* span = flow.line.find(packet.psn());
  const bool atomic = packet.opcode().operation == Operation::atomic_acknowledge;
  const wire::Syndrome syndrome = packet.frame.headers.aeth.syndrome;
  const bool kept = span == nullptr || span->kept;
  if (!kept && (atomic || !syndrome.is_ack())) return {};
  std::uint32_t dropped = 0;
  if (span != nullptr) {
    const bool whole = span->complete && index_in(*span, packet.psn()) + 1 >= span->old_count;
    dropped = span->dropped_before + (!kept && whole ? 1 : 0);
  }
  const Psn psn =
      syndrome.is_ack() ? flow.line.acknowledged(packet.psn()) : flow.line.expected(packet.psn());
  // What acknowledges nothing but messages that are not there would repeat an acknowledgement.
  if (!kept && (!flow.has_acknowledged || psn.since(flow.acknowledged) <= 0)) return {};
  if (syndrome.is_ack()) {
    if (!flow.has_acknowledged || psn.after(flow.acknowledged)) flow.acknowledged = psn;
    flow.has_acknowledged = true;
  }
  renumbered(packet, psn, dropped);
  return {};
}

void Segmentation::renumbered(const Packet& packet, Psn psn, std::uint32_t dropped) {
  FrameParts& frame = packet.out.emplace_back(packet.parts);
  FrameSums sums;
  sums.remember(frame);
  wire::put(frame.bth(), wire::Bth::kPsn, psn.value());
  if (std::byte* aeth = frame.extension(wire::kAeth)) {
    const std::uint64_t msn = wire::get(aeth, wire::Aeth::kMsn) - dropped;
    wire::put(aeth, wire::Aeth::kMsn, msn & Psn::kMask);
  }
  sums.restore(frame, IcrcPolicy::follow);
}

Segmentation::Result Segmentation::feed(Gathered& gathered, LineSpan& span, const Packet& packet) {
  ++counts_.packets_in;
  if (!span.kept) return {};
  const std::uint32_t index = index_in(span, packet.psn());
  if (path_mtu_ == 0) {
    ++counts_.packets_out;
    renumbered(packet, span.new_first + index, span.dropped_before);
    return {};
  }
  const std::uint64_t offset = std::uint64_t{index} * span.old_mtu;
  const bool starts = packet.opcode().starts_message();
  if (starts || !gathered.open || gathered.offset + gathered.bytes.size() != offset) {
    if (offset % path_mtu_ != 0) {
      return refuse(packet.frame, "it repeats a message from where no new packet begins");
    }
    gathered = {};
    gathered.open = true;
    gathered.starts = starts;
    gathered.offset = offset;
    gathered.first = packet.frame.headers;
  }
  const bool wrong = packet.frame.icrc == analysis::IcrcVerdict::bad;
  if (wrong && !gathered.bytes.empty()) return refuse_joining(packet);
  wire::ByteView rest = packet.frame.payload;
  const bool ends = packet.opcode().ends_message();
  do {
    const std::size_t n = std::min<std::size_t>(rest.size(), path_mtu_ - gathered.bytes.size());
    gathered.bytes.insert(gathered.bytes.end(), rest.begin(),
                          rest.begin() + static_cast<std::ptrdiff_t>(n));
    rest = rest.subspan(n);
    if (rest.empty()) {
      gathered.ack_request = gathered.ack_request || packet.frame.headers.bth.ack_request;
    }
    const bool last = rest.empty() && ends;
    if (last || gathered.bytes.size() == path_mtu_) {
      if (auto done = cut(gathered, span, packet, last); !done) return done;
    }
  } while (!rest.empty());
  if (wrong && !gathered.bytes.empty()) return refuse_joining(packet);
  return {};
}

// A receiver drops what is wrong, and what came with it would be lost as well.
Segmentation::Result Segmentation::refuse_joining(const Packet& packet) {
  return refuse(packet.frame, "its ICRC is wrong, and it would be joined with others");
}

Segmentation::Result Segmentation::cut(Gathered& gathered, LineSpan& span, const Packet& packet,
                                       bool ends) {
  const wire::OpcodeInfo* opcode =
      opcode_at(packet.opcode(), gathered.starts, ends, packet.opcode());
  if (opcode == nullptr) return refuse(packet.frame, "its operation has but one packet");
  ++counts_.packets_out;
  wire::TransportHeaders headers = packet.frame.headers;
  headers.bth.opcode = opcode->opcode;
  headers.bth.psn = span.new_first + static_cast<std::uint32_t>(gathered.offset / path_mtu_);
  headers.bth.pad_count = static_cast<std::uint8_t>(-gathered.bytes.size() & 3);
  headers.bth.ack_request = gathered.ack_request;
  headers.bth.solicited = ends && headers.bth.solicited;
  headers.reth = gathered.first.reth;
  // At the end of a response stands the newest MSN.
  if (!ends) headers.aeth = gathered.first.aeth;
  headers.aeth.msn = (headers.aeth.msn - span.dropped_before) & Psn::kMask;
  packet.out.push_back(frame_like(packet.parts, headers, gathered.bytes, headers.bth.pad_count));
  gathered.bytes.clear();
  gathered.offset += path_mtu_;
  gathered.starts = gathered.ack_request = false;
  gathered.open = !ends;
  return {};
}

}  // namespace softrnic::edit
