// SPDX-License-Identifier: BSD-3-Clause
#include "explain/message_order.hpp"

namespace softrnic::explain {

void MessageOrder::on_message(const analysis::Message& message,
                              const analysis::Stream& /*stream*/) {
  held_.push(message);
  if (held_.size() <= kHeldBack) return;
  take_(held_.top());
  held_.pop();
}

void MessageOrder::finish() {
  for (; !held_.empty(); held_.pop()) take_(held_.top());
}

}  // namespace softrnic::explain
