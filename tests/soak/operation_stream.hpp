// SPDX-License-Identifier: BSD-3-Clause
// The operations of one flow (one direction of a connection), drawn from a seed. Sender and
// receiver draw the same stream, each for itself, so neither needs to be told what comes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "property/random.hpp"
#include "transport/work_request.hpp"

namespace softrnic::soak {

inline constexpr std::uint32_t kMaxLength = 6000;  // of a message
inline constexpr std::uint32_t kMaxPieces = 32;    // of a scatter/gather list
inline constexpr std::uint32_t kMaxInline = 256;
// Between two operations that consume a receive there are at most so many WRITEs; what the
// receiver has not yet looked at is bounded by that (kWriteTargets).
inline constexpr std::uint32_t kWritesBetweenReceives = 3;

struct Operation {
  std::uint64_t index = 0;
  transport::SendOperation kind{};
  std::uint64_t name = 0;  // of its payload and layout
  std::uint32_t length = 0;
  std::uint32_t pieces = 1;
  std::uint32_t receive_pieces = 1;
  std::uint32_t receive_slack = 0;  // bytes by which the receive is larger than the message
  std::uint32_t immediate = 0;
  std::uint64_t operand = 0;  // of an atomic
  std::uint64_t write = 0;    // WRITEs: how many came before
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
  bool is_inline = false;
  bool compare_hits = false;

  bool has_immediate() const {
    return kind == transport::SendOperation::send_with_immediate ||
           kind == transport::SendOperation::rdma_write_with_immediate;
  }
  bool is_send() const {
    return kind == transport::SendOperation::send ||
           kind == transport::SendOperation::send_with_immediate;
  }
  bool is_write() const {
    return kind == transport::SendOperation::rdma_write ||
           kind == transport::SendOperation::rdma_write_with_immediate ||
           kind == transport::SendOperation::atomic_write;
  }
  bool is_atomic() const {
    return kind == transport::SendOperation::compare_swap ||
           kind == transport::SendOperation::fetch_add;
  }
  bool is_read() const { return kind == transport::SendOperation::rdma_read; }
  bool is_flush() const { return kind == transport::SendOperation::flush; }
  bool consumes_receive() const {
    return is_send() || kind == transport::SendOperation::rdma_write_with_immediate;
  }
};

class OperationStream {
 public:
  // `signal_every`: at least every so many operations one is signaled.
  OperationStream(std::uint64_t seed, std::uint32_t signal_every)
      : random_(seed), signal_every_(signal_every) {}

  Operation next();

 private:
  transport::SendOperation draw_kind();
  std::uint32_t draw_length();

  property::Random random_;
  std::uint32_t signal_every_;
  std::uint32_t since_signal_ = 0;
  std::uint32_t writes_since_receive_ = 0;
  std::uint64_t next_index_ = 0;
  std::uint64_t next_write_ = 0;
};

// A message laid out in pieces, with a few guard bytes before each.
struct Layout {
  std::array<std::uint32_t, kMaxPieces> offsets;
  std::array<std::uint32_t, kMaxPieces> lengths;
  std::uint32_t count = 0;
};
inline constexpr std::uint32_t kMaxGap = 4;
// What the largest layout takes, guards behind it included.
inline constexpr std::uint32_t kSlotSize = kMaxLength + kMaxPieces * kMaxGap + 120;

Layout lay_out(std::uint64_t name, std::uint32_t length, std::uint32_t pieces);

}  // namespace softrnic::soak
