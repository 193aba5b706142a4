// SPDX-License-Identifier: BSD-3-Clause
#include "replay/frame_filter.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace softrnic::replay {

namespace {

constexpr std::uint32_t kLastNumber = 0xffffffff;
constexpr int kSnapLength = 1 << 18;

std::optional<std::uint32_t> parse_frame_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return {};
  return number;
}

std::optional<FrameRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto number = parse_frame_number(text);
    if (!number) return {};
    return FrameRange{*number, *number};
  }
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = text.substr(dash + 1);
  if (from.empty() && to.empty()) return {};
  const auto first = from.empty() ? std::optional<std::uint32_t>(1) : parse_frame_number(from);
  const auto last = to.empty() ? std::optional(kLastNumber) : parse_frame_number(to);
  if (!first || !last || *last < *first) return {};
  return FrameRange{*first, *last};
}

}  // namespace

wire::Expected<std::vector<FrameRange>, std::string> parse_frame_ranges(std::string_view text) {
  std::vector<FrameRange> ranges;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const auto range = parse_range(rest.substr(0, comma));
    if (!range) {
      return wire::Unexpected{fmt::format(
          "\"{}\" is no range of frames: use numbers from 1 on, such as 5, 10-20, 30- or 1-3,9",
          text)};
    }
    ranges.push_back(*range);
    if (comma == std::string_view::npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

struct FrameFilter::Program {
  bpf_program code{};

  Program() = default;
  ~Program() { pcap_freecode(&code); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};

FrameFilter::FrameFilter(std::vector<FrameRange> ranges, std::unique_ptr<Program> program)
    : ranges_(std::move(ranges)), program_(std::move(program)) {
  if (ranges_.empty()) return;
  last_ = std::max_element(ranges_.begin(), ranges_.end(), [](const auto& a, const auto& b) {
            return a.last < b.last;
          })->last;
}
FrameFilter::~FrameFilter() = default;
FrameFilter::FrameFilter(FrameFilter&&) noexcept = default;
FrameFilter& FrameFilter::operator=(FrameFilter&&) noexcept = default;

wire::Expected<FrameFilter, std::string> FrameFilter::make(std::vector<FrameRange> ranges,
                                                           const std::string& expression) {
  if (expression.empty()) return FrameFilter(std::move(ranges), nullptr);
  std::unique_ptr<pcap_t, void (*)(pcap_t*)> handle(pcap_open_dead(DLT_EN10MB, kSnapLength),
                                                    &pcap_close);
  if (handle == nullptr) return wire::Unexpected{std::string("there is not enough memory")};
  auto program = std::make_unique<Program>();
  if (pcap_compile(handle.get(), &program->code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) !=
      0) {
    return wire::Unexpected{fmt::format(
        "\"{}\" is no filter: {}: write it as for tcpdump, such as src host 10.0.0.1 and udp "
        "port 4791",
        expression, pcap_geterr(handle.get()))};
  }
  return FrameFilter(std::move(ranges), std::move(program));
}

bool FrameFilter::passes(std::uint32_t number, wire::ByteView frame) const {
  if (!ranges_.empty()) {
    const bool inside = std::any_of(ranges_.begin(), ranges_.end(), [number](const auto& range) {
      return range.first <= number && number <= range.last;
    });
    if (!inside) return false;
  }
  if (program_ == nullptr) return true;
  pcap_pkthdr header{};
  header.len = header.caplen = static_cast<bpf_u_int32>(frame.size());
  return pcap_offline_filter(&program_->code, &header,
                             reinterpret_cast<const u_char*>(frame.data())) != 0;
}

}  // namespace softrnic::replay
