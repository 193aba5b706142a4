// SPDX-License-Identifier: BSD-3-Clause
#include "link/packet_link.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "link/file_descriptor.hpp"
#include "link/frame_pool.hpp"
#include "link/network_interface.hpp"
#include "link/promiscuous.hpp"

namespace softrnic::link {

namespace {

constexpr std::size_t kFrames = 1024;
// Frames per system call.
constexpr std::size_t kBatch = 64;
// Bytes the kernel may queue for us in either direction, if the host lets us ask for as much.
constexpr int kSocketBuffer = 4 << 20;
// Of a patient sender, for one frame: about a second.
constexpr int kMostWaits = 1000;

class PacketLink final : public Link {
 public:
  PacketLink(FileDescriptor socket, const NetworkInterface& interface)
      : socket_(std::move(socket)),
        interface_(interface.index),
        largest_(interface.mtu + wire::EthernetHeader::kMaxSize),
        pool_(wire::kHeadroom + largest_) {
    capabilities_.name = "packet:" + interface.name;
    capabilities_.mtu = interface.mtu;
    capabilities_.mac = interface.mac;
    pool_.grow(kFrames);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  std::size_t tx_alloc(std::span<Frame*> out) override { return pool_.allocate(out); }

  void tx_push(wire::Instant, std::span<Frame* const> frames) override {
    for (std::size_t done = 0; done < frames.size(); done += kBatch) {
      send_batch(frames.subspan(done, std::min(kBatch, frames.size() - done)));
    }
    pool_.release(frames);
  }

  void set_patient(bool patient) override { patient_ = patient; }
  void tx_cancel(std::span<Frame* const> frames) override { pool_.release(frames); }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    const std::size_t lent = pool_.allocate(out.first(std::min(out.size(), kBatch)));
    for (std::size_t i = 0; i < lent; ++i) prepare_receive(i, *out[i]);
    int arrived;
    do {
      arrived = ::recvmmsg(socket_.get(), messages_.data(), static_cast<unsigned>(lent),
                           MSG_DONTWAIT | MSG_TRUNC, nullptr);
    } while (arrived < 0 && errno == EINTR);

    std::size_t kept = 0;
    for (std::size_t i = 0; i < lent; ++i) {
      Frame* frame = out[i];
      if (static_cast<int>(i) < arrived && take_received(i, *frame)) {
        frame->received_at = now;
        ++statistics_.rx_frames;
        statistics_.rx_bytes += frame->size();
        out[kept++] = frame;
      } else {
        pool_.release(frame);
      }
    }
    return kept;
  }

