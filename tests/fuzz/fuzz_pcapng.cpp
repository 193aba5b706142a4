// SPDX-License-Identifier: BSD-3-Clause
// Any bytes, read as pcapng.
#include <cstdint>

#include "capture/pcapng_reader.hpp"
#include "fuzz/file_in_memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softrnic;
  static fuzz::FileInMemory file;
  file.hold(data, size);
  capture::ByteSource source(file.descriptor());
  capture::PcapngReader reader(source);
  if (size % 2 != 0) reader.find_first();
  std::uint64_t all = 0;
  while (const capture::PcapngReader::Packet* packet = reader.next()) {
    // Every byte is looked at, so that none is read that is not there.
    for (const std::byte byte : packet->bytes) all += static_cast<std::uint8_t>(byte);
    for (const char c : packet->comment) all += static_cast<std::uint8_t>(c);
    fuzz::require(packet->bytes.size() <= size && packet->comment.size() <= size,
                  "a packet is of the file");
    fuzz::require(reader.damage().empty(), "what is damaged gives nothing");
    fuzz::require(!reader.link_types().empty() && reader.first_link_type().has_value(),
                  "a packet is of an interface");
  }
  fuzz::require(reader.next() == nullptr, "the end is the end");
  fuzz::require(reader.damage().empty() || fuzz::is_one_line(reader.damage()),
                "a complaint is one line");
  fuzz::require(source.position() <= size, "no more is read than there is");
  fuzz::require(all <= std::uint64_t{0xff} * size * 2, "no byte is told of twice");
  return 0;
}
