// SPDX-License-Identifier: BSD-3-Clause
// Two NICs talk over RC, with and without selective repeat, UC and UD, and the fuzzer owns the wire
// between them.
//
// The input is a list of steps of eight bytes: post a request, post a receive, let time pass, or do
// something to the next frame on its way: pass it, lose it, repeat it, hold it back, flip a bit,
// cut it, bring back an old one; or, as no network does, rewrite a field, answer it, send it back,
// write over it, each with the ICRC repaired. What must hold then is in talker.hpp. A mutator of
// our own keeps steps whole and moves them about.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/answer.hpp"
#include "fabric/header_rewrite.hpp"
#include "fuzz/talker.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace softrnic::fuzz {
namespace {

using Bytes = FuzzLink::Bytes;
using transport::SendOperation;

constexpr std::size_t kStepSize = 8;
constexpr std::size_t kMostSteps = 160;
constexpr std::size_t kMostQueued = 256;  // frames on their way in one direction; more are lost
constexpr std::size_t kMostRemembered = 64;
constexpr std::size_t kMostFrame = FuzzLink::kMtu + wire::EthernetHeader::kMaxSize;

enum class Kind : std::uint8_t {
  send,
  receive,
  pass,
  drop,
  duplicate,
  hold,
  flip,
  cut,
  replay,
  time,
  rewrite,  // from here on, what no honest network does
  step_field,
  answer,
  reflect,
  overwrite,
  fail,  // a queue pair, by its owner: honest
};
constexpr unsigned kKinds = 16;

struct Step {
  explicit Step(const std::uint8_t* p)
      : kind(static_cast<Kind>(p[0] % kKinds)), a(p[1]), b(p[2]), c(p[3]) {
    value = p[4] | std::uint32_t{p[5]} << 8 | std::uint32_t{p[6]} << 16 | std::uint32_t{p[7]} << 24;
  }

  std::size_t side() const { return a & 1; }
  // RC is where the most is to find.
  std::size_t queue_pair() const {
    return std::array<std::size_t, 8>{0, 0, 0, 1, 2, 3, 3, 3}[a >> 1 & 7];
  }

  Kind kind;
  std::uint8_t a, b, c;
  std::uint32_t value;
};

constexpr std::array<std::string_view, 28> kFields{"bth.opcode",
                                                   "solicited",
                                                   "migration_request",
                                                   "pad_count",
                                                   "bth.version",
                                                   "partition_key",
                                                   "fecn",
                                                   "becn",
                                                   "destination_qpn",
                                                   "ack_request",
                                                   "psn",
                                                   "virtual_address",
                                                   "reth.remote_key",
                                                   "dma_length",
                                                   "swap_add",
                                                   "compare",
                                                   "syndrome",
                                                   "msn",
                                                   "original",
                                                   "immediate",
                                                   "ieth.remote_key",
                                                   "queue_key",
                                                   "source_qpn",
                                                   "source_port",
                                                   "udp.length",
                                                   "total_length",
                                                   "identification",
                                                   "ipv4.traffic_class"};

constexpr std::array kOperations{SendOperation::send,
                                 SendOperation::rdma_write,
                                 SendOperation::rdma_read,
                                 SendOperation::fetch_add,
                                 SendOperation::send_with_immediate,
                                 SendOperation::rdma_write_with_immediate,
                                 SendOperation::compare_swap,
                                 SendOperation::atomic_write,
                                 SendOperation::flush};

// At the edges of packets of 256 bytes.
constexpr std::array<std::uint32_t, 8> kLengths{0, 1, 255, 256, 257, 512, 768, 1151};

std::optional<wire::PacketView> view(const Bytes& frame) {
  auto packet = wire::PacketView::parse(wire::ByteView(frame), {.verify_ipv4_checksum = false});
  if (!packet) return std::nullopt;
  return *packet;
}

class Conversation {
 public:
  Conversation()
      : talkers_{Talker(1, [this](Bytes frame) { leave(0, std::move(frame)); }),
                 Talker(2, [this](Bytes frame) { leave(1, std::move(frame)); })} {
    talkers_[0].connect(talkers_[1]);
    talkers_[1].connect(talkers_[0]);
    turn();
  }

