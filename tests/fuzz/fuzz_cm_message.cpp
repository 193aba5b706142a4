// SPDX-License-Identifier: BSD-3-Clause
// CM messages from any bytes: what is one comes back byte for byte, whatever order they come in an
// exchange copes with, and every word about them can be said.
#include <cstdlib>

#include "analysis/cm_exchange.hpp"

namespace {

using namespace softrnic;

void require(bool holds) {
  if (!holds) std::abort();
}

void round_trip(wire::ByteView bytes) {
  const auto mad = wire::CmMad::parse(bytes);
  if (!mad) return;
  std::array<std::byte, wire::kMadSize> again;
  mad->serialize(again);
  require(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()));
}

analysis::Frame frame_of(wire::ByteView payload, std::uint32_t number, bool forth) {
  analysis::Frame frame;
  frame.number = number;
  frame.source = wire::Gid::from_ipv4(forth ? 1 : 2);
  frame.destination = wire::Gid::from_ipv4(forth ? 2 : 1);
  frame.opcode = &wire::info(wire::Opcode::ud_send_only);
  frame.headers.bth.opcode = wire::Opcode::ud_send_only;
  frame.headers.bth.destination_qpn = wire::kGeneralServiceQpn;
  frame.headers.deth.queue_key = wire::kGeneralServiceQueueKey;
  frame.payload_size = wire::kMadSize;
  frame.payload = payload;
  return frame;
}

}  // namespace

// Datagrams of 256 bytes, one after the other, the last one perhaps cut off; the first byte's bits
// say who sends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned senders = data[0];
  wire::ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
  analysis::CmExchange exchange(4);
  for (std::uint32_t number = 1; !bytes.empty(); ++number) {
    const wire::ByteView one = bytes.first(std::min(bytes.size(), wire::kMadSize));
    bytes = bytes.subspan(one.size());
    round_trip(one);
    const auto news = exchange.on_packet(frame_of(one, number, (senders >> number % 8 & 1) != 0));
    require(exchange.size() <= 4);
    if (!news) continue;
    require(news->answers < number && news->original < number);
    if (news->finding) require(!analysis::sentence(*news->finding).empty());
  }
  return 0;
}
