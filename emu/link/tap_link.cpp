// SPDX-License-Identifier: BSD-3-Clause
#include "link/tap_link.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "link/file_descriptor.hpp"
#include "link/frame_pool.hpp"
#include "link/network_interface.hpp"

namespace softrnic::link {

namespace {

// Frames that may be on loan at once, received and to be sent together.
constexpr std::size_t kFrames = 1024;
constexpr const char* kTunDevice = "/dev/net/tun";

class TapLink final : public Link {
 public:
  // `before`: what the device was like, when it was there before us.
  TapLink(FileDescriptor fd, NetworkInterface device, std::optional<NetworkInterface> before)
      : fd_(std::move(fd)),
        device_(std::move(device)),
        before_(std::move(before)),
        largest_(device_.mtu + wire::EthernetHeader::kMaxSize),
        // One byte more than a frame needs shows when a frame was longer.
        pool_(wire::kHeadroom + largest_ + 1) {
    capabilities_.name = "tap:" + device_.name;
    capabilities_.mtu = device_.mtu;
    capabilities_.mac = device_.mac;
    pool_.grow(kFrames);
  }

  ~TapLink() override {
    if (!before_) return;
    if (before_->mtu != device_.mtu) device_.set_mtu(before_->mtu);
    if (!before_->up) device_.set_up(false);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  std::size_t tx_alloc(std::span<Frame*> out) override { return pool_.allocate(out); }

  void tx_push(wire::Instant, std::span<Frame* const> frames) override {
    for (Frame* frame : frames) {
      const std::size_t size = frame->size();
      // Refused when the interface is down (EIO), its queue is full (EAGAIN), or the frame is
      // too short to have an Ethernet header (EINVAL).
      if (size > 0 && write_frame(*frame) == static_cast<ssize_t>(size)) {
        ++statistics_.tx_frames;
        statistics_.tx_bytes += size;
      } else {
        ++statistics_.tx_dropped;
      }
      pool_.release(frame);
    }
  }

  void tx_cancel(std::span<Frame* const> frames) override { pool_.release(frames); }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    std::size_t n = 0;
    while (n < out.size()) {
      Frame* frame = pool_.allocate();
      if (frame == nullptr) break;
      if (!read_frame(*frame)) {
        pool_.release(frame);
        break;
      }
      if (frame->size() > largest_) {
        ++statistics_.rx_dropped;
        pool_.release(frame);
        continue;
      }
      frame->received_at = now;
      ++statistics_.rx_frames;
      statistics_.rx_bytes += frame->size();
      out[n++] = frame;
    }
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override { pool_.release(frames); }

  bool gone() const override { return gone_; }
  int descriptor() const override { return fd_.get(); }
  const Statistics& statistics() const override { return statistics_; }

 private:
  ssize_t write_frame(const Frame& frame) {
    iovec pieces[Frame::kMaxSegments];
    int n = 0;
    const wire::ByteChain bytes = frame.bytes();
    for (const auto& piece : bytes.pieces()) {
      pieces[n++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    ssize_t written;
    do {
      written = ::writev(fd_.get(), pieces, n);
    } while (written < 0 && errno == EINTR);
    return written;
  }

  bool read_frame(Frame& frame) {
    const Frame::Segment& buffer = frame.segments().front();
    std::byte* const start = buffer.base + buffer.offset;
    ssize_t length;
    do {
      length = ::read(fd_.get(), start, largest_ + 1);
    } while (length < 0 && errno == EINTR);
    // So the kernel answers once the interface has been deleted.
    if (length < 0 && errno == EBADFD) gone_ = true;
    if (length <= 0) return false;
    frame.append(static_cast<std::size_t>(length));
    return true;
  }

  FileDescriptor fd_;
  NetworkInterface device_;
  std::optional<NetworkInterface> before_;
  std::size_t largest_;
  FramePool pool_;
  Capabilities capabilities_;
  Statistics statistics_;
  bool gone_ = false;
};

wire::Unexpected<OpenError> refuse(std::string message) {
  return wire::Unexpected{OpenError{std::move(message)}};
}

std::string why_no_tun(int error) {
  const std::string cause = std::string("cannot open ") + kTunDevice + ": " + error_text(error);
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    return cause + ": load the tun module (`modprobe tun`), or give the container the device";
  }
  if (error == EACCES || error == EPERM) {
    return cause + ": run as root, or let users open it with `chmod 0666 " + kTunDevice + "`";
  }
  return cause;
}

std::string why_no_tap(const std::string& name, bool exists, int error) {
  const std::string cause = "cannot open TAP \"" + name + "\": ";
  switch (error) {
    case EBUSY:
      return cause + "another process has it open: end that one, or choose another name";
    case EPERM:
      return cause + "that needs CAP_NET_ADMIN: run as root, or inside `unshare -Urn`" +
             (exists ? ", or as the user the TAP was made for" : "");
    case EINVAL:
      if (exists) return cause + "an interface of that name exists and is no TAP: choose another";
      [[fallthrough]];
    default:
      return cause + error_text(error);
  }
}

// 0, or an errno.
int attach_tap(int fd, const std::string& name) {
  // A TAP made with several queues only opens as one.
  for (const int queues : {0, IFF_MULTI_QUEUE}) {
    ifreq request{};
    std::memcpy(request.ifr_name, name.c_str(), name.size());
    request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | queues);
    if (::ioctl(fd, TUNSETIFF, &request) == 0) return 0;
    if (errno != EINVAL) return errno;
  }
  return EINVAL;
}

}  // namespace

wire::Expected<std::unique_ptr<Link>, OpenError> open_tap(std::string_view name,
                                                          std::uint32_t mtu) {
  const std::string device(name);
  if (!NetworkInterface::valid_name(name)) {
    return refuse("\"" + device +
                  "\" cannot name an interface: use 1 to 15 characters without '/', ':', '%' or "
                  "blanks");
  }
  std::optional<NetworkInterface> before;
  if (auto found = NetworkInterface::find(name)) before = *found;

  FileDescriptor fd(::open(kTunDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return refuse(why_no_tun(errno));
  if (const int error = attach_tap(fd.get(), device)) {
    return refuse(why_no_tap(device, before.has_value(), error));
  }

  auto tap = NetworkInterface::find(name);
  if (!tap) return refuse("TAP \"" + device + "\" vanished: " + error_text(tap.error()));
  if (mtu != 0 && mtu != tap->mtu) {
    if (const int error = tap->set_mtu(mtu)) {
      return refuse("cannot set the MTU of TAP \"" + device + "\" to " + std::to_string(mtu) +
                    ": " + error_text(error) +
                    (error == EINVAL ? ": a TAP takes 68 to 65521" : ": run as root"));
    }
  }
  if (!tap->up) {
    if (const int error = tap->set_up(true)) {
      return refuse("cannot bring TAP \"" + device + "\" up: " + error_text(error) +
                    ": run `ip link set " + device + " up` as root");
    }
  }
  return std::unique_ptr<Link>(
      std::make_unique<TapLink>(std::move(fd), std::move(*tap), std::move(before)));
}

}  // namespace softrnic::link
