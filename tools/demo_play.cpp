// SPDX-License-Identifier: BSD-3-Clause
#include "demo_play.hpp"

#include <fmt/format.h>

#include <cstring>

#include "counters_report.hpp"
#include "failure.hpp"
#include "payload_pattern.hpp"

namespace softrnic::tools {

using transport::SendOperation;

namespace {

constexpr std::size_t kBulk = 512 * 1024;
constexpr std::size_t kMessage = 64 * 1024;
constexpr std::size_t kNote = 1000;  // not a multiple of four: shows the pad
// Where things lie in each card's memory.
constexpr std::size_t kOutgoing = 0;
constexpr std::size_t kIncoming = 1024 * 1024;
constexpr std::size_t kCounter = Card::kMemory - 64;
constexpr std::size_t kAtomicResult = Card::kMemory - 128;

}  // namespace

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
  const auto gave_up = stage_.run_until([&card] { return !card.finished.empty(); });
  if (!check(!gave_up, "",
             fmt::format("{} waited for a completion, and {}", card.name, gave_up.value_or("")))) {
    return false;
  }
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
  fill_pattern(alice.bytes(kOutgoing, kBulk), mix_key(options_.seed, 1));
  const transport::Sge sge = alice.sge(kOutgoing, kBulk);
  stage_.post_send(alice, request(SendOperation::rdma_write, sge, bob, kIncoming));
  if (wait_for(alice)) compare_memory(alice, kOutgoing, bob, kIncoming, kBulk);
  end();
}

void Play::read_bulk() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("alice reads 512 KiB out of bob's memory", "RDMA READ", alice, kBulk);
  fill_pattern(bob.bytes(kOutgoing, kBulk), mix_key(options_.seed, 2));
  const transport::Sge sge = alice.sge(kIncoming, kBulk);
  stage_.post_send(alice, request(SendOperation::rdma_read, sge, bob, kOutgoing));
  if (wait_for(alice)) compare_memory(bob, kOutgoing, alice, kIncoming, kBulk);
  end();
}

void Play::send_message() {
  Card& alice = stage_.alice();
  Card& bob = stage_.bob();
  begin("bob sends alice a message of 64 KiB", "SEND", bob, kMessage);
  fill_pattern(bob.bytes(kOutgoing, kMessage), mix_key(options_.seed, 3));
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
  fill_pattern(alice.bytes(kOutgoing, kNote), mix_key(options_.seed, 4));
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
  fill_pattern(bob.bytes(kOutgoing, kMessage), mix_key(options_.seed, 5));
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

}  // namespace softrnic::tools
