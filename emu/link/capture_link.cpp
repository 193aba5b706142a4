// SPDX-License-Identifier: BSD-3-Clause
#include "link/capture_link.hpp"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "link/file_descriptor.hpp"
#include "link/network_interface.hpp"
#include "link/pcapng.hpp"

namespace softrnic::link {

namespace {

// Written out when this much has gathered, and at the latest when this much time has gone by
// between two frames' stamps: an interrupted program then loses little, and never half a block.
constexpr std::size_t kBufferSize = 256 * 1024;
constexpr wire::Duration kFlushInterval = std::chrono::seconds(1);

}  // namespace

struct CaptureFile::Impl {
  explicit Impl(FileDescriptor opened) : file(std::move(opened)) { buffer.reserve(kBufferSize); }

  // Empties the buffer into the file. After a failure nothing more is written, and what the file
  // took of a block it had no room for is cut off again (which a pipe does not allow).
  void flush() {
    std::size_t done = 0;
    while (!failed && done < buffer.size()) {
      const ssize_t n = ::write(file.get(), buffer.data() + done, buffer.size() - done);
      if (n > 0) {
        done += static_cast<std::size_t>(n);
      } else if (n == 0 || errno != EINTR) {
        failed = true;
      }
    }
    if (!failed) {
      size += buffer.size();
    } else if (done > 0) {
      size += whole_blocks(done);
      [[maybe_unused]] const int cut = ::ftruncate(file.get(), static_cast<off_t>(size));
    }
    buffer.clear();
  }

  // Bytes of the blocks that lie whole within the buffer's first `end` bytes.
  std::size_t whole_blocks(std::size_t end) const {
    std::size_t whole = 0;
    while (whole < end) {
      const std::size_t length = pcapng::block_length(std::span(buffer).subspan(whole));
      if (length > end - whole) break;
      whole += length;
    }
    return whole;
  }

  FileDescriptor file;
  std::vector<std::byte> buffer;
  std::vector<std::uint32_t> snap_lengths;  // by interface
  wire::Instant last_flush{};
  std::uint64_t size = 0;  // of the file
  bool failed = false;
};

CaptureFile::CaptureFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

CaptureFile::~CaptureFile() {
  close();
}

wire::Expected<std::shared_ptr<CaptureFile>, OpenError> CaptureFile::create(
    const std::string& path) {
  FileDescriptor file(path == "-"
                          ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid()) {
    const int error = errno;
    return wire::Unexpected{OpenError{"cannot write the capture \"" + path +
                                      "\": " + error_text(error) +
                                      ": name a file in a directory you may write to"}};
  }
  auto impl = std::make_unique<Impl>(std::move(file));
  pcapng::append_section_header(impl->buffer);
  return std::shared_ptr<CaptureFile>(new CaptureFile(std::move(impl)));
}

std::uint32_t CaptureFile::add_interface(std::string_view name, std::uint32_t snap_length) {
  pcapng::append_interface(impl_->buffer, name, snap_length);
  impl_->snap_lengths.push_back(snap_length);
  return static_cast<std::uint32_t>(impl_->snap_lengths.size() - 1);
}

void CaptureFile::write(wire::Instant at, std::uint32_t interface, Direction direction,
                        const wire::ByteChain& frame, std::string_view comment) {
  if (!impl_->file.valid() || interface >= impl_->snap_lengths.size()) return;
  pcapng::append_packet(impl_->buffer,
                        {.at = at,
                         .interface = interface,
                         .direction = static_cast<std::uint32_t>(direction),
                         .snap_length = impl_->snap_lengths[interface],
                         .comment = comment},
                        frame);
  if (impl_->buffer.size() >= kBufferSize || at - impl_->last_flush >= kFlushInterval) {
    impl_->flush();
    impl_->last_flush = at;
  }
}

bool CaptureFile::flush() {
  if (impl_->file.valid()) impl_->flush();
  return !impl_->failed;
}

bool CaptureFile::close() {
  if (impl_->file.valid()) {
    impl_->flush();
    impl_->file = FileDescriptor();
  }
  return !impl_->failed;
}

namespace {

class CaptureLink final : public Link {
 public:
  CaptureLink(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file,
              std::uint32_t interface, std::optional<Direction> only)
      : inner_(std::move(inner)), file_(std::move(file)), interface_(interface), only_(only) {}

  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  std::size_t tx_alloc(std::span<Frame*> out) override { return inner_->tx_alloc(out); }
  void tx_cancel(std::span<Frame* const> frames) override { inner_->tx_cancel(frames); }
  void rx_release(std::span<Frame* const> frames) override { inner_->rx_release(frames); }
  wire::Instant next_deadline() const override { return inner_->next_deadline(); }
  void flush(wire::Instant now) override { inner_->flush(now); }
  bool gone() const override { return inner_->gone(); }
  int descriptor() const override { return inner_->descriptor(); }
  bool prepare_wait() override { return inner_->prepare_wait(); }
  const Statistics& statistics() const override { return inner_->statistics(); }
  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    inner_->set_local_addresses(mac, ips);
  }

  void tx_push(wire::Instant now, std::span<Frame* const> frames) override {
    write(now, Direction::outbound, frames);
    inner_->tx_push(now, frames);
  }

  std::size_t rx_burst(wire::Instant now, std::span<Frame*> out) override {
    const std::size_t n = inner_->rx_burst(now, out);
    write(now, Direction::inbound, out.first(n));
    return n;
  }

 private:
  void write(wire::Instant now, Direction direction, std::span<Frame* const> frames) {
    if (only_ && *only_ != direction) return;
    for (const Frame* frame : frames) {
      file_->write(now, interface_, direction, frame->bytes(), frame->note);
    }
  }

  std::unique_ptr<Link> inner_;
  std::shared_ptr<CaptureFile> file_;
  std::uint32_t interface_;
  std::optional<Direction> only_;
};

}  // namespace

std::unique_ptr<Link> capture(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file,
                              std::string_view interface_name) {
  const std::uint32_t interface = file->add_interface(interface_name);
  return capture(std::move(inner), std::move(file), interface);
}

std::unique_ptr<Link> capture(std::unique_ptr<Link> inner, std::shared_ptr<CaptureFile> file,
                              std::uint32_t interface, std::optional<Direction> only) {
  return std::make_unique<CaptureLink>(std::move(inner), std::move(file), interface, only);
}

}  // namespace softrnic::link
