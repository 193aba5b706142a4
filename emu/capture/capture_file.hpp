// SPDX-License-Identifier: BSD-3-Clause
// A capture file, read record by record: pcap or pcapng, from a file or a pipe.
//
// pcapng_reader reads pcapng, erf_reader ERF, libpcap what is older. Holds one record at a time,
// whatever the size of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "capture/link_layer.hpp"
#include "wire/bytes.hpp"
#include "wire/expected.hpp"
#include "wire/instant.hpp"

namespace softrnic::capture {

struct Record {
  std::uint32_t number = 0;  // from 1, as Wireshark counts
  wire::Instant at;          // since the Unix epoch
  std::uint32_t wire_size = 0;
  wire::ByteView bytes;        // as many of them as were captured
  std::string_view comment{};  // of pcapng

  // The capture kept only the frame's beginning (a snap length).
  bool cut() const { return bytes.size() < wire_size; }
};

class CaptureFile {
 public:
  // "-" is standard input. The error is one sentence: why it cannot be read and what to do.
  static wire::Expected<CaptureFile, std::string> open(const std::string& path);
  ~CaptureFile();
  CaptureFile(CaptureFile&&) noexcept;
  CaptureFile& operator=(CaptureFile&&) noexcept;

  // Null at the end, and where the file is damaged. The record is good until the next call.
  const Record* next();

  // Why it ended before its end, in one sentence; empty when it did not.
  const std::string& damage() const { return damage_; }

  // Of the newest record, as the interfaces in one pcapng file may be of different types; before
  // the first record, of that one.
  LinkType link_type() const { return link_type_; }
  std::uint64_t size() const { return size_; }  // bytes; 0: a pipe
  std::uint64_t position() const;               // bytes read so far

 private:
  struct Handle;
  CaptureFile(std::unique_ptr<Handle> handle, std::string name);
  std::string begin();
  bool read();
  bool read_pcapng();
  bool read_erf();
  bool read_pcap();
  void fail_after(std::string_view why);
  const Record* fail(std::string why);

  std::unique_ptr<Handle> handle_;
  std::string name_;
  std::string damage_;
  LinkType link_type_{};
  std::uint64_t size_ = 0;
  Record record_;
};

}  // namespace softrnic::capture
