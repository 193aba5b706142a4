// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_inbox.hpp"

#include <algorithm>

namespace softrnic::link::shm {

namespace {

std::uint64_t handle_of(const Descriptor& descriptor) {
  return std::uint64_t{descriptor.port} << 32 | descriptor.buffer;
}

}  // namespace

Inbox::Inbox(Port& port) : port_(&port), ring_(port.record(), port.area()) {}

std::optional<Arrival> Inbox::next() {
  // A ring full of nonsense is read in one go, but no longer than that.
  for (std::size_t i = 0; i < kRing; ++i) {
    const auto descriptor = ring_.pop();
    if (!descriptor) break;
    if (const auto arrival = accept(*descriptor)) return arrival;
  }
  return std::nullopt;
}

std::optional<Arrival> Inbox::accept(const Descriptor& descriptor) {
  const Segment& segment = port_->segment();
  if (descriptor.port >= kPorts || descriptor.port == port_->index()) return std::nullopt;
  const std::size_t buffers = std::min<std::size_t>(
      segment.record(descriptor.port).buffers.load(std::memory_order_relaxed), kMaxBuffers);
  if (descriptor.buffer >= buffers) return std::nullopt;
  const std::uint64_t handle = handle_of(descriptor);
  if (!lent_to_us(handle)) return std::nullopt;
  if (descriptor.length < wire::EthernetHeader::kSize ||
      descriptor.offset + descriptor.length > buffer_size(segment.mtu())) {
    give_back(handle);
    return std::nullopt;
  }
  std::byte* const buffer = segment.buffer(descriptor.port, descriptor.buffer);
  return Arrival{handle, descriptor.port, buffer, buffer + descriptor.offset, descriptor.length};
}

Word<std::uint32_t>& Inbox::lent(std::uint64_t handle) {
  return port_->segment().area(handle >> 32).lent[handle & 0xffffffff];
}

bool Inbox::lent_to_us(std::uint64_t handle) {
  const std::uint32_t token = lent(handle).load(std::memory_order_relaxed);
  if (token == loan_token(port_->index(), port_->generation())) return true;
  // Meant for who was here before us.
  if (borrower_of(token) == port_->index()) give_back(handle);
  return false;
}

}  // namespace softrnic::link::shm
