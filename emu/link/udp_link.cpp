// SPDX-License-Identifier: BSD-3-Clause
#include "link/udp_link.hpp"

#include <linux/sock_diag.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "link/frame_pool.hpp"
#include "link/network_interface.hpp"
#include "link/udp_address.hpp"
#include "link/udp_neighbors.hpp"
#include "link/udp_receiver.hpp"
#include "link/udp_socket.hpp"
#include "link/udp_transmitter.hpp"
#include "wire/udp.hpp"

namespace softrnic::link {

namespace {

constexpr std::size_t kFrames = 1024;
// Carries a path MTU of 4096; there is no larger one.
constexpr std::uint32_t kLargestMtu = 4200;
// Answers to questions for neighbours that may wait to be received.
constexpr std::size_t kMostAnswers = 64;
// How soon to look whether the sockets have room again.
constexpr wire::Duration kRetry = std::chrono::microseconds(50);
// Of that many reads one begins with the socket that gave nothing last.
constexpr std::uint32_t kOtherFirst = 16;
// Of a patient sender, in milliseconds.
constexpr int kPatience = 1000;

class UdpLink final : public Link {
 public:
  UdpLink(UdpAddress address, UdpSockets sockets, std::uint32_t mtu)
      : address_(std::move(address)),
        sockets_(std::move(sockets)),
        pool_(wire::kHeadroom + mtu + wire::EthernetHeader::kMaxSize),
        transmitter_(sockets_.first.get(), address_, sockets_.segmentation),
        receiver_(address_, mtu) {
    capabilities_.name = "udp:" + address_.text;
    capabilities_.mtu = mtu;
    capabilities_.mac = stand_in_mac(address_.ip);
    capabilities_.identity =
        Identity{{}, capabilities_.mac, {{address_.ip, address_.prefix_length}}};
    capabilities_.kernel_headers = KernelHeaders{wire::kRoceV2Port};
    pool_.grow(kFrames);
    unsent_.reserve(kFrames);
    answers_.reserve(kMostAnswers);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  // None while earlier ones wait for room in the socket.
  std::size_t tx_alloc(std::span<Frame*> out) override {
    if (!unsent_.empty() && !send_unsent()) return 0;
    return pool_.allocate(out);
  }

  void tx_push(wire::Instant now, std::span<Frame* const> frames) override {
    now_ = now;
    if (unsent_.empty()) {
      const std::size_t done = send(frames);
      pool_.release(frames.first(done));
      frames = frames.subspan(done);
    }
    unsent_.insert(unsent_.end(), frames.begin(), frames.end());
    if (patient_) wait_for_room();
  }

  void set_patient(bool patient) override { patient_ = patient; }
  void tx_cancel(std::span<Frame* const> frames) override { pool_.release(frames); }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    now_ = now;
    std::size_t n = 0;
    for (; n < out.size() && !answers_.empty(); ++n) {
      out[n] = answers_.front();
      answers_.erase(answers_.begin());
    }
    while (n < out.size()) {
      // When the last read took all there was, another would find nothing.
      if (!receiver_.has_more() && ((n > 0 && !receiver_.filled()) || !read())) break;
      Frame* frame = receiver_.next(statistics_);
      if (frame == nullptr) break;
      out[n++] = frame;
    }
    for (Frame* frame : out.first(n)) frame->received_at = now;
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override {
    for (Frame* frame : frames) receiver_.release(frame);
  }

  wire::Instant next_deadline() const override {
    if (!answers_.empty() || receiver_.has_more()) return wire::Instant::min();
    return unsent_.empty() ? wire::kNever : now_ + kRetry;
  }
  void flush(wire::Instant now) override {
    now_ = now;
    if (!unsent_.empty()) send_unsent();
  }

  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid>) override {
    receiver_.set_mac(mac);
  }

  // An address that went with its interface may come back with another.
  bool gone() const override {
    return address_.interface != 0 && !NetworkInterface::exists(address_.interface) &&
           !address_.is_here();
  }
  int descriptor() const override { return sockets_.descriptor(); }

  const Statistics& statistics() const override {
    reported_ = statistics_;
    reported_.rx_dropped += dropped_at(sockets_.first) + dropped_at(sockets_.second);
    return reported_;
  }

