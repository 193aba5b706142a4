// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/request_batch.hpp"

#include <cerrno>
#include <cstring>

namespace softrnic::verbs {

using transport::SendRequest;

void RequestBatch::start() {
  mutex_.lock();
  size_ = 0;
  error_ = 0;
}

SendRequest& RequestBatch::add(const ibv_qp_ex& queue_pair, bool signals_all,
                               transport::SendOperation operation) {
  if (size_ == entries_.size()) entries_.emplace_back();
  Entry& entry = entries_[size_++];
  entry.sges.clear();
  entry.inline_data.clear();
  entry.has_binding = false;
  entry.request = SendRequest{};
  entry.request.id = queue_pair.wr_id;
  entry.request.operation = operation;
  entry.request.signaled = signals_all || (queue_pair.wr_flags & IBV_SEND_SIGNALED) != 0;
  entry.request.solicited = (queue_pair.wr_flags & IBV_SEND_SOLICITED) != 0;
  entry.request.fence = (queue_pair.wr_flags & IBV_SEND_FENCE) != 0;
  return entry.request;
}

SendRequest* RequestBatch::current() {
  if (size_ > 0) return &entries_[size_ - 1].request;
  fail(EINVAL);
  return nullptr;
}

void RequestBatch::set_binding(const transport::WindowBinding& binding) {
  if (current() == nullptr) return;
  entries_[size_ - 1].binding = binding;
  entries_[size_ - 1].has_binding = true;
}

void RequestBatch::set_list(std::span<const ibv_sge> list) {
  if (current() == nullptr) return;
  std::vector<transport::Sge>& sges = entries_[size_ - 1].sges;
  sges.clear();
  for (const ibv_sge& sge : list) sges.push_back({sge.addr, sge.length, sge.lkey});
}

void RequestBatch::set_inline(std::span<const ibv_data_buf> buffers, std::size_t most) {
  if (current() == nullptr) return;
  std::vector<std::byte>& data = entries_[size_ - 1].inline_data;
  data.clear();
  for (const ibv_data_buf& buffer : buffers) {
    if (buffer.length > most - data.size()) return fail(EINVAL);
    const auto* bytes = static_cast<const std::byte*>(buffer.addr);
    data.insert(data.end(), bytes, bytes + buffer.length);
  }
}

const SendRequest& RequestBatch::operator[](std::size_t index) {
  Entry& entry = entries_[index];
  entry.request.sges = entry.sges;
  entry.request.inline_data = entry.inline_data;
  entry.request.binding = entry.has_binding ? &entry.binding : nullptr;
  return entry.request;
}

}  // namespace softrnic::verbs
