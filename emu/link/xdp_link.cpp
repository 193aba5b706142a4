// SPDX-License-Identifier: BSD-3-Clause
#include "link/xdp_link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "link/file_descriptor.hpp"
#include "link/network_interface.hpp"
#include "link/promiscuous.hpp"
#include "link/xdp_program.hpp"
#include "link/xdp_roce_maps.h"
#include "link/xdp_socket.hpp"

namespace softrnic::link {

namespace {

// Chunks of the first queue, and of each further one, which only receives. 6 MiB for the first:
// the usual limit on locked memory (`ulimit -l`) is 8 MiB.
constexpr XdpSocket::Shape kFirstQueue{.rx_chunks = 1024, .tx_chunks = 512};
constexpr XdpSocket::Shape kFurtherQueue{.rx_chunks = 512, .tx_chunks = 0};

// Network packet that fits one received chunk, and into the chunks a frame may have.
constexpr std::uint32_t kOneChunkMtu =
    XdpSocket::kChunkSize - XdpSocket::kReceiveHeadroom - wire::EthernetHeader::kMaxSize;
constexpr std::uint32_t kLargestMtu =
    kOneChunkMtu + (XdpSocket::kMaxChunks - 1) * XdpSocket::kChunkSize;

// What the kernel did not take at once is offered again after this time.
constexpr wire::Duration kRetryInterval = std::chrono::milliseconds(1);

using Sockets = std::vector<std::unique_ptr<XdpSocket>>;

class XdpLink final : public Link {
 public:
  XdpLink(Capabilities capabilities, int interface, Sockets sockets,
          std::unique_ptr<XdpProgram> program, FileDescriptor promiscuous, FileDescriptor readiness)
      : capabilities_(std::move(capabilities)),
        interface_(interface),
        promiscuous_(std::move(promiscuous)),
        readiness_(std::move(readiness)),
        sockets_(std::move(sockets)),
        program_(std::move(program)),
        largest_(capabilities_.mtu + wire::EthernetHeader::kMaxSize),
        chunks_per_frame_((wire::kHeadroom + largest_ + XdpSocket::kChunkSize - 1) /
                          XdpSocket::kChunkSize),
        frames_(kFirstQueue.tx_chunks + kFirstQueue.rx_chunks +
                (sockets_.size() - 1) * kFurtherQueue.rx_chunks) {
    for (Frame& frame : frames_) free_frames_.push_back(&frame);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  std::size_t tx_alloc(std::span<Frame*> out) override {
    std::size_t n = 0;
    while (n < out.size() && (out[n] = allocate()) != nullptr) ++n;
    return n;
  }

  void tx_push(wire::Instant now, std::span<Frame* const> frames) override {
    for (Frame* frame : frames) push(*frame);
    transmit(now);
  }

  void tx_cancel(std::span<Frame* const> frames) override {
    for (Frame* frame : frames) {
      for (const Frame::Segment& segment : frame->segments()) sender().cancel_chunk(segment.base);
      free_frames_.push_back(frame);
    }
  }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    transmit(now);
    std::size_t n = 0;
    // A busy queue must not starve the others: each has its turn to be first.
    for (std::size_t i = 0; i < sockets_.size() && n < out.size(); ++i) {
      n += receive(now, (first_queue_ + i) % sockets_.size(), out.subspan(n));
    }
    first_queue_ = (first_queue_ + 1) % sockets_.size();
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override {
    for (Frame* frame : frames) {
      XdpSocket& socket = *sockets_[frame->handle];
      for (const Frame::Segment& segment : frame->segments()) socket.release_chunk(segment.base);
      free_frames_.push_back(frame);
    }
    for (const auto& socket : sockets_) socket->refill();
  }

  wire::Instant next_deadline() const override { return retry_at_; }
  void flush(wire::Instant now) override { transmit(now); }

  // An XDP socket only says ENETDOWN, which an interface that is down says as well.
  bool gone() const override { return !NetworkInterface::exists(interface_); }

  int descriptor() const override {
    return readiness_.valid() ? readiness_.get() : sockets_.front()->descriptor();
  }
  const Statistics& statistics() const override { return statistics_; }

  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    program_->set_addresses(mac, ips);
  }

