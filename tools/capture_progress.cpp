// SPDX-License-Identifier: BSD-3-Clause
#include "capture_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace softrnic::tools {

namespace {

constexpr int kWidth = 40;

}  // namespace

CaptureProgress::CaptureProgress(const capture::CaptureFile& file)
    : file_(file), shown_on_(isatty(STDERR_FILENO) == 1) {}

CaptureProgress::~CaptureProgress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void CaptureProgress::show(std::uint32_t frames) {
  shown_ = true;
  const auto read = static_cast<double>(file_.position());
  if (file_.size() == 0) {
    fmt::print(stderr, "\r\x1b[K{} frames, {:.0f} MiB", frames, read / (1 << 20));
  } else {
    // A file that still grows is longer than it was.
    const double share = std::min(read / static_cast<double>(file_.size()), 1.0);
    const int done = static_cast<int>(share * kWidth);
    fmt::print(stderr, "\r[{:=<{}}{: <{}}] {:3.0f} %, {} frames", "", done, "", kWidth - done,
               share * 100, frames);
  }
  std::fflush(stderr);
}

}  // namespace softrnic::tools
