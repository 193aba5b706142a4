// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/capture_reader.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "capture/time_stamp.hpp"

namespace softrnic::offline_replay {
namespace {

using wire::Unexpected;

// More than any Ethernet frame: whatever says it is longer is no frame.
constexpr std::uint32_t kLargestFrame = 1u << 18;

struct Closer {
  void operator()(pcap_t* capture) const { pcap_close(capture); }
};
using Handle = std::unique_ptr<pcap_t, Closer>;

// Why the path is no file that could be opened; empty when it is one.
std::string refuse_path(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return fmt::format("cannot open {}: {}", path, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return fmt::format("{} is a directory, not a capture file", path);
  if (S_ISREG(status.st_mode) && status.st_size == 0) {
    return fmt::format("{} is empty: not even a capture file's header is in it", path);
  }
  return {};
}

std::string name_of_link_type(int link_type) {
  const char* name = pcap_datalink_val_to_name(link_type);
  return name != nullptr ? name : fmt::format("{}", link_type);
}

CapturedFrame copy_frame(const pcap_pkthdr& header, const u_char* data, std::uint32_t number) {
  CapturedFrame frame;
  frame.number = number;
  // With nanosecond precision tv_usec holds nanoseconds.
  frame.at = capture::time_stamp(header.ts.tv_sec, static_cast<std::uint32_t>(header.ts.tv_usec));
  frame.wire_size = header.len;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  frame.bytes.assign(bytes, bytes + header.caplen);
  return frame;
}

}  // namespace

wire::Expected<std::vector<CapturedFrame>, std::string> read_capture(const std::string& path) {
  if (std::string refusal = refuse_path(path); !refusal.empty()) return Unexpected{refusal};

  char error[PCAP_ERRBUF_SIZE] = "";
  const Handle capture(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error));
  if (!capture) {
    return Unexpected{fmt::format("cannot read {}: {}: give a pcap or pcapng file", path, error)};
  }
  if (const int type = pcap_datalink(capture.get()); type != DLT_EN10MB) {
    return Unexpected{fmt::format(
        "{} holds frames of link type {}, not Ethernet: capture on the Ethernet interface itself, "
        "not on \"any\"",
        path, name_of_link_type(type))};
  }

  std::vector<CapturedFrame> frames;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int result = 0;
  while ((result = pcap_next_ex(capture.get(), &header, &data)) == 1) {
    const auto number = static_cast<std::uint32_t>(frames.size() + 1);
    if (header->len > kLargestFrame || header->caplen > header->len) {
      return Unexpected{fmt::format("{} is damaged: frame {} says it has {} bytes of {}", path,
                                    number, header->caplen, header->len)};
    }
    frames.push_back(copy_frame(*header, data, number));
  }
  if (result != PCAP_ERROR_BREAK) {
    return Unexpected{fmt::format("{} ends in the middle or is damaged after frame {}: {}", path,
                                  frames.size(), pcap_geterr(capture.get()))};
  }
  return frames;
}

}  // namespace softrnic::offline_replay
