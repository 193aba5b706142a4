// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/findings.hpp"

#include <array>
#include <vector>

#include "analysis/finding.hpp"
#include "dissector/analysis.hpp"
#include "dissector/expert_wanted.hpp"
#include "dissector/fields.hpp"

namespace softrnic::dissector {
namespace {

std::array<expert_field, analysis::kFindingKinds> expert_ids;

int severity_of(const analysis::FindingInfo& info) {
  switch (info.severity) {
    case analysis::Severity::chat:
      return PI_CHAT;
    case analysis::Severity::note:
      return PI_NOTE;
    case analysis::Severity::warning:
      return PI_WARN;
    case analysis::Severity::error:
      return PI_ERROR;
  }
  return PI_NOTE;
}

// Shown with the ICRC itself.
bool shown_elsewhere(const analysis::Finding& finding) {
  return finding.kind == analysis::FindingKind::bad_icrc;
}

const char* words_of(wmem_allocator_t* pool, const analysis::Finding& finding) {
  return wmem_strdup(pool, analysis::sentence(finding).c_str());
}

// "[PSN gap: 3 packets are missing ...]" with what it means and where to look below it.
proto_item* add_item(proto_tree* tree, tvbuff_t* tvb, const analysis::Finding& finding,
                     const char* words) {
  if (tree == nullptr) return nullptr;
  const analysis::FindingInfo& info = analysis::info(finding.kind);
  proto_item* item = proto_tree_add_none_format(tree, field(FieldId::findings), tvb, 0, 0, "%s: %s",
                                                info.title.data(), words);
  proto_item_set_generated(item);
  proto_tree* below = proto_item_add_subtree(item, subtree(Subtree::analysis));
  if (info.severity != analysis::Severity::chat) {
    proto_item_set_generated(
        proto_tree_add_item(below, field(FieldId::finding_flags), tvb, 0, 0, ENC_NA));
  }
  proto_item_set_generated(
      proto_tree_add_string(below, field(FieldId::meaning), tvb, 0, 0, info.meaning.data()));
  if (finding.related != 0) {
    proto_item_set_generated(
        proto_tree_add_uint(below, field(FieldId::related_frame), tvb, 0, 0, finding.related));
  }
  return item;
}

void add_finding(proto_tree* tree, tvbuff_t* tvb, packet_info* pinfo,
                 const analysis::Finding& finding) {
  const char* words = words_of(pinfo->pool, finding);
  proto_item* item = add_item(tree, tvb, finding, words);
  expert_add_info_format(pinfo, item, &expert_ids[static_cast<std::size_t>(finding.kind)], "%s: %s",
                         analysis::info(finding.kind).title.data(), words);
}

}  // namespace

void add_findings(proto_tree* tree, tvbuff_t* tvb, packet_info* pinfo,
                  const analysis::PacketRecord& record) {
  if (record.finding_count == 0 || analyzer() == nullptr || !expert_wanted(pinfo, tree)) return;
  for (const analysis::Finding& finding : analyzer()->findings(record)) {
    if (!shown_elsewhere(finding)) add_finding(tree, tvb, pinfo, finding);
  }
}

void register_findings(expert_module* experts) {
  static std::vector<ei_register_info> rows;
  for (const analysis::FindingInfo& info : analysis::all_findings()) {
    if (info.kind == analysis::FindingKind::bad_icrc) continue;
    expert_field& id = expert_ids[static_cast<std::size_t>(info.kind)];
    id = EI_INIT;
    char* filter = wmem_strdup_printf(wmem_epan_scope(), "roce.analysis.%s", info.name.data());
    rows.push_back({&id, {filter, PI_SEQUENCE, severity_of(info), info.title.data(), EXPFILL}});
  }
  expert_register_field_array(experts, rows.data(), static_cast<int>(rows.size()));
}

}  // namespace softrnic::dissector
