// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_writer.hpp"

#include <algorithm>

#include "link/pcapng.hpp"

namespace softrnic::capture {
namespace {

using wire::Unexpected;
namespace pcapng = link::pcapng;

// Of the pcap format (draft-ietf-opsawg-pcap); little endian, as link/pcapng writes.
constexpr std::uint32_t kNanosecondMagic = 0xa1b23c4d;
constexpr std::uint16_t kMajorVersion = 2;
constexpr std::uint16_t kMinorVersion = 4;
constexpr std::uint32_t kNoLimit = 262144;  // the longest that readers take
constexpr std::int64_t kSecond = 1'000'000'000;

template <class Integer>
void append_le(std::vector<std::byte>& out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

void append_pcap_header(std::vector<std::byte>& out, std::uint16_t link_type,
                        std::uint32_t snap_length) {
  append_le(out, kNanosecondMagic);
  append_le(out, kMajorVersion);
  append_le(out, kMinorVersion);
  append_le(out, std::uint64_t{0});  // time zone and accuracy, which nobody uses
  append_le(out, snap_length == 0 ? kNoLimit : snap_length);
  append_le(out, std::uint32_t{link_type});
}

void append_pcap_record(std::vector<std::byte>& out, wire::Instant at, wire::ByteView kept,
                        std::uint32_t wire_size) {
  const std::int64_t stamp = std::max<std::int64_t>(0, at.time_since_epoch().count());
  append_le(out, static_cast<std::uint32_t>(stamp / kSecond));
  append_le(out, static_cast<std::uint32_t>(stamp % kSecond));
  append_le(out, static_cast<std::uint32_t>(kept.size()));
  append_le(out, wire_size);
  out.insert(out.end(), kept.begin(), kept.end());
}

}  // namespace

Format format_of(std::string_view path) {
  return path.ends_with(".pcap") ? Format::pcap : Format::pcapng;
}

wire::Expected<CaptureWriter, std::string> CaptureWriter::create(const std::string& path,
                                                                 Format format, LinkType link_type,
                                                                 std::uint32_t snap_length) {
  auto file = WholeFile::create(path);
  if (!file) return Unexpected{file.error()};
  if (file->on_terminal()) {
    return Unexpected{
        "a capture is no text for a terminal: name a file, or pipe standard output on"};
  }
  CaptureWriter writer(std::move(*file), format, snap_length);
  writer.begin(link_type);
  return writer;
}

void CaptureWriter::begin(LinkType link_type) {
  std::vector<std::byte>& out = file_.gathered();
  if (format_ == Format::pcap) {
    append_pcap_header(out, registry_number(link_type), snap_length_);
  } else {
    pcapng::append_section_header(out);
    pcapng::append_interface(out, {}, snap_length_, registry_number(link_type));
  }
}

bool CaptureWriter::write(wire::Instant at, wire::ByteView bytes, std::uint32_t wire_size,
                          std::string_view comment) {
  wire_size = std::max(wire_size, static_cast<std::uint32_t>(bytes.size()));
  if (snap_length_ != 0) bytes = bytes.first(std::min<std::size_t>(bytes.size(), snap_length_));
  std::vector<std::byte>& out = file_.gathered();
  if (format_ == Format::pcap) {
    append_pcap_record(out, at, bytes, wire_size);
  } else {
    pcapng::append_packet(out, {.at = at, .wire_size = wire_size, .comment = comment},
                          wire::ByteChain(bytes));
  }
  return file_.write_gathered();
}

}  // namespace softrnic::capture
