// SPDX-License-Identifier: BSD-3-Clause
// Any file: read as a capture and checked, as it is and as a switch's mirror. What is counted has
// to add up, and the same file has to tell the same twice.
#include <cstdint>
#include <string>

#include "capture/capture_check.hpp"
#include "capture/capture_file.hpp"
#include "fuzz/file_in_memory.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace softrnic;
using fuzz::is_one_line;
using fuzz::require;

struct Told {
  std::uint64_t frames = 0;
  std::uint64_t faults = 0;
  std::uint64_t copies = 0;
  std::string damage;
};

Told check(const std::string& path, bool mirrored) {
  auto file = capture::CaptureFile::open(path);
  if (!file) {
    require(is_one_line(file.error()), "is_one_line(file.error())");
    return {0, 0, 0, file.error()};
  }
  constexpr std::size_t kMostFaults = 50;
  constexpr std::uint32_t kRemembered = 64;  // a run's cost is that of its tables
  capture::CaptureCheck check(kMostFaults, mirrored, kRemembered);
  std::uint32_t last = 0;
  while (const capture::Record* record = file->next()) {
    require(record->number == last + 1, "record->number == last + 1");
    require(record->bytes.size() <= record->wire_size, "record->bytes.size() <= record->wire_size");
    last = record->number;
    check.on_record(file->link_type(), *record);
  }
  require(file->damage().empty() || is_one_line(file->damage()),
          "file->damage().empty() || is_one_line(file->damage())");
  const capture::CheckCounts& counts = check.counts();
  std::uint64_t all = 0;
  for (const std::uint64_t of_kind : counts.traffic) all += of_kind;
  require(all == counts.frames && counts.frames == last,
          "all == counts.frames && counts.frames == last");
  require(counts.icrc_good + counts.icrc_bad + counts.icrc_unverified == counts.roce(),
          "counts.icrc_good + counts.icrc_bad + counts.icrc_unverified == counts.roce()");
  require(counts.errors <= counts.faults && check.faults().size() <= counts.faults,
          "counts.errors <= counts.faults && check.faults().size() <= counts.faults");
  for (const capture::Fault& fault : check.faults()) {
    require(fault.frame >= 1 && fault.frame <= last, "fault.frame >= 1 && fault.frame <= last");
    require(is_one_line(fault.sentence) && !fault.kind.empty(),
            "is_one_line(fault.sentence) && !fault.kind.empty()");
  }
  require(check.one_way_streams() <= check.analyzer().stream_count(),
          "check.one_way_streams() <= check.analyzer().stream_count()");
  return {counts.frames, counts.faults, counts.copies, file->damage()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::FileInMemory file;
  const std::string& path = file.hold(data, size);
  const Told plain = check(path, false);
  const Told mirrored = check(path, true);
  require(plain.frames == mirrored.frames && plain.damage == mirrored.damage,
          "a mirror's frames are those of the file");
  require(plain.copies == 0 && mirrored.copies <= mirrored.frames, "copies are frames");
  return 0;
}
