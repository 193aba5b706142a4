// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/preferences.hpp"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace softrnic::dissector {
namespace {

struct Chosen {
  Boolean analyse = TRUE;
  int rd = 0;
};
Chosen chosen;

const enum_val_t kRdMeanings[] = {{"dc", "Mellanox DC (dynamically connected)", 0},
                                  {"rd", "RD (reliable datagram) as the standard has it", 1},
                                  {nullptr, nullptr, -1}};

// A row of the table as Wireshark keeps it: text, checked when it was typed.
struct Row {
  char* address_a;
  char* qp_a;
  char* address_b;
  char* qp_b;
  char* path_mtu;
};
Row* rows = nullptr;
unsigned row_count = 0;

std::optional<std::uint32_t> number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint32_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<wire::Gid> gid(const char* text) {
  return text == nullptr ? std::nullopt : wire::Gid::from_string(text);
}

Boolean refuse(char** error, const char* why) {
  *error = g_strdup(why);
  return FALSE;
}

Boolean check_address(void*, const char* text, unsigned length, const void*, const void*,
                      char** error) {
  if (wire::Gid::from_string(std::string_view(text, length))) return TRUE;
  return refuse(error, "An IPv4 or IPv6 address, or a GID, is expected here");
}

Boolean check_qp(void*, const char* text, unsigned length, const void*, const void*, char** error) {
  const auto qp = number(std::string_view(text, length));
  if (qp && *qp <= 0xffffff) return TRUE;
  return refuse(error, "A queue pair number is expected here, as 17 or 0x11, up to 0xffffff");
}

Boolean check_mtu(void*, const char* text, unsigned length, const void*, const void*,
                  char** error) {
  if (length == 0) return TRUE;
  const auto mtu = number(std::string_view(text, length));
  if (mtu &&
      (*mtu == 0 || *mtu == 256 || *mtu == 512 || *mtu == 1024 || *mtu == 2048 || *mtu == 4096)) {
    return TRUE;
  }
  return refuse(error, "A path MTU is 256, 512, 1024, 2048 or 4096; empty or 0: find out");
}

template <char* Row::*Member>
void set(void* row, const char* text, unsigned length, const void*, const void*) {
  char*& value = static_cast<Row*>(row)->*Member;
  g_free(value);
  value = g_strndup(text, length);
}

template <char* Row::*Member>
void to_text(void* row, char** text, unsigned* length, const void*, const void*) {
  const char* value = static_cast<Row*>(row)->*Member;
  *text = g_strdup(value == nullptr ? "" : value);
  *length = static_cast<unsigned>(std::strlen(*text));
}

void* copy(void* to, const void* from, std::size_t) {
  const auto& old = *static_cast<const Row*>(from);
  *static_cast<Row*>(to) = Row{g_strdup(old.address_a), g_strdup(old.qp_a), g_strdup(old.address_b),
                               g_strdup(old.qp_b), g_strdup(old.path_mtu)};
  return to;
}

void release(void* row) {
  auto& old = *static_cast<Row*>(row);
  for (char* text : {old.address_a, old.qp_a, old.address_b, old.qp_b, old.path_mtu}) g_free(text);
}

template <char* Row::*Member>
uat_field_t column(const char* name, const char* title, uat_fld_chk_cb_t check,
                   const char* meaning) {
  return {name,      title,   PT_TXTMOD_STRING, {check, set<Member>, to_text<Member>},
          {0, 0, 0}, nullptr, meaning,          FLDFILL};
}

uat_t* make_table() {
  static uat_field_t columns[] = {
      column<&Row::address_a>("address_a", "Address A", check_address,
                              "IP address or GID of one host"),
      column<&Row::qp_a>("qp_a", "QP A", check_qp, "Its queue pair number"),
      column<&Row::address_b>("address_b", "Address B", check_address,
                              "IP address or GID of the other host"),
      column<&Row::qp_b>("qp_b", "QP B", check_qp, "Its queue pair number"),
      column<&Row::path_mtu>("path_mtu", "Path MTU", check_mtu,
                             "In bytes; empty or 0: found out from the packets"),
      UAT_END_FIELDS};
  uat_t* table =
      uat_new("RoCE queue pairs", sizeof(Row), "roce_queue_pairs", TRUE, &rows, &row_count,
              UAT_AFFECTS_DISSECTION, nullptr, copy, nullptr, release, nullptr, nullptr, columns);
  static const char* defaults[] = {nullptr, nullptr, nullptr, nullptr, ""};
  uat_set_default_values(table, defaults);
  return table;
}

}  // namespace

const Preferences& preferences() {
  static Preferences current;
  current.analyse = chosen.analyse != 0;
  current.rd_is_dc = chosen.rd == 0;
  return current;
}

std::vector<analysis::KnownConnection> known_connections() {
  std::vector<analysis::KnownConnection> known;
  for (unsigned i = 0; i < row_count; ++i) {
    const Row& row = rows[i];
    const auto a = gid(row.address_a);
    const auto b = gid(row.address_b);
    const auto qp_a = number(row.qp_a == nullptr ? "" : row.qp_a);
    const auto qp_b = number(row.qp_b == nullptr ? "" : row.qp_b);
    if (!a || !b || !qp_a || !qp_b) continue;
    const auto mtu = number(row.path_mtu == nullptr ? "" : row.path_mtu);
    known.push_back({{*a, *b}, {*qp_a, *qp_b}, mtu.value_or(0)});
  }
  return known;
}

void register_preferences(int protocol) {
  module_t* module = prefs_register_protocol(protocol, nullptr);
  prefs_register_bool_preference(
      module, "analyze", "Analyze streams",
      "Follow connections, find losses, retransmissions and errors, match requests and answers",
      &chosen.analyse);
  prefs_register_enum_preference(
      module, "rd", "Opcodes 0x40 to 0x5f are",
      "The standard's RD, which nobody uses, and Mellanox DC, which is not published, share these "
      "opcodes",
      &chosen.rd, kRdMeanings, FALSE);
  prefs_register_uat_preference(
      module, "queue_pairs", "Connected queue pairs",
      "Queue pairs known to be connected, for captures that begin after the connection was made",
      make_table());
}

}  // namespace softrnic::dissector
