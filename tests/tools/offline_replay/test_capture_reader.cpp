// SPDX-License-Identifier: BSD-3-Clause
// Files as users have them: pcap and pcapng, and all that is neither.
#include <pcap/pcap.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "captured_pair.hpp"
#include "link/capture_link.hpp"

using namespace softrnic;
using namespace softrnic::offline_replay;
using namespace softrnic::offline_replay::test;
using transport::SendOperation;

namespace {

// A file name of our own that is gone afterwards.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("softrnic-replay-{}-{}", getpid(), next_++)) {}
  ~ScratchFile() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

std::vector<CapturedFrame> write_frames() {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 3000);
  pair.settle();
  return pair.frames();
}

// A classic capture with nanosecond stamps; each frame cut to `snap_length`.
void write_pcap(const std::string& path, const std::vector<CapturedFrame>& frames,
                int link_type = DLT_EN10MB, std::uint32_t snap_length = 65535) {
  pcap_t* handle =
      pcap_open_dead_with_tstamp_precision(link_type, 65535, PCAP_TSTAMP_PRECISION_NANO);
  pcap_dumper_t* dumper = pcap_dump_open(handle, path.c_str());
  REQUIRE(dumper != nullptr);
  for (const CapturedFrame& frame : frames) {
    pcap_pkthdr header{};
    const auto stamp = frame.at.time_since_epoch().count();
    header.ts.tv_sec = stamp / 1'000'000'000;
    header.ts.tv_usec = stamp % 1'000'000'000;
    header.len = frame.wire_size;
    header.caplen = std::min(frame.wire_size, snap_length);
    pcap_dump(reinterpret_cast<u_char*>(dumper), &header,
              reinterpret_cast<const u_char*>(frame.bytes.data()));
  }
  pcap_dump_close(dumper);
  pcap_close(handle);
}

void check_same(const std::vector<CapturedFrame>& read, const std::vector<CapturedFrame>& written) {
  REQUIRE(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].number == written[i].number);
    CHECK(read[i].at == written[i].at);
    CHECK(read[i].bytes == written[i].bytes);
    CHECK_FALSE(read[i].cut());
  }
}

std::string refusal(const std::string& path) {
  const auto frames = read_capture(path);
  REQUIRE_FALSE(frames.has_value());
  CHECK(frames.error().find('\n') == std::string::npos);
  CHECK(frames.error().find(path) != std::string::npos);
  return frames.error();
}

}  // namespace

TEST_CASE("pcap is read to the nanosecond", "[capture_reader]") {
  const auto frames = write_frames();
  const ScratchFile file;
  write_pcap(file.path(), frames);
  const auto read = read_capture(file.path());
  REQUIRE(read.has_value());
  check_same(*read, frames);
}

TEST_CASE("pcapng as our own capture writes it is read", "[capture_reader]") {
  const auto frames = write_frames();
  const ScratchFile file;
  {
    auto capture = link::CaptureFile::create(file.path()).value();
    const std::uint32_t interface = capture->add_interface("test");
    for (const CapturedFrame& frame : frames) {
      capture->write(frame.at, interface, link::Direction::inbound, wire::ByteView(frame.bytes),
                     "a comment");
    }
    REQUIRE(capture->close());
  }
  const auto read = read_capture(file.path());
  REQUIRE(read.has_value());
  check_same(*read, frames);
  CHECK(replay_capture(*read).agrees());
}

TEST_CASE("what is no capture is refused in one line", "[capture_reader]") {
  const ScratchFile file;
  SECTION("missing") {
    CHECK(refusal(file.path()).find("cannot open") != std::string::npos);
  }
  SECTION("a folder") {
    std::filesystem::create_directory(file.path());
    CHECK(refusal(file.path()).find("directory") != std::string::npos);
  }
  SECTION("empty") {
    std::ofstream(file.path()).flush();
    CHECK(refusal(file.path()).find("empty") != std::string::npos);
  }
  SECTION("text") {
    std::ofstream(file.path()) << "this is not a capture file, whatever its name says\n";
    CHECK(refusal(file.path()).find("pcap or pcapng") != std::string::npos);
  }
  SECTION("another link type") {
    write_pcap(file.path(), write_frames(), DLT_LINUX_SLL);
    CHECK(refusal(file.path()).find("not Ethernet") != std::string::npos);
  }
}

TEST_CASE("a capture file cut anywhere is refused or read up to a frame's end",
          "[capture_reader]") {
  const ScratchFile whole;
  write_pcap(whole.path(), write_frames());
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(whole.path()));
  const std::size_t frames = read_capture(whole.path())->size();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < size; length += 7) {
    const ScratchFile part;
    std::filesystem::copy_file(whole.path(), part.path());
    std::filesystem::resize_file(part.path(), length);
    const auto read = read_capture(part.path());
    refused += !read.has_value();
    if (read) CHECK(read->size() < frames);
  }
  CHECK(refused > size / 7 / 2);
}

TEST_CASE("frames cut by a snap length are replayed as far as they go", "[capture_reader]") {
  CapturedPair pair;
  pair.requester().send(pair.to_responder(SendOperation::rdma_write), 0, 3000);
  pair.requester().send(pair.to_responder(SendOperation::rdma_read), 0, 3000);
  pair.settle();
  auto frames = pair.frames();
  const ScratchFile file;
  SECTION("behind the headers") {
    write_pcap(file.path(), frames, DLT_EN10MB, 200);
    const CaptureReplay replay = replay_capture(read_capture(file.path()).value());
    INFO(explain(replay));
    CHECK(replay.agrees());
    CHECK(replay.survey.cut > 0);
    CHECK(replay.survey.cut_in_headers == 0);
    CHECK(compared(replay) == replay.results.front().conversation->answers.size());
  }
  SECTION("behind the headers, with what is left of a payload changed") {
    const std::size_t middle = find_frame(frames, wire::Opcode::rc_read_response_middle);
    frames[middle].bytes[view_of(frames[middle]).payload_offset() + 10] ^= std::byte{1};
    write_pcap(file.path(), frames, DLT_EN10MB, 200);
    CHECK(differences(replay_capture(read_capture(file.path()).value())) == 1);
  }
  SECTION("inside the headers") {
    write_pcap(file.path(), frames, DLT_EN10MB, 50);
    const CaptureReplay replay = replay_capture(read_capture(file.path()).value());
    CHECK(replay.survey.cut_in_headers == frames.size());
    CHECK(replay.results.empty());
  }
}