  void take(const Step& step) {
    switch (step.kind) {
      case Kind::send:
        post(step);
        break;
      case Kind::receive:
        for (int i = 0; i <= step.b % 4; ++i) {
          talkers_[step.side()].post_receive(step.queue_pair());
        }
        break;
      case Kind::time:
        pass_time(step.a & 3);
        break;
      case Kind::fail:
        talkers_[step.side()].fail(step.queue_pair());
        break;
      case Kind::replay:
        if (!history_.empty()) {
          const auto& [to, frame] = history_[step.value % history_.size()];
          deliver(to, frame);
        }
        break;
      case Kind::pass:
        pass(step);
        break;
      default:
        if (!queue(step).empty()) act_on_frame(step);
    }
    turn();
    check();
  }

  // The wire is honest from here on, and passes everything.
  void finish() {
    constexpr int kMostDeadlines = 5000;
    for (int i = 0; !pass_everything() || next_deadline() != wire::kNever; ++i) {
      require(i < kMostDeadlines, "the conversation comes to rest");
      if (next_deadline() != wire::kNever) now_ = std::max(now_, next_deadline());
      turn();
    }
    check();
    for (Talker& talker : talkers_) {
      for (std::size_t i = 0; i < Talker::kQueuePairs; ++i) talker.fail(i);
    }
    turn();
    for (Talker& talker : talkers_) talker.check_nothing_pending();
    check();
  }

 private:
  struct Remembered {
    std::size_t to;
    Bytes frame;
  };

  // Frames that side `from` has sent.
  void leave(std::size_t from, Bytes frame) {
    if (queues_[from].size() < kMostQueued) queues_[from].push_back(std::move(frame));
  }
  std::deque<Bytes>& queue(const Step& step) { return queues_[step.side()]; }

  void deliver(std::size_t to, const Bytes& frame) {
    talkers_[to].link().arrive(frame, frame.size() % 3 == 0);
  }
  // The first frame of a direction arrives, and is remembered.
  void deliver_front(std::size_t from) {
    Bytes frame = std::move(queues_[from].front());
    queues_[from].pop_front();
    deliver(1 - from, frame);
    if (history_.size() == kMostRemembered) history_.pop_front();
    history_.push_back({1 - from, std::move(frame)});
  }

  void post(const Step& step) {
    Talker::Work work;
    work.queue_pair = step.queue_pair();
    work.operation = kOperations[step.b % kOperations.size()];
    work.length = kLengths[step.c % kLengths.size()];
    work.place = step.value & 0xffff;
    work.fence = (step.c & 0x10) != 0;
    work.solicited = (step.c & 0x20) != 0;
    work.is_inline = (step.c & 0x40) != 0;
    talkers_[step.side()].post_send(work);
  }

  // Some frames of one direction; or of both, and what comes of them, for a while.
  void pass(const Step& step) {
    if (step.b == 0) {
      for (int round = 0; round < 8; ++round) {
        for (std::size_t side = 0; side < 2; ++side) {
          while (!queues_[side].empty()) deliver_front(side);
        }
        turn();
      }
      return;
    }
    for (int i = 0; i < step.b && !queue(step).empty(); ++i) deliver_front(step.side());
  }

  bool pass_everything() {
    bool any = false;
    for (std::size_t side = 0; side < 2; ++side) {
      while (!queues_[side].empty()) {
        deliver_front(side);
        any = true;
      }
    }
    if (any) turn();
    return !any;
  }

