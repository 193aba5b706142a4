// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/stream.hpp"

namespace softrnic::analysis {

std::string_view to_string(PairedBy how) {
  switch (how) {
    case PairedBy::nothing:
      return "nothing";
    case PairedBy::cm:
      return "cm";
    case PairedBy::user:
      return "user";
    case PairedBy::answer:
      return "answer";
    case PairedBy::guess:
      return "guess";
    case PairedBy::deth:
      break;
  }
  return "deth";
}

}  // namespace softrnic::analysis
