// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/statistic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>

#include "dissector/analysis.hpp"
#include "dissector/statistics.hpp"
#include "dissector/wireshark.hpp"

namespace softrnic::dissector {
namespace {

// Three significant digits, more before the point: 4, 41.2, 812, 4096.
std::string digits(double value) {
  const double size = std::fabs(value);
  if (value == std::floor(value) && size < 1e15) return fmt::format("{:.0f}", value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

struct Scale {
  double factor;
  const char* name;
};

std::string scaled(double value, std::span<const Scale> scales) {
  const Scale* chosen = &scales[0];
  for (const Scale& scale : scales) {
    if (std::fabs(value) >= scale.factor) chosen = &scale;
  }
  return digits(value / chosen->factor) + " " + chosen->name;
}

constexpr Scale kBytes[] = {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
constexpr Scale kMicroseconds[] = {{1, "us"}, {1e3, "ms"}, {1e6, "s"}};
constexpr Scale kSeconds[] = {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
constexpr Scale kBits[] = {{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}};

// The unit of bare numbers.
const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::duration:
      return " (us)";
    case Unit::time:
      return " (s)";
    case Unit::rate:
      return " (Mbit/s)";
    case Unit::share:
      return " (%)";
    case Unit::frequency:
      return " (1/s)";
    case Unit::text:
    case Unit::count:
    case Unit::bytes:
      break;
  }
  return "";
}

double bare(double value, Unit unit) {
  if (unit == Unit::rate) return value / 1e6;
  if (unit == Unit::share) return value * 100;
  return value;
}

// --- tshark: printed when the capture was read.

struct Printed {
  const StatisticKind* kind;
  std::unique_ptr<Statistic> statistic;
  std::string filter;
  std::vector<std::size_t> changed;
};

void reset_printed(void* data) {
  auto& printed = *static_cast<Printed*>(data);
  printed.statistic = printed.kind->make();
}

bool add_packet(Statistic& statistic, const void* data, std::vector<std::size_t>& changed) {
  const auto& packet = *static_cast<const TapPacket*>(data);
  changed.clear();
  if (packet.record == nullptr || analyzer() == nullptr) return false;
  statistic.add(packet, *analyzer(), changed);
  return !changed.empty();
}

tap_packet_status add_to_printed(void* data, packet_info*, epan_dissect_t*, const void* packet,
                                 tap_flags_t) {
  auto& printed = *static_cast<Printed*>(data);
  try {
    return add_packet(*printed.statistic, packet, printed.changed) ? TAP_PACKET_REDRAW
                                                                   : TAP_PACKET_DONT_REDRAW;
  } catch (const std::exception&) {
    return TAP_PACKET_FAILED;  // no memory
  }
}

void draw_printed(void* data) {
  auto& printed = *static_cast<Printed*>(data);
  const std::string text =
      print(*printed.kind, *printed.statistic, analyzer(), printed.filter.c_str());
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void finish_printed(void* data) {
  delete static_cast<Printed*>(data);
}

std::string command(const StatisticKind& kind) {
  return std::string("roce,") + kind.name;
}

void start_printed(const char* argument, void* data) {
  const auto& kind = *static_cast<const StatisticKind*>(data);
  const std::string name = command(kind);
  std::string filter;
  if (std::strncmp(argument, (name + ",").c_str(), name.size() + 1) == 0) {
    filter = argument + name.size() + 1;
  }
  auto* printed = new Printed{&kind, kind.make(), filter, {}};
  GString* error = register_tap_listener("roce", printed, filter.empty() ? nullptr : filter.c_str(),
                                         TL_REQUIRES_NOTHING, reset_printed, add_to_printed,
                                         draw_printed, finish_printed);
  if (error == nullptr) return;
  std::fprintf(stderr, "tshark: Couldn't register the table %s: %s\n", name.c_str(), error->str);
  g_string_free(error, TRUE);
  delete printed;
  std::exit(1);
}

// --- Wireshark and sharkd: a table of theirs, kept up with each packet.

struct Shown {
  const StatisticKind* kind;
  std::string command;
  std::string title;
  std::vector<std::string> column_titles;
  std::vector<stat_tap_table_item> columns;
  stat_tap_table_ui ui;
  std::unique_ptr<Statistic> statistic;
  std::vector<std::size_t> changed;
};

// All of them, by the only thing that comes back from Wireshark.
std::vector<std::unique_ptr<Shown>>& all_shown() {
  static std::vector<std::unique_ptr<Shown>> all;
  return all;
}

Shown* find_shown(const stat_tap_table_ui* ui) {
  for (const auto& shown : all_shown()) {
    if (&shown->ui == ui) return shown.get();
  }
  return nullptr;
}

Shown* find_shown(const stat_tap_table* table) {
  for (const auto& shown : all_shown()) {
    if (shown->title == table->title) return shown.get();
  }
  return nullptr;
}

void free_item(stat_tap_table*, guint, guint, stat_tap_table_item_type* item) {
  if (item->type == TABLE_ITEM_STRING) g_free(const_cast<char*>(item->value.string_value));
  item->type = TABLE_ITEM_NONE;
}

void reset_table(stat_tap_table* table) {
  for (guint row = 0; row < table->num_elements; ++row) {
    for (guint column = 0; column < table->num_fields; ++column) {
      free_item(table, row, column, &table->elements[row][column]);
    }
    g_free(table->elements[row]);
  }
  table->num_elements = 0;
  if (Shown* shown = find_shown(table)) shown->statistic = shown->kind->make();
}

void start_table(stat_tap_table_ui* ui) {
  Shown* shown = find_shown(ui);
  if (stat_tap_table* table = stat_tap_find_table(ui, shown->title.c_str())) {
    reset_table(table);
    return;
  }
  shown->statistic = shown->kind->make();
  stat_tap_add_table(ui, stat_tap_init_table(shown->title.c_str(),
                                             static_cast<int>(shown->columns.size()), 0, nullptr));
}

// All cells of a column are of one type, as Wireshark compares them to sort: an empty one is 0.
void set_item(stat_tap_table_item_type& item, const Cell& cell, Unit unit) {
  if (unit == Unit::text) {
    item.type = TABLE_ITEM_STRING;
    item.value.string_value = g_strdup(cell.text.c_str());
  } else if (unit == Unit::count) {
    item.type = TABLE_ITEM_UINT;
    item.value.uint_value =
        static_cast<guint>(std::min(cell.number, double{std::numeric_limits<guint>::max()}));
  } else {
    item.type = TABLE_ITEM_FLOAT;
    item.value.float_value = bare(cell.number, unit);
  }
}

void show_row(const Shown& shown, stat_tap_table* table, std::size_t index) {
  const Row row = shown.statistic->row(index, *analyzer());
  const auto number = static_cast<guint>(index);
  if (number < table->num_elements) {
    for (guint column = 0; column < table->num_fields; ++column) {
      free_item(table, number, column, &table->elements[number][column]);
    }
  }
  std::vector<stat_tap_table_item_type> items(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    set_item(items[i], row[i], shown.kind->columns[i].unit);
  }
  stat_tap_init_table_row(table, number, static_cast<guint>(items.size()), items.data());
}

tap_packet_status add_to_table(void* data, packet_info*, epan_dissect_t*, const void* packet,
                               tap_flags_t) {
  const auto* tapped = static_cast<const stat_data_t*>(data);
  Shown* shown = find_shown(tapped->stat_tap_data);
  if (shown == nullptr || shown->statistic == nullptr) return TAP_PACKET_FAILED;
  stat_tap_table* table = stat_tap_find_table(tapped->stat_tap_data, shown->title.c_str());
  if (table == nullptr) return TAP_PACKET_FAILED;
  try {
    if (!add_packet(*shown->statistic, packet, shown->changed)) return TAP_PACKET_DONT_REDRAW;
    for (const std::size_t row : shown->changed) show_row(*shown, table, row);
    return TAP_PACKET_REDRAW;
  } catch (const std::exception&) {
    return TAP_PACKET_FAILED;  // no memory
  }
}

tap_param filter_parameter[] = {{PARAM_FILTER, "filter", "Filter", nullptr, TRUE}};

stat_tap_table_item_enum item_type(Unit unit) {
  if (unit == Unit::text) return TABLE_ITEM_STRING;
  return unit == Unit::count ? TABLE_ITEM_UINT : TABLE_ITEM_FLOAT;
}

void register_shown(const StatisticKind& kind) {
  auto shown = std::make_unique<Shown>();
  shown->kind = &kind;
  shown->command = command(kind);
  shown->title = std::string("RoCE ") + kind.title;
  shown->column_titles.reserve(kind.columns.size());
  for (const Column& column : kind.columns) {
    shown->column_titles.push_back(std::string(column.title) + unit_name(column.unit));
    shown->columns.push_back({item_type(column.unit),
                              column.unit == Unit::text ? TAP_ALIGN_LEFT : TAP_ALIGN_RIGHT,
                              shown->column_titles.back().c_str(),
                              item_type(column.unit) == TABLE_ITEM_FLOAT ? "%.3f" : nullptr});
  }
  shown->ui = {REGISTER_PACKET_STAT_GROUP_UNSORTED,
               shown->title.c_str(),
               "roce",
               shown->command.c_str(),
               start_table,
               add_to_table,
               reset_table,
               free_item,
               nullptr,
               shown->columns.size(),
               shown->columns.data(),
               std::size(filter_parameter),
               filter_parameter,
               nullptr,
               0};
  all_shown().push_back(std::move(shown));
  register_stat_tap_table_ui(&all_shown().back()->ui);
}

void register_printed(const StatisticKind& kind) {
  // Held until the program ends: Wireshark keeps the pointers.
  static std::vector<std::unique_ptr<std::string>> texts;
  texts.push_back(std::make_unique<std::string>(command(kind)));
  stat_tap_ui ui = {REGISTER_STAT_GROUP_GENERIC, kind.title,
                    texts.back()->c_str(),       start_printed,
                    std::size(filter_parameter), filter_parameter};
  register_stat_tap_ui(&ui, const_cast<StatisticKind*>(&kind));
}

// Lines of text in columns: words to the left, numbers to the right.
class Lines {
 public:
  using Line = std::vector<std::string>;

  Lines(std::span<const Column> columns, const std::vector<Line>& lines) : columns_(columns) {
    for (const Column& column : columns) {
      titles_.push_back(column.title);
      widths_.push_back(titles_.back().size());
    }
    for (const Line& line : lines) {
      for (std::size_t i = 0; i < line.size(); ++i) {
        widths_[i] = std::max(widths_[i], line[i].size());
      }
    }
  }

  std::string line(const Line& cells) const {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string fill(widths_[i] - cells[i].size(), ' ');
      if (i != 0) text += kBetween;
      text += columns_[i].unit == Unit::text ? cells[i] + fill : fill + cells[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  std::string titles() const { return line(titles_); }

  std::string rule(char character) const {
    std::size_t width = kBetween.size() * (widths_.size() - 1);
    for (const std::size_t one : widths_) width += one;
    return std::string(width, character) + "\n";
  }

 private:
  static constexpr std::string_view kBetween = "  ";

  std::span<const Column> columns_;
  Line titles_;
  std::vector<std::size_t> widths_;
};

Lines::Line texts(const Row& row, std::span<const Column> columns) {
  Lines::Line line;
  for (std::size_t i = 0; i < row.size(); ++i) line.push_back(to_text(row[i], columns[i].unit));
  return line;
}

}  // namespace

std::string to_text(const Cell& cell, Unit unit) {
  if (unit == Unit::text || !cell.text.empty()) return cell.text;
  if (cell.empty) return "-";
  switch (unit) {
    case Unit::bytes:
      return scaled(cell.number, kBytes);
    case Unit::duration:
      return scaled(cell.number, kMicroseconds);
    case Unit::time:
      return scaled(cell.number, kSeconds);
    case Unit::rate:
      return scaled(cell.number, kBits);
    case Unit::share:
      return cell.number == 0 ? "0 %" : fmt::format("{:.2f} %", cell.number * 100);
    case Unit::frequency:
      return digits(cell.number) + "/s";
    case Unit::count:
    case Unit::text:
      break;
  }
  return fmt::format("{:.0f}", cell.number);
}

std::string print(const StatisticKind& kind, Statistic& statistic,
                  const analysis::Analyzer* analyzer, const char* filter) {
  std::vector<Lines::Line> rows;
  if (analyzer != nullptr) {
    statistic.settle(*analyzer);
    for (std::size_t i = 0; i < statistic.row_count(); ++i) {
      rows.push_back(texts(statistic.row(i, *analyzer), kind.columns));
    }
  }
  const bool has_total = !rows.empty() && !statistic.total().empty();
  if (has_total) rows.push_back(texts(statistic.total(), kind.columns));
  const Lines lines(kind.columns, rows);

  std::string text = "\n" + lines.rule('=') + "RoCE " + kind.title + "\n";
  if (*filter != '\0') text += std::string("Filter: ") + filter + "\n";
  if (kind.explain != nullptr) text += std::string(kind.explain) + "\n";
  if (analyzer == nullptr) text += "Nothing was analyzed: see the preference \"Analyze streams\"\n";
  text += lines.rule('-') + lines.titles() + lines.rule('-');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (has_total && i + 1 == rows.size()) text += lines.rule('-');
    text += lines.line(rows[i]);
  }
  return text + lines.rule('=');
}

void register_statistic(const StatisticKind& kind) {
  // tshark prints tables of Wireshark's kind without aligning them and would put its own in place
  // of one of the same name.
  const char* program = g_get_prgname();
  if (program != nullptr && std::strcmp(program, "tshark") == 0) {
    register_printed(kind);
  } else {
    register_shown(kind);
  }
}

void register_statistics() {
  register_statistics_streams();
  register_statistics_operations();
  register_statistics_loss();
  register_statistics_naks();
  register_statistics_congestion();
  register_statistics_packets();
}

}  // namespace softrnic::dissector