  void act_on_frame(const Step& step) {
    std::deque<Bytes>& frames = queue(step);
    Bytes& frame = frames.front();
    switch (step.kind) {
      case Kind::drop:
        frames.pop_front();
        break;
      case Kind::duplicate:
        frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(step.b % frames.size()), frame);
        break;
      case Kind::hold: {
        Bytes held = std::move(frame);
        frames.pop_front();
        frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(step.b % (frames.size() + 1)),
                      std::move(held));
        break;
      }
      case Kind::flip:
        frame[step.value / 8 % frame.size()] ^= std::byte{1} << (step.value % 8);
        deliver_front(step.side());
        break;
      case Kind::cut:
        // Shorter, or with a trailer as Ethernet's minimum makes.
        frame.resize(std::min<std::size_t>(frame.size() + 20, step.value % kMostFrame + 1));
        deliver_front(step.side());
        break;
      default:
        forge(step, frame);
    }
  }

  // What only a liar does. A frame that cannot be forged passes.
  void forge(const Step& step, Bytes& frame) {
    const auto packet = view(frame);
    if (!packet) return deliver_front(step.side());
    honest_ = false;
    link::Frame whole;
    const auto size = static_cast<std::uint32_t>(frame.size());
    whole.set_received(0, frame.data(), size, 0, size);
    fabric::FieldValue value;
    value.name = kFields[step.c % kFields.size()];
    value.number = step.value;
    switch (step.kind) {
      case Kind::step_field:
        value.kind =
            (step.b & 1) != 0 ? fabric::FieldValue::Kind::plus : fabric::FieldValue::Kind::minus;
        value.number = step.value % 16;
        [[fallthrough]];
      case Kind::rewrite:
        // Only what fits is written; a small value does.
        if (!fabric::can_hold(*packet, value)) value.number &= 1;
        fabric::write_fields(whole, *packet, {&value, 1});
        break;
      case Kind::overwrite:
        overwrite(step, frame, *packet);
        break;
      case Kind::answer:
        answer(step, *packet);
        break;
      default:
        reflect(step, frame, *packet);
    }
    fabric::repair_sums(whole, *packet, {});
    deliver_front(step.side());
  }

  static void overwrite(const Step& step, Bytes& frame, const wire::PacketView& packet) {
    std::array<std::byte, 4> bytes;
    std::memcpy(bytes.data(), &step.value, bytes.size());
    const std::size_t room = packet.icrc_offset() - packet.bth_offset();
    const std::size_t at = packet.bth_offset() + step.b % room;
    const std::size_t n = std::min<std::size_t>(step.c % 4 + 1, packet.icrc_offset() - at);
    std::copy_n(bytes.begin(), n, frame.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // Back to whom it came from, as if the other had sent it.
  void reflect(const Step& step, const Bytes& frame, const wire::PacketView& packet) {
    Bytes back = frame;
    const auto swap = [&back](std::size_t first, std::size_t second, std::size_t size) {
      std::swap_ranges(back.data() + first, back.data() + first + size, back.data() + second);
    };
    swap(0, 6, 6);
    const std::size_t network = packet.network_offset();
    swap(network + wire::Ipv4Header::kSource.bit_offset / 8,
         network + wire::Ipv4Header::kDestination.bit_offset / 8, 4);
    const auto swapped = view(back);
    link::Frame whole;
    const auto size = static_cast<std::uint32_t>(back.size());
    whole.set_received(0, back.data(), size, 0, size);
    if (swapped) fabric::repair_sums(whole, *swapped, {});
    deliver(step.side(), back);
  }

  // Says something of the fuzzer's choice to whom sent the frame.
  void answer(const Step& step, const wire::PacketView& packet) {
    Bytes reply(256);
    link::Frame frame;
    frame.set_segment(0, reply.data(), static_cast<std::uint32_t>(reply.size()));
    frame.reset(0);
    const std::uint32_t to = talkers_[step.side()].qpn(step.queue_pair());
    const wire::Aeth aeth{wire::Syndrome(step.c), step.value & 0xffffff};
    if (!fabric::write_answer(packet, to, aeth, frame)) return;
    reply.resize(frame.size());
    deliver(step.side(), reply);
  }

  void turn() {
    constexpr int kMostTurns = 10'000;
    int turns = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (Talker& talker : talkers_) busy = talker.nic().turn(now_) || busy;
      require(++turns < kMostTurns, "the crank comes to rest");
    }
    require(next_deadline() > now_, "what was due has been dealt with");
    for (Talker& talker : talkers_) talker.take_completions(honest_);
  }

  wire::Instant next_deadline() {
    return std::min(talkers_[0].nic().next_deadline(), talkers_[1].nic().next_deadline());
  }

  void pass_time(unsigned how_much) {
    switch (how_much) {
      case 0:
        now_ += std::chrono::microseconds(10);
        break;
      case 1:
        now_ += std::chrono::milliseconds(20);
        break;
      default:
        if (next_deadline() != wire::kNever) now_ = next_deadline();
    }
  }

  void check() const {
    for (const Talker& talker : talkers_) talker.check_memory(honest_);
  }

  std::array<std::deque<Bytes>, 2> queues_;  // by who sent them
  std::deque<Remembered> history_;
  bool honest_ = true;
  wire::Instant now_{};
  std::array<Talker, 2> talkers_;
};

