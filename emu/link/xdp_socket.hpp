// SPDX-License-Identifier: BSD-3-Clause
// One AF_XDP socket on one queue of an interface, with the memory its frames lie in.
//
// The memory is cut into chunks of a page. A chunk belongs to the receive side or to the transmit
// side; it is free, on loan, or with the kernel. A frame larger than a chunk takes several
// (XDP_USE_SG).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link/network_interface.hpp"
#include "wire/byte_chain.hpp"

struct xsk_umem;
struct xsk_socket;

namespace softrnic::link {

class XdpSocket {
 public:
  static constexpr std::uint32_t kChunkSize = 4096;
  // What the kernel keeps free in front of a received frame (XDP_PACKET_HEADROOM).
  static constexpr std::uint32_t kReceiveHeadroom = 256;
  static constexpr std::size_t kMaxChunks = wire::ByteChain::kMaxPieces;

  struct Shape {
    std::uint32_t rx_chunks = 0;
    std::uint32_t tx_chunks = 0;  // 0: a socket that only receives
    bool several_chunks = false;  // frames may take more than one
  };

  // The socket, or an errno: EINVAL when there is no such queue, EBUSY when another has it.
  static wire::Expected<std::unique_ptr<XdpSocket>, int> open(const NetworkInterface& interface,
                                                              std::uint32_t queue, Shape shape);
  ~XdpSocket();
  XdpSocket(const XdpSocket&) = delete;
  XdpSocket& operator=(const XdpSocket&) = delete;

  int descriptor() const;

  // --- transmit ---

  // A free chunk, or null when all are on loan or with the kernel.
  std::byte* allocate_chunk();
  void cancel_chunk(std::byte* chunk);
  // Queues a frame: pieces within allocated chunks, which are the kernel's from now on.
  void queue(const wire::ByteChain& frame);
  // Hands the queued frames to the kernel. True when it has taken them all.
  bool transmit();

  // --- receive ---

  struct Piece {
    std::byte* chunk = nullptr;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  struct Received {
    std::size_t count = 0;
    std::array<Piece, kMaxChunks> pieces;
    bool too_long = false;  // more chunks than a frame may have; they went back to the kernel
  };
  // The next frame; false when there is none, or not yet all of it.
  bool receive(Received& frame);
  // Gives a received chunk back to the kernel.
  void release_chunk(std::byte* chunk);
  // Makes the chunks given back known to the kernel. To be called after a burst.
  void refill();

  struct Impl;

 private:
  explicit XdpSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace softrnic::link
