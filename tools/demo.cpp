// SPDX-License-Identifier: BSD-3-Clause
// softrnic demo: alice and bob show each RC operation on a lossy wire, and how what is lost comes
// back.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "counters_report.hpp"
#include "demo_stage.hpp"
#include "device_options.hpp"
#include "failure.hpp"
#include "payload_pattern.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {

namespace {

using transport::SendOperation;

constexpr std::uint64_t kDefaultSeed = 1;
constexpr const char* kDefaultFault = "drop 1%";
constexpr std::size_t kBulk = 512 * 1024;
constexpr std::size_t kMessage = 64 * 1024;
constexpr std::size_t kNote = 1000;  // not a multiple of four: shows the pad
// Where things lie in each card's memory.
constexpr std::size_t kOutgoing = 0;
constexpr std::size_t kIncoming = 1024 * 1024;
constexpr std::size_t kCounter = Card::kMemory - 64;
constexpr std::size_t kAtomicResult = Card::kMemory - 128;
// Injured frames a step names; the rest it counts.
constexpr std::size_t kNamedFrames = 6;

struct Options {
  StageOptions stage;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "demo", "Usage: softrnic demo [OPTIONS]",
      "Two emulated NICs, alice and bob, on one wire that loses 1 % of the frames: writes, reads,\n"
      "sends and atomics, what was lost, how it was recovered, and memory compared byte by byte.\n"
      "Needs no privilege and no time: its clock is virtual. Same options, same packets.",
      "  softrnic demo\n"
      "  softrnic demo -w demo.pcapng && wireshark demo.pcapng\n"
      "  softrnic demo --fault 'tx drop 3rd WRITE MIDDLE' --roce v1\n");
  bool no_faults = false;
  options.stage.seed = kDefaultSeed;
  line.option("seed", "N", "source of every random choice (default 1)",
              [&](const std::string& text) {
                const auto seed = parse_number(text);
                if (!seed) fail_usage("--seed {}: not a number", text);
                options.stage.seed = *seed;
              });
  line.option("roce", "v1|v2", "RoCE v1 (EtherType 0x8915) or v2 (UDP port 4791; default)",
              [&](const std::string& text) {
                if (text != "v1" && text != "v2") fail_usage("--roce {}: must be v1 or v2", text);
                options.stage.version =
                    text == "v1" ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
              });
  line.flag("ipv6", options.stage.ipv6, "IPv6 addresses (default: IPv4)");
  line.option("mtu", "BYTES", "path MTU: 256, 512, 1024, 2048 or 4096 (default 1024)",
              [&](const std::string& text) { options.stage.path_mtu = parse_path_mtu(text); });
  line.repeated("fault", "RULE",
                "what happens to frames, as alice sees them, instead of 'drop 1%'; may be given "
                "several times ('none': nothing)",
                [&](const std::string& text) {
                  no_faults = text == "none";
                  if (!no_faults) options.stage.faults.push_back(parse_fault(text));
                });
  line.flag("json", options.json, "print one JSON object instead of text");
  line.text("write,w", "FILE", options.stage.capture_path,
            "write every frame, and every fault as a comment, to this pcapng file");
  if (!line.parse(argc, argv)) return false;
  if (options.stage.faults.empty() && !no_faults)
    options.stage.faults.push_back(parse_fault(kDefaultFault));
  return true;
}

// What one step did.
struct Outcome {
  std::string title;      // "alice writes 512 KiB into bob's memory"
  std::string operation;  // "RDMA WRITE"
  bool by_alice = true;
  std::size_t bytes = 0;
  bool ok = true;
  std::string result;  // what was checked, or what went wrong
  wire::Duration took{};
  transport::Counters alice;  // what the step added
  transport::Counters bob;
  std::vector<InjuredFrame> injured;
};

std::string packets(std::uint64_t n) {
  return fmt::format("{} packet{}", n, n == 1 ? "" : "s");
}

std::string duration_text(wire::Duration duration) {
  const double us = std::chrono::duration<double, std::micro>(duration).count();
  return us < 1000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.1f} ms", us / 1000);
}

// The play: each scene posts work, waits for it and compares memory.
class Play {
 public:
  explicit Play(const Options& options) : options_(options), stage_(options.stage) {}

  void perform();
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  bool succeeded() const;
  Stage& stage() { return stage_; }

 private:
  void write_bulk();
  void read_bulk();
  void send_message();
  void send_before_receive();
  void write_with_immediate();
  void add_to_counter();
  void swap_counter();

