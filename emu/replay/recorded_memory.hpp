// SPDX-License-Identifier: BSD-3-Clause
// The memory of one end of a recorded connection, as far as the other end's operations show it:
// which addresses its keys opened, which bytes were there at the beginning, and which are there
// after each operation.
//
// The ranges lie one after another in an image, each with the same place in a word of eight bytes
// as its captured address has, so that atomics stay aligned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/recorded_connection.hpp"
#include "replay/sparse_bytes.hpp"

namespace softrnic::replay {

// What operations name through one key. A key has several ranges where they name far apart places.
struct RecordedRange {
  std::uint32_t key = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     // exclusive
  std::uint64_t offset = 0;  // of `begin` in the image
  std::uint32_t operations = 0;
  bool refused = false;  // no use of it was granted

  std::uint64_t size() const { return end - begin; }
};

// What of a READ's or atomic's answer can be held against the capture.
struct AnswerCheck {
  std::uint64_t compared = 0;   // bytes
  std::uint64_t different = 0;  // of these
  std::uint64_t first = 0;      // offset of the first different one
};

class RecordedMemory {
 public:
  // Of the end that `asker`'s operations name. The error is one sentence.
  static wire::Expected<RecordedMemory, std::string> of(RecordedConnection& connection,
                                                        std::uint8_t asker);

  const std::vector<RecordedRange>& ranges() const { return ranges_; }
  std::uint64_t size() const { return size_; }
  // Where in the image; nothing for what no operation names.
  std::optional<std::uint64_t> locate(std::uint32_t key, std::uint64_t address,
                                      std::uint64_t length) const;

  // What was there before the first operation, zeros where the capture does not tell.
  std::span<const std::byte> initial() const { return initial_.span(); }
  // What is there after the last one, when all are granted.
  std::span<const std::byte> final_image() const { return now_.span(); }

  // Begins again. `primed`: the live memory holds what initial() has; else nothing is known of it.
  void rewind(bool primed);
  // The operation executes; operations must come in their order.
  void execute(const RecordedOperation& operation);
  // Whether the captured host itself had changed what the operation, which is about to be executed,
  // found; the change is made.
  bool change_before(const RecordedOperation& operation);
  // The captured answer of a READ or atomic; empty when the capture has none. Good until the next
  // call.
  std::span<const std::byte> captured_answer(const RecordedOperation& operation) const;
  // The live answer to an operation that is about to be executed, against the captured one. Bytes
  // are left out that nothing has told yet, or that the captured host changed by itself.
  AnswerCheck check(const RecordedOperation& operation, std::span<const std::byte> answer) const;

 private:
  struct Run {
    std::uint64_t at = 0;
    std::uint64_t size = 0;
  };

  explicit RecordedMemory(RecordedConnection& connection) : connection_(&connection) {}
  void find_ranges(const RecordedSide& asker);
  void learn_initial(const RecordedSide& asker);
  void write(std::uint64_t at, std::span<const std::byte> bytes);

  RecordedConnection* connection_;
  std::vector<RecordedRange> ranges_;              // those of a key side by side
  std::unordered_map<std::uint32_t, Run> by_key_;  // where its ranges are
  std::uint64_t size_ = 0;
  SparseBytes initial_;
  std::vector<Run> told_;  // what the capture tells of it
  SparseBytes now_;
  SparseBytes known_;  // a byte for each: whether now_ has it
  bool all_known_ = false;
  mutable std::uint64_t scratch_ = 0;  // an atomic's answer
};

}  // namespace softrnic::replay
