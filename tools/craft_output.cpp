// SPDX-License-Identifier: BSD-3-Clause
#include "craft_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "failure.hpp"
#include "interruption.hpp"

namespace softrnic::tools {

namespace {

wire::Instant clock_now() {
  return wire::Instant(std::chrono::duration_cast<wire::Duration>(
      std::chrono::system_clock::now().time_since_epoch()));
}

// How long a signal may wait to be seen.
constexpr wire::Duration kSlice = std::chrono::milliseconds(50);
constexpr std::size_t kColumns = 16;

}  // namespace

void CraftTally::on_frame(const craft::CraftedFrame& frame) {
  ++frames;
  bytes += frame.wire_size;
  if (!first) first = frame.at;
  last = frame.at;
}

void CraftedCapture::create(capture::LinkType type) {
  auto writer = capture::CaptureWriter::create(path_, capture::format_of(path_), type);
  if (!writer) throw Failure(kUsageError, writer.error());
  writer_.emplace(std::move(writer).value());
}

bool CraftedCapture::on_frame(const craft::CraftedFrame& frame, capture::LinkType type) {
  if (!writer_) create(type);
  return writer_->write(frame.at, frame.bytes, static_cast<std::uint32_t>(frame.wire_size),
                        frame.comment);
}

void CraftedCapture::commit(capture::LinkType type) {
  if (!writer_) create(type);
  if (const auto done = writer_->commit(); !done) throw Failure(kUsageError, done.error());
}

CraftedTraffic::CraftedTraffic(const std::string& link, bool at_once) : at_once_(at_once) {
  auto opened = link::open_link(link);
  if (!opened) throw Failure(kUsageError, opened.error().message);
  link_ = std::move(opened).value();
}

// What comes meanwhile is nothing to us, but would fill the link's buffers.
void CraftedTraffic::drain() {
  std::array<link::Frame*, 16> frames;
  const std::size_t count = link_->rx_burst(clock_now(), frames);
  link_->rx_release(std::span(frames).first(count));
}

bool CraftedTraffic::await(wire::Instant due) {
  while (!interrupted()) {
    drain();
    const wire::Duration left = due - clock_now();
    if (at_once_ || left <= wire::Duration::zero()) return true;
    std::this_thread::sleep_for(std::min(left, kSlice));
  }
  return false;
}

bool CraftedTraffic::on_frame(const craft::CraftedFrame& frame) {
  if (!first_) {
    first_ = frame.at;
    begun_ = clock_now();
  }
  if (!await(begun_ + (frame.at - *first_))) return false;
  link::Frame* out = nullptr;
  while (link_->tx_alloc({&out, 1}) == 0) {
    if (!await(clock_now())) return false;
    link_->flush(clock_now());
  }
  wire::MutableByteChain place = out->append(frame.bytes.size());
  if (place.size() != frame.bytes.size()) {
    link_->tx_cancel(std::array{out});
    fail("{}: a frame of {} bytes is too large for {}", frame.where, frame.bytes.size(),
         link_->capabilities().name);
  }
  wire::copy(wire::ByteView(frame.bytes), place);
  link_->tx_push(clock_now(), std::array{out});
  return true;
}

std::string hex_dump(wire::ByteView bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += kColumns) {
    const wire::ByteView row = bytes.subspan(at, std::min(kColumns, bytes.size() - at));
    text += fmt::format("    {:04x} ", at);
    std::string readable;
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (i % 2 == 0) text += ' ';
      text += i < row.size() ? fmt::format("{:02x}", std::to_integer<unsigned>(row[i])) : "  ";
      if (i >= row.size()) continue;
      const char c = static_cast<char>(row[i]);
      readable += c >= ' ' && c < 0x7f ? c : '.';
    }
    text += "  " + readable + "\n";
  }
  return text;
}

}  // namespace softrnic::tools