  void begin(std::string title, std::string operation, Card& actor, std::size_t bytes);
  void end();
  bool wait_for(Card& card);
  bool compare_memory(Card& from, std::size_t at, Card& to, std::size_t there, std::size_t length);
  bool check(bool condition, std::string when_right, std::string when_wrong);
  transport::SendRequest request(SendOperation operation, const transport::Sge& sge, Card& other,
                                 std::size_t remote_offset);
  std::uint64_t word(Card& card, std::size_t offset);

  const Options& options_;
  Stage stage_;
  std::vector<Outcome> outcomes_;
  wire::Instant began_{};
  transport::Counters alice_before_;
  transport::Counters bob_before_;
  std::size_t injured_before_ = 0;
};

void Play::perform() {
  write_bulk();
  if (succeeded()) read_bulk();
  if (succeeded()) send_message();
  if (succeeded()) send_before_receive();
  if (succeeded()) write_with_immediate();
  if (succeeded()) add_to_counter();
  if (succeeded()) swap_counter();
  stage_.close_capture();
}

bool Play::succeeded() const {
  return outcomes_.empty() || outcomes_.back().ok;
}

void Play::begin(std::string title, std::string operation, Card& actor, std::size_t bytes) {
  Outcome outcome;
  outcome.title = std::move(title);
  outcome.operation = std::move(operation);
  outcome.by_alice = &actor == &stage_.alice();
  outcome.bytes = bytes;
  outcomes_.push_back(std::move(outcome));
  began_ = stage_.now();
  alice_before_ = stage_.alice().nic->counters();
  bob_before_ = stage_.bob().nic->counters();
  injured_before_ = stage_.injured().size();
  stage_.alice().finished.clear();
  stage_.bob().finished.clear();
}

void Play::end() {
  Outcome& outcome = outcomes_.back();
  outcome.took = stage_.now() - began_;
  outcome.alice = difference(stage_.alice().nic->counters(), alice_before_);
  outcome.bob = difference(stage_.bob().nic->counters(), bob_before_);
  outcome.injured.assign(stage_.injured().begin() + static_cast<std::ptrdiff_t>(injured_before_),
                         stage_.injured().end());
}

bool Play::check(bool condition, std::string when_right, std::string when_wrong) {
  Outcome& outcome = outcomes_.back();
  if (!outcome.ok) return false;
  outcome.ok = condition;
  if (!condition) {
    outcome.result = std::move(when_wrong);
  } else if (!when_right.empty()) {
    if (!outcome.result.empty()) outcome.result += "; ";
    outcome.result += when_right;
  }
  return condition;
}

// Until the card's next completion; checks that it is a success.
bool Play::wait_for(Card& card) {
  const bool came = stage_.run_until([&card] { return !card.finished.empty(); });
  if (!check(came, "", fmt::format("{} waited in vain for a completion", card.name))) return false;
  const transport::Completion completion = card.finished.front();
  card.finished.erase(card.finished.begin());
  return check(
      completion.status == transport::CompletionStatus::success, "",
      fmt::format("{}'s work ended with: {}", card.name, transport::to_string(completion.status)));
}

bool Play::compare_memory(Card& from, std::size_t at, Card& to, std::size_t there,
                          std::size_t length) {
  const auto mismatch = compare(from.bytes(at, length), to.bytes(there, length));
  return check(!mismatch, fmt::format("{} bytes compared, all equal", length),
               mismatch ? "memory differs: " + mismatch->to_string() : "");
}

transport::SendRequest Play::request(SendOperation operation, const transport::Sge& sge,
                                     Card& other, std::size_t remote_offset) {
  transport::SendRequest request;
  request.operation = operation;
  request.sges = {&sge, 1};
  request.remote_address = other.address + remote_offset;
  request.remote_key = other.keys.remote;
  return request;
}

std::uint64_t Play::word(Card& card, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, card.memory.data() + offset, sizeof value);
  return value;
}

void Play::write_bulk() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice writes 512 KiB into bob's memory", "RDMA WRITE", alice, kBulk);
  fill_pattern(alice.bytes(kOutgoing, kBulk), mix_key(options_.stage.seed, 1));
  const transport::Sge sge = alice.sge(kOutgoing, kBulk);
  stage_.post_send(alice, request(SendOperation::rdma_write, sge, bob, kIncoming));
  if (wait_for(alice)) compare_memory(alice, kOutgoing, bob, kIncoming, kBulk);
  end();
}