// Steps as a list of lines to work on.
class Steps {
 public:
  Steps(std::uint8_t* data, std::size_t size, std::size_t max)
      : data_(data), count_(size / kStepSize), max_(std::min(max / kStepSize, kMostSteps)) {}

  std::size_t size() const { return count_ * kStepSize; }
  std::size_t count() const { return count_; }
  bool full() const { return count_ >= max_; }
  std::uint8_t* at(std::size_t i) { return data_ + i * kStepSize; }

  void insert(std::size_t i, const std::uint8_t* step) {
    std::array<std::uint8_t, kStepSize> copy;
    std::memcpy(copy.data(), step, kStepSize);
    std::memmove(at(i + 1), at(i), (count_ - i) * kStepSize);
    std::memcpy(at(i), copy.data(), kStepSize);
    ++count_;
  }
  void erase(std::size_t i) {
    std::memmove(at(i), at(i + 1), (count_ - i - 1) * kStepSize);
    --count_;
  }

 private:
  std::uint8_t* data_;
  std::size_t count_;
  std::size_t max_;
};

// SplitMix64's step; libFuzzer gives one seed a mutation.
std::uint32_t draw(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::uint32_t>(z >> 32);
}

std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::uint64_t state = seed;
  Steps steps(data, size, max);
  if (steps.full() && steps.count() == 0) return 0;
  std::array<std::uint8_t, kStepSize> fresh;
  for (std::uint8_t& byte : fresh) byte = static_cast<std::uint8_t>(draw(state));
  if (steps.count() == 0) {
    steps.insert(0, fresh.data());
    return steps.size();
  }
  const std::size_t i = draw(state) % steps.count();
  const std::size_t j = draw(state) % steps.count();
  switch (draw(state) % 8) {
    case 0:
      if (!steps.full()) steps.insert(i, fresh.data());
      break;
    case 1:
      if (!steps.full()) steps.insert(i, steps.at(j));
      break;
    case 2:
      if (steps.count() > 1) steps.erase(i);
      break;
    case 3:
      if (i != j) std::swap_ranges(steps.at(i), steps.at(i) + kStepSize, steps.at(j));
      break;
    case 4:  // another kind of step, or another argument
      steps.at(i)[draw(state) % kStepSize] = fresh[0];
      break;
    case 5:  // let the wire catch up, so that a long dialogue comes about
      fresh = {static_cast<std::uint8_t>(Kind::pass)};
      if (!steps.full()) steps.insert(i, fresh.data());
      break;
    default:
      LLVMFuzzerMutate(steps.at(i), kStepSize, kStepSize);
  }
  return steps.size();
}

}  // namespace
}  // namespace softrnic::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softrnic::fuzz;
  Conversation conversation;
  const std::size_t steps = std::min(size / kStepSize, kMostSteps);
  for (std::size_t i = 0; i < steps; ++i) conversation.take(Step(data + i * kStepSize));
  conversation.finish();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return softrnic::fuzz::mutate(data, size, max_size, seed);
}
