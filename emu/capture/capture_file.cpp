// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pcap/pcap.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

#include "capture/byte_source.hpp"
#include "capture/erf_reader.hpp"
#include "capture/pcapng_reader.hpp"
#include "capture/time_stamp.hpp"

namespace softrnic::capture {
namespace {

using wire::Unexpected;

// More than any frame: whatever says it is longer is no frame.
constexpr std::uint32_t kLargestFrame = 1u << 20;

// Of libpcap's own numbers, those that are not the registry's.
std::uint32_t registry_number_of(int dlt) {
  return dlt == DLT_RAW ? registry_number(LinkType::raw_ip) : static_cast<std::uint32_t>(dlt);
}

std::string name_of(std::uint32_t link_type) {
  const char* name = pcap_datalink_val_to_name(static_cast<int>(link_type));
  return name != nullptr ? name : fmt::format("{}", link_type);
}

// What a file that is no capture we read is, and what to do about it; empty when it is not known.
std::string other_format(wire::ByteView beginning) {
  struct Other {
    std::string_view magic;
    std::string_view words;
  };
  using namespace std::string_view_literals;
  constexpr std::string_view kConvert = "convert it (editcap -F pcapng FILE OUT)";
  static const Other kOthers[] = {
      {"snoop\0\0\0"sv, "is a snoop file"},    {"GMBU"sv, "is a Network Monitor file"},
      {"RTSS"sv, "is a Network Monitor file"}, {"XCP\0"sv, "is a NetXray file"},
      {"TRSNIFF"sv, "is a Sniffer file"},
  };
  static const Other kCompressed[] = {
      {"\x1f\x8b"sv, "zcat"}, {"\x28\xb5\x2f\xfd"sv, "zstdcat"}, {"\xfd\x37zXZ"sv, "xzcat"}};
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  for (const auto& [magic, words] : kOthers) {
    if (text.starts_with(magic)) return fmt::format("{}: {}", words, kConvert);
  }
  for (const auto& [magic, program] : kCompressed) {
    if (text.starts_with(magic)) {
      return fmt::format("is compressed: pipe it through {} and give - for the file", program);
    }
  }
  return {};
}

// Why the path is no file that could be opened; empty when it is one.
std::string refuse_path(const std::string& path) {
  if (path.empty()) return "the name of the capture is empty: name a file, or - for standard input";
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return fmt::format("cannot open {}: {}", path, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return fmt::format("{} is a directory, not a capture file", path);
  return {};
}

std::uint64_t size_of_file(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<std::uint64_t>(status.st_size);
}

ssize_t read_for_stdio(void* source, char* to, std::size_t size) {
  return static_cast<ssize_t>(
      static_cast<ByteSource*>(source)->read(reinterpret_cast<std::byte*>(to), size));
}

}  // namespace

struct CaptureFile::Handle {
  explicit Handle(link::FileDescriptor file)
      : source(std::move(file)), pcapng(source), erf(source) {}
  ~Handle() {
    if (pcap != nullptr) pcap_close(pcap);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Why libpcap does not read it; empty when it does.
  std::string open_pcap() {
    constexpr std::size_t kBufferSize = 64 * 1024;
    cookie_io_functions_t functions{};
    functions.read = read_for_stdio;
    std::FILE* file = ::fopencookie(&source, "r", functions);
    if (file == nullptr) return std::strerror(errno);
    std::setvbuf(file, nullptr, _IOFBF, kBufferSize);
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
    if (pcap != nullptr) return {};
    std::fclose(file);
    return error;
  }

  ByteSource source;
  PcapngReader pcapng;
  ErfReader erf;
  bool is_erf = false;
  pcap_t* pcap = nullptr;  // null: it is pcapng or ERF
};

CaptureFile::CaptureFile(std::unique_ptr<Handle> handle, std::string name)
    : handle_(std::move(handle)), name_(std::move(name)) {
  size_ = size_of_file(handle_->source.descriptor());
}

CaptureFile::~CaptureFile() = default;
CaptureFile::CaptureFile(CaptureFile&&) noexcept = default;
CaptureFile& CaptureFile::operator=(CaptureFile&&) noexcept = default;

wire::Expected<CaptureFile, std::string> CaptureFile::open(const std::string& path) {
  const bool is_pipe = path == "-";
  const std::string name = is_pipe ? "standard input" : path;
  if (is_pipe && ::isatty(STDIN_FILENO) == 1) {
    return Unexpected{std::string("standard input is a terminal: pipe a capture in")};
  }
  if (!is_pipe) {
    if (std::string refusal = refuse_path(path); !refusal.empty()) return Unexpected{refusal};
  }
  link::FileDescriptor file(is_pipe ? ::dup(STDIN_FILENO)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return Unexpected{fmt::format("cannot open {}: {}", name, std::strerror(errno))};
  }
  CaptureFile capture(std::make_unique<Handle>(std::move(file)), name);
  if (std::string why_not = capture.begin(); !why_not.empty()) return Unexpected{why_not};
  return capture;
}

// Why it is no capture that can be read; empty when it is one.
std::string CaptureFile::begin() {
  Handle& handle = *handle_;
  const wire::ByteView beginning = handle.source.peek(16);
  if (handle.source.error() != 0) {
    return fmt::format("cannot read {}: {}", name_, std::strerror(handle.source.error()));
  }
  if (beginning.empty()) {
    return fmt::format("{} is empty: not even a capture file's header is in it", name_);
  }
  if (const std::string other = other_format(beginning); !other.empty()) {
    return fmt::format("{} {}", name_, other);
  }
  std::uint32_t number = registry_number(LinkType::ethernet);
  if (PcapngReader::is_pcapng(beginning)) {
    handle.pcapng.find_first();
    number = handle.pcapng.first_link_type().value_or(number);
    // An unknown one is no reason to refuse the others.
    for (const std::uint16_t each : handle.pcapng.link_types()) {
      if (link_type_of(each)) number = each;
    }
  } else if (ErfReader::is_erf(handle.source.peek(ErfReader::kTelling))) {
    handle.is_erf = true;
    number = registry_number(LinkType::erf);
  } else {
    const std::string why_not = handle.open_pcap();
    if (!why_not.empty()) {
      return fmt::format("cannot read {}: {}: give a pcap or pcapng file", name_, why_not);
    }
    number = registry_number_of(pcap_datalink(handle.pcap));
  }
  const std::optional<LinkType> link_type = link_type_of(number);
  if (!link_type) {
    return fmt::format(
        "{} holds frames of link type {}: Ethernet, Linux cooked, raw IP, InfiniBand and ERF can "
        "be read",
        name_, name_of(number));
  }
  link_type_ = *link_type;
  return {};
}

const Record* CaptureFile::next() {
  if (!damage_.empty() || !read()) return nullptr;
  if (record_.number == std::numeric_limits<std::uint32_t>::max()) {
    return fail(
        fmt::format("{} holds more than {} frames: split it (editcap -c)", name_, record_.number));
  }
  if (record_.wire_size > kLargestFrame || record_.bytes.size() > record_.wire_size) {
    return fail(fmt::format("{} is damaged: frame {} says it has {} bytes of {}", name_,
                            record_.number + 1, record_.bytes.size(), record_.wire_size));
  }
  ++record_.number;
  return &record_;
}

// False at the end, whatever kind of end it is.
bool CaptureFile::read() {
  if (handle_->pcap != nullptr) return read_pcap();
  return handle_->is_erf ? read_erf() : read_pcapng();
}

bool CaptureFile::read_erf() {
  const ErfReader::Packet* packet = handle_->erf.next();
  if (packet == nullptr) {
    if (const std::string& why = handle_->erf.damage(); !why.empty()) fail_after(why);
    return false;
  }
  record_.at = packet->at;
  record_.wire_size = packet->wire_size;
  record_.bytes = packet->bytes;
  return true;
}

bool CaptureFile::read_pcapng() {
  const PcapngReader::Packet* packet = handle_->pcapng.next();
  if (packet == nullptr) {
    const std::string& why = handle_->pcapng.damage();
    if (!why.empty()) fail_after(why);
    return false;
  }
  record_.at = packet->at;
  record_.wire_size = packet->wire_size;
  record_.bytes = packet->bytes;
  record_.comment = packet->comment;
  link_type_ = link_type_of(packet->link_type).value_or(LinkType::other);
  return true;
}

bool CaptureFile::read_pcap() {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int result = pcap_next_ex(handle_->pcap, &header, &data);
  if (result == PCAP_ERROR_BREAK) return false;
  if (result != 1) {
    fail_after(pcap_geterr(handle_->pcap));
    return false;
  }
  // With nanosecond precision tv_usec holds nanoseconds.
  record_.at = time_stamp(header->ts.tv_sec, static_cast<std::uint32_t>(header->ts.tv_usec));
  record_.wire_size = header->len;
  record_.bytes = wire::ByteView(reinterpret_cast<const std::byte*>(data), header->caplen);
  return true;
}

void CaptureFile::fail_after(std::string_view why) {
  fail(fmt::format("{} ends in the middle or is damaged after frame {}: {}", name_, record_.number,
                   why));
}

const Record* CaptureFile::fail(std::string why) {
  damage_ = std::move(why);
  return nullptr;
}

std::uint64_t CaptureFile::position() const {
  return handle_->source.position();
}

}  // namespace softrnic::capture
