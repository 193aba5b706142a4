// SPDX-License-Identifier: BSD-3-Clause
// Receives from the sockets of a udp link, many packets with one system call, and makes frames of
// them: with the headers that the kernel took off, as far as it tells them.
//
// A message may hold several packets (UDP_GRO). Short packets are copied out of it; of a longer one
// the beginning is copied behind the headers, and the rest read where the kernel laid it.
//
// The IPv4 identification is not told, and the ICRC covers it: the one that makes the ICRC right is
// put into the header, if there is one. What programs like this one send has zero, or counts up
// from zero where the kernel cut it: for that only 64 values are thought possible, and those of a
// message's further packets follow from the first two.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link/frame.hpp"
#include "link/frame_pool.hpp"
#include "link/link.hpp"
#include "link/socket_address.hpp"
#include "link/udp_address.hpp"
#include "wire/address_vector.hpp"

namespace softrnic::link {

class UdpReceiver {
 public:
  // Frames longer than `mtu` allows are dropped.
  UdpReceiver(const UdpAddress& own, std::uint32_t mtu);
  UdpReceiver(const UdpReceiver&) = delete;
  UdpReceiver& operator=(const UdpReceiver&) = delete;

  // Whom frames are to be addressed to.
  void set_mac(const wire::MacAddress& mac) { mac_ = mac; }

  // One system call; returns how many messages there were. `small`: what comes from the socket has
  // an identification below kMostUdpSegments.
  std::size_t read(int socket, bool small, Link::Statistics& statistics);
  // The next packet of what was read; null when there is none, or no frame to lend.
  Frame* next(Link::Statistics& statistics);
  bool has_more() const { return read_at_ != arrived_; }
  // Whether the last read took as many messages as it could.
  bool filled() const { return filled_; }

  // A frame for whoever has something to say beside the sockets; null when none is free.
  Frame* allocate();
  void release(Frame* frame);

 private:
  // Messages that may wait to be cut, and with one system call; a power of two.
  static constexpr std::size_t kMessages = 64;
  static constexpr std::size_t kBatch = 32;
  static constexpr std::size_t kFrames = 1024;
  // The longest message, and a little so that messages do not all begin in the same cache sets.
  static constexpr std::size_t kMessageBytes = 65'536;
  static constexpr std::size_t kStride = kMessageBytes + 192;
  // Packets up to this size are copied whole; of longer ones so much that all headers are in it.
  static constexpr std::size_t kWhole = 512;
  static constexpr std::size_t kCopied = 64;
  static constexpr std::uint64_t kNoMessage = ~std::uint64_t{0};

  struct alignas(cmsghdr) Control {
    // Traffic class, hop limit, size of each packet.
    std::array<char, CMSG_SPACE(sizeof(int)) * 3> bytes;
  };

  // What was read, and how far it is cut.
  struct Message {
    std::uint32_t buffer = 0;
    std::uint32_t size = 0;
    std::uint32_t packet = 0;  // the size of each but the last
    std::uint32_t cut = 0;
    std::uint16_t index = 0;     // of the next packet
    bool small = false;          // its identifications
    bool counts_up = true;       // its identifications do; else all are the first
    std::uint16_t first = 0;     // identification
    wire::AddressVector vector;  // its way, as seen from the sender
  };

  void prepare(std::size_t slot);
  // Keeps what a slot received in `buffer`; false when it is of no use.
  bool take(std::size_t slot, std::uint32_t buffer, bool small);
  static void read_control(msghdr& header, Message& message);
  // The next `size` bytes of the message, behind their headers.
  void lay_out(Frame& frame, Message& message, std::uint32_t size);
  static void identify(Message& message, Frame& frame);
  void drop_reference(std::uint32_t buffer);
  std::byte* bytes_of(std::uint32_t buffer) { return memory_.get() + buffer * kStride; }

  const UdpAddress& own_;
  std::size_t most_bytes_;  // of a packet
  wire::MacAddress mac_;
  FramePool frames_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::uint32_t> free_buffers_;
  std::array<std::uint32_t, kMessages> references_{};  // frames that read in it, and its message

  std::array<Message, kMessages> waiting_;
  std::size_t read_at_ = 0;  // counts up, as does arrived_
  std::size_t arrived_ = 0;
  bool filled_ = false;

  // Scratch for one system call.
  std::array<mmsghdr, kBatch> headers_{};
  std::array<iovec, kBatch> vectors_{};
  std::array<SocketAddress, kBatch> sources_;
  std::array<Control, kBatch> controls_{};
};

}  // namespace softrnic::link
