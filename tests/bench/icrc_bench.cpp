// SPDX-License-Identifier: BSD-3-Clause
// The ICRC against a bare ISA-L call over the same bytes, at 64, 1024 and 4096 bytes of payload,
// and what stands around it: parsing and rebuilding a frame.
#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include <vector>

#include "wire/address_vector.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace {

using namespace softrnic::wire;

// An RC WRITE Only frame over IPv4.
std::vector<std::byte> write_only_frame(std::size_t payload) {
  AddressVector av;
  av.source = Gid::from_ipv4(0x0a000001);
  av.destination = Gid::from_ipv4(0x0a000002);
  TransportHeaders headers;
  headers.bth.opcode = Opcode::rc_write_only;
  headers.reth.dma_length = static_cast<std::uint32_t>(payload);
  const std::size_t transport = headers.size() + payload + 4;
  std::vector<std::byte> frame(av.size() + transport, std::byte{0x5a});
  const ByteSpan out(frame);
  headers.serialize(out.subspan(av.serialize(out, transport, 1)));
  return frame;
}

// What the ICRC covers: the eight bytes for the LRH, headers from the network's on, payload.
std::size_t covered(const PacketView& view) {
  return 8 + view.icrc_offset() - view.network_offset();
}

void bm_icrc(benchmark::State& state) {
  const auto frame = write_only_frame(static_cast<std::size_t>(state.range(0)));
  const PacketView view = *PacketView::parse(ByteChain(ByteView(frame)));
  const ByteView whole(frame);
  const ByteView headers =
      whole.subspan(view.network_offset(), view.payload_offset() - view.network_offset());
  const std::size_t bth = view.bth_offset() - view.network_offset();
  for (auto _ : state) {
    benchmark::DoNotOptimize(frame.data());
    benchmark::DoNotOptimize(icrc(NetworkLayer::ipv4, headers, bth, view.payload()));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(covered(view)));
}

void bm_bare_isal(benchmark::State& state) {
  const auto frame = write_only_frame(static_cast<std::size_t>(state.range(0)));
  const PacketView view = *PacketView::parse(ByteChain(ByteView(frame)));
  const std::vector<unsigned char> bytes(covered(view), 0x5a);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes.data());
    benchmark::DoNotOptimize(crc32_gzip_refl(0, bytes.data(), bytes.size()));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void bm_parse(benchmark::State& state) {
  const auto frame = write_only_frame(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto view = PacketView::parse(ByteChain(ByteView(frame)));
    benchmark::DoNotOptimize(view);
  }
}

void bm_serialize_headers(benchmark::State& state) {
  AddressVector av;
  av.source = Gid::from_ipv4(0x0a000001);
  av.destination = Gid::from_ipv4(0x0a000002);
  TransportHeaders headers;
  headers.bth.opcode = Opcode::rc_write_only;
  std::vector<std::byte> out(kHeadroom);
  for (auto _ : state) {
    benchmark::DoNotOptimize(headers);
    const std::size_t offset = av.serialize(out, 100, 1);
    headers.serialize(ByteSpan(out).subspan(offset));
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

BENCHMARK(bm_icrc)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(bm_bare_isal)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(bm_parse)->Arg(64)->Arg(4096);
BENCHMARK(bm_serialize_headers);

}  // namespace
