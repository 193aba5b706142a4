// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/message_tracker.hpp"

namespace softrnic::analysis {

namespace {

using wire::Operation;
using wire::Position;
using wire::Psn;

bool carries_data(Operation operation) {
  return operation == Operation::send || operation == Operation::write;
}

bool is_mtu(std::uint32_t size) {
  return size >= 256 && size <= 4096 && (size & (size - 1)) == 0;
}

bool begun_before_capture(const Message& message) {
  return message.number == 0;
}

bool covers(const Message& message, Psn psn) {
  const std::int32_t distance = psn.since(Psn(message.first_psn));
  return distance >= 0 && distance < static_cast<std::int32_t>(message.psn_count);
}

}  // namespace

void MessageTracker::on_request(Observation& o, const RequestSequence::Place& place) {
  if (place.packet == nullptr) return;
  if (!place.first_seen) {
    repeat(o, place.packet);
    return;
  }
  check_pad(o);
  check_size(o);
  if (!reliable_ && o.frame.opcode->starts_message() && n_.open_message != kNone) {
    // UC does not mend: what came before is lost for good.
    o.ledger.messages[n_.open_message].state = MessageState::abandoned;
    set_open(o, kNone);
  }
  const std::uint32_t index = message_of(o, place);
  add(o, *place.packet, index);
}

void MessageTracker::on_datagram(Observation& o, bool repeated) {
  check_pad(o);
  if (repeated) {
    o.record.repeats_payload = true;
    return;
  }
  SentPacket packet;
  packet.psn = o.psn();
  const std::uint32_t index = begin(o, packet);
  Message& message = o.ledger.messages[index];
  o.record.message = index;
  message.packets = 1;
  message.payload_bytes = message.length = o.frame.payload_size;
  message.last_frame = o.frame.number;
  message.whole = true;
  message.state = MessageState::complete;
  o.record.ends_message = true;
  ++o.sender().messages_complete;
}

// --- which message ---

std::uint32_t MessageTracker::message_of(Observation& o, const RequestSequence::Place& place) {
  const bool starts = o.frame.opcode->starts_message();
  const std::uint32_t index = !starts ? continued(o) : place.in_order ? kNone : recut(o);
  check_order(o, place, index);
  if (index != kNone) return index;
  return begin(o, *place.packet);
}

// A WRITE that is cut anew to fill a gap begins inside the message it goes on with.
std::uint32_t MessageTracker::recut(const Observation& o) {
  if (o.operation() != Operation::write) return kNone;
  const SentPacket* before = n_.sent.find(o.psn() - 1);
  for (const std::uint32_t index : {n_.open_message, before == nullptr ? kNone : before->message}) {
    if (index == kNone) continue;
    const Message& message = o.ledger.messages[index];
    const std::uint64_t from = o.frame.headers.reth.virtual_address - message.virtual_address;
    const bool inside = message.operation == Operation::write && covers(message, o.psn()) &&
                        message.first_psn != o.psn().value() && from != 0 && from < message.length;
    if (inside) return index;
  }
  return kNone;
}

// The message of a MIDDLE or LAST, from its neighbours. One whose beginning is not known gives way
// to one that covers this PSN.
std::uint32_t MessageTracker::continued(const Observation& o) {
  const Psn psn = o.psn();
  const auto is_of = [&](std::uint32_t index) {
    return index != kNone && o.ledger.messages[index].operation == o.operation();
  };
  std::uint32_t found = kNone;
  if (const SentPacket* before = n_.sent.find(psn - 1); before != nullptr && !before->spoilt) {
    const bool ended = wire::info(before->opcode).ends_message();
    if (ended || !is_of(before->message)) return kNone;
    found = before->message;
    if (!begun_before_capture(o.ledger.messages[found])) return found;
  }
  if (is_of(n_.open_message)) {
    const Message& open = o.ledger.messages[n_.open_message];
    const bool extent_known = open.psn_count != 0;
    if (covers(open, psn) || (!extent_known && psn.after(Psn(open.first_psn)))) {
      return n_.open_message;
    }
  }
  if (found != kNone) return found;
  if (const SentPacket* after = n_.sent.find(psn + 1)) {
    if (!wire::info(after->opcode).starts_message() && is_of(after->message)) return after->message;
  }
  return kNone;
}

std::uint32_t MessageTracker::begin(Observation& o, const SentPacket& packet) {
  const wire::OpcodeInfo& opcode = *o.frame.opcode;
  const wire::TransportHeaders& headers = o.frame.headers;
  Message message;
  message.stream = o.record.stream;
  message.requester = o.record.sender;
  message.operation = opcode.operation;
  message.first_frame = o.frame.number;
  message.first_time = o.frame.time;
  message.first_psn = packet.psn.value();
  if (!opcode.starts_message()) {
    message.state = MessageState::abandoned;  // its beginning is not in the capture, or not yet
    return o.ledger.messages.push_back(message);
  }
  message.number = ++n_.messages;
  ++o.sender().messages;
  message.headers_cut = o.frame.headers_cut;
  if (o.frame.headers_cut) {
    const bool tells = carries_data(opcode.operation) && opcode.position == Position::only;
    message.length = tells ? o.frame.payload_size : 0;
  } else if (opcode.has(wire::kReth)) {
    message.virtual_address = headers.reth.virtual_address;
    message.remote_key = headers.reth.remote_key;
    message.length = headers.reth.dma_length;
  } else if (opcode.has(wire::kAtomicEth)) {
    message.virtual_address = headers.atomic_eth.virtual_address;
    message.remote_key = headers.atomic_eth.remote_key;
    message.length = 8;
  }
  if (opcode.position == Position::only) {
    message.psn_count = packet.psn_count;
  } else if (opcode.operation == Operation::write && is_mtu(o.frame.payload_size) &&
             !o.frame.headers_cut) {
    message.psn_count = psns_of_read(message.length, o.frame.payload_size);
  }
  return o.ledger.messages.push_back(message);
}

// The packets that were not seen before, from the first one on: FIRST, MIDDLE, LAST.
void MessageTracker::check_order(Observation& o, const RequestSequence::Place& place,
                                 std::uint32_t message) {
  if (!place.in_order) return;
  const SentPacket* before = n_.sent.find(o.psn() - 1);
  if (before == nullptr) return;  // a READ took the PSN before
  const bool inside = !wire::info(before->opcode).ends_message();
  const bool starts = o.frame.opcode->starts_message();
  if (inside == !starts && (starts || message != kNone)) return;
  o.find(FindingKind::wrong_opcode_order, before->last_frame);
  if (inside && before->message != kNone) {
    Message& broken = o.ledger.messages[before->message];
    if (broken.state == MessageState::open) broken.state = MessageState::abandoned;
  }
}

// --- payload ---

void MessageTracker::check_size(Observation& o) {
  const Position position = o.frame.opcode->position;
  if (position != Position::first && position != Position::middle) return;
  const std::uint32_t size = o.frame.payload_size;
  if ((o.stream.path_mtu == 0 || o.stream.path_mtu_inferred) && is_mtu(size)) {
    o.stream.path_mtu = size;
    o.stream.path_mtu_inferred = false;
  } else if (size != o.stream.path_mtu) {
    o.find(FindingKind::payload_not_mtu, 0, size, o.stream.path_mtu);
  }
}

// IBTA vol. 1, 9.2.4: pad to a multiple of four; nothing to pad where no payload is.
void MessageTracker::check_pad(Observation& o) {
  const std::uint32_t wanted = -o.frame.payload_size & 3;
  const std::uint32_t pad = o.frame.headers.bth.pad_count;
  if (pad != wanted) o.find(FindingKind::wrong_pad, 0, pad, wanted);
}

std::uint32_t MessageTracker::offset_in(const Observation& o, const Message& message) const {
  if (o.frame.opcode->has(wire::kReth) && !o.frame.headers_cut) {
    const std::uint64_t from = o.frame.headers.reth.virtual_address - message.virtual_address;
    return from < message.length ? static_cast<std::uint32_t>(from) : 0;
  }
  const std::int32_t packets = o.psn().since(Psn(message.first_psn));
  return packets <= 0 ? 0 : static_cast<std::uint32_t>(packets) * o.stream.path_mtu;
}

void MessageTracker::set_open(Observation& o, std::uint32_t index) {
  o.ledger.messages.hold(index);
  o.ledger.messages.release(n_.open_message);
  n_.open_message = index;
}

void MessageTracker::add(Observation& o, SentPacket& packet, std::uint32_t index) {
  Message& message = o.ledger.messages[index];
  const wire::OpcodeInfo& opcode = *o.frame.opcode;
  o.ledger.messages.hold(index);
  o.ledger.messages.release(packet.message);
  packet.message = index;
  o.record.message = index;
  ++message.packets;
  message.last_frame = o.frame.number;
  if (!carries_data(opcode.operation)) {
    message.payload_bytes += o.frame.payload_size;
    return;
  }
  const std::uint32_t offset = offset_in(o, message);
  const std::uint32_t size = offset + o.frame.payload_size;
  o.record.message_offset = offset;
  message.payload_bytes += o.frame.payload_size;
  if (opcode.has(wire::kImmDt)) {
    message.has_immediate = true;
    message.immediate = o.frame.headers.immdt.data;
  }
  if (opcode.has(wire::kIeth)) {
    message.has_invalidate = true;
    message.invalidated_key = o.frame.headers.ieth.remote_key;
  }
  const bool partial = begun_before_capture(message);
  const bool announced = message.operation == Operation::write && !message.headers_cut;
  if (announced && !partial && size > message.length) {
    o.find(FindingKind::message_too_long, 0, size, message.length);
  }
  if (opcode.ends_message()) {
    end(o, message, partial ? 0 : size);
  } else {
    set_open(o, index);
  }
  const bool whole = !partial && message.psn_count != 0 && message.packets == message.psn_count &&
                     message.payload_bytes == message.length;
  if (whole) {
    message.whole = true;
    o.record.ends_message = true;
  }
  if (!reliable_ && opcode.ends_message()) {
    message.state = whole ? MessageState::complete : MessageState::abandoned;
    if (whole) ++o.sender().messages_complete;
  }
}

void MessageTracker::end(Observation& o, Message& message, std::uint32_t size) {
  if (n_.open_message == o.record.message) set_open(o, kNone);
  message.psn_count = static_cast<std::uint32_t>(o.psn().since(Psn(message.first_psn))) + 1;
  if (message.operation == Operation::send || message.headers_cut) {
    message.length = size;
  } else if (size != 0 || message.length != 0) {
    if (size != 0 && size < message.length) {
      o.find(FindingKind::message_too_short, 0, size, message.length);
    }
  }
}

// A packet sent again: its message is the one of the first time, unless its beginning has turned up
// since.
void MessageTracker::repeat(Observation& o, SentPacket* packet) {
  std::uint32_t index = packet->message;
  if (index == kNone) return;
  const wire::OpcodeInfo& opcode = *o.frame.opcode;
  if (!opcode.starts_message() && carries_data(opcode.operation)) {
    const std::uint32_t known = continued(o);
    if (known != kNone && known != index) {
      // It counted the first time, with what it carried then; it counts again where it belongs.
      Message& former = o.ledger.messages[index];
      --former.packets;
      former.payload_bytes -= packet->payload_size;
      o.sender().bytes -= packet->payload_size;
      add(o, *packet, known);
      return;
    }
  }
  Message& message = o.ledger.messages[index];
  o.record.message = index;
  if (carries_data(opcode.operation)) o.record.message_offset = offset_in(o, message);
  o.record.repeats_payload = o.frame.payload_size != 0;
  ++message.repetitions;
  message.last_frame = o.frame.number;
}

}  // namespace softrnic::analysis
