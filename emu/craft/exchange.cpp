// SPDX-License-Identifier: BSD-3-Clause
#include "craft/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace softrnic::craft {

namespace {

using Form = PacketName::Form;
using wire::Operation;
using wire::Position;

constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr std::size_t kMostOwed = 128;
constexpr std::size_t kMostInPacket = 60000;
constexpr std::size_t kAtomicSize = 8;

bool answers(const wire::OpcodeInfo& row) {
  return row.is_response();
}

bool counts_psn(const wire::OpcodeInfo& row) {
  return !row.is_response() && row.operation != Operation::cnp;
}

std::uint32_t packets_of(std::size_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + mtu - 1) / mtu);
}

// The value of the field if the line gives it whole.
std::optional<std::uint64_t> given(const PacketRequest& request, std::string_view name) {
  for (const PacketRequest::Field& field : request.fields) {
    if (field.value.name == name && field.value.kind == fabric::FieldValue::Kind::number) {
      return field.value.number;
    }
  }
  return std::nullopt;
}

std::uint32_t stepped(const fabric::FieldValue& value, std::uint32_t from) {
  using Kind = fabric::FieldValue::Kind;
  const auto number = static_cast<std::uint32_t>(value.number);
  if (value.kind == Kind::plus) return (from + number) & kPsnMask;
  if (value.kind == Kind::minus) return (from - number) & kPsnMask;
  return number & kPsnMask;
}

// An operation of the other end's.
bool replies(wire::CmAttribute message) {
  using wire::CmAttribute;
  return message == CmAttribute::connect_reply || message == CmAttribute::connect_reject ||
         message == CmAttribute::message_receipt_acknowledgment ||
         message == CmAttribute::disconnect_reply ||
         message == CmAttribute::service_id_resolution_reply ||
         message == CmAttribute::alternate_path_response;
}

}  // namespace

End End::at(const wire::Gid& address, unsigned number) {
  End end;
  end.address = address;
  end.mac = {
      {0x02, 0x00, address.bytes[12], address.bytes[13], address.bytes[14], address.bytes[15]}};
  end.qpn = 0x11 + number;
  return end;
}

// --- a message ---

const wire::OpcodeInfo& Message::opcode_at(std::size_t index) const {
  const wire::OpcodeInfo& only = *request_.name.opcode;
  if (count_ == 1) return only;
  const Position position = index == 0            ? Position::first
                            : index + 1 == count_ ? Position::last
                                                  : Position::middle;
  const wire::OpcodeInfo* row = craft::opcode_at(only, position);
  return row != nullptr ? *row : only;
}

PacketPlan Message::plan_at(std::size_t index) const {
  PacketPlan plan = plan_;
  wire::Bth& bth = plan.headers.bth;
  bth.opcode = opcode_at(index).opcode;
  bth.psn = wire::Psn((psn_ + static_cast<std::uint32_t>(index)) & kPsnMask);
  plan.identification = static_cast<std::uint16_t>(plan.identification + index);
  const std::size_t offset = index * packet_size_;
  const std::size_t left = payload_.size() - std::min(offset, payload_.size());
  plan.payload = wire::ByteView(payload_).subspan(
      payload_.size() - left, count_ == 1 ? left : std::min(left, packet_size_));
  const bool ends = index + 1 == count_;
  if (!ends) bth.ack_request = bth.solicited = false;
  for (const PacketRequest::Field& field : request_.fields) {
    const std::string_view name = field.value.name;
    const bool of_last = name == "ack_request" || name == "solicited";
    // The source port and the identification are the plan's own, which count.
    if ((of_last && !ends) || (name == "identification" && count_ > 1)) continue;
    plan.fields.push_back(field.value);
  }
  return plan;
}

Bytes Message::frame(std::size_t index) const {
  Bytes bytes = request_.name.form == Form::raw ? payload_ : build_frame(plan_at(index));
  bytes.resize(bytes.size() - std::min(bytes.size(), request_.trim));
  return bytes;
}

// --- the exchange ---

Exchange::Exchange()
    : ends_{End::at(wire::Gid::from_ipv4(0x0a000001), 0),
            End::at(wire::Gid::from_ipv4(0x0a000002), 1)} {}

void Exchange::set_start(wire::Instant start) {
  start_ = start;
  now_.reset();
}

