// SPDX-License-Identifier: BSD-3-Clause
// Requests as the extended interface builds them (ibv_wr_start() to ibv_wr_complete()): posted
// together or not at all.
//
// Between start and end one thread has it to itself. What it keeps is reused, so that nothing is
// allocated once it has grown.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "transport/work_request.hpp"

namespace softrnic::verbs {

class RequestBatch {
 public:
  void start();
  // The error so far: what a setter was given that cannot be posted.
  int error() const { return error_; }
  void fail(int error) {
    if (error_ == 0) error_ = error;
  }
  void end() { mutex_.unlock(); }

  // A new request, for the setters that follow.
  transport::SendRequest& add(const ibv_qp_ex& queue_pair, bool signals_all,
                              transport::SendOperation operation);
  transport::SendRequest* current();
  void set_binding(const transport::WindowBinding& binding);
  void set_list(std::span<const ibv_sge> list);
  void set_inline(std::span<const ibv_data_buf> buffers, std::size_t most);

  std::size_t size() const { return size_; }
  // The request with its lists where they are now; good until the next start().
  const transport::SendRequest& operator[](std::size_t index);

 private:
  struct Entry {
    transport::SendRequest request;
    std::vector<transport::Sge> sges;
    std::vector<std::byte> inline_data;
    transport::WindowBinding binding;
    bool has_binding = false;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t size_ = 0;
  int error_ = 0;
};

}  // namespace softrnic::verbs
