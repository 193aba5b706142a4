// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_link.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "link/frame_pool.hpp"
#include "link/shm_buffers.hpp"
#include "link/shm_copy.hpp"
#include "link/shm_forwarding.hpp"
#include "link/shm_host.hpp"
#include "link/shm_inbox.hpp"
#include "link/shm_mirror.hpp"
#include "link/shm_port.hpp"
#include "link/shm_ring.hpp"
#include "link/shm_sleeper.hpp"
#include "link/shm_stations.hpp"

namespace softrnic::link {

namespace {

using namespace shm;

// Received frames that may be on loan at once.
constexpr std::size_t kLoaned = 1024;
// Arrivals whose headers are fetched together.
constexpr std::size_t kLookedAhead = 64;
// A frame up to this size is copied out of the segment whole, and its buffer given back at once.
constexpr std::size_t kWhole = 512;
// Of a longer one so much is copied: all headers, which a process gone wrong must not change under
// our eyes. The rest, payload, is read in place.
constexpr std::size_t kCopied = 256;
static_assert(wire::kHeadroom <= kCopied);

// How long a sender waits for a receiver that has much of what it sent and gives nothing back, as a
// switch's pause frames make a NIC wait; after that what it sends is dropped. Longer than the turns
// of the other processes on the receiver's processor, where a build keeps all processors busy.
constexpr wire::Duration kPatience = std::chrono::milliseconds(200);
// How often to look for processes that have died, while some receiver gives nothing back.
constexpr wire::Duration kClearing = std::chrono::milliseconds(100);

class ShmLink final : public Link {
 public:
  explicit ShmLink(Port port)
      : port_(std::move(port)),
        inbox_(port_),
        sleeper_(port_),
        bells_(port_),
        buffers_(port_),
        forwarding_(port_),
        drafts_(buffer_size(port_.segment().mtu())),
        received_(kLoaned),
        heads_(std::make_unique_for_overwrite<std::byte[]>(kLoaned * kWhole)) {
    capabilities_.name = "shm:" + port_.segment().name();
    capabilities_.mtu = port_.segment().mtu();
    capabilities_.mac = port_.identity().mac;
    capabilities_.identity = port_.identity();
    if (const auto numbers = port_.take_numbers()) capabilities_.numbers = *numbers;
    drafts_.grow(buffers_.size());
    idle_frames_.reserve(kLoaned);
    for (std::size_t i = kLoaned; i-- > 0;) {
      received_[i].handle = kNothing;
      idle_frames_.push_back(&received_[i]);
    }
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  std::size_t tx_alloc(std::span<Frame*> out) override {
    // Well before anybody has enough of them that we would have to wait.
    const bool many_lent = buffers_.not_lent() < buffers_.size() / 4 * 3;
    if (many_lent || buffers_.available() < out.size()) buffers_.collect(now_);
    if (must_wait()) return 0;
    // Each that is lent has a buffer to go into.
    const std::size_t lent = buffers_.size() - drafts_.available();
    const std::size_t room = buffers_.available() - std::min(buffers_.available(), lent);
    return drafts_.allocate(out.first(std::min(out.size(), room)));
  }

  void tx_push(wire::Instant now, std::span<Frame* const> frames) override {
    now_ = now;
    for (Frame* frame : frames) send(*frame);
    for (const std::uint8_t port : to_wake_) {
      bells_.ring(port);
      wakes_[port] = false;
    }
    to_wake_.clear();
  }

  void tx_cancel(std::span<Frame* const> frames) override { drafts_.release(frames); }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    now_ = now;
    const std::size_t most = std::min(out.size(), idle_frames_.size());
    std::size_t n = 0;
    while (n < most) {
      const std::span<const Arrival> arrivals = take_arrivals(most - n);
      for (const Arrival& arrival : arrivals) out[n++] = receive(arrival);
      if (arrivals.size() < kLookedAhead) break;
    }
    if (n > 0) inbox_.publish();
    sleeper_.after_burst(now, n, inbox_.ring());
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override {
    for (Frame* frame : frames) {
      if (frame->handle != kNothing) inbox_.give_back(frame->handle);
      frame->handle = kNothing;
      idle_frames_.push_back(frame);
    }
  }

  // Until senders have been asked to wake us.
  wire::Instant next_deadline() const override { return sleeper_.next_deadline(); }

  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid>) override {
    forwarding_.learn(mac_key(mac));
  }

  bool gone() const override { return port_.segment().gone(); }
  int descriptor() const override { return sleeper_.descriptor(); }
  bool prepare_wait() override { return sleeper_.prepare(inbox_.ring()); }

  const Statistics& statistics() const override {
    statistics_.rx_dropped =
        port_.segment().record(port_.index()).dropped.load(std::memory_order_relaxed);
    return statistics_;
  }

 private:
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};

  // ---- sending

  // Buffers are shared among receivers as a switch shares its memory, by dynamic thresholds: each
  // may have a multiple of those that are left, so that there are always some left for another.
  static constexpr std::size_t kWaitShare = 1;
  static constexpr std::size_t kDropShare = 4;

  // Some receiver has much of what we sent, and is at work on it.
  bool must_wait() {
    const std::size_t much = kWaitShare * buffers_.not_lent();
    for (const std::uint8_t port : buffers_.borrowers()) {
      if (buffers_.lent_to(port) < much) continue;
      if (now_ - buffers_.last_return(port) < kPatience) return true;
      if (now_ - last_clearing_ < kClearing) continue;
      last_clearing_ = now_;
      port_.clear_dead();
    }
    return false;
  }

