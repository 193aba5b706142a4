// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_mirror.hpp"

#include <cstring>

namespace softrnic::link::shm {

namespace {

struct Written {
  std::int64_t at;
  std::uint32_t from;
  std::array<std::uint8_t, kPorts / 8> to;
};
static_assert(sizeof(Written) <= wire::kHeadroom);

}  // namespace

MirrorNote::MirrorNote(wire::Instant when, std::uint32_t sender,
                       std::span<const std::uint8_t> ports)
    : at(when), from(sender) {
  for (const std::uint8_t port : ports) to.set(port);
}

void MirrorNote::write(std::byte* headroom) const {
  Written written{at.time_since_epoch().count(), from, {}};
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

}  // namespace softrnic::link::shm
