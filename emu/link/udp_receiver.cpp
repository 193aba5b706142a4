// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_receiver.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "link/ipv4_identification.hpp"
#include "link/udp_datagram.hpp"
#include "link/udp_neighbors.hpp"
#include "link/udp_socket.hpp"
#include "wire/bth.hpp"
#include "wire/udp.hpp"

namespace softrnic::link {

namespace {

constexpr std::size_t kLeastRoce = wire::Bth::kSize + 4;  // with the ICRC

int number_in(const cmsghdr& control) {
  int value = 0;
  std::memcpy(&value, CMSG_DATA(&control),
              std::min<std::size_t>(sizeof value, control.cmsg_len - CMSG_LEN(0)));
  return value;
}

}  // namespace

UdpReceiver::UdpReceiver(const UdpAddress& own, std::uint32_t mtu)
    : own_(own),
      most_bytes_(mtu + wire::EthernetHeader::kSize - UdpDatagram::headers_size(own.is_ipv4())),
      mac_(stand_in_mac(own.ip)),
      frames_(wire::kHeadroom + kWhole),
      memory_(std::make_unique_for_overwrite<std::byte[]>(kMessages * kStride)) {
  frames_.grow(kFrames);
  for (std::uint32_t i = kMessages; i-- > 0;) free_buffers_.push_back(i);
}

std::size_t UdpReceiver::read(int socket, bool small, Link::Statistics& statistics) {
  const std::size_t slots = std::min(kBatch, free_buffers_.size());
  if (slots == 0) return 0;
  for (std::size_t i = 0; i < slots; ++i) prepare(i);
  int result;
  do {
    result =
        ::recvmmsg(socket, headers_.data(), static_cast<unsigned>(slots), MSG_DONTWAIT, nullptr);
  } while (result < 0 && errno == EINTR);
  // Errors are what an ICMP message said of a packet sent before: nothing that ends a link.
  const auto arrived = static_cast<std::size_t>(std::max(result, 0));
  filled_ = arrived == slots;
  std::array<std::uint32_t, kBatch> buffers;
  for (std::size_t i = 0; i < arrived; ++i) {
    buffers[i] = free_buffers_.back();
    free_buffers_.pop_back();
  }
  for (std::size_t i = 0; i < arrived; ++i) {
    if (take(i, buffers[i], small)) continue;
    ++statistics.rx_dropped;
    free_buffers_.push_back(buffers[i]);
  }
  return arrived;
}

void UdpReceiver::prepare(std::size_t slot) {
  const std::uint32_t buffer = free_buffers_[free_buffers_.size() - 1 - slot];
  vectors_[slot] = {bytes_of(buffer), kMessageBytes};
  msghdr& header = headers_[slot].msg_hdr;
  header = {};
  header.msg_name = sources_[slot].get();
  header.msg_namelen = SocketAddress::capacity();
  header.msg_iov = &vectors_[slot];
  header.msg_iovlen = 1;
  header.msg_control = controls_[slot].bytes.data();
  header.msg_controllen = sizeof controls_[slot].bytes;
}

bool UdpReceiver::take(std::size_t slot, std::uint32_t buffer, bool small) {
  msghdr& header = headers_[slot].msg_hdr;
  const std::uint32_t size = headers_[slot].msg_len;
  if (size == 0 || (header.msg_flags & MSG_TRUNC) != 0) return false;
  Message& message = waiting_[arrived_ % kMessages];
  message = {};
  message.buffer = buffer;
  message.size = size;
  message.packet = size;
  message.small = small;
  read_control(header, message);
  if (std::min(message.packet, size) > most_bytes_) return false;
  wire::AddressVector& vector = message.vector;
  vector.source = sources_[slot].ip();
  vector.source_mac = stand_in_mac(vector.source);
  vector.destination = own_.ip;
  vector.destination_mac = mac_;
  vector.udp_source_port = sources_[slot].port();
  references_[buffer] = 1;
  ++arrived_;
  return true;
}

void UdpReceiver::read_control(msghdr& header, Message& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    const int level = control->cmsg_level;
    const int type = control->cmsg_type;
    const int value = number_in(*control);
    if ((level == IPPROTO_IP && type == IP_TOS) || (level == IPPROTO_IPV6 && type == IPV6_TCLASS)) {
      message.vector.traffic_class = static_cast<std::uint8_t>(value);
    } else if ((level == IPPROTO_IP && type == IP_TTL) ||
               (level == IPPROTO_IPV6 && type == IPV6_HOPLIMIT)) {
      message.vector.hop_limit = static_cast<std::uint8_t>(value);
    } else if (level == IPPROTO_UDP && type == UDP_GRO && value > 0) {
      message.packet = static_cast<std::uint32_t>(value);
    }
  }
}