 private:
  // Returns how many are done with. Questions for neighbours are answered on the way.
  std::size_t send(std::span<Frame* const> frames) {
    std::size_t at = 0;
    while (at < frames.size()) {
      std::size_t end = at;
      while (end < frames.size() && !is_neighbor_talk(*frames[end])) ++end;
      const std::size_t done = transmitter_.send(frames.subspan(at, end - at), statistics_);
      if (done < end - at) return at + done;
      at = std::min(end + 1, frames.size());
    }
    return at;
  }

  // Whether it is, and has been answered if it asks.
  bool is_neighbor_talk(const Frame& frame) {
    const wire::ByteView bytes = frame.bytes().front();
    if (!may_be_neighbor_talk(bytes)) return false;
    Frame* answer = receiver_.allocate();
    if (answer == nullptr) return false;
    const NeighborTalk talk = answer_neighbor_question(bytes, address_.ip, *answer);
    if (talk == NeighborTalk::answered && answers_.size() < kMostAnswers) {
      answers_.push_back(answer);
    } else {
      receiver_.release(answer);
    }
    return talk != NeighborTalk::none;
  }

  bool send_unsent() {
    const std::size_t done = send(unsent_);
    pool_.release(std::span(unsent_).first(done));
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(done));
    return unsent_.empty();
  }

  void wait_for_room() {
    while (!unsent_.empty()) {
      pollfd writable{sockets_.first.get(), POLLOUT, 0};
      if (::poll(&writable, 1, kPatience) <= 0 && errno != EINTR) return;
      send_unsent();
    }
  }

  // From the socket that gave something last, and then from the other; now and then the other way
  // round, lest it never comes to its turn.
  bool read() {
    if (!sockets_.second.valid()) return read_from(false);
    const bool second_first = prefers_second_ != (++reads_ % kOtherFirst == 0);
    for (const bool second : {second_first, !second_first}) {
      if (!read_from(second)) continue;
      prefers_second_ = second;
      return true;
    }
    return false;
  }

  bool read_from(bool second) {
    const FileDescriptor& socket = second ? sockets_.second : sockets_.first;
    return receiver_.read(socket.get(), !second, statistics_) > 0 && receiver_.has_more();
  }

  // What did not fit in the socket's buffer.
  static std::uint64_t dropped_at(const FileDescriptor& socket) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t size = sizeof memory;
    if (!socket.valid() ||
        ::getsockopt(socket.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0) {
      return 0;
    }
    return memory[SK_MEMINFO_DROPS];
  }

  UdpAddress address_;
  UdpSockets sockets_;
  FramePool pool_;  // of frames to send
  UdpTransmitter transmitter_;
  UdpReceiver receiver_;
  Capabilities capabilities_;
  Statistics statistics_;
  mutable Statistics reported_;
  std::vector<Frame*> unsent_;   // in order; the socket has no room for them
  std::vector<Frame*> answers_;  // to be received
  wire::Instant now_{};
  bool patient_ = false;
  bool prefers_second_ = false;
  std::uint32_t reads_ = 0;
};

}  // namespace

wire::Expected<UdpOptions, OpenError> UdpOptions::parse(std::string_view text) {
  const std::size_t comma = text.find(',');
  UdpOptions options;
  options.address = text.substr(0, comma);
  if (comma == std::string_view::npos) return options;
  const std::string_view option = text.substr(comma + 1);
  options.offload = option == "offload=on";
  if (options.offload || option == "offload=off") return options;
  return wire::Unexpected{OpenError{
      "udp:" + std::string(text) + ": after the address there can be ,offload=on or ,offload=off"}};
}

wire::Expected<std::unique_ptr<Link>, OpenError> open_udp(const UdpOptions& options) {
  auto address = UdpAddress::find(options.address);
  if (!address) return wire::Unexpected{address.error()};
  auto sockets = open_udp_sockets(*address, options.offload);
  if (!sockets) return wire::Unexpected{sockets.error()};
  const std::uint32_t most = std::min(options.mtu == 0 ? kLargestMtu : options.mtu, address->mtu);
  return std::unique_ptr<Link>(
      std::make_unique<UdpLink>(std::move(address).value(), std::move(sockets).value(), most));
}

}  // namespace softrnic::link