Exchange::Key Exchange::key(std::uint8_t from, std::uint32_t qpn) const {
  return {ends_[from].address, ends_[1 - from].address, qpn};
}

Exchange::Flow Exchange::flow(std::uint8_t from, std::uint32_t qpn) const {
  const auto found = flows_.find(key(from, qpn));
  if (found != flows_.end()) return found->second;
  Flow fresh;
  fresh.next_psn = ends_[from].first_psn;
  fresh.last_psn = (fresh.next_psn - 1) & kPsnMask;
  return fresh;
}

Exchange::Flow& Exchange::flow_to_change(std::uint8_t from, std::uint32_t qpn) {
  return flows_.try_emplace(key(from, qpn), flow(from, qpn)).first->second;
}

std::uint8_t Exchange::direction(const PacketRequest& request) const {
  if (request.from) return *request.from;
  const bool back = request.name.form == Form::cm
                        ? replies(request.name.cm)
                        : answers(*request.name.opcode) || request.name.operation == Operation::cnp;
  return back ? static_cast<std::uint8_t>(1 - last_request_from_) : std::uint8_t{0};
}

wire::Instant Exchange::next_time(const std::optional<PacketRequest::When>& when,
                                  wire::Duration gap) const {
  const auto after = [](wire::Instant at, wire::Duration time) {
    const auto most = wire::Instant::max() - wire::Duration::zero();
    if (time > wire::Duration::zero() && at > most - time) return most;
    return std::max(at + time, wire::Instant{});
  };
  if (when && when->absolute) return after(start_, when->time);
  if (when) return after(now_.value_or(start_), when->time);
  return now_ ? after(*now_, gap) : start_;
}

const Exchange::Owed* Exchange::owed_by(const Flow& answered) const {
  return answered.owed.empty() ? nullptr : &answered.owed.front();
}

wire::Expected<Message, Complaint> Exchange::fill(PacketRequest request) const {
  Message message;
  message.request_ = std::move(request);
  if (message.request_.name.form == Form::raw) {
    if (const auto wrong = fill_payload(message)) return wire::Unexpected{*wrong};
    return message;
  }
  PacketName& name = message.request_.name;
  if (name.form == Form::message && message.request_.ending != 0) {
    const wire::OpcodeInfo* row = opcode_with(*name.opcode, message.request_.ending);
    if (row != nullptr) name.opcode = row;
  }
  message.from_ = direction(message.request_);
  const bool general = name.form == Form::cm;
  message.qpn_ = message.request_.qpn.value_or(general ? wire::kGeneralServiceQpn
                                                       : ends_[1 - message.from_].qpn);
  if (const auto wrong = fill_payload(message)) return wire::Unexpected{*wrong};
  fill_network(message);
  fill_headers(message);
  if (const auto wrong = fill_cm(message)) return wire::Unexpected{*wrong};
  if (const auto wrong = fill_fields(message)) return wire::Unexpected{*wrong};
  return message;
}

std::optional<Complaint> Exchange::fill_payload(Message& message) const {
  const PacketRequest& request = message.request_;
  const wire::OpcodeInfo* row = request.name.opcode;
  const std::uint32_t mtu = request.mtu.value_or(kMtu);
  std::optional<std::size_t> size;
  if (row != nullptr && row->carries_payload) {
    size = request.size;
    const bool response = row->operation == Operation::read_response;
    if (!size && request.name.form == Form::message && response) {
      const Flow answered =
          flow(static_cast<std::uint8_t>(1 - message.from_), ends_[message.from_].qpn);
      if (const Owed* owed = owed_by(answered)) size = owed->bytes;
    }
    if (!size &&
        (!request.payload || is_of_any_size(request.payload->text, request.payload->quoted))) {
      const bool goes_on = row->position == Position::first || row->position == Position::middle;
      size = row->operation == Operation::atomic_write ? kAtomicSize : goes_on ? mtu : 0;
      const auto length = given(request, "dma_length");
      if (length && !goes_on) size = static_cast<std::size_t>(*length);
    }
  }
  const Word pattern{"pattern", std::nullopt, false, request.column};
  const Word& word = request.payload ? *request.payload : pattern;
  auto payload = read_payload(word.text, word.quoted, size);
  if (!payload) return complaint_of(request.where, word, payload.error());
  message.payload_ = std::move(*payload);
  message.packet_size_ = mtu;
  if (request.name.form == Form::message && row->service != wire::Service::unreliable_datagram) {
    message.count_ = packets_of(message.payload_.size(), mtu);
  }
  const std::size_t largest =
      std::min<std::size_t>(message.payload_.size(), message.count_ > 1 ? mtu : SIZE_MAX);
  if (largest > kMostInPacket && request.name.form != Form::raw) {
    return Complaint{request.where, request.column,
                     fmt::format("a packet holds at most {} bytes, not {}: use a message, such as "
                                 "rc send {}, which is divided by mtu=",
                                 kMostInPacket, largest, largest)};
  }
  return std::nullopt;
}

