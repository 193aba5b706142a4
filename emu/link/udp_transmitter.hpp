// SPDX-License-Identifier: BSD-3-Clause
// Sends frames through a UDP socket, as many with one system call as it takes.
//
// Frames that follow each other to one destination, of one size but for a shorter last, are given
// to the kernel as one piece that it cuts up (UDP_SEGMENT): over IPv4 with identifications 0, 1,
// 2, ..., which their ICRCs are made to say.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>

#include "link/frame.hpp"
#include "link/link.hpp"
#include "link/udp_address.hpp"
#include "link/udp_datagram.hpp"
#include "link/udp_socket.hpp"

namespace softrnic::link {

class UdpTransmitter {
 public:
  // `segmentation`: whether the kernel can cut.
  UdpTransmitter(int socket, const UdpAddress& own, bool segmentation)
      : socket_(socket), own_(own), segmentation_(segmentation) {}
  UdpTransmitter(const UdpTransmitter&) = delete;
  UdpTransmitter& operator=(const UdpTransmitter&) = delete;

  // Returns how many frames are done with, sent or counted as dropped: the others found no room in
  // the socket and may be given again. Each must lie in one piece; its ICRC may be changed.
  std::size_t send(std::span<Frame* const> frames, Link::Statistics& statistics);

 private:
  // Frames in one system call.
  static constexpr std::size_t kBatch = 64;
  // Of a piece that the kernel cuts up.
  static constexpr std::size_t kMostBytes = 65'000;

  struct alignas(cmsghdr) Control {
    // Traffic class, hop limit, segment size.
    std::array<char, CMSG_SPACE(sizeof(int)) * 2 + CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };

  // What one message carries: frames `first` to `first + count`.
  struct Piece {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::size_t segment = 0;  // the size of each but the last
    bool closed = false;      // by a shorter one
  };

  void gather(std::span<Frame* const> frames);
  bool joins(const Piece& piece, const UdpDatagram& next) const;
  void lay_out(std::size_t message);
  // Both false when the socket has no room; `done_` datagrams are done with.
  bool send_messages(Link::Statistics& statistics);
  bool send_apart(Piece piece, Link::Statistics& statistics);
  void count_sent(const Piece& piece, Link::Statistics& statistics);

  int socket_;
  const UdpAddress& own_;
  bool segmentation_;

  // Scratch for one system call.
  std::array<UdpDatagram, kBatch> datagrams_;
  std::array<std::size_t, kBatch> positions_{};  // of each among the frames given
  std::size_t gathered_ = 0;
  std::array<Piece, kBatch> pieces_;
  std::size_t piece_count_ = 0;
  std::size_t done_ = 0;  // datagrams sent or refused
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, kBatch> vectors_{};
  std::array<SocketAddress, kBatch> destinations_;
  std::array<Control, kBatch> controls_{};
};

}  // namespace softrnic::link
