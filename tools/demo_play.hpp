// SPDX-License-Identifier: BSD-3-Clause
// The play of the demo: each scene posts work, waits for it and compares memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo_stage.hpp"
#include "transport/counters.hpp"
#include "transport/work_request.hpp"

namespace softrnic::tools {

// What one scene did.
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

class Play {
 public:
  explicit Play(const StageOptions& options) : options_(options), stage_(options) {}

  // Scene after scene; ends with the first that fails.
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
  transport::SendRequest request(transport::SendOperation operation, const transport::Sge& sge,
                                 Card& other, std::size_t remote_offset);
  std::uint64_t word(Card& card, std::size_t offset);

  StageOptions options_;
  Stage stage_;
  std::vector<Outcome> outcomes_;
  wire::Instant began_{};
  transport::Counters alice_before_;
  transport::Counters bob_before_;
  std::size_t injured_before_ = 0;
};

}  // namespace softrnic::tools