  void send(Frame& frame) {
    const wire::ByteView bytes = frame.bytes().front();
    if (bytes.size() < wire::EthernetHeader::kSize || bytes.size() > largest_frame(bytes)) {
      ++statistics_.tx_dropped;
    } else {
      ++statistics_.tx_frames;
      statistics_.tx_bytes += bytes.size();
      const std::span<const std::uint8_t> ports = forwarding_.route(bytes);
      for (const std::uint8_t mirror : forwarding_.mirrors()) {
        const MirrorNote note(now_, port_.index(), ports);
        send_copy(mirror, bytes, &note);
      }
      for (const std::uint8_t port : ports) send_copy(port, bytes, nullptr);
    }
    drafts_.release(&frame);
  }

  // A tag does not count against the MTU (IEEE 802.1Q).
  std::size_t largest_frame(wire::ByteView head) const {
    const bool tagged = wire::load_be16(head.data() + 12) == wire::ethertype::kVlan;
    return capabilities_.mtu +
           (tagged ? wire::EthernetHeader::kMaxSize : wire::EthernetHeader::kSize);
  }

  void send_copy(std::uint8_t port, wire::ByteView bytes, const MirrorNote* note) {
    if (buffers_.available() == 0) buffers_.collect(now_);
    if (buffers_.lent_to(port) >= kDropShare * buffers_.not_lent()) return count_drop(port);
    const auto buffer = buffers_.take();
    if (!buffer) return count_drop(port);
    std::byte* const base = buffers_.base(*buffer);
    if (note != nullptr) note->write(base);
    copy_(base + wire::kHeadroom, bytes.data(), bytes.size());
    buffers_.lend(*buffer, port, forwarding_.token(port), now_);
    const Descriptor descriptor{.port = static_cast<std::uint32_t>(port_.index()),
                                .buffer = *buffer,
                                .offset = wire::kHeadroom,
                                .length = static_cast<std::uint32_t>(bytes.size())};
    if (!RingSender(port_.segment().record(port), port_.segment().area(port)).push(descriptor)) {
      buffers_.recall(*buffer);
      return count_drop(port);
    }
    if (wakes_[port]) return;
    wakes_[port] = true;
    to_wake_.push_back(port);
  }

  void count_drop(std::uint8_t port) {
    port_.segment().record(port).dropped.fetch_add(1, std::memory_order_relaxed);
  }

  // ---- receiving

  // Their headers are on their way here when the first is looked at.
  std::span<const Arrival> take_arrivals(std::size_t most) {
    std::size_t n = 0;
    for (; n < std::min(most, kLookedAhead); ++n) {
      const auto arrival = inbox_.next();
      if (!arrival) break;
      arrivals_[n] = *arrival;
      for (std::size_t at = 0; at < std::min(arrival->length, kCopied); at += kCacheLine) {
        __builtin_prefetch(arrival->bytes + at);
      }
    }
    return {arrivals_.data(), n};
  }

  Frame* receive(const Arrival& arrival) {
    Frame* frame = idle_frames_.back();
    idle_frames_.pop_back();
    fill(*frame, arrival);
    frame->received_at = now_;
    ++statistics_.rx_frames;
    statistics_.rx_bytes += frame->size();
    return frame;
  }

  void fill(Frame& frame, const Arrival& arrival) {
    std::byte* const head =
        heads_.get() + static_cast<std::size_t>(&frame - received_.data()) * kWhole;
    const std::size_t copied = arrival.length <= kWhole ? arrival.length : kCopied;
    std::memcpy(head, arrival.bytes, copied);
    frame.set_received(0, head, kWhole, 0, static_cast<std::uint32_t>(copied));
    frame.note.clear();
    if (copied == arrival.length) {
      inbox_.give_back(arrival.handle);
      return;
    }
    frame.handle = arrival.handle;
    const auto rest = static_cast<std::uint32_t>(arrival.length - copied);
    frame.set_received(1, arrival.bytes + copied, rest, 0, rest);
  }

  Port port_;
  Inbox inbox_;
  Sleeper sleeper_;
  Bells bells_;
  Buffers buffers_;
  Forwarding forwarding_;
  FramePool drafts_;  // in our own memory, until they are sent
  FrameCopy copy_;
  Capabilities capabilities_;
  mutable Statistics statistics_;

  wire::Instant now_{};
  wire::Instant last_clearing_{};
  std::vector<std::uint8_t> to_wake_;
  std::array<bool, kPorts> wakes_{};

  std::array<Arrival, kLookedAhead> arrivals_;
  std::vector<Frame> received_;
  std::unique_ptr<std::byte[]> heads_;
  std::vector<Frame*> idle_frames_;
};

}  // namespace

wire::Expected<ShmOptions, OpenError> ShmOptions::parse(std::string_view text) {
  ShmOptions options;
  const std::size_t comma = text.find(',');
  options.segment = text.substr(0, comma);
  if (comma == std::string_view::npos) return options;
  constexpr std::string_view kHostOption = "host=";
  const std::string_view option = text.substr(comma + 1);
  if (!option.starts_with(kHostOption) || !valid_host_name(option.substr(kHostOption.size()))) {
    return wire::Unexpected{OpenError{"shm:" + std::string(text) +
                                      ": after the name there can be " +
                                      ",host=NAME (1 to 31 letters, digits, '.', '_' and '-')"}};
  }
  options.host = option.substr(kHostOption.size());
  return options;
}

wire::Expected<std::unique_ptr<Link>, OpenError> open_shm(const ShmOptions& options) {
  auto port = Port::attach({.segment = options.segment,
                            .mtu = options.mtu,
                            .role = PortRole::station,
                            .host = options.host});
  if (!port) return wire::Unexpected{port.error()};
  return std::unique_ptr<Link>(std::make_unique<ShmLink>(std::move(port).value()));
}

}  // namespace softrnic::link
