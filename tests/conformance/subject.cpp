// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/subject.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

namespace softrnic::conformance {

using transport::QueuePairState;
using wire::Opcode;

Bytes pattern(std::size_t size, unsigned start) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(start + i * 7);
  return bytes;
}

Packet request(Opcode opcode, std::uint32_t psn, Bytes payload) {
  Packet packet;
  packet.headers.bth.opcode = opcode;
  packet.headers.bth.psn = wire::Psn(psn);
  packet.headers.bth.destination_qpn = kSubjectQpn;
  packet.headers.bth.pad_count = static_cast<std::uint8_t>((4 - payload.size() % 4) % 4);
  packet.payload = std::move(payload);
  return packet;
}

Packet send_only(std::uint32_t psn, Bytes payload) {
  return request(Opcode::rc_send_only, psn, std::move(payload)).with_ack_request();
}

Packet write_request(Opcode opcode, std::uint32_t psn, std::uint64_t address, std::uint32_t key,
                     std::uint32_t length, Bytes payload) {
  Packet packet = request(opcode, psn, std::move(payload));
  packet.headers.reth = {address, key, length};
  return packet;
}

Packet read_request(std::uint32_t psn, std::uint64_t address, std::uint32_t key,
                    std::uint32_t length) {
  return write_request(Opcode::rc_read_request, psn, address, key, length).with_ack_request();
}

Packet fetch_add(std::uint32_t psn, std::uint64_t address, std::uint32_t key, std::uint64_t add) {
  Packet packet = request(Opcode::rc_fetch_add, psn).with_ack_request();
  packet.headers.atomic_eth = {address, key, add, 0};
  return packet;
}

Packet compare_swap(std::uint32_t psn, std::uint64_t address, std::uint32_t key,
                    std::uint64_t compare, std::uint64_t swap) {
  Packet packet = request(Opcode::rc_compare_swap, psn).with_ack_request();
  packet.headers.atomic_eth = {address, key, swap, compare};
  return packet;
}

Packet atomic_write(std::uint32_t psn, std::uint64_t address, std::uint32_t key, Bytes payload) {
  return write_request(Opcode::rc_atomic_write, psn, address, key, 8, std::move(payload))
      .with_ack_request();
}

Packet flush(std::uint32_t psn, std::uint64_t address, std::uint32_t key, std::uint32_t length,
             std::uint8_t placement, std::uint8_t selectivity) {
  Packet packet = write_request(Opcode::rc_flush, psn, address, key, length).with_ack_request();
  packet.headers.feth.placement_type = placement;
  packet.headers.feth.selectivity = selectivity;
  return packet;
}

Packet acknowledge(std::uint32_t psn, std::uint32_t msn, wire::Syndrome syndrome) {
  Packet packet = request(Opcode::rc_acknowledge, psn);
  packet.headers.aeth = {syndrome, msn};
  return packet;
}

Packet nak(std::uint32_t psn, wire::NakCode code, std::uint32_t msn) {
  return acknowledge(psn, msn, wire::Syndrome::nak(code));
}

Packet rnr_nak(std::uint32_t psn, std::uint8_t timer_code, std::uint32_t msn) {
  return acknowledge(psn, msn, wire::Syndrome::rnr_nak(timer_code));
}

Packet read_response(Opcode opcode, std::uint32_t psn, Bytes payload, std::uint32_t msn) {
  Packet packet = request(opcode, psn, std::move(payload));
  if (packet.info().has(wire::kAeth)) packet.headers.aeth = {wire::Syndrome::ack(), msn};
  return packet;
}

Packet atomic_response(std::uint32_t psn, std::uint64_t original, std::uint32_t msn) {
  Packet packet = request(Opcode::rc_atomic_acknowledge, psn);
  packet.headers.aeth = {wire::Syndrome::ack(), msn};
  packet.headers.atomic_ack_eth.original = original;
  return packet;
}

Setup::Setup() {
  attributes.remote_access =
      transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
  attributes.queue_key = 0x11111111;
  attributes.path_mtu = kPathMtu;
  attributes.destination_qpn = kPeerQpn;
  attributes.receive_psn = wire::Psn(kReceivePsn);
  attributes.send_psn = wire::Psn(kSendPsn);
  attributes.max_dest_rd_atomic = 4;
  attributes.max_rd_atomic = 4;
}

