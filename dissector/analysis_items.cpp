// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/analysis_items.hpp"

#include "dissector/analysis.hpp"
#include "dissector/fields.hpp"
#include "dissector/message_line.hpp"

namespace softrnic::dissector {
namespace {

// Everything here was worked out and stands nowhere in the packet.
class Branch {
 public:
  Branch(proto_tree* tree, tvbuff_t* tvb) : tree_(tree), tvb_(tvb) {}

  void number(FieldId id, std::uint32_t value) const {
    proto_item_set_generated(proto_tree_add_uint(tree_, field(id), tvb_, 0, 0, value));
  }
  // For filters alone.
  void hidden_number(FieldId id, std::uint32_t value) const {
    proto_item_set_hidden(proto_tree_add_uint(tree_, field(id), tvb_, 0, 0, value));
  }
  void signed_number(FieldId id, std::int32_t value) const {
    proto_item_set_generated(proto_tree_add_int(tree_, field(id), tvb_, 0, 0, value));
  }
  // A link to another frame, when there is one.
  void frame(FieldId id, std::uint32_t number_of_frame) const {
    if (number_of_frame != 0) number(id, number_of_frame);
  }
  void text(FieldId id, const char* value) const {
    proto_item_set_generated(proto_tree_add_string(tree_, field(id), tvb_, 0, 0, value));
  }
  void time(FieldId id, wire::Duration duration) const {
    constexpr std::int64_t kNsPerSecond = 1'000'000'000;
    const std::int64_t ns = duration.count();
    const nstime_t value{static_cast<time_t>(ns / kNsPerSecond),
                         static_cast<int>(ns % kNsPerSecond)};
    proto_item_set_generated(proto_tree_add_time(tree_, field(id), tvb_, 0, 0, &value));
  }

 private:
  proto_tree* tree_;
  tvbuff_t* tvb_;
};

bool is_response(const Packet& packet) {
  return packet.opcode->is_response();
}

bool is_acknowledge(const Packet& packet) {
  return packet.opcode->operation == wire::Operation::acknowledge;
}

void add_stream(const Branch& branch, const Packet& packet, const analysis::PacketRecord& record) {
  const analysis::Stream& stream = analyzer()->stream(record.stream);
  branch.number(FieldId::stream, record.stream);
  branch.hidden_number(FieldId::queue_pair, packet.headers.bth.destination_qpn);
  const std::uint32_t source = stream.sides[record.sender].qpn;
  if (source != analysis::kUnknownQpn) {
    branch.number(FieldId::source_qp, source);
    branch.hidden_number(FieldId::queue_pair, source);
  }
  branch.text(FieldId::paired_by, analysis::to_string(stream.paired_by).data());
  if (stream.path_mtu != 0) branch.number(FieldId::path_mtu, stream.path_mtu);
  branch.signed_number(FieldId::relative_psn, record.relative_psn);
  branch.time(FieldId::relative_time, record.time - stream.first_time);
  if (const auto* previous = analyzer()->find(record.previous_frame)) {
    branch.time(FieldId::time_delta, record.time - previous->time);
    branch.frame(FieldId::previous_frame, record.previous_frame);
  }
}

void add_links(const Branch& branch, const Packet& packet, const analysis::PacketRecord& record) {
  if (is_response(packet)) {
    branch.frame(is_acknowledge(packet) ? FieldId::acks : FieldId::request_in, record.answers);
  } else {
    branch.frame(packet.opcode->awaits_response() ? FieldId::response_in : FieldId::acked_in,
                 record.answered_in);
  }
  branch.frame(FieldId::retransmission_of, record.original);
  if (record.repetition != 0) branch.number(FieldId::repetition, record.repetition);
}

void add_latency(const Branch& branch, const Packet& packet, const analysis::PacketRecord& record) {
  const auto* request = analyzer()->find(record.answers);
  if (!is_response(packet) || request == nullptr) return;
  if (is_acknowledge(packet)) {
    branch.time(FieldId::ack_latency, record.time - request->time);
  } else if (packet.opcode->ends_message()) {
    branch.time(FieldId::read_latency, record.time - request->time);
  }
}

void add_credits(const Branch& branch, const Packet& packet) {
  if (!packet.opcode->has(wire::kAeth) || !packet.headers.aeth.syndrome.is_ack()) return;
  const auto credits = wire::credit_count(packet.headers.aeth.syndrome.value());
  if (credits) branch.number(FieldId::stream_credits, *credits);
}

void add_flight(const Branch& branch, const analysis::PacketRecord& record) {
  branch.number(FieldId::bytes_in_flight, record.bytes_in_flight);
  branch.number(FieldId::packets_in_flight, record.packets_in_flight);
  branch.number(FieldId::outstanding_reads, record.outstanding_reads);
}

// Kept for as long as the packet is looked at.
const char* line_of(packet_info* pinfo, const analysis::Message& message) {
  return wmem_strdup(pinfo->pool, message_line(message).c_str());
}

void add_message(proto_tree* tree, packet_info* pinfo, const Packet& packet,
                 const analysis::PacketRecord& record) {
  if (record.message == analysis::kNone) return;
  const analysis::Message& message = analyzer()->message(record.message);
  proto_item* item = proto_tree_add_string(tree, field(FieldId::message), packet.tvb, 0, 0,
                                           line_of(pinfo, message));
  proto_item_set_generated(item);
  const Branch branch(proto_item_add_subtree(item, subtree(Subtree::message)), packet.tvb);
  branch.number(FieldId::message_number, message.number);
  branch.text(FieldId::message_operation, operation_name(message.operation));
  branch.number(FieldId::message_length, message.length);
  branch.number(FieldId::message_packets, message.packets);
  if (packet.payload_size != 0) branch.number(FieldId::message_offset, record.message_offset);
  branch.text(FieldId::message_state, analysis::to_string(message.state).data());
  branch.frame(FieldId::message_begins_in, message.first_frame);
  branch.frame(FieldId::message_completed_in, message.completed_frame);
  if (message.completed_frame != 0) {
    branch.time(FieldId::message_completion_time, message.completed_time - message.first_time);
  }
}

proto_tree* add_branch(proto_tree* tree, const Packet& packet,
                       const analysis::PacketRecord& record) {
  proto_item* item = nullptr;
  proto_tree* branch = proto_tree_add_subtree_format(
      tree, packet.tvb, 0, 0, subtree(Subtree::stream), &item, "Stream %u", record.stream);
  proto_item_set_generated(item);
  return branch;
}

}  // namespace

void add_analysis(proto_tree* tree, packet_info* pinfo, const Packet& packet,
                  const analysis::PacketRecord& record) {
  if (tree == nullptr || analyzer() == nullptr || record.stream == analysis::kNone) return;
  const Branch branch(add_branch(tree, packet, record), packet.tvb);
  add_stream(branch, packet, record);
  add_links(branch, packet, record);
  add_latency(branch, packet, record);
  add_credits(branch, packet);
  if (packet.opcode->service != wire::Service::unreliable_datagram &&
      packet.opcode->service != wire::Service::congestion_notification) {
    add_flight(branch, record);
  }
  add_message(tree, pinfo, packet, record);
}

}  // namespace softrnic::dissector
