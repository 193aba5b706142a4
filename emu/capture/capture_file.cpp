// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_file.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

namespace softrnic::capture {
namespace {

using wire::Unexpected;

// More than any frame: whatever says it is longer is no frame.
constexpr std::uint32_t kLargestFrame = 1u << 20;

constexpr int kLinkTypeIpv4 = 228;
constexpr int kLinkTypeIpv6 = 229;
constexpr int kLinkTypeErf = 197;
constexpr int kLinkTypeCooked2 = 276;

std::optional<LinkType> link_type_of(int dlt) {
  switch (dlt) {
    case DLT_EN10MB:
      return LinkType::ethernet;
    case DLT_LINUX_SLL:
      return LinkType::linux_cooked;
    case kLinkTypeCooked2:
      return LinkType::linux_cooked_2;
    case DLT_RAW:
    case kLinkTypeIpv4:
    case kLinkTypeIpv6:
      return LinkType::raw_ip;
    case kLinkTypeErf:
      return LinkType::erf;
    default:
      return std::nullopt;
  }
}

std::string name_of(int dlt) {
  const char* name = pcap_datalink_val_to_name(dlt);
  return name != nullptr ? name : fmt::format("{}", dlt);
}

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

std::uint64_t size_of_file(std::FILE* file) {
  struct stat status {};
  if (file == nullptr || fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

struct CaptureFile::Handle {
  explicit Handle(pcap_t* opened) : pcap(opened) {}
  ~Handle() { pcap_close(pcap); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  pcap_t* pcap;
};

CaptureFile::CaptureFile(std::unique_ptr<Handle> handle, std::string name, LinkType link_type)
    : handle_(std::move(handle)), name_(std::move(name)), link_type_(link_type) {
  size_ = size_of_file(pcap_file(handle_->pcap));
}

CaptureFile::~CaptureFile() = default;
CaptureFile::CaptureFile(CaptureFile&&) noexcept = default;
CaptureFile& CaptureFile::operator=(CaptureFile&&) noexcept = default;

wire::Expected<CaptureFile, std::string> CaptureFile::open(const std::string& path) {
  const bool is_pipe = path == "-";
  const std::string name = is_pipe ? "standard input" : path;
  if (!is_pipe) {
    if (std::string refusal = refuse_path(path); !refusal.empty()) return Unexpected{refusal};
  }
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* opened =
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
  if (opened == nullptr) {
    return Unexpected{fmt::format("cannot read {}: {}: give a pcap or pcapng file", name, error)};
  }
  auto handle = std::make_unique<Handle>(opened);
  const int dlt = pcap_datalink(opened);
  const std::optional<LinkType> link_type = link_type_of(dlt);
  if (!link_type) {
    return Unexpected{
        fmt::format("{} holds frames of link type {}: Ethernet, Linux cooked, raw IP and "
                    "ERF can be read",
                    name, name_of(dlt))};
  }
  return CaptureFile(std::move(handle), name, *link_type);
}

const Record* CaptureFile::next() {
  if (!damage_.empty()) return nullptr;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int result = pcap_next_ex(handle_->pcap, &header, &data);
  if (result == PCAP_ERROR_BREAK) return nullptr;
  if (result != 1) {
    return fail(fmt::format("{} ends in the middle or is damaged after frame {}: {}", name_,
                            record_.number, pcap_geterr(handle_->pcap)));
  }
  if (record_.number == std::numeric_limits<std::uint32_t>::max()) {
    return fail(
        fmt::format("{} holds more than {} frames: split it (editcap -c)", name_, record_.number));
  }
  if (header->len > kLargestFrame || header->caplen > header->len) {
    return fail(fmt::format("{} is damaged: frame {} says it has {} bytes of {}", name_,
                            record_.number + 1, header->caplen, header->len));
  }
  ++record_.number;
  // With nanosecond precision tv_usec holds nanoseconds.
  record_.at = wire::Instant(std::chrono::seconds(header->ts.tv_sec) +
                             std::chrono::nanoseconds(header->ts.tv_usec));
  record_.wire_size = header->len;
  record_.bytes = wire::ByteView(reinterpret_cast<const std::byte*>(data), header->caplen);
  return &record_;
}

const Record* CaptureFile::fail(std::string why) {
  damage_ = std::move(why);
  return nullptr;
}

std::uint64_t CaptureFile::position() const {
  std::FILE* file = pcap_file(handle_->pcap);
  const long at = file == nullptr ? -1 : std::ftell(file);
  return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

}  // namespace softrnic::capture