 private:
  XdpSocket& sender() { return *sockets_.front(); }

  // A frame with as many chunks as the largest needs; null when there are not as many free.
  Frame* allocate() {
    if (free_frames_.empty()) return nullptr;
    std::array<std::byte*, Frame::kMaxSegments> chunks{};
    for (std::size_t i = 0; i < chunks_per_frame_; ++i) {
      chunks[i] = sender().allocate_chunk();
      if (chunks[i] != nullptr) continue;
      while (i-- > 0) sender().cancel_chunk(chunks[i]);
      return nullptr;
    }
    Frame* frame = free_frames_.back();
    free_frames_.pop_back();
    for (std::size_t i = 0; i < chunks_per_frame_; ++i) {
      frame->set_segment(i, chunks[i], XdpSocket::kChunkSize);
    }
    frame->reset();
    return frame;
  }

  void push(Frame& frame) {
    const std::size_t size = frame.size();
    const bool sendable = size >= wire::EthernetHeader::kSize && size <= largest_;
    if (sendable) {
      sender().queue(frame.bytes());
      ++statistics_.tx_frames;
      statistics_.tx_bytes += size;
    } else {
      ++statistics_.tx_dropped;
    }
    for (const Frame::Segment& segment : frame.segments()) {
      if (!sendable || segment.length == 0) sender().cancel_chunk(segment.base);
    }
    free_frames_.push_back(&frame);
  }

  void transmit(wire::Instant now) {
    retry_at_ = sender().transmit() ? wire::kNever : now + kRetryInterval;
  }

  std::size_t receive(wire::Instant now, std::size_t queue, std::span<Frame*> out) {
    XdpSocket& socket = *sockets_[queue];
    std::size_t n = 0;
    XdpSocket::Received received;
    while (n < out.size() && socket.receive(received)) {
      if (!lend(received, queue, now, out[n])) continue;
      ++n;
    }
    socket.refill();
    return n;
  }

  // False when the frame is not for the NIC to see; its chunks have then gone back.
  bool lend(const XdpSocket::Received& received, std::size_t queue, wire::Instant now,
            Frame*& out) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < received.count; ++i) size += received.pieces[i].length;
    if (received.too_long || size > largest_ || free_frames_.empty()) {
      for (std::size_t i = 0; i < received.count; ++i) {
        sockets_[queue]->release_chunk(received.pieces[i].chunk);
      }
      ++statistics_.rx_dropped;
      return false;
    }
    out = free_frames_.back();
    free_frames_.pop_back();
    for (std::size_t i = 0; i < received.count; ++i) {
      const XdpSocket::Piece& piece = received.pieces[i];
      out->set_received(i, piece.chunk, XdpSocket::kChunkSize, piece.offset, piece.length);
    }
    out->handle = queue;
    out->received_at = now;
    out->note.clear();
    ++statistics_.rx_frames;
    statistics_.rx_bytes += size;
    return true;
  }

  Capabilities capabilities_;
  int interface_;
  FileDescriptor promiscuous_;
  FileDescriptor readiness_;             // epoll over several sockets
  Sockets sockets_;                      // by queue; the first also sends
  std::unique_ptr<XdpProgram> program_;  // goes before the sockets it leads to
  std::size_t largest_;
  std::size_t chunks_per_frame_;
  std::vector<Frame> frames_;
  std::vector<Frame*> free_frames_;
  std::size_t first_queue_ = 0;
  wire::Instant retry_at_ = wire::kNever;
  Statistics statistics_;
};

wire::Unexpected<OpenError> refuse(std::string message) {
  return wire::Unexpected{OpenError{std::move(message)}};
}