void Exchange::fill_network(Message& message) const {
  const PacketRequest& request = message.request_;
  const End& from = ends_[message.from_];
  const End& to = ends_[1 - message.from_];
  PacketPlan& plan = message.plan_;
  plan.version = request.version.value_or(wire::RoceVersion::v2);
  plan.source = from.address;
  plan.destination = to.address;
  plan.source_mac = request.source_mac.value_or(from.mac);
  plan.destination_mac = request.destination_mac.value_or(to.mac);
  plan.vlan = request.vlan;
  plan.ethertype = request.ethertype;
  plan.traffic_class =
      static_cast<std::uint8_t>(request.dscp.value_or(0) << 2 | request.ecn.value_or(0));
  plan.hop_limit = request.hop_limit.value_or(64);
  plan.identification = request.identification.value_or(identifications_[message.from_]);
  const auto port = wire::source_port_of_flow_label(
      wire::flow_label_of_qpns(ends_[message.from_].qpn, message.qpn_));
  plan.source_port =
      request.source_port.value_or(flow(message.from_, message.qpn_).source_port.value_or(port));
  plan.pad = request.pad;
  plan.icrc = request.icrc;
  plan.icrc_value = request.icrc_value;
  plan.udp_checksum = request.udp_checksum;
  plan.trailer = request.trailer;
}

void Exchange::fill_headers(Message& message) const {
  const PacketRequest& request = message.request_;
  const wire::OpcodeInfo& row = *request.name.opcode;
  wire::TransportHeaders& headers = message.plan_.headers;
  headers.bth.opcode = row.opcode;
  headers.bth.destination_qpn = message.qpn_;
  if (row.operation == Operation::cnp) headers.bth = wire::cnp_bth(message.qpn_);
  if (row.has(wire::kDeth)) {
    const bool general = request.name.form == Form::cm;
    headers.deth.queue_key =
        general ? wire::kGeneralServiceQueueKey : ends_[1 - message.from_].queue_key;
    headers.deth.source_qpn =
        request.source_qpn.value_or(general ? wire::kGeneralServiceQpn : ends_[message.from_].qpn);
  }
  const std::size_t size = message.payload_.size();
  const bool first_alone = row.position == Position::first && request.name.form == Form::packet;
  const std::size_t length =
      row.carries_payload ? (first_alone ? size * 2 : size) : request.size.value_or(0);
  headers.reth.dma_length = static_cast<std::uint32_t>(length);
  headers.xrceth.shared_receive_queue = 1;
  if (row.operation == Operation::flush) headers.feth.placement_type = 1;
  const bool reliable = row.service == wire::Service::reliable_connection ||
                        row.service == wire::Service::extended_reliable_connection;
  headers.bth.ack_request = request.name.form == Form::message && reliable && !row.is_response();

  const Flow sent = flow(message.from_, message.qpn_);
  message.psn_ = row.operation == Operation::cnp ? 0 : sent.next_psn;
  message.psns_ = static_cast<std::uint32_t>(message.count_);
  if (row.operation == Operation::read_request) {
    message.psns_ =
        packets_of(static_cast<std::size_t>(given(request, "dma_length").value_or(length)),
                   request.mtu.value_or(kMtu));
  }
  if (row.is_response()) fill_answer(message);
  if (request.psn) message.psn_ = stepped(*request.psn, message.psn_);
}

