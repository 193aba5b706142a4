// SPDX-License-Identifier: BSD-3-Clause
// Reads a file of Endace's records (ERF), one after the other with nothing around them. Such a file
// has no mark of its own: it is known by records that fit.
#pragma once

#include <string>

#include "capture/byte_source.hpp"
#include "wire/instant.hpp"

namespace softrnic::capture {

class ErfReader {
 public:
  explicit ErfReader(ByteSource& source) : source_(source) {}

  struct Packet {
    wire::Instant at;
    std::uint32_t wire_size = 0;  // with the record's header
    wire::ByteView bytes;         // the whole record
  };

  // Null at the end, and where the file is damaged. Good until the next call.
  const Packet* next();
  // What is wrong with it; empty when nothing is.
  const std::string& damage() const { return damage_; }

  // So many bytes, or all there are, tell whether it is such a file.
  static constexpr std::size_t kTelling = 8192;
  static bool is_erf(wire::ByteView beginning);

 private:
  ByteSource& source_;
  std::uint64_t to_pass_ = 0;
  Packet packet_;
  std::string damage_;
};

}  // namespace softrnic::capture