std::string why_no_socket(const std::string& name, std::size_t queue, int error) {
  const std::string cause = "cannot open an AF_XDP socket on queue " + std::to_string(queue) +
                            " of interface \"" + name + "\": ";
  switch (error) {
    case EPERM:
    case EACCES:
      return cause + "that needs CAP_NET_RAW: run as root";
    case EBUSY:
      return cause + "another program has one there: end it, or use packet:" + name;
    case ENOBUFS:
      return cause + "too little memory may be locked: raise `ulimit -l` to 16384 or more";
    case EAFNOSUPPORT:
      return cause + "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): use packet:" + name;
    default:
      return cause + error_text(error) + ": use packet:" + name + " instead";
  }
}

// Opens a socket on every queue. How many there are, no call tells for all drivers: the first
// queue that does not exist is refused with EINVAL. `mtu` is what fits into the frames.
wire::Expected<Sockets, OpenError> open_sockets(const NetworkInterface& interface,
                                                std::uint32_t& mtu) {
  mtu = std::min(interface.mtu, kLargestMtu);
  bool several = mtu > kOneChunkMtu;
  Sockets sockets;
  while (true) {
    const auto queue = static_cast<std::uint32_t>(sockets.size());
    XdpSocket::Shape shape = queue == 0 ? kFirstQueue : kFurtherQueue;
    shape.several_chunks = several;
    auto socket = XdpSocket::open(interface, queue, shape);
    if (!socket && queue == 0 && several && socket.error() == EINVAL) {
      // Before Linux 6.6 a frame has one buffer.
      several = false;
      mtu = kOneChunkMtu;
      continue;
    }
    if (!socket && queue > 0 && socket.error() == EINVAL) return sockets;
    if (!socket) return refuse(why_no_socket(interface.name, queue, socket.error()));
    if (queue == XDP_ROCE_MAX_QUEUES) {
      return refuse("interface \"" + interface.name + "\" has more than " +
                    std::to_string(XDP_ROCE_MAX_QUEUES) + " queues: reduce them with `ethtool -L " +
                    interface.name + " combined " + std::to_string(XDP_ROCE_MAX_QUEUES) + "`");
    }
    sockets.push_back(std::move(*socket));
  }
}

// One descriptor that is readable when any socket is; none when a single socket will do.
FileDescriptor watch(const Sockets& sockets) {
  if (sockets.size() == 1) return {};
  FileDescriptor readiness(::epoll_create1(EPOLL_CLOEXEC));
  for (const auto& socket : sockets) {
    epoll_event event{};
    event.events = EPOLLIN;
    (void)::epoll_ctl(readiness.get(), EPOLL_CTL_ADD, socket->descriptor(), &event);
  }
  return readiness;
}

}  // namespace

wire::Expected<std::unique_ptr<Link>, OpenError> open_xdp(std::string_view name) {
  const auto interface = NetworkInterface::find(name);
  if (std::string why = why_unusable(interface, name); !why.empty()) return refuse(std::move(why));

  auto program = XdpProgram::load();
  if (!program) return wire::Unexpected{program.error()};
  std::uint32_t mtu = 0;
  auto sockets = open_sockets(*interface, mtu);
  if (!sockets) return wire::Unexpected{sockets.error()};
  for (std::uint32_t queue = 0; queue < sockets->size(); ++queue) {
    if (!(*program)->set_socket(queue, (*sockets)[queue]->descriptor())) {
      return refuse("cannot lead queue " + std::to_string(queue) + " of interface \"" +
                    interface->name + "\" to its socket: " + error_text(errno));
    }
  }
  FileDescriptor promiscuous(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!promiscuous.valid() || make_promiscuous(promiscuous.get(), interface->index) != 0) {
    return refuse("cannot put interface \"" + interface->name +
                  "\" into promiscuous mode: " + error_text(errno) + ": run as root");
  }
  FileDescriptor readiness = watch(*sockets);
  if (const auto mode = (*program)->attach(*interface); !mode) {
    return wire::Unexpected{mode.error()};
  }
  return std::unique_ptr<Link>(std::make_unique<XdpLink>(
      Capabilities{.name = "xdp:" + interface->name, .mtu = mtu, .mac = interface->mac},
      interface->index, std::move(*sockets), std::move(*program), std::move(promiscuous),
      std::move(readiness)));
}

}  // namespace softrnic::link
