// SPDX-License-Identifier: BSD-3-Clause
#include "demo_report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "counters_report.hpp"

namespace softrnic::tools {

namespace {

// Injured frames a step names; the rest it counts.
constexpr std::size_t kNamedFrames = 6;

std::string packets(std::uint64_t n) {
  return fmt::format("{} packet{}", n, n == 1 ? "" : "s");
}

std::string duration_text(wire::Duration duration) {
  const double us = std::chrono::duration<double, std::micro>(duration).count();
  return us < 1000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.1f} ms", us / 1000);
}

std::string times(std::uint64_t n) {
  return n == 1 ? "once" : fmt::format("{} times", n);
}

// How `who`, as requester, got over what was lost; `other` is the responder.
void tell_as_requester(std::vector<std::string>& lines, const char* who, const char* other,
                       const transport::Counters& c) {
  if (c.packet_seq_err != 0) {
    lines.push_back(
        fmt::format("{} saw a gap and said so, {} (NAK: PSN sequence error); {} went "
                    "back to it",
                    other, times(c.packet_seq_err), who));
  }
  if (c.implied_nak_seq_err != 0) {
    lines.push_back(
        fmt::format("{} missed part of an answer, {} (implied NAK), and asked again "
                    "from there",
                    who, times(c.implied_nak_seq_err)));
  }
  if (c.local_ack_timeout_err != 0) {
    lines.push_back(fmt::format("{}'s timer ran out, {}: nothing had come", who,
                                times(c.local_ack_timeout_err)));
  }
  if (c.rnr_nak_retry_err != 0) {
    lines.push_back(
        fmt::format("{} had no receive ready and said so, {} (RNR NAK); {} waited and "
                    "tried again",
                    other, times(c.rnr_nak_retry_err), who));
  }
  if (c.retransmitted_pkts != 0) {
    lines.push_back(fmt::format("{} sent {} again", who, packets(c.retransmitted_pkts)));
  }
}

void tell_as_responder(std::vector<std::string>& lines, const Outcome& outcome, const char* who,
                       const transport::Counters& c) {
  const std::uint64_t n = c.duplicate_request;
  if (n == 0) return;
  if (outcome.operation == "RDMA READ") {
    lines.push_back(fmt::format("{} was asked again, {}, and sent the rest anew", who, times(n)));
  } else if (outcome.operation == "FETCH ADD" || outcome.operation == "COMPARE SWAP") {
    lines.push_back(
        fmt::format("{} recognised {} that it had carried out, and only repeated the "
                    "answer",
                    who, packets(n)));
  } else {
    lines.push_back(fmt::format("{} already had {}, and took none of them twice", who, packets(n)));
  }
}

// One line for each way in which something came back, from the counters of both cards.
std::vector<std::string> recovery(const Outcome& outcome) {
  std::vector<std::string> lines;
  tell_as_requester(lines, "alice", "bob", outcome.alice);
  tell_as_requester(lines, "bob", "alice", outcome.bob);
  tell_as_responder(lines, outcome, "alice", outcome.alice);
  tell_as_responder(lines, outcome, "bob", outcome.bob);
  for (const auto& [who, counters] : {std::pair{"alice", &outcome.alice}, {"bob", &outcome.bob}}) {
    if (counters->icrc_errors == 0) continue;
    lines.push_back(
        fmt::format("{} dropped {} whose ICRC was wrong", who, packets(counters->icrc_errors)));
  }
  return lines;
}

void print_injured(const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.injured.size(); ++i) {
    if (i == kNamedFrames && outcome.injured.size() > kNamedFrames + 1) {
      fmt::print("       ... and {} more\n", outcome.injured.size() - i);
      return;
    }
    const InjuredFrame& frame = outcome.injured[i];
    fmt::print("     x {:<14} {:<28} PSN {:>8}  ({})\n",
               frame.from_alice ? "alice -> bob" : "bob -> alice", frame.what, frame.psn,
               frame.fault);
  }
}

void print_outcome(std::size_t number, const Outcome& outcome) {
  fmt::print("  {}. {}: {}\n", number, outcome.operation, outcome.title);
  fmt::print("     {} from alice, {} from bob, in {}\n", packets(outcome.alice.sent_pkts),
             packets(outcome.bob.sent_pkts), duration_text(outcome.took));
  print_injured(outcome);
  for (const std::string& line : recovery(outcome)) fmt::print("     - {}\n", line);
  fmt::print("     {}: {}\n\n", outcome.ok ? "right" : "FAILED", outcome.result);
}