  void rx_release(std::span<Frame* const> frames) override { pool_.release(frames); }

  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid>) override {
    const std::uint32_t high =
        std::uint32_t{mac.bytes[0]} << 24 | mac.bytes[1] << 16 | mac.bytes[2] << 8 | mac.bytes[3];
    const std::uint32_t low = std::uint32_t{mac.bytes[4]} << 8 | mac.bytes[5];
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 4, 0),  // a group
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, ~0u),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    // Without the filter the NIC sorts out other stations' frames itself: slower, still right.
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
  }

  // The socket only says ENETDOWN, which an interface that is down says as well.
  bool gone() const override { return !NetworkInterface::exists(interface_); }
  int descriptor() const override { return socket_.get(); }
  const Statistics& statistics() const override { return statistics_; }

 private:
  struct alignas(cmsghdr) Control {
    std::array<char, CMSG_SPACE(sizeof(tpacket_auxdata))> bytes;
  };

  void send_batch(std::span<Frame* const> frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      auto& pieces = pieces_[i];
      std::size_t n = 0;
      const wire::ByteChain bytes = frames[i]->bytes();
      for (const auto& piece : bytes.pieces()) {
        pieces[n++] = {const_cast<std::byte*>(piece.data()), piece.size()};
      }
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = pieces.data();
      messages_[i].msg_hdr.msg_iovlen = n;
    }
    std::size_t at = 0;
    int waits = 0;
    while (at < frames.size()) {
      const int sent = ::sendmmsg(socket_.get(), &messages_[at],
                                  static_cast<unsigned>(frames.size() - at), MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      for (int i = 0; i < sent; ++i) statistics_.tx_bytes += frames[at++]->size();
      statistics_.tx_frames += static_cast<std::uint64_t>(std::max(sent, 0));
      if (sent > 0) {
        waits = 0;
        continue;
      }
      if (patient_ && (errno == EAGAIN || errno == ENOBUFS) && waits++ < kMostWaits) {
        wait_for_room();
        continue;
      }
      // The first one was refused: too long (EMSGSIZE), no room (EAGAIN, ENOBUFS), interface
      // down (ENETDOWN). The next may fare better.
      ++statistics_.tx_dropped;
      ++at;
      waits = 0;
    }
  }

  // The socket says when its own buffer has room (EAGAIN), but not when the interface's queue has
  // (ENOBUFS): that is looked at again and again.
  void wait_for_room() {
    pollfd writable{socket_.get(), POLLOUT, 0};
    if (::poll(&writable, 1, 1) == 0) return;
    constexpr timespec kPause{0, 50'000};
    ::nanosleep(&kPause, nullptr);
  }

  void prepare_receive(std::size_t i, Frame& frame) {
    // The frame begins a tag's length into the headroom's end, so that a tag can be put back.
    const Frame::Segment& buffer = frame.segments().front();
    pieces_[i][0] = {buffer.base + buffer.offset, buffer.capacity - buffer.offset};
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_iov = pieces_[i].data();
    header.msg_iovlen = 1;
    header.msg_name = &sources_[i];
    header.msg_namelen = sizeof sources_[i];
    header.msg_control = controls_[i].bytes.data();
    header.msg_controllen = sizeof controls_[i].bytes;
  }

  // False when the frame is not for us or did not fit.
  bool take_received(std::size_t i, Frame& frame) {
    if (sources_[i].sll_pkttype == PACKET_OUTGOING) return false;
    const std::size_t length = messages_[i].msg_len;
    if (length > largest_) {
      ++statistics_.rx_dropped;
      return false;
    }
    frame.append(length);
    restore_tag(messages_[i].msg_hdr, frame);
    return true;
  }

  static void restore_tag(msghdr& header, Frame& frame) {
    const cmsghdr* control = CMSG_FIRSTHDR(&header);
    if (control == nullptr || control->cmsg_level != SOL_PACKET ||
        control->cmsg_type != PACKET_AUXDATA) {
      return;
    }
    tpacket_auxdata auxiliary;
    std::memcpy(&auxiliary, CMSG_DATA(control), sizeof auxiliary);
    if ((auxiliary.tp_status & TP_STATUS_VLAN_VALID) == 0) return;
    constexpr std::size_t kAddresses = 12;
    if (frame.size() < kAddresses) return;
    const bool has_type = (auxiliary.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    std::byte* const start = frame.prepend(wire::VlanTag::kSize).data();
    std::memmove(start, start + wire::VlanTag::kSize, kAddresses);
    wire::store_be16(start + kAddresses,
                     has_type ? auxiliary.tp_vlan_tpid : wire::ethertype::kVlan);
    wire::store_be16(start + kAddresses + 2, auxiliary.tp_vlan_tci);
  }

  FileDescriptor socket_;
  int interface_;
  bool patient_ = false;
  std::size_t largest_;
  FramePool pool_;
  Capabilities capabilities_;
  Statistics statistics_;
  // Scratch for one system call.
  std::array<mmsghdr, kBatch> messages_{};
  std::array<std::array<iovec, Frame::kMaxSegments>, kBatch> pieces_{};
  std::array<sockaddr_ll, kBatch> sources_{};
  std::array<Control, kBatch> controls_{};
};

wire::Unexpected<OpenError> refuse(std::string message) {
  return wire::Unexpected{OpenError{std::move(message)}};
}

// The larger of what root may have and what anyone may.
void enlarge(int socket, int forced, int plain) {
  if (::setsockopt(socket, SOL_SOCKET, forced, &kSocketBuffer, sizeof kSocketBuffer) != 0) {
    (void)::setsockopt(socket, SOL_SOCKET, plain, &kSocketBuffer, sizeof kSocketBuffer);
  }
}

// 0, or an errno.
int configure(int socket, int index) {
  const int on = 1;
  if (::setsockopt(socket, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0) return errno;
  // Older kernels do not know it; then the packet type tells.
  (void)::setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
  enlarge(socket, SO_RCVBUFFORCE, SO_RCVBUF);
  enlarge(socket, SO_SNDBUFFORCE, SO_SNDBUF);

  if (const int error = make_promiscuous(socket, index)) return error;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) ? errno : 0;
}

}  // namespace

wire::Expected<std::unique_ptr<Link>, OpenError> open_packet(std::string_view name) {
  const auto interface = NetworkInterface::find(name);
  if (std::string why = why_unusable(interface, name); !why.empty()) return refuse(std::move(why));

  // No protocol until bound: no frame of another interface gets in.
  FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) {
    const int error = errno;
    return refuse("cannot open a packet socket: " + error_text(error) +
                  (error == EPERM || error == EACCES
                       ? ": that needs CAP_NET_RAW: run as root, or inside `unshare -Urn`"
                       : ""));
  }
  if (const int error = configure(socket.get(), interface->index)) {
    return refuse("cannot use interface \"" + std::string(name) + "\": " + error_text(error));
  }
  return std::unique_ptr<Link>(std::make_unique<PacketLink>(std::move(socket), *interface));
}

}  // namespace softrnic::link
