// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/expert_wanted.hpp"

#include <epan/column-info.h>

namespace softrnic::dissector {
namespace {

bool is_listed() {
  static const int tap = find_tap_id("expert");
  return tap != 0 && have_tap_listener(tap);
}

bool has_column(const column_info* columns) {
  return columns != nullptr && columns->col_first != nullptr && columns->col_first[COL_EXPERT] >= 0;
}

}  // namespace

bool expert_wanted(const packet_info* pinfo, const proto_tree* tree) {
  return tree != nullptr || is_listed() || has_column(pinfo->cinfo);
}

}  // namespace softrnic::dissector
