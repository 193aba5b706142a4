// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/message.hpp"

namespace softrnic::analysis {

std::string_view to_string(MessageState state) {
  switch (state) {
    case MessageState::open:
      return "open";
    case MessageState::complete:
      return "complete";
    case MessageState::refused:
      return "refused";
    case MessageState::abandoned:
      break;
  }
  return "abandoned";
}

}  // namespace softrnic::analysis