Subject::Subject(const Setup& setup)
    : bytes_(pattern(kSize, 3)),
      memory_(7),
      sends_(setup.completions),
      receives_(setup.completions),
      qp_({.qpn = kSubjectQpn,
           .type = setup.type.value_or(transport::type_of(setup.service)),
           .domain = kDomain,
           .capacity = setup.capacity,
           .memory = memory_,
           .send_completions = sends_,
           .receive_completions = receives_,
           .counters = counters_,
           .events = events_,
           .shared_receive_queue = setup.shared_receive_queue,
           .xrc_domain = setup.xrc_domain}) {
  keys_ = add_region(kDomain, transport::kLocalWrite | transport::kRemoteWrite |
                                  transport::kRemoteRead | transport::kRemoteAtomic);
  for (const QueuePairState to :
       {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    if (to > setup.state) break;
    REQUIRE_FALSE(qp_.modify(to, setup.attributes).has_value());
  }
}

nic::MemoryKeys Subject::add_region(transport::ProtectionDomain domain, std::uint32_t access,
                                    std::uint64_t length) {
  nic::RegionAttributes region;
  region.domain = domain;
  region.base = bytes_.data();
  region.length = length;
  region.access = access;
  region.virtual_address = kBase;
  const auto keys = memory_.add(region);
  REQUIRE(keys.has_value());
  return *keys;
}

std::uint64_t Subject::word(std::size_t offset) const {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

void Subject::set_word(std::size_t offset, std::uint64_t value) {
  std::memcpy(bytes_.data() + offset, &value, sizeof value);
}

bool Subject::pass_deadline() {
  const wire::Instant next = qp_.next_deadline();
  if (next == wire::kNever) return false;
  now = std::max(now, next);
  qp_.on_deadline(now);
  return true;
}

void Subject::deliver(const Packet& packet) {
  static constexpr std::array<std::byte, 40> kGrh{};
  const transport::InboundPacket inbound{packet.headers, packet.info(),
                                         wire::ByteChain(wire::ByteView(packet.payload)), kGrh};
  qp_.on_packet(now, inbound);
}

std::vector<Packet> Subject::transmit(std::size_t most) {
  std::vector<Packet> packets;
  while (packets.size() < most) {
    Bytes room(4096);
    transport::OutboundPacket out;
    out.payload_room = wire::MutableByteChain(wire::ByteSpan(room));
    const bool wanted = qp_.wants_transmit(now);
    if (!qp_.poll_transmit(now, out)) break;
    CHECK(wanted);  // who does not ask is not polled
    room.resize(out.payload_size);
    packets.push_back({out.headers, std::move(room)});
  }
  return packets;
}

Packet Subject::transmit_one() {
  std::vector<Packet> packets = transmit();
  INFO(fmt::format("{} packets", packets.size()));
  REQUIRE(packets.size() == 1);
  return packets.front();
}

void Subject::post(transport::SendOperation operation, std::uint64_t id, std::uint64_t offset,
                   std::uint32_t length, const std::function<void(transport::SendRequest&)>& edit) {
  const std::array sges{local(offset, length)};
  transport::SendRequest request;
  request.id = id;
  request.operation = operation;
  request.sges = sges;
  request.remote_address = 0x1000;
  request.remote_key = 0xabcd;
  if (edit) edit(request);
  REQUIRE_FALSE(qp_.post_send(request).has_value());
}

void Subject::post_receive(std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
  const std::array sges{local(offset, length)};
  transport::ReceiveRequest request;
  request.id = id;
  request.sges = sges;
  REQUIRE_FALSE(qp_.post_receive(request).has_value());
}

namespace {

std::vector<transport::Completion> drain(nic::CompletionQueue& queue) {
  std::vector<transport::Completion> all(queue.size());
  all.resize(queue.poll(all));
  return all;
}

std::string describe_acknowledge(const Packet& packet) {
  const wire::Syndrome syndrome = packet.headers.aeth.syndrome;
  switch (syndrome.kind()) {
    case wire::Syndrome::Kind::ack:
      return "ACK";
    case wire::Syndrome::Kind::rnr_nak:
      return fmt::format("RNR NAK {}", syndrome.value());
    case wire::Syndrome::Kind::nak:
      return fmt::format("NAK {}", wire::to_string(static_cast<wire::NakCode>(syndrome.value())));
    case wire::Syndrome::Kind::reserved:
      break;
  }
  return fmt::format("syndrome {:#04x}", syndrome.raw());
}

}  // namespace

std::vector<transport::Completion> Subject::sent() {
  return drain(sends_);
}
std::vector<transport::Completion> Subject::received() {
  return drain(receives_);
}

std::vector<std::string> Subject::events() {
  std::vector<std::string> words;
  while (const auto event = events_.poll()) {
    CHECK(event->number == kSubjectQpn);
    words.emplace_back(transport::to_string(event->event));
  }
  return words;
}

std::string describe(const Packet& packet) {
  const wire::OpcodeInfo& info = packet.info();
  std::string text(info.name);
  if (info.operation == wire::Operation::acknowledge) {
    const bool extended = info.service == wire::Service::extended_reliable_connection;
    text = (extended ? "XRC " : "") + describe_acknowledge(packet);
  }
  text += fmt::format(" psn {}", packet.bth().psn.value());
  if (info.has(wire::kAeth)) text += fmt::format(" msn {}", packet.headers.aeth.msn);
  if (packet.bth().ack_request) text += " ackreq";
  if (packet.bth().solicited) text += " solicited";
  if (info.carries_payload) text += fmt::format(" {} B", packet.payload.size());
  return text;
}

std::vector<std::string> describe(const std::vector<Packet>& packets) {
  std::vector<std::string> lines;
  for (const Packet& packet : packets) lines.push_back(describe(packet));
  return lines;
}

std::vector<std::string> describe(const std::vector<transport::Completion>& completions) {
  std::vector<std::string> lines;
  for (const transport::Completion& completion : completions) {
    lines.push_back(fmt::format("{} {}", completion.id, transport::to_string(completion.status)));
  }
  return lines;
}

}  // namespace softrnic::conformance