void Play::read_bulk() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice reads 512 KiB out of bob's memory", "RDMA READ", alice, kBulk);
  fill_pattern(bob.bytes(kOutgoing, kBulk), mix_key(options_.stage.seed, 2));
  const transport::Sge sge = alice.sge(kIncoming, kBulk);
  stage_.post_send(alice, request(SendOperation::rdma_read, sge, bob, kOutgoing));
  if (wait_for(alice)) compare_memory(bob, kOutgoing, alice, kIncoming, kBulk);
  end();
}

void Play::send_message() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("bob sends alice a message of 64 KiB", "SEND", bob, kMessage);
  fill_pattern(bob.bytes(kOutgoing, kMessage), mix_key(options_.stage.seed, 3));
  const transport::Sge room = alice.sge(kIncoming, kMessage);
  const transport::Sge sge = bob.sge(kOutgoing, kMessage);
  stage_.post_receive(alice, {.id = 0, .sges = {&room, 1}});
  stage_.post_send(bob, request(SendOperation::send, sge, alice, 0));
  if (wait_for(alice) && wait_for(bob)) {
    compare_memory(bob, kOutgoing, alice, kIncoming, kMessage);
  }
  end();
}

void Play::send_before_receive() {
  constexpr wire::Duration kLate = std::chrono::milliseconds(2);
  constexpr std::uint32_t kImmediate = 0xcafe;
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice sends bob 1000 bytes, for which he makes room 2 ms late", "SEND with immediate",
        alice, kNote);
  fill_pattern(alice.bytes(kOutgoing, kNote), mix_key(options_.stage.seed, 4));
  const transport::Sge room = bob.sge(kIncoming, kNote);
  const transport::Sge sge = alice.sge(kOutgoing, kNote);
  auto send = request(SendOperation::send_with_immediate, sge, bob, 0);
  send.immediate = kImmediate;
  stage_.post_send(alice, send);
  stage_.run_for(kLate);
  stage_.post_receive(bob, {.id = 0, .sges = {&room, 1}});
  if (wait_for(bob) && wait_for(alice)) compare_memory(alice, kOutgoing, bob, kIncoming, kNote);
  end();
}

void Play::write_with_immediate() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("bob writes 64 KiB into alice's memory and tells her so", "RDMA WRITE with immediate", bob,
        kMessage);
  fill_pattern(bob.bytes(kOutgoing, kMessage), mix_key(options_.stage.seed, 5));
  const transport::Sge sge = bob.sge(kOutgoing, kMessage);
  stage_.post_receive(alice, {.id = 0, .sges = {}});
  stage_.post_send(bob, request(SendOperation::rdma_write_with_immediate, sge, alice, kIncoming));
  if (wait_for(alice) && wait_for(bob)) {
    compare_memory(bob, kOutgoing, alice, kIncoming, kMessage);
  }
  end();
}

void Play::add_to_counter() {
  constexpr std::uint64_t kAdditions = 100;
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice adds 1 to a counter of bob's, 100 times", "FETCH ADD", alice, kAdditions * 8);
  const transport::Sge sge = alice.sge(kAtomicResult, 8);
  bool in_order = true;
  for (std::uint64_t i = 0; i < kAdditions && outcomes_.back().ok; ++i) {
    auto add = request(SendOperation::fetch_add, sge, bob, kCounter);
    add.swap_add = 1;
    stage_.post_send(alice, add);
    if (wait_for(alice)) in_order = in_order && word(alice, kAtomicResult) == i;
  }
  check(in_order && word(bob, kCounter) == kAdditions,
        fmt::format("the counter is {}: each addition was made once", kAdditions),
        fmt::format("the counter is {}, expected {}", word(bob, kCounter), kAdditions));
  end();
}

void Play::swap_counter() {
  constexpr std::uint64_t kBefore = 100;
  constexpr std::uint64_t kAfter = 42;
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice sets it to 42 if it is still 100", "COMPARE SWAP", alice, 8);
  const transport::Sge sge = alice.sge(kAtomicResult, 8);
  auto swap = request(SendOperation::compare_swap, sge, bob, kCounter);
  swap.compare = kBefore;
  swap.swap_add = kAfter;
  stage_.post_send(alice, swap);
  if (wait_for(alice)) {
    check(word(alice, kAtomicResult) == kBefore && word(bob, kCounter) == kAfter,
          fmt::format("it was {}, it is {}", kBefore, kAfter),
          fmt::format("it was {}, it is {}", word(alice, kAtomicResult), word(bob, kCounter)));
  }
  end();
}

// --- text ---

