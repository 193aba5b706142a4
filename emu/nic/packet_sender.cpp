// SPDX-License-Identifier: BSD-3-Clause
#include "nic/packet_sender.hpp"

#include <algorithm>
#include <array>

#include "wire/icrc.hpp"

namespace softrnic::nic {
namespace {

constexpr std::size_t kIcrcSize = 4;
constexpr std::size_t kMaxPad = 3;

// The free room of an empty frame, which append() will hand out from its start.
wire::MutableByteChain room_of(const link::Frame& frame) {
  wire::MutableByteChain room;
  for (const link::Frame::Segment& segment : frame.segments()) {
    room.append({segment.base + segment.offset, segment.capacity - segment.offset});
  }
  return room;
}

std::uint32_t pad_of(std::uint32_t payload_size) {
  return -payload_size & std::uint32_t{kMaxPad};
}

void fill_zero(const wire::MutableByteChain& chain) {
  for (const auto& piece : chain.pieces()) std::fill(piece.begin(), piece.end(), std::byte{});
}

}  // namespace

bool PacketSender::transmit(wire::Instant now) {
  starved_ = false;
  std::size_t budget = kBudget;
  while (budget > 0 && !starved_) {
    QueuePairEntry* entry = scheduler_.next_ready();
    if (entry == nullptr) break;
    switch (serve(now, *entry, budget)) {
      case Outcome::served:
        scheduler_.served(*entry, now);
        break;
      case Outcome::starved:
        scheduler_.put_back(*entry);
        starved_ = true;
        break;
      case Outcome::held:
        break;
    }
  }
  return budget < kBudget;
}

PacketSender::Outcome PacketSender::serve(wire::Instant now, QueuePairEntry& entry,
                                          std::size_t& budget) {
  if (!entry.is_datagram() && entry.path.refresh(now, neighbors_) == Path::State::resolving) {
    scheduler_.hold(entry, entry.path.destination());
    return Outcome::held;
  }
  std::size_t burst = std::min(kBurstPerQueuePair, budget);
  for (; burst > 0 && entry.queue_pair.wants_transmit(now); --burst) {
    const Outcome outcome = send_one(now, entry);
    if (outcome == Outcome::starved) return outcome;
    --budget;
    if (outcome == Outcome::held) return outcome;
  }
  return Outcome::served;
}

PacketSender::Outcome PacketSender::send_one(wire::Instant now, QueuePairEntry& entry) {
  // Any packet may turn out to be for ourselves, and must then find room.
  if (!frames_.can_loop()) return Outcome::starved;
  link::Frame* frame = frames_.allocate();
  if (frame == nullptr) return Outcome::starved;
  const wire::MutableByteChain room = room_of(*frame);
  packet_.payload_room = room.slice(0, max_path_mtu_);
  if (room.size() < max_path_mtu_ + kMaxPad + kIcrcSize) {
    frames_.cancel(frame);
    return Outcome::starved;
  }
  if (!entry.queue_pair.poll_transmit(now, packet_)) {
    frames_.cancel(frame);
    return Outcome::served;
  }
  Path* path = path_of(entry);
  if (path == nullptr) return drop(frame);
  switch (path->refresh(now, neighbors_)) {
    case Path::State::failed:
      return drop(frame);
    case Path::State::resolving:
      // Only a datagram comes here: its handle was not known before it was polled.
      if (!finish(*frame, vector_of(entry, *path))) return drop(frame);
      resolution_.park(frame, path->destination());
      scheduler_.hold(entry, path->destination());
      return Outcome::held;
    case Path::State::ready:
      break;
  }
  if (!finish(*frame, vector_of(entry, *path))) return drop(frame);
  ++counters_.sent_pkts;
  counters_.sent_bytes += frame->size();
  if (path->is_local() && is_ours()) {
    frames_.loop(frame);
    return Outcome::served;
  }
  if (path->is_group() && !groups_.members(path->destination()).empty()) loop_copy(*frame);
  frames_.send(now, frame);
  return Outcome::served;
}

void PacketSender::loop_copy(const link::Frame& frame) {
  link::Frame* copy = frames_.allocate();
  if (copy == nullptr) return;  // as a datagram may be lost
  const wire::MutableByteChain room = copy->append(frame.size());
  if (room.size() < frame.size()) return frames_.cancel(copy);
  wire::copy(frame.bytes(), room);
  frames_.loop(copy);
}

bool PacketSender::is_ours() const {
  constexpr link::QueuePairNumbers kAll;
  const std::uint32_t qpn = packet_.headers.bth.destination_qpn;
  // What is no other process's stays with us, who refuse it.
  return qpn < kAll.first || qpn > kAll.last || (qpn >= numbers_.first && qpn <= numbers_.last);
}

Path* PacketSender::path_of(QueuePairEntry& entry) {
  if (!entry.is_datagram()) return &entry.path;
  AddressHandle* handle = handles_.find(packet_.address_handle);
  return handle == nullptr ? nullptr : &handle->path;
}

const wire::AddressVector& PacketSender::vector_of(const QueuePairEntry& entry, const Path& path) {
  if (!entry.is_datagram() || path.has_own_port()) return path.vector();
  // A handle serves many queue pairs; the port without a flow label is the sender's own.
  datagram_vector_ = path.vector();
  datagram_vector_.udp_source_port =
      wire::source_port_of_flow_label(wire::flow_label_of_qpns(entry.queue_pair.qpn(), 1));
  return datagram_vector_;
}

PacketSender::Outcome PacketSender::drop(link::Frame* frame) {
  ++counters_.tx_unresolved;
  frames_.cancel(frame);
  return Outcome::served;
}

bool PacketSender::finish(link::Frame& frame, const wire::AddressVector& vector) {
  wire::TransportHeaders& headers = packet_.headers;
  const std::uint32_t pad = pad_of(packet_.payload_size);
  headers.bth.pad_count = static_cast<std::uint8_t>(pad);
  const std::size_t padded_size = packet_.payload_size + pad;
  const wire::MutableByteChain tail = frame.append(padded_size + kIcrcSize);
  fill_zero(tail.slice(packet_.payload_size, pad));

  const std::size_t below = vector.size();
  const std::size_t above = headers.size();
  const wire::ByteSpan front = frame.prepend(below + above);
  if (front.empty()) return false;
  vector.serialize(front, above + padded_size + kIcrcSize, frames_.next_identification());
  headers.serialize(front.subspan(below));

  const std::size_t network =
      vector.vlan ? wire::EthernetHeader::kMaxSize : wire::EthernetHeader::kSize;
  std::array<std::byte, kIcrcSize> icrc;
  wire::store_icrc(icrc.data(), wire::icrc(vector.network_layer(), front.subspan(network),
                                           below - network, tail.slice(0, padded_size)));
  wire::copy(wire::ByteView(icrc), tail.slice(padded_size, kIcrcSize));
  return true;
}

}  // namespace softrnic::nic
