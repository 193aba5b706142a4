// SPDX-License-Identifier: BSD-3-Clause
#include "explain/page.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "explain/page_selection.hpp"
#include "explain/page_summary.hpp"
#include "explain/page_table.hpp"
#include "explain/page_text.hpp"

using namespace softrnic::explain;
using Json = nlohmann::ordered_json;

namespace {

Json connection(unsigned id, std::size_t points = 0) {
  Json one = {{"id", id},
              {"service", "rc"},
              {"version", "v2"},
              {"ends", {{{"address", "10.0.0.1"}, {"qpn", 0x11}}, {{"address", "fd00::2"}}}},
              {"begins_ns", 0},
              {"ends_ns", 1'000'000},
              {"ended", "refused"},
              {"directions",
               {{{"packets", 1200}, {"payload_bytes", 5000}, {"goodput_bytes", 4000}},
                {{"packets", 34}, {"payload_bytes", 0}}}},
              {"losses", {{"packets", 2}}},
              {"naks", {{"0x60", 3}, {"0x2c", 9}}},
              {"findings", Json::object()}};
  if (points != 0) {
    one["sequence"] = {{"points", Json::array()}};
    for (std::size_t i = 0; i < points; ++i) one["sequence"]["points"].push_back({i, 0, 0, 0, i});
  }
  return one;
}

Json explanation(std::size_t connections) {
  Json out = {{"file", "a.pcapng"}, {"complete", true}, {"frames", 12345}, {"faults", 0}};
  out["connections"] = Json::array();
  for (unsigned id = 0; id < connections; ++id) out["connections"].push_back(connection(id));
  return out;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool holds(const std::string& text, const std::string& part) {
  return times(text, part) != 0;
}

}  // namespace

TEST_CASE("text is escaped for elements and attributes") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped("µs → 10\t\n") == "µs → 10\t\n");
  const std::string replaced = "\xef\xbf\xbd";
  CHECK(escaped("\xff!") == replaced + "!");
  CHECK(escaped(std::string("\0\x1b", 2)) == replaced + replaced);
  CHECK(escaped("\xe2\x82") == replaced + replaced);                 // cut short
  CHECK(escaped("\xc0\xbc") == replaced + replaced);                 // "<", longer than need be
  CHECK(escaped("\xed\xa0\x80") == replaced + replaced + replaced);  // a surrogate
  CHECK(escaped("\xf0\x9f\x90\x9f") == "\xf0\x9f\x90\x9f");
}

TEST_CASE("JSON in a script element holds nothing that could end it") {
  const Json json = {{"</script>", "<!-- & \xff"}};
  const std::string text = json_for_script(json);
  for (const char* bad : {"<", ">", "&"}) CHECK_FALSE(holds(text, bad));
  CHECK(Json::parse(text).contains("</script>"));
}

