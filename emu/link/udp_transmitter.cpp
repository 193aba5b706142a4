// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_transmitter.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/udp.hpp"

namespace softrnic::link {

namespace {

// As the sockets are set.
constexpr std::uint8_t kUsualTrafficClass = 0;
constexpr std::uint8_t kUsualHopLimit = 64;

class ControlWriter {
 public:
  ControlWriter(msghdr& header, char* bytes) : header_(header), bytes_(bytes) {
    header_.msg_control = bytes;
    header_.msg_controllen = 0;
  }

  template <class Value>
  void add(int level, int type, Value value) {
    auto* const control = reinterpret_cast<cmsghdr*>(bytes_ + header_.msg_controllen);
    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(control), &value, sizeof value);
    header_.msg_controllen += CMSG_SPACE(sizeof value);
  }

 private:
  msghdr& header_;
  char* bytes_;
};

}  // namespace

std::size_t UdpTransmitter::send(std::span<Frame* const> frames, Link::Statistics& statistics) {
  std::size_t taken = 0;
  while (taken < frames.size()) {
    const auto batch = frames.subspan(taken, std::min(kBatch, frames.size() - taken));
    gather(batch);
    const bool has_room = send_messages(statistics);
    const std::size_t handled = has_room ? batch.size() : positions_[done_];
    // Those that no socket of this address can send.
    statistics.tx_dropped += handled - done_;
    taken += handled;
    if (!has_room) break;
  }
  return taken;
}

void UdpTransmitter::gather(std::span<Frame* const> frames) {
  gathered_ = 0;
  piece_count_ = 0;
  done_ = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto datagram = UdpDatagram::read(frames[i]->mutable_bytes().front());
    if (!datagram || datagram->source != own_.ip || datagram->destination.is_multicast() ||
        datagram->is_ipv4() != own_.is_ipv4()) {
      continue;
    }
    if (piece_count_ == 0 || !joins(pieces_[piece_count_ - 1], *datagram)) {
      pieces_[piece_count_++] = {gathered_, 0, 0, datagram->payload.size(), false};
    }
    Piece& piece = pieces_[piece_count_ - 1];
    datagrams_[gathered_] = *datagram;
    datagrams_[gathered_].adjust(static_cast<std::uint16_t>(piece.count), wire::kRoceV2Port);
    vectors_[gathered_] = {datagram->payload.data(), datagram->payload.size()};
    positions_[gathered_++] = i;
    ++piece.count;
    piece.bytes += datagram->payload.size();
    piece.closed = datagram->payload.size() != piece.segment;
  }
  for (std::size_t i = 0; i < piece_count_; ++i) lay_out(i);
}

bool UdpTransmitter::joins(const Piece& piece, const UdpDatagram& next) const {
  const UdpDatagram& first = datagrams_[piece.first];
  return segmentation_ && !piece.closed && piece.count < kMostUdpSegments &&
         !next.payload.empty() && next.payload.size() <= piece.segment &&
         piece.bytes + next.payload.size() <= kMostBytes && next.destination == first.destination &&
         next.destination_port == first.destination_port &&
         next.traffic_class == first.traffic_class && next.hop_limit == first.hop_limit;
}

void UdpTransmitter::lay_out(std::size_t message) {
  const Piece& piece = pieces_[message];
  const UdpDatagram& first = datagrams_[piece.first];
  destinations_[message] = SocketAddress(first.destination, first.destination_port,
                                         static_cast<std::uint32_t>(own_.interface));
  msghdr& header = messages_[message].msg_hdr;
  header.msg_name = destinations_[message].get();
  header.msg_namelen = destinations_[message].size();
  header.msg_iov = &vectors_[piece.first];
  header.msg_iovlen = piece.count;
  header.msg_flags = 0;
  ControlWriter control(header, controls_[message].bytes.data());
  const bool ipv4 = first.is_ipv4();
  if (first.traffic_class != kUsualTrafficClass) {
    control.add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
                int{first.traffic_class});
  }
  if (first.hop_limit != kUsualHopLimit) {
    control.add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT,
                int{first.hop_limit});
  }
  if (piece.count > 1) {
    control.add(IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(piece.segment));
  }
}

bool UdpTransmitter::send_messages(Link::Statistics& statistics) {
  std::size_t message = 0;
  while (message < piece_count_) {
    const int sent = ::sendmmsg(socket_, &messages_[message],
                                static_cast<unsigned>(piece_count_ - message), MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    for (int i = 0; i < sent; ++i) count_sent(pieces_[message++], statistics);
    if (sent > 0) continue;
    if (errno == EAGAIN) return false;
    // The first one was refused: no route (ENETUNREACH), longer than the path takes (EMSGSIZE),
    // a firewall (EPERM), or a device that cannot cut (EIO). The next may fare better.
    if (!send_apart(pieces_[message], statistics)) return false;
    ++message;
  }
  return true;
}

bool UdpTransmitter::send_apart(Piece piece, Link::Statistics& statistics) {
  if (piece.count == 1) {
    ++statistics.tx_dropped;
    ++done_;
    return true;
  }
  bool all = true;
  const std::size_t end = piece.first + piece.count;
  for (std::size_t i = piece.first; i < end; ++i) datagrams_[i].adjust(0, wire::kRoceV2Port);
  for (std::size_t i = piece.first; i < end;) {
    pieces_[0] = {i, 1, vectors_[i].iov_len, vectors_[i].iov_len, false};
    lay_out(0);
    const ssize_t sent = ::sendmsg(socket_, &messages_[0].msg_hdr, MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent < 0) {
      all = false;
      ++statistics.tx_dropped;
      ++done_;
    } else {
      count_sent(pieces_[0], statistics);
    }
    ++i;
  }
  // What it takes apart and not as one, it cannot cut.
  if (all) segmentation_ = false;
  return true;
}

void UdpTransmitter::count_sent(const Piece& piece, Link::Statistics& statistics) {
  statistics.tx_frames += piece.count;
  done_ += piece.count;
  for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
    statistics.tx_bytes += datagrams_[i].frame_size();
  }
}

}  // namespace softrnic::link
