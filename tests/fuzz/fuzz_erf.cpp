// SPDX-License-Identifier: BSD-3-Clause
// Any bytes, read as Endace's records, and each record taken for one of ERF and for a frame of
// native InfiniBand.
#include <cstdint>

#include "capture/erf_reader.hpp"
#include "capture/packet_reading.hpp"
#include "fuzz/file_in_memory.hpp"

namespace {

using namespace softrnic;
using fuzz::require;

void read(capture::LinkType link_type, const capture::Record& record) {
  for (const bool by_switch : {false, true}) {
    const capture::PacketReading reading = capture::read_packet(link_type, record, by_switch);
    const bool faulty = reading.fault != capture::HeaderFault::none;
    require(capture::sentence(reading).empty() == !faulty, "a fault has a sentence");
    require(reading.network <= record.bytes.size() && reading.bth <= record.bytes.size(),
            "what was reached is in the record");
    if (!reading.analysable()) continue;
    require(reading.bth >= reading.network && reading.frame.opcode != nullptr,
            "a packet for the analysis has its headers");
    // A frame that a switch cut is as long as it says.
    require(by_switch || reading.frame.payload_size <= record.wire_size,
            "a payload is of its frame");
    require(reading.summed.size() <= record.bytes.size(), "a sum is over bytes of the record");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::FileInMemory file;
  file.hold(data, size);
  const wire::ByteView bytes = std::as_bytes(std::span(data, size));
  capture::ErfReader::is_erf(bytes.first(std::min(size, capture::ErfReader::kTelling)));
  capture::ByteSource source(file.descriptor());
  capture::ErfReader reader(source);
  capture::Record record;
  std::size_t read_so_far = 0;
  while (const capture::ErfReader::Packet* packet = reader.next()) {
    require(packet->bytes.size() <= packet->wire_size, "as much was there as was captured");
    read_so_far += packet->bytes.size();
    record = {record.number + 1, packet->at, packet->wire_size, packet->bytes};
    read(capture::LinkType::erf, record);
    record.bytes = packet->bytes.subspan(16);
    record.wire_size = packet->wire_size - 16;
    read(capture::LinkType::infiniband, record);
  }
  require(read_so_far <= size, "no byte is told of twice");
  require(reader.damage().empty() ? read_so_far == size : fuzz::is_one_line(reader.damage()),
          "all is read, or there is a complaint of one line");
  return 0;
}