TEST_CASE("figures") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(count_of(1, "frame") == "1 frame");
  CHECK(count_of(0, "frame") == "0 frames");
  CHECK(page_duration(0) == "0 ns");
  CHECK(page_duration(12'345) == "12.35 µs");
  CHECK(page_duration(67'108'864) == "67.11 ms");
  CHECK(page_duration(4'300'000'000) == "4.3 s");
  CHECK(page_bytes(999) == "999 bytes");
  CHECK(page_bytes(4'200'000) == "4.2 MB");
  CHECK(page_rate(1.104e9) == "1.104 Gbit/s");
  CHECK(page_rate(80) == "80 bit/s");
}

TEST_CASE("members that are missing or of another kind are nothing") {
  const Json json = {{"n", "text"}, {"t", 5}};
  CHECK(number_in(json, "n", 7) == 7);
  CHECK(number_in(json, "absent") == 0);
  CHECK(number_in(Json(), "n") == 0);
  CHECK(text_in(json, "t").empty());
  CHECK(member_of(json, "absent").is_null());
}

TEST_CASE("a row has both directions together") {
  const std::string row = table_row(connection(5));
  CHECK(holds(row, "data-connection=\"5\""));
  CHECK(holds(row, "10.0.0.1 QP 0x000011"));
  CHECK(holds(row, "fd00::2 QP unknown"));
  CHECK(holds(row, "data-value=\"1234\">1,234<"));  // packets
  CHECK(holds(row, "data-value=\"5000\">5 kB<"));   // payload
  CHECK(holds(row, ">32 Mbit/s<"));                 // goodput
  CHECK(holds(row, "<td class=\"n bad\">2</td>"));  // lost
  CHECK(holds(row, "<td class=\"n bad\">3</td>"));  // NAKs
  CHECK(holds(row, "<span class=\"tag bad\">refused</span>"));
}

TEST_CASE("the summary says what the capture holds") {
  Json json = explanation(1);
  json["traffic"] = {{"roce_v1", 0}, {"roce_v2", 12340}, {"other_ip", 5}};
  CHECK(holds(page_summary(json), "<small>12,340 RoCE v2, 5 other IP</small>"));
  CHECK(holds(page_summary(json), "No fault."));
  CHECK(holds(page_summary(json), "12,345"));
  json["first_fault"] = {{"frame", 6},
                         {"at_ns", 30'000},
                         {"connection", 0},
                         {"severity", "warning"},
                         {"sentence", "the receiver misses <PSN> 4098"}};
  json["worst_moments"] = {{{"frame", 6},
                            {"at_ns", 30'000},
                            {"connection", 0},
                            {"what", "one packet was lost"},
                            {"standard", "Go back N"},
                            {"look_at", "the switch"},
                            {"time_lost_ns", 40'000}}};
  json["complete"] = false;
  const std::string text = page_summary(json);
  CHECK(holds(text, "frame 6</a> The receiver misses &lt;PSN&gt; 4098"));
  CHECK(holds(text, "after 30 µs, connection 0: 10.0.0.1 QP 0x000011 ↔ fd00::2 QP unknown"));
  CHECK(holds(text, "href=\"#moment-1\">One packet was lost<"));
  CHECK(holds(text, "Go back N"));
  CHECK(holds(text, "took 40 µs"));
  CHECK(holds(text, "not read to its end"));
}

TEST_CASE("a page is one file that loads nothing") {
  Json json = explanation(2);
  json["file"] = "</title><script>{{script}}";
  const std::string text = page(json);
  CHECK(text.starts_with("<!DOCTYPE html>\n"));
  CHECK(text.ends_with("</html>\n"));
  CHECK(times(text, "<script") == 2);
  CHECK(times(text, "data-connection=") == 2);
  for (const char* outside : {"src=", "@import", "url(h", "https:", "href=\"h"})
    CHECK_FALSE(holds(text, outside));
  // 43 letters and one "=": a SHA-256 in base64.
  const auto at = text.find("script-src 'sha256-");
  REQUIRE(at != std::string::npos);
  CHECK(text.find("='", at) == at + 19 + 43);
}

TEST_CASE("a page stays small whatever there is to explain") {
  Json json = explanation(3000);
  for (unsigned id = 0; id < 40; ++id) json["connections"][id] = connection(id, 5000);
  const std::string text = page(json);
  CHECK(text.size() < 2'000'000);
  CHECK(holds(text, " of 3,000 connections"));
}

TEST_CASE("what matters most is kept, in the order given") {
  Json json = explanation(3);
  json["connections"][2] = connection(2, 200);
  json["connections"][1]["faults"] = 1;
  const std::size_t each = json_for_script(connection(0)).size() + table_row(connection(0)).size();
  const std::size_t plots = json_for_script(json["connections"][2]["sequence"]).size();
  const Json two = page_selection(json, {.plots = 100'000, .all = plots + each * 5 / 2});
  REQUIRE(two["connections"].size() == 2);
  CHECK(two["connections"][0]["id"] == 1);
  CHECK(two["connections"][1]["id"] == 2);
  CHECK(two["connections"][1].contains("sequence"));
  CHECK(two["connection_count"] == 3);
  const Json flat = page_selection(json, {.plots = 10, .all = 100'000});
  CHECK(flat["connections"].size() == 3);
  CHECK_FALSE(flat["connections"][2].contains("sequence"));
}

TEST_CASE("what the summary points at is kept before all else") {
  Json json = explanation(5);
  json["connections"][0] = connection(0, 10);
  json["worst_moments"] = {{{"connection", 3}}, {{"connection", nullptr}}};
  json["first_fault"] = {{"connection", 4}, {"frame", 7}, {"kind", "psn_gap"}};
  json["connections"][4]["first_fault"] = {{"frame", 7}, {"kind", "psn_gap"}};
  const std::size_t each = json_for_script(connection(0)).size() + table_row(connection(0)).size();
  const Json two = page_selection(json, {.plots = 100'000, .all = each * 5 / 2});
  REQUIRE(two["connections"].size() == 2);
  CHECK(two["connections"][0]["id"] == 3);
  CHECK(two["connections"][1]["id"] == 4);
  CHECK(two["first_fault"]["sentence"] == "PSN gap");
  CHECK_FALSE(two["first_fault"].contains("at_ns"));
}

TEST_CASE("losses are kept of connections with plots, as far as they fit") {
  Json json = explanation(2);
  json["connections"][0] = connection(0, 10);
  json["losses"] = Json::array();
  for (unsigned i = 0; i < 10'000; ++i) {
    json["losses"].push_back({{"connection", i % 2}, {"lost_frame", i + 1}, {"cause_frame", 0}});
  }
  const Json losses = page_selection(json)["losses"];
  CHECK(losses.size() > 1000);
  CHECK(losses.size() < 5000);
  CHECK(losses[1] == Json({{"connection", 0}, {"lost_frame", 3}}));
}

TEST_CASE("what says nothing is left out, but not from lists, and not an id") {
  Json json = explanation(1);
  json["connections"][0]["throughput"] = {{"bytes", {{0, 5}, {0, 0}}}};
  json["connections"][0]["operations"] = {{{"from", 0}, {"refused", 0}}};
  json["connections"][0]["ladder"] = {{{"from", 0}, {"bytes", 0}}};
  const Json one = page_selection(json)["connections"][0];
  CHECK(one["operations"] == Json::array({{{"from", 0}}}));
  CHECK(one["ladder"] == json["connections"][0]["ladder"]);
  CHECK(one["id"] == 0);
  CHECK_FALSE(one.contains("findings"));
  CHECK_FALSE(one["directions"][1].contains("payload_bytes"));
  CHECK(one["throughput"]["bytes"] == Json({{0, 5}, {0, 0}}));
}