std::string describe_card(const Card& card) {
  return fmt::format("{:<6} {:<16} MAC {}  QP 0x{:06x}  first PSN {}", card.name,
                     card.ip.address.to_string(), card.nic->mac().to_string(), card.qpn,
                     card.first_psn.value());
}

void print_beginning(const StageOptions& options, Stage& stage) {
  fmt::print("Two NICs on one wire: RoCE {} over {}, path MTU {}, seed {}.\n",
             options.version == wire::RoceVersion::v1 ? "v1" : "v2", options.ipv6 ? "IPv6" : "IPv4",
             options.path_mtu, options.seed);
  for (const auto& rule : options.faults) fmt::print("On the wire: {}\n", rule.text);
  fmt::print("\n  {}\n  {}\n\n", describe_card(stage.alice()), describe_card(stage.bob()));
}

void print_end(const StageOptions& options, Play& play) {
  Stage& stage = play.stage();
  for (Card* card : {&stage.alice(), &stage.bob()}) {
    fmt::print("Counters of {}:\n{}\n", card->name, counters_text(card->nic->counters()));
  }
  const std::size_t injured = stage.injured().size();
  if (!play.succeeded()) {
    fmt::print("It did not end well: see above.\n");
  } else if (injured == 0) {
    fmt::print("No frame was injured this time; every byte arrived.\n");
  } else {
    fmt::print("{} injured, and every byte arrived all the same.\n",
               injured == 1 ? "One frame was" : fmt::format("{} frames were", injured));
  }
  if (options.capture_path.empty()) return;
  const std::string& path = options.capture_path;
  fmt::print(
      "\nEvery frame is in {0}; what was done to some of them stands in their comments.\n"
      "  wireshark {0}\n  tshark -r {0}\n  tshark -r {0} -Y frame.comment -T fields -e "
      "frame.number "
      "-e frame.comment\n",
      path);
}

}  // namespace

void print_text(const StageOptions& options, Play& play) {
  print_beginning(options, play.stage());
  std::size_t number = 0;
  for (const Outcome& outcome : play.outcomes()) print_outcome(++number, outcome);
  print_end(options, play);
}

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Outcome& outcome) {
  Json step;
  step["operation"] = outcome.operation;
  step["title"] = outcome.title;
  step["by"] = outcome.by_alice ? "alice" : "bob";
  step["bytes"] = outcome.bytes;
  step["ok"] = outcome.ok;
  step["result"] = outcome.result;
  step["nanoseconds"] = outcome.took.count();
  step["packets_from_alice"] = outcome.alice.sent_pkts;
  step["packets_from_bob"] = outcome.bob.sent_pkts;
  step["retransmitted"] = outcome.alice.retransmitted_pkts + outcome.bob.retransmitted_pkts;
  step["recovery"] = recovery(outcome);
  step["injured"] = Json::array();
  for (const InjuredFrame& frame : outcome.injured) {
    step["injured"].push_back({{"from", frame.from_alice ? "alice" : "bob"},
                               {"opcode", frame.what},
                               {"psn", frame.psn},
                               {"payload", frame.payload},
                               {"fault", frame.fault}});
  }
  return step;
}

Json to_json(const Card& card) {
  return {{"ip", card.ip.to_string()},
          {"mac", card.nic->mac().to_string()},
          {"qpn", card.qpn},
          {"first_psn", card.first_psn.value()},
          {"counters", counters_json(card.nic->counters())}};
}

}  // namespace

void print_json(const StageOptions& options, Play& play) {
  Json root;
  root["seed"] = options.seed;
  root["roce"] = options.version == wire::RoceVersion::v1 ? "v1" : "v2";
  root["network"] = options.ipv6 ? "ipv6" : "ipv4";
  root["path_mtu"] = options.path_mtu;
  root["faults"] = Json::array();
  for (const auto& rule : options.faults) root["faults"].push_back(rule.text);
  root["ok"] = play.succeeded();
  root["injured"] = play.stage().injured().size();
  root["steps"] = Json::array();
  for (const Outcome& outcome : play.outcomes()) root["steps"].push_back(to_json(outcome));
  root["alice"] = to_json(play.stage().alice());
  root["bob"] = to_json(play.stage().bob());
  if (!options.capture_path.empty()) root["capture"] = options.capture_path;
  fmt::print("{}\n", root.dump(2));
}

}  // namespace softrnic::tools