Frame* UdpReceiver::next(Link::Statistics& statistics) {
  if (!has_more()) return nullptr;
  Message& message = waiting_[read_at_ % kMessages];
  Frame* frame = allocate();
  if (frame == nullptr) return nullptr;
  const std::uint32_t size = std::min(message.packet, message.size - message.cut);
  lay_out(*frame, message, size);
  message.cut += size;
  ++message.index;
  if (message.cut == message.size) {
    ++read_at_;
    drop_reference(message.buffer);
  }
  ++statistics.rx_frames;
  statistics.rx_bytes += frame->size();
  return frame;
}

void UdpReceiver::lay_out(Frame& frame, Message& message, std::uint32_t size) {
  const Frame::Segment room = frame.segments().front();
  const std::uint32_t headers = static_cast<std::uint32_t>(message.vector.size());
  const std::uint32_t start = wire::kHeadroom - headers;
  const std::uint32_t copied = size <= kWhole ? size : kCopied;
  std::byte* const packet = bytes_of(message.buffer) + message.cut;
  message.vector.serialize({room.base + start, headers}, size, 0);
  std::memcpy(room.base + wire::kHeadroom, packet, copied);
  frame.set_received(0, room.base, room.capacity, start, headers + copied);
  if (copied < size) {
    frame.set_received(1, packet + copied, size - copied, 0, size - copied);
    frame.handle = message.buffer;
    ++references_[message.buffer];
  }
  if (own_.is_ipv4() && size >= kLeastRoce) identify(message, frame);
}

void UdpReceiver::identify(Message& message, Frame& frame) {
  constexpr std::size_t kNetwork = wire::EthernetHeader::kSize;
  if (message.small && message.index > 1) {
    // Should it be wrong, the NIC finds the ICRC wrong.
    const int step = message.counts_up ? message.index : 0;
    return set_identification(static_cast<std::uint16_t>(message.first + step), frame, kNetwork);
  }
  const std::uint32_t difference = icrc_difference(frame, kNetwork);
  if (difference == 0) {
    message.counts_up = false;  // of the first, its second will tell
    return;
  }
  if (!message.small) {
    frame.identification_inferred = infer_identification(difference, frame, kNetwork);
    return;
  }
  const auto found = identification_behind(difference, frame, kNetwork);
  if (!found || *found >= kMostUdpSegments) return;
  set_identification(*found, frame, kNetwork);
  if (message.index == 0) {
    message.first = *found;
    frame.identification_inferred = true;
  }
  message.counts_up = *found != message.first;
}

Frame* UdpReceiver::allocate() {
  Frame* frame = frames_.allocate();
  if (frame != nullptr) frame->handle = kNoMessage;
  return frame;
}

void UdpReceiver::release(Frame* frame) {
  if (frame->handle != kNoMessage) drop_reference(static_cast<std::uint32_t>(frame->handle));
  frames_.release(frame);
}

void UdpReceiver::drop_reference(std::uint32_t buffer) {
  if (--references_[buffer] == 0) free_buffers_.push_back(buffer);
}

}  // namespace softrnic::link
