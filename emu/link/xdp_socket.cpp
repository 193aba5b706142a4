// SPDX-License-Identifier: BSD-3-Clause
#include "link/xdp_socket.hpp"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <thread>

// Names that came after Debian 12's kernel headers (Linux 6.6).
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

namespace softrnic::link {

namespace {

// A queue is released some time after the process that had it has ended.
constexpr int kOpenAttempts = 100;
constexpr std::chrono::milliseconds kOpenPause(20);
// Each frame in flight counts against the socket's send buffer.
constexpr int kSendBuffer = 4 << 20;
// Frames the kernel sends in one call; it says EAGAIN when there are more.
constexpr std::uint32_t kKernelBatch = 32;

// Pages shared with the kernel.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) start_ = static_cast<std::byte*>(at);
  }
  ~SharedMemory() {
    if (start_ != nullptr) ::munmap(start_, size_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* start() const { return start_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t size_;
};

}  // namespace

struct XdpSocket::Impl {
  explicit Impl(Shape s)
      : shape(s), memory((std::size_t{s.rx_chunks} + s.tx_chunks) * kChunkSize) {}
  ~Impl() {
    if (socket != nullptr) xsk_socket__delete(socket);
    if (umem != nullptr) xsk_umem__delete(umem);
  }

  int create(const NetworkInterface& interface, std::uint32_t queue);
  void lay_out_chunks();
  void reap();

  Shape shape;
  SharedMemory memory;
  xsk_umem* umem = nullptr;
  xsk_socket* socket = nullptr;
  xsk_ring_prod fill{};
  xsk_ring_cons completion{};
  xsk_ring_cons rx{};
  xsk_ring_prod tx{};
  std::vector<std::byte*> free_tx;    // chunks to send from
  std::vector<std::byte*> to_refill;  // received chunks on their way back
};

int XdpSocket::Impl::create(const NetworkInterface& interface, std::uint32_t queue) {
  if (memory.start() == nullptr) return ENOMEM;
  xsk_umem_config memory_config{};
  memory_config.fill_size = std::bit_ceil(shape.rx_chunks);
  memory_config.comp_size = std::bit_ceil(std::max(shape.tx_chunks, 1u));
  memory_config.frame_size = kChunkSize;
  if (const int error = xsk_umem__create(&umem, memory.start(), memory.size(), &fill, &completion,
                                         &memory_config)) {
    return -error;
  }
  xsk_socket_config config{};
  config.rx_size = std::bit_ceil(shape.rx_chunks);
  config.tx_size = std::bit_ceil(shape.tx_chunks);
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  // Copy mode or zero copy, as the driver can; the kernel chooses.
  config.bind_flags = XDP_USE_NEED_WAKEUP;
  if (shape.several_chunks) config.bind_flags |= XDP_USE_SG;
  for (int attempt = 1;; ++attempt) {
    const int error = xsk_socket__create(&socket, interface.name.c_str(), queue, umem, &rx,
                                         shape.tx_chunks > 0 ? &tx : nullptr, &config);
    if (error == 0) break;
    socket = nullptr;
    if (error != -EBUSY || attempt == kOpenAttempts) return -error;
    std::this_thread::sleep_for(kOpenPause);
  }
  (void)::setsockopt(xsk_socket__fd(socket), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBuffer,
                     sizeof kSendBuffer);
  lay_out_chunks();
  return 0;
}

void XdpSocket::Impl::lay_out_chunks() {
  to_refill.reserve(shape.rx_chunks);
  free_tx.reserve(shape.tx_chunks);
  for (std::uint32_t i = 0; i < shape.rx_chunks; ++i) {
    to_refill.push_back(memory.start() + std::size_t{i} * kChunkSize);
  }
  for (std::uint32_t i = shape.tx_chunks; i-- > 0;) {
    free_tx.push_back(memory.start() + (std::size_t{shape.rx_chunks} + i) * kChunkSize);
  }
}

// Takes back the chunks whose frames have left.
void XdpSocket::Impl::reap() {
  std::uint32_t at = 0;
  const std::uint32_t n = xsk_ring_cons__peek(&completion, shape.tx_chunks, &at);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint64_t address = *xsk_ring_cons__comp_addr(&completion, at + i);
    free_tx.push_back(memory.start() + address / kChunkSize * kChunkSize);
  }
  if (n > 0) xsk_ring_cons__release(&completion, n);
}

XdpSocket::XdpSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

XdpSocket::~XdpSocket() = default;

wire::Expected<std::unique_ptr<XdpSocket>, int> XdpSocket::open(const NetworkInterface& interface,
                                                                std::uint32_t queue, Shape shape) {
  auto impl = std::make_unique<Impl>(shape);
  if (const int error = impl->create(interface, queue)) return wire::Unexpected{error};
  std::unique_ptr<XdpSocket> opened(new XdpSocket(std::move(impl)));
  opened->refill();
  return opened;
}

int XdpSocket::descriptor() const {
  return xsk_socket__fd(impl_->socket);
}

std::byte* XdpSocket::allocate_chunk() {
  if (impl_->free_tx.empty()) impl_->reap();
  if (impl_->free_tx.empty()) return nullptr;
  std::byte* chunk = impl_->free_tx.back();
  impl_->free_tx.pop_back();
  return chunk;
}

void XdpSocket::cancel_chunk(std::byte* chunk) {
  impl_->free_tx.push_back(chunk);
}

void XdpSocket::queue(const wire::ByteChain& frame) {
  const auto pieces = frame.pieces();
  std::uint32_t at = 0;
  // There are no more chunks than places in the ring, so there is always room.
  (void)xsk_ring_prod__reserve(&impl_->tx, static_cast<std::uint32_t>(pieces.size()), &at);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    xdp_desc* descriptor = xsk_ring_prod__tx_desc(&impl_->tx, at++);
    descriptor->addr = static_cast<std::uint64_t>(pieces[i].data() - impl_->memory.start());
    descriptor->len = static_cast<std::uint32_t>(pieces[i].size());
    descriptor->options = i + 1 < pieces.size() ? XDP_PKT_CONTD : 0;
  }
  xsk_ring_prod__submit(&impl_->tx, static_cast<std::uint32_t>(pieces.size()));
}

