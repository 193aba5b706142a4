// SPDX-License-Identifier: BSD-3-Clause
#include "explain/packet_row.hpp"

#include <fmt/format.h>

#include <iterator>

#include "explain/figures.hpp"

namespace softrnic::explain {

namespace {

std::string_view icrc_name(analysis::IcrcVerdict verdict) {
  switch (verdict) {
    case analysis::IcrcVerdict::good:
      return "right";
    case analysis::IcrcVerdict::bad:
      return "wrong";
    case analysis::IcrcVerdict::unverified:
      break;
  }
  return "unverified";
}

void add_frame(std::string& out, std::uint32_t frame) {
  if (frame != 0) fmt::format_to(std::back_inserter(out), "{}", frame);
  out += ',';
}

}  // namespace

std::string_view packet_csv_header() {
  return "frame,time_ns,connection,sender,requester,message,version,service,opcode,source,"
         "destination,destination_qpn,psn,relative_psn,payload_bytes,ack_request,solicited,"
         "syndrome,"
         "msn,repetition,original_frame,answered_frame,bytes_in_flight,packets_in_flight,ecn,icrc,"
         "findings\n";
}

void add_packet_csv(std::string& out, const SeenPacket& packet) {
  const analysis::Frame& f = packet.frame;
  const analysis::PacketRecord& r = packet.record;
  const wire::Bth& bth = f.headers.bth;
  auto at = std::back_inserter(out);
  at = fmt::format_to(at, "{},{},{},{},", f.number, f.time.time_since_epoch().count(), r.stream,
                      r.sender);
  if (packet.message != nullptr) {
    at = fmt::format_to(at, "{},{},", packet.message->requester, packet.message->number);
  } else {
    out += ",,";
  }
  at = fmt::format_to(
      at, "{},{},{},{},{},{},{},{},{},{},{},", f.version == wire::RoceVersion::v1 ? "v1" : "v2",
      service_name(f.opcode->service), f.opcode->name, f.source.to_string(),
      f.destination.to_string(), bth.destination_qpn, bth.psn.value(), r.relative_psn,
      f.payload_size, bth.ack_request ? 1 : 0, bth.solicited ? 1 : 0);
  if (f.opcode->has(wire::kAeth)) {
    at = fmt::format_to(at, "{},{},", f.headers.aeth.syndrome.raw(), f.headers.aeth.msn);
  } else {
    out += ",,";
  }
  at = fmt::format_to(at, "{},", r.repetition);
  add_frame(out, r.original);
  add_frame(out, r.answers);
  at = fmt::format_to(at, "{},{},{},{},", r.bytes_in_flight, r.packets_in_flight, f.ecn,
                      icrc_name(f.icrc));
  for (std::size_t i = 0; i < packet.findings.size(); ++i) {
    if (i != 0) out += ' ';
    out += analysis::info(packet.findings[i].kind).name;
  }
  out += '\n';
}

std::string_view loss_csv_header() {
  return "connection,requester,cause,psn,packets,packets_again,rounds,gave_up,lost_frame,"
         "shown_frame,late_frame,cause_frame,again_frame,last_frame,lost_at_ns,noticed_after_ns,"
         "reacted_after_ns,time_lost_ns\n";
}

void add_loss_csv(std::string& out, const Loss& loss) {
  auto at = std::back_inserter(out);
  at = fmt::format_to(at, "{},{},{},{},{},{},{},{},", loss.connection, loss.side,
                      to_string(loss.cause), loss.psn, loss.packets, loss.packets_again,
                      loss.rounds, loss.gave_up ? 1 : 0);
  for (const std::uint32_t frame : {loss.lost_frame, loss.shown_frame, loss.late_frame,
                                    loss.cause_frame, loss.again_frame, loss.last_frame}) {
    add_frame(out, frame);
  }
  fmt::format_to(at, "{},{},{},{}\n", loss.lost_at.time_since_epoch().count(),
                 loss.noticed_after().count(), loss.reacted_after().count(),
                 loss.time_lost().count());
}

}  // namespace softrnic::explain
