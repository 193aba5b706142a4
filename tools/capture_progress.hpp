// SPDX-License-Identifier: BSD-3-Clause
// How far the reading of a capture is: a bar on a terminal's standard error, for files that take
// longer than a moment. It is gone when the object is.
#pragma once

#include "capture/capture_file.hpp"

namespace softrnic::tools {

class CaptureProgress {
 public:
  explicit CaptureProgress(const capture::CaptureFile& file);
  ~CaptureProgress();
  CaptureProgress(const CaptureProgress&) = delete;
  CaptureProgress& operator=(const CaptureProgress&) = delete;

  void on_record(const capture::Record& record) {
    constexpr std::uint32_t kEvery = 1 << 16;
    if (shown_on_ && record.number % kEvery == 0) show(record.number);
  }

 private:
  void show(std::uint32_t frames);

  const capture::CaptureFile& file_;
  bool shown_on_;
  bool shown_ = false;
};

}  // namespace softrnic::tools