// One line for each way in which something came back, from the counters of both cards.
std::vector<std::string> recovery(const Outcome& outcome) {
  std::vector<std::string> lines;
  const auto tell = [&](const char* who, const char* other, const transport::Counters& c) {
    if (c.packet_seq_err != 0) {
      lines.push_back(fmt::format(
          "{} saw a gap and said so: {} NAK (PSN sequence error); {} went back to the gap", other,
          c.packet_seq_err, who));
    }
    if (c.implied_nak_seq_err != 0) {
      lines.push_back(
          fmt::format("{} missed an answer in the sequence, {} times (implied NAK), "
                      "and asked again from there",
                      who, c.implied_nak_seq_err));
    }
    if (c.local_ack_timeout_err != 0) {
      lines.push_back(fmt::format("{} heard nothing until the timer ran out, {} times", who,
                                  c.local_ack_timeout_err));
    }
    if (c.rnr_nak_retry_err != 0) {
      lines.push_back(fmt::format("{} had no receive ready: {} RNR NAK; {} waited and tried again",
                                  other, c.rnr_nak_retry_err, who));
    }
    if (c.retransmitted_pkts != 0) {
      lines.push_back(fmt::format("{} sent {} again", who, packets(c.retransmitted_pkts)));
    }
    if (c.duplicate_request != 0) {
      lines.push_back(fmt::format("{} already had {}, and did not act on {} twice", who,
                                  packets(c.duplicate_request),
                                  c.duplicate_request == 1 ? "it" : "them"));
    }
    if (c.icrc_errors != 0) {
      lines.push_back(
          fmt::format("{} dropped {} whose ICRC was wrong", who, packets(c.icrc_errors)));
    }
  };
  tell("alice", "bob", outcome.alice);
  tell("bob", "alice", outcome.bob);
  return lines;
}

void print_injured(const Outcome& outcome) {
  for (std::size_t i = 0; i < outcome.injured.size(); ++i) {
    if (i == kNamedFrames && outcome.injured.size() > kNamedFrames + 1) {
      fmt::print("       ... and {} more\n", outcome.injured.size() - i);
      return;
    }
    const InjuredFrame& frame = outcome.injured[i];
    fmt::print("     x {:<14} {:<24} PSN {:>8}  ({})\n",
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

void print_beginning(const Options& options, Stage& stage) {
  fmt::print("Two NICs on one wire: RoCE {} over {}, path MTU {}, seed {}.\n",
             options.stage.version == wire::RoceVersion::v1 ? "v1" : "v2",
             options.stage.ipv6 ? "IPv6" : "IPv4", options.stage.path_mtu, options.stage.seed);
  for (const auto& rule : options.stage.faults) fmt::print("On the wire: {}\n", rule.text);
  fmt::print("\n  {}\n  {}\n\n", describe_card(stage.alice()), describe_card(stage.bob()));
}

void print_end(const Options& options, Play& play) {
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
    fmt::print("{} frames were injured, and every byte arrived all the same.\n", injured);
  }
  if (options.stage.capture_path.empty()) return;
  const std::string& path = options.stage.capture_path;
  fmt::print(
      "\nEvery frame is in {0}; what was done to some of them stands in their comments.\n"
      "  wireshark {0}\n  tshark -r {0}\n  tshark -r {0} -Y frame.comment -T fields -e "
      "frame.number "
      "-e frame.comment\n",
      path);
}

void print_text(const Options& options, Play& play) {
  print_beginning(options, play.stage());
  std::size_t number = 0;
  for (const Outcome& outcome : play.outcomes()) print_outcome(++number, outcome);
  print_end(options, play);
}

// --- JSON ---

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

void print_json(const Options& options, Play& play) {
  Json root;
  root["seed"] = options.stage.seed;
  root["roce"] = options.stage.version == wire::RoceVersion::v1 ? "v1" : "v2";
  root["network"] = options.stage.ipv6 ? "ipv6" : "ipv4";
  root["path_mtu"] = options.stage.path_mtu;
  root["faults"] = Json::array();
  for (const auto& rule : options.stage.faults) root["faults"].push_back(rule.text);
  root["ok"] = play.succeeded();
  root["injured"] = play.stage().injured().size();
  root["steps"] = Json::array();
  for (const Outcome& outcome : play.outcomes()) root["steps"].push_back(to_json(outcome));
  root["alice"] = to_json(play.stage().alice());
  root["bob"] = to_json(play.stage().bob());
  if (!options.stage.capture_path.empty()) root["capture"] = options.stage.capture_path;
  fmt::print("{}\n", root.dump(2));
}

}  // namespace

int run_demo(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  Play play(options);
  play.perform();
  if (options.json) {
    print_json(options, play);
  } else {
    print_text(options, play);
  }
  return play.succeeded() ? kSuccess : kFailure;
}

}  // namespace softrnic::tools