bool XdpSocket::transmit() {
  const auto taken = [this] {
    return xsk_prod_nb_free(&impl_->tx, impl_->tx.size) == impl_->tx.size;
  };
  for (std::uint32_t sent = 0; sent <= impl_->tx.size && !taken(); sent += kKernelBatch) {
    if (!xsk_ring_prod__needs_wakeup(&impl_->tx)) break;  // the driver is at it
    if (::sendto(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 && errno != EAGAIN) break;
  }
  return taken();
}

bool XdpSocket::receive(Received& frame) {
  xsk_ring_cons& ring = impl_->rx;
  std::uint32_t at = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  do {
    if (xsk_ring_cons__peek(&ring, 1, &at) == 0) {
      xsk_ring_cons__cancel(&ring, count);
      return false;
    }
    if (count++ == 0) first = at;
  } while ((xsk_ring_cons__rx_desc(&ring, at)->options & XDP_PKT_CONTD) != 0);

  frame.too_long = count > kMaxChunks;
  frame.count = frame.too_long ? 0 : count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const xdp_desc& descriptor = *xsk_ring_cons__rx_desc(&ring, first + i);
    const auto offset = static_cast<std::uint32_t>(descriptor.addr % kChunkSize);
    std::byte* const chunk = impl_->memory.start() + (descriptor.addr - offset);
    if (frame.too_long) {
      release_chunk(chunk);
    } else {
      frame.pieces[i] = {chunk, offset, descriptor.len};
    }
  }
  xsk_ring_cons__release(&ring, count);
  return true;
}

void XdpSocket::release_chunk(std::byte* chunk) {
  impl_->to_refill.push_back(chunk);
}

void XdpSocket::refill() {
  auto& chunks = impl_->to_refill;
  if (chunks.empty()) return;
  const auto count = static_cast<std::uint32_t>(chunks.size());
  std::uint32_t at = 0;
  // The ring has a place for every receive chunk.
  if (xsk_ring_prod__reserve(&impl_->fill, count, &at) != count) return;
  for (const std::byte* chunk : chunks) {
    *xsk_ring_prod__fill_addr(&impl_->fill, at++) =
        static_cast<std::uint64_t>(chunk - impl_->memory.start());
  }
  xsk_ring_prod__submit(&impl_->fill, count);
  chunks.clear();
  if (xsk_ring_prod__needs_wakeup(&impl_->fill)) {
    (void)::recvfrom(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
  }
}

}  // namespace softrnic::link
