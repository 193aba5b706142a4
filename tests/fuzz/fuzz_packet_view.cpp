// SPDX-License-Identifier: BSD-3-Clause
// The frame parser on any bytes: what it accepts must come back from serialize() byte for byte,
// give the same view however the frame is split, and have the ICRC that the portable code finds.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace {

using namespace softrnic::wire;
using Bytes = std::vector<std::byte>;
using Result = Expected<PacketView, ParseError>;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

Bytes gather(const ByteChain& chain) {
  Bytes out(chain.size());
  check(chain.copy_to(0, out) == out.size(), "a chain copies as many bytes as it has");
  return out;
}

void check_offsets(const PacketView& view, ByteView frame) {
  check(view.size() <= frame.size(), "a packet ends within its frame");
  check(view.network_offset() < view.bth_offset(), "the BTH follows the network header");
  check(view.payload_offset() == view.bth_offset() + view.headers().size(),
        "the payload follows the transport headers");
  check(view.payload_offset() + view.payload().size() + view.bth().pad_count == view.icrc_offset(),
        "the ICRC follows payload and pad");
  const ByteView payload = frame.subspan(view.payload_offset(), view.payload().size());
  check(gather(view.payload()) == Bytes(payload.begin(), payload.end()),
        "the payload is its bytes");
}

void check_icrc(const PacketView& view, ByteView frame) {
  const std::size_t network = view.network_offset();
  const ByteView headers = frame.subspan(network, view.payload_offset() - network);
  const ByteChain payload(
      frame.subspan(view.payload_offset(), view.icrc_offset() - view.payload_offset()));
  check(view.computed_icrc() ==
            icrc_portable(view.network_layer(), headers, view.bth_offset() - network, payload),
        "both ICRC implementations agree");
}

void check_serialize(const PacketView& view, ByteView frame) {
  Bytes out(view.size());
  check(serialize(view, out) == out.size(), "serialize() writes size() bytes");
  const std::size_t same = view.icrc_ok() ? view.size() : view.icrc_offset();
  check(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(same), frame.begin()),
        "a frame comes back byte for byte");

  const Result again = PacketView::parse(ByteChain(ByteView(out)), {.verify_ipv4_checksum = false});
  check(again.has_value(), "what serialize() writes parses");
  check(again->icrc_ok(), "what serialize() writes has a right ICRC");
  check(again->headers() == view.headers(), "what serialize() writes has the same headers");
}

// Seams made from the frame's own bytes, so that an input always splits in the same places.
ByteChain split(ByteView frame) {
  std::size_t seed = frame.size();
  for (const std::byte b : frame) seed = seed * 31 + std::to_integer<std::size_t>(b);
  const std::size_t a = seed % (frame.size() + 1);
  const std::size_t b = a + seed / 997 % (frame.size() - a + 1);
  ByteChain chain(frame.first(a));
  chain.append(frame.subspan(a, b - a));
  chain.append(frame.subspan(b));
  return chain;
}

void check_split(const Result& whole, ByteView frame) {
  const ByteChain chain = split(frame);
  const Result parts = PacketView::parse(chain, {.verify_ipv4_checksum = false});
  if (!whole) {
    check(!parts, "a bad frame is bad in pieces too");
    return;
  }
  if (chain.front().size() < whole->payload_offset()) {
    check(!parts && parts.error() == ParseError::truncated, "headers lie in the first piece");
    return;
  }
  check(parts.has_value(), "a good frame is good in pieces too");
  check(parts->headers() == whole->headers() && parts->size() == whole->size(),
        "pieces give the same view");
  check(gather(parts->payload()) == gather(whole->payload()), "pieces give the same payload");
  check(parts->icrc() == whole->icrc() && parts->computed_icrc() == whole->computed_icrc(),
        "pieces give the same ICRC");
}

void check_checksum_option(const Result& lenient, ByteView frame) {
  const Result strict = PacketView::parse(ByteChain(frame));
  if (!strict) {
    check(!to_string(strict.error()).empty(), "an error has a text");
    check(!lenient || strict.error() == ParseError::bad_ip_header,
          "the option changes nothing but the checksum's verdict");
  } else {
    check(lenient.has_value(), "the option makes no frame worse");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView frame = std::as_bytes(std::span(data, size));
  const Result view = PacketView::parse(ByteChain(frame), {.verify_ipv4_checksum = false});
  check_checksum_option(view, frame);
  check_split(view, frame);
  if (!view) return 0;
  check_offsets(*view, frame);
  check_icrc(*view, frame);
  check_serialize(*view, frame);
  return 0;
}