void Exchange::fill_answer(Message& message) const {
  const Flow answered =
      flow(static_cast<std::uint8_t>(1 - message.from_), ends_[message.from_].qpn);
  const wire::OpcodeInfo& row = *message.request_.name.opcode;
  const Owed* owed = row.operation == Operation::acknowledge ? nullptr : owed_by(answered);
  message.psn_ = owed != nullptr ? owed->psn : answered.last_psn;
  message.plan_.headers.aeth = {wire::Syndrome::ack(), answered.completed & kPsnMask};
}

std::optional<Complaint> Exchange::fill_cm(Message& message) const {
  const PacketRequest& request = message.request_;
  if (request.name.form != Form::cm) return std::nullopt;
  const End& from = ends_[message.from_];
  const End& to = ends_[1 - message.from_];
  CmEnds ends;
  ends.local = from.address;
  ends.remote = to.address;
  ends.local_id = message.from_ + 1u;
  ends.remote_id = 2u - message.from_;
  ends.local_qpn = from.qpn;
  ends.remote_qpn = to.qpn;
  ends.starting_psn = flow(message.from_, to.qpn).next_psn;
  ends.queue_key = from.queue_key;
  ends.port = request.port;
  ends.path_mtu = request.mtu.value_or(kMtu);
  if (!request.payload) message.payload_ = cm_datagram(request.name.cm, ends);
  message.payload_.resize(wire::kMadSize);
  for (const PacketRequest::CmField& field : request.cm_fields) {
    const auto wrong =
        write_cm_field(message.payload_, field.place, *field.word.value, field.word.quoted);
    if (wrong) return complaint_of(request.where, field.word, *wrong);
  }
  return std::nullopt;
}

// Fields that no packet of the message has are a mistake, unless they were set for all packets.
std::optional<Complaint> Exchange::fill_fields(Message& message) const {
  const auto held = [&](const fabric::FieldValue& value, std::size_t index) {
    PacketPlan plan = message.plan_;
    plan.headers.bth.opcode = message.opcode_at(index).opcode;
    return has_field(plan, value);
  };
  for (const PacketRequest::Field& field : message.request_.fields) {
    if (field.everywhere || held(field.value, 0)) continue;
    if (message.count_ > 1 && held(field.value, message.count_ - 1)) continue;
    return Complaint{
        message.request_.where, field.word.column,
        fmt::format("{} has no field {} that takes {}", packet_name(*message.request_.name.opcode),
                    field.word.text, field.word.value.value_or("1"))};
  }
  return std::nullopt;
}

void Exchange::commit(const Message& message) {
  const PacketRequest& request = message.request_;
  if (request.name.form == Form::raw) return;
  const wire::OpcodeInfo& row = *request.name.opcode;
  const std::uint8_t from = message.from_;
  if (message.plan_.over_ipv4()) {
    identifications_[from] =
        static_cast<std::uint16_t>(message.plan_.identification + message.count_);
  }
  const bool general = message.qpn_ == wire::kGeneralServiceQpn;
  if (!general && row.operation != Operation::cnp) {
    ends_[1 - from].qpn = message.qpn_;
    if (row.has(wire::kDeth)) ends_[from].qpn = message.plan_.headers.deth.source_qpn;
  }
  if (message.plan_.version == wire::RoceVersion::v2) {
    if (request.source_port) flow_to_change(from, message.qpn_).source_port = request.source_port;
  }
  if (row.is_response()) {
    Flow& answered = flow_to_change(static_cast<std::uint8_t>(1 - from), ends_[from].qpn);
    if (row.operation == Operation::acknowledge || answered.owed.empty()) return;
    // Its last packet ends a response, whatever the path MTU was.
    Owed& owed = answered.owed.front();
    owed.psn = (owed.psn + static_cast<std::uint32_t>(message.count_)) & kPsnMask;
    if (message.count_ > 1 || row.ends_message()) answered.owed.pop_front();
    return;
  }
  if (!counts_psn(row)) return;
  last_request_from_ = from;
  Flow& sent = flow_to_change(from, message.qpn_);
  sent.next_psn = (message.psn_ + message.psns_) & kPsnMask;
  sent.last_psn = (sent.next_psn - 1) & kPsnMask;
  if (row.ends_message() || request.name.form == Form::message) ++sent.completed;
  if (row.awaits_response()) {
    sent.owed.push_back({message.psn_, message.plan_.headers.reth.dma_length});
    if (sent.owed.size() > kMostOwed) sent.owed.pop_front();
  }
}

}  // namespace softrnic::craft
