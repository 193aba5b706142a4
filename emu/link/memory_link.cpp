// SPDX-License-Identifier: BSD-3-Clause
#include "link/memory_link.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "link/frame_pool.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::link {

namespace {

// Frames a port may have on loan for sending, beside those its ring holds.
constexpr std::size_t kLoanedFrames = 256;
// Addresses the segment learns before it floods the rest, as a switch does.
constexpr std::size_t kMaxLearned = 4096;

// A MAC address as an integer, cheap to compare and to hash.
std::uint64_t mac_key(const std::byte* p) {
  return std::uint64_t{wire::load_be16(p)} << 32 | wire::load_be32(p + 2);
}

bool is_group(std::uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}

class Port;

}  // namespace

struct MemoryWire::Impl {
  Impl(std::uint32_t link_mtu, std::size_t ring_size)
      : mtu(link_mtu),
        ring(std::max<std::size_t>(ring_size, 1)),
        pool(wire::kHeadroom + wire::EthernetHeader::kMaxSize + link_mtu) {}

  void learn(std::uint64_t source, Port& port);
  Port* find(std::uint64_t destination) const;
  void forget(const Port& port);

  std::uint32_t mtu;
  std::size_t ring;
  FramePool pool;
  std::vector<Port*> ports;
  std::unordered_map<std::uint64_t, Port*> table;
  // Counts changes of the table; ports keep their last answers while it stands still.
  std::uint64_t generation = 1;
};

namespace {

class Port final : public Link {
 public:
  Port(MemoryWire::Impl& segment, std::string name) : segment_(segment), ring_(segment.ring) {
    capabilities_.name = std::move(name);
    capabilities_.mtu = segment.mtu;
    segment_.pool.grow(segment.ring + kLoanedFrames);
    segment_.ports.push_back(this);
  }

  ~Port() override {
    while (count_ > 0) segment_.pool.release(take());
    segment_.forget(*this);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  std::size_t tx_alloc(std::span<Frame*> out) override { return segment_.pool.allocate(out); }

  void tx_push(wire::Instant, std::span<Frame* const> frames) override {
    for (Frame* frame : frames) send(frame);
  }

  void tx_cancel(std::span<Frame* const> frames) override { segment_.pool.release(frames); }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    const std::size_t n = std::min(out.size(), count_);
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = take();
      out[i]->received_at = now;
    }
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override { segment_.pool.release(frames); }

  int descriptor() const override { return -1; }
  const Statistics& statistics() const override { return statistics_; }

 private:
  void send(Frame* frame) {
    const wire::ByteView head = frame->bytes().front();
    const std::size_t size = frame->size();
    if (head.size() < wire::EthernetHeader::kSize || size > largest_frame(head)) {
      ++statistics_.tx_dropped;
      segment_.pool.release(frame);
      return;
    }
    ++statistics_.tx_frames;
    statistics_.tx_bytes += size;
    frame->note.clear();  // what was done to a frame is not written on the wire

    learn_source(mac_key(head.data() + 6));
    const std::uint64_t destination = mac_key(head.data());
    Port* to = is_group(destination) ? nullptr : resolve(destination);
    if (to == nullptr) {
      flood(frame);
    } else if (to == this) {
      segment_.pool.release(frame);  // already on its segment: filtered, as a bridge does
    } else {
      to->deliver(frame);
    }
  }

  // A tag does not count against the MTU (IEEE 802.1Q).
  std::size_t largest_frame(wire::ByteView head) const {
    const bool tagged = wire::load_be16(head.data() + 12) == wire::ethertype::kVlan;
    return segment_.mtu + (tagged ? wire::EthernetHeader::kMaxSize : wire::EthernetHeader::kSize);
  }

  void learn_source(std::uint64_t source) {
    if (source == last_source_ && generation_ == segment_.generation) return;
    if (!is_group(source)) segment_.learn(source, *this);
    remember();
    last_source_ = source;
  }

  Port* resolve(std::uint64_t destination) {
    if (destination == last_destination_ && generation_ == segment_.generation) return last_port_;
    Port* port = segment_.find(destination);
    remember();
    last_destination_ = destination;
    last_port_ = port;
    return port;
  }

  // Brings the remembered answers up to date with the table: none, if it has changed.
  void remember() {
    if (generation_ == segment_.generation) return;
    generation_ = segment_.generation;
    last_source_ = last_destination_ = kNoAddress;
    last_port_ = nullptr;
  }

  void flood(Frame* frame) {
    Port* last = nullptr;
    for (Port* port : segment_.ports) {
      if (port == this) continue;
      if (last != nullptr) last->deliver_copy(*frame);
      last = port;
    }
    if (last != nullptr) {
      last->deliver(frame);
    } else {
      segment_.pool.release(frame);
    }
  }

  void deliver(Frame* frame) {
    if (count_ == ring_.size()) {
      ++statistics_.rx_dropped;
      segment_.pool.release(frame);
      return;
    }
    ++statistics_.rx_frames;
    statistics_.rx_bytes += frame->size();
    std::size_t at = head_ + count_;
    if (at >= ring_.size()) at -= ring_.size();
    ring_[at] = frame;
    ++count_;
  }

  void deliver_copy(const Frame& original) {
    Frame* frame = segment_.pool.allocate();
    if (frame == nullptr) {
      ++statistics_.rx_dropped;
      return;
    }
    // One buffer holds any frame of this wire, so the copy is in one piece.
    const wire::MutableByteChain room = frame->append(original.size());
    original.bytes().copy_to(0, room.front());
    deliver(frame);
  }

  Frame* take() {
    Frame* frame = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
    --count_;
    return frame;
  }

  static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

  MemoryWire::Impl& segment_;
  Capabilities capabilities_;
  Statistics statistics_;
  std::vector<Frame*> ring_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t last_source_ = kNoAddress;
  std::uint64_t last_destination_ = kNoAddress;
  Port* last_port_ = nullptr;
};

}  // namespace

void MemoryWire::Impl::learn(std::uint64_t source, Port& port) {
  const auto found = table.find(source);
  if (found != table.end()) {
    if (found->second == &port) return;
    found->second = &port;  // the station moved
  } else {
    if (table.size() == kMaxLearned) return;
    table.emplace(source, &port);
  }
  ++generation;
}

Port* MemoryWire::Impl::find(std::uint64_t destination) const {
  const auto found = table.find(destination);
  return found == table.end() ? nullptr : found->second;
}

void MemoryWire::Impl::forget(const Port& port) {
  std::erase(ports, &port);
  std::erase_if(table, [&port](const auto& entry) { return entry.second == &port; });
  ++generation;
}

MemoryWire::MemoryWire(std::uint32_t mtu, std::size_t ring)
    : impl_(std::make_unique<Impl>(mtu, ring)) {}

MemoryWire::~MemoryWire() = default;

std::unique_ptr<Link> MemoryWire::attach(std::string name) {
  return std::make_unique<Port>(*impl_, std::move(name));
}

}  // namespace softrnic::link
