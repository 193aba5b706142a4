// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_mirror.hpp"

#include <array>
#include <cstring>

#include "link/shm_inbox.hpp"
#include "link/shm_sleeper.hpp"

namespace softrnic::link {

namespace {

using namespace shm;

struct Written {
  std::int64_t at;
  std::uint32_t from;
  std::array<std::uint8_t, kPorts / 8> to;
};
static_assert(sizeof(Written) <= wire::kHeadroom);

}  // namespace

MirrorNote::MirrorNote(wire::Instant when, std::size_t sender, std::span<const std::uint8_t> ports)
    : at(when), from(sender) {
  for (const std::uint8_t port : ports) to.set(port);
}

void MirrorNote::write(std::byte* headroom) const {
  Written written{at.time_since_epoch().count(), static_cast<std::uint32_t>(from), {}};
  for (std::size_t port = 0; port < kPorts; ++port) {
    if (to[port]) written.to[port / 8] |= static_cast<std::uint8_t>(1 << port % 8);
  }
  std::memcpy(headroom, &written, sizeof(written));
}

MirrorNote MirrorNote::read(const std::byte* headroom) {
  Written written;
  std::memcpy(&written, headroom, sizeof(written));
  MirrorNote note;
  note.at = wire::Instant(wire::Duration(written.at));
  note.from = written.from;
  for (std::size_t port = 0; port < kPorts; ++port) {
    note.to[port] = (written.to[port / 8] >> port % 8 & 1) != 0;
  }
  return note;
}

struct ShmMirror::Impl {
  explicit Impl(Port its_port) : port(std::move(its_port)), inbox(port), sleeper(port) {}

  Port port;
  Inbox inbox;
  Sleeper sleeper;
  std::vector<std::byte> frame;  // taken out of the segment before anybody looks at it
};

ShmMirror::ShmMirror(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShmMirror::~ShmMirror() = default;

wire::Expected<std::unique_ptr<ShmMirror>, OpenError> ShmMirror::open(const std::string& segment) {
  auto port = Port::attach({.segment = segment, .mtu = 0, .role = PortRole::mirror, .host = {}});
  if (!port) return wire::Unexpected{port.error()};
  return std::unique_ptr<ShmMirror>(new ShmMirror(std::make_unique<Impl>(std::move(port).value())));
}

std::size_t ShmMirror::take(wire::Instant now, std::size_t most, const Sink& sink) {
  Impl& my = *impl_;
  std::size_t n = 0;
  while (n < most) {
    const auto arrival = my.inbox.next();
    if (!arrival) break;
    MirrorNote note = MirrorNote::read(arrival->buffer);
    note.from = arrival->from;
    my.frame.assign(arrival->bytes, arrival->bytes + arrival->length);
    my.inbox.give_back(arrival->handle);
    sink(note, my.frame);
    ++n;
  }
  if (n > 0) my.inbox.publish();
  my.sleeper.after_burst(now, n, my.inbox.ring());
  return n;
}

int ShmMirror::descriptor() const {
  return impl_->sleeper.descriptor();
}
wire::Instant ShmMirror::next_deadline() const {
  return impl_->sleeper.next_deadline();
}
bool ShmMirror::gone() const {
  return impl_->port.segment().gone();
}
std::uint64_t ShmMirror::dropped() const {
  return impl_->port.record().dropped.load(std::memory_order_relaxed);
}

std::vector<ShmMirror::Station> ShmMirror::stations() const {
  std::vector<Station> all;
  for (const Resident& resident : residents(impl_->port.segment())) {
    if (!resident.host.empty()) all.push_back({resident.port, resident.host, resident.process});
  }
  return all;
}

}  // namespace softrnic::link
