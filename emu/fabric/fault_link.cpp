// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/fault_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "fabric/answer.hpp"
#include "fabric/fault_script.hpp"
#include "fabric/header_rewrite.hpp"
#include "fabric/held_frames.hpp"
#include "link/frame_pool.hpp"

namespace softrnic::fabric {

namespace {

using link::Direction;
using link::Frame;
using wire::Instant;

// Bursts taken from the link below in one rx_burst(), if the rules leave nothing of them.
constexpr int kMaxBursts = 64;
// Copies the pool grows by.
constexpr std::size_t kPoolStep = 64;

// A view over the frame, unless it is not RoCE. Faults also apply behind a wrong IPv4 checksum.
std::optional<wire::PacketView> view(const Frame& frame) {
  auto packet = wire::PacketView::parse(frame.bytes(), {.verify_ipv4_checksum = false});
  if (!packet) return std::nullopt;
  return *packet;
}

bool copy_bytes(const Frame& from, Frame& to) {
  const wire::MutableByteChain room = to.append(from.size());
  return wire::copy(from.bytes(), room) == from.size();
}

// Sets "congestion experienced" (RFC 3168), which the ICRC does not cover.
void mark_congestion(Frame& frame, const wire::PacketView& packet) {
  constexpr std::uint8_t kCongestionExperienced = 3;
  std::byte* const network = frame.mutable_bytes().front().data() + packet.network_offset();
  if (packet.network_layer() == wire::NetworkLayer::ipv4) {
    wire::Ipv4Header header = packet.ipv4();
    header.traffic_class |= kCongestionExperienced;
    header.checksum = header.computed_checksum();
    header.serialize(std::span<std::byte, wire::Ipv4Header::kSize>(network, header.kSize));
  } else {
    const wire::Field& field = wire::Ipv6Header::kTrafficClass;
    wire::put(network, field, wire::get(network, field) | kCongestionExperienced);
  }
}

std::string note_of(const FaultScript::Verdict& verdict) {
  const FaultRule& rule = *verdict.rule;
  switch (rule.action) {
    case FaultRule::Action::corrupt:
      return fmt::format("corrupt {} bit {}: {}", rule.field, verdict.field_bit, rule.text);
    case FaultRule::Action::silence:
      return fmt::format("drop in silence: {}", rule.text);
    case FaultRule::Action::answer:
      if (!rule.delivers_request) return fmt::format("drop and answer: {}", rule.text);
      break;
    default:
      break;
  }
  return fmt::format("{}: {}", to_string(rule.action), rule.text);
}

class InjectedFaults final : public FaultLink {
 public:
  InjectedFaults(std::unique_ptr<link::Link> inner, std::vector<FaultRule> rules,
                 FaultOptions options)
      : inner_(std::move(inner)),
        on_fault_(std::move(options.on_fault)),
        script_(std::move(rules), options.seed, options.all_traffic, std::move(options.connected)),
        copies_(wire::kHeadroom + wire::EthernetHeader::kMaxSize + inner_->capabilities().mtu) {
    counts_.applied.resize(script_.rule_count());
  }

  ~InjectedFaults() override {
    // What was received and never lent goes back, for the pool may outlive this link.
    for (Frame* frame : ready_) rx_release({&frame, 1});
  }

  const link::Capabilities& capabilities() const override { return inner_->capabilities(); }
  const FaultCounts& counts() const override { return counts_; }
  bool gone() const override { return inner_->gone(); }
  int descriptor() const override { return inner_->descriptor(); }
  bool prepare_wait() override { return inner_->prepare_wait(); }
  const Statistics& statistics() const override { return inner_->statistics(); }
  void set_local_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) override {
    inner_->set_local_addresses(mac, ips);
  }

  std::size_t tx_alloc(std::span<Frame*> out) override { return inner_->tx_alloc(out); }
  void tx_cancel(std::span<Frame* const> frames) override { inner_->tx_cancel(frames); }

  void tx_push(Instant now, std::span<Frame* const> frames) override {
    now_ = now;
    release_due(Direction::outbound);
    for (Frame* frame : frames) handle(Direction::outbound, frame);
    push_batch();
  }

  std::size_t rx_burst(Instant now, std::span<Frame*> out) override {
    now_ = now;
    release_due(Direction::inbound);
    std::size_t n = take_ready(out);
    more_below_ = false;
    for (int burst = 0; n < out.size(); ++burst) {
      if (burst == kMaxBursts) {
        more_below_ = true;
        break;
      }
      // `out` serves as scratch; what is left of the burst is written over it.
      const std::span<Frame*> room = out.subspan(n);
      const std::size_t got = inner_->rx_burst(now, room);
      if (got == 0) break;
      for (Frame* frame : room.first(got)) handle(Direction::inbound, frame);
      push_batch();  // answers
      n += take_ready(room);
    }
    return n;
  }

  void rx_release(std::span<Frame* const> frames) override {
    batch_below_.clear();
    for (Frame* frame : frames) {
      if (copies_.owns(frame)) {
        copies_.release(frame);
      } else {
        batch_below_.push_back(frame);
      }
    }
    inner_->rx_release(batch_below_);
  }

  Instant next_deadline() const override {
    if (!ready_.empty() || more_below_) return now_;
    return std::min({inner_->next_deadline(), held(Direction::inbound).next_deadline(),
                     held(Direction::outbound).next_deadline()});
  }

  void flush(Instant now) override {
    now_ = now;
    release_due(Direction::outbound);
    push_batch();
    release_due(Direction::inbound);
    inner_->flush(now);
  }

 private:
  HeldFrames& held(Direction direction) { return held_[direction == Direction::outbound ? 1 : 0]; }
  const HeldFrames& held(Direction direction) const {
    return held_[direction == Direction::outbound ? 1 : 0];
  }

  // One frame on its way out or in; takes over its loan.
  void handle(Direction direction, Frame* frame) {
    const std::optional<wire::PacketView> packet = view(*frame);
    const FaultScript::Verdict verdict = script_.judge(now_, direction, packet);
    if (verdict.rule == nullptr) return pass(direction, frame);

    std::string note = note_of(verdict);
    ++counts_.applied[verdict.index];
    if (on_fault_) on_fault_(now_, direction, frame->bytes(), note);
    switch (verdict.rule->action) {
      case FaultRule::Action::drop:
      case FaultRule::Action::silence:
        return give_back(direction, frame);
      case FaultRule::Action::answer:
        answer(direction, *packet, verdict);
        if (!verdict.rule->delivers_request) return give_back(direction, frame);
        break;
      case FaultRule::Action::duplicate:
        return duplicate(direction, frame, *verdict.rule, std::move(note));
      case FaultRule::Action::reorder:
      case FaultRule::Action::delay:
        return hold(direction, frame, *verdict.rule, std::move(note));
      case FaultRule::Action::corrupt:
        flip_bit(*frame, verdict.frame_bit);
        if (verdict.rule->sums == FaultRule::Sums::repaired)
          repair_flipped(*frame, *packet, verdict);
        break;
      case FaultRule::Action::rewrite:
        write_fields(*frame, *packet, verdict.rule->assignments);
        if (verdict.rule->sums == FaultRule::Sums::repaired) {
          repair_sums(*frame, *packet, verdict.rule->assignments);
        }
        break;
      case FaultRule::Action::mark_ecn:
        mark_congestion(*frame, *packet);
        break;
    }
    frame->note = std::move(note);
    pass(direction, frame);
  }

  // The frame goes on, and after it those that waited for it.
  void pass(Direction direction, Frame* frame) {
    forward(direction, frame);
    HeldFrames& waiting = held(direction);
    waiting.pass();
    while (Frame* copy = waiting.take_passed()) release(direction, copy);
  }

  void forward(Direction direction, Frame* frame) {
    if (direction == Direction::outbound) {
      batch_.push_back(frame);
    } else {
      ready_.push_back(frame);
    }
  }

  void give_back(Direction direction, Frame* frame) {
    if (direction == Direction::outbound) {
      inner_->tx_cancel({&frame, 1});
    } else {
      inner_->rx_release({&frame, 1});
    }
  }

  void duplicate(Direction direction, Frame* frame, const FaultRule& rule, std::string note) {
    if (rule.delay != wire::Duration{}) return duplicate_later(direction, frame, rule, note);
    Frame* copy = direction == Direction::outbound ? allocate_below() : allocate_copy();
    if (copy != nullptr && !copy_bytes(*frame, *copy)) {
      give_up(direction, copy);
      copy = nullptr;
    }
    pass(direction, frame);
    if (copy == nullptr) return;  // the wire has no room for it: lost like any other
    copy->note = std::move(note);
    forward(direction, copy);
  }

  void duplicate_later(Direction direction, Frame* frame, const FaultRule& rule,
                       const std::string& note) {
    if (Frame* copy = copy_to_hold(direction, *frame)) {
      copy->note = note;
      held(direction).hold_until(copy, now_ + rule.delay);
    }
    pass(direction, frame);
  }

  // A copy of the frame, to be held; null when too many are.
  Frame* copy_to_hold(Direction direction, const Frame& frame) {
    Frame* copy = held(direction).size() < kMaxHeldFrames ? allocate_copy() : nullptr;
    if (copy == nullptr || copy_bytes(frame, *copy)) return copy;
    copies_.release(copy);
    return nullptr;
  }

  void hold(Direction direction, Frame* frame, const FaultRule& rule, std::string note) {
    Frame* copy = copy_to_hold(direction, *frame);
    if (copy == nullptr) return pass(direction, frame);
    copy->note = std::move(note);
    if (rule.action == FaultRule::Action::delay) {
      held(direction).hold_until(copy, now_ + rule.delay);
    } else {
      held(direction).hold_behind(copy, rule.displacement, now_ + kReorderTimeout);
    }
    give_back(direction, frame);
  }

  // To where the request came from: a sent one's answer is received, and the other way round.
  void answer(Direction direction, const wire::PacketView& request,
              const FaultScript::Verdict& verdict) {
    const Direction back =
        direction == Direction::outbound ? Direction::inbound : Direction::outbound;
    Frame* reply = back == Direction::outbound ? allocate_below() : allocate_copy();
    if (reply == nullptr) return;  // the wire has no room for it: lost like any other
    if (!write_answer(request, verdict.answer_qpn, verdict.aeth, *reply)) {
      return give_up(back, reply);
    }
    reply->note = fmt::format("answer: {}", verdict.rule->text);
    forward(back, reply);
  }

  // The checksum whose bit was flipped stays as it is.
  static void repair_flipped(Frame& frame, const wire::PacketView& packet,
                             const FaultScript::Verdict& verdict) {
    FieldValue flipped;
    flipped.name = verdict.rule->field;
    repair_sums(frame, packet, {&flipped, 1});
  }

  void release_due(Direction direction) {
    while (Frame* copy = held(direction).take_due(now_)) release(direction, copy);
  }

  // A held copy goes on.
  void release(Direction direction, Frame* copy) {
    if (direction == Direction::inbound) return ready_.push_back(copy);
    if (Frame* frame = allocate_below()) {
      if (copy_bytes(*copy, *frame)) {
        frame->note = std::move(copy->note);
        batch_.push_back(frame);
      } else {
        inner_->tx_cancel({&frame, 1});
      }
    }
    copies_.release(copy);
  }

  void give_up(Direction direction, Frame* copy) {
    if (direction == Direction::outbound) {
      inner_->tx_cancel({&copy, 1});
    } else {
      copies_.release(copy);
    }
  }

  // A frame of the link below to send; those gathered so far make way if it has no other.
  Frame* allocate_below() {
    Frame* frame = nullptr;
    if (inner_->tx_alloc({&frame, 1}) == 1) return frame;
    push_batch();
    return inner_->tx_alloc({&frame, 1}) == 1 ? frame : nullptr;
  }

  Frame* allocate_copy() {
    if (copies_.available() == 0) copies_.grow(kPoolStep);
    return copies_.allocate();
  }

  void push_batch() {
    if (batch_.empty()) return;
    inner_->tx_push(now_, batch_);
    batch_.clear();
  }

  std::size_t take_ready(std::span<Frame*> out) {
    const std::size_t n = std::min(out.size(), ready_.size());
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = ready_[i];
      out[i]->received_at = now_;
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }

  std::unique_ptr<link::Link> inner_;
  std::function<void(Instant, Direction, const wire::ByteChain&, std::string_view)> on_fault_;
  FaultScript script_;
  FaultCounts counts_;
  link::FramePool copies_;
  std::array<HeldFrames, 2> held_;   // inbound, outbound
  std::vector<Frame*> batch_;        // on their way out, in order
  std::vector<Frame*> batch_below_;  // on their way back to the link below
  std::deque<Frame*> ready_;         // received, not yet lent
  bool more_below_ = false;
  Instant now_{};
};

}  // namespace

bool is_loss(std::string_view note) {
  return note.starts_with("drop");
}

std::unique_ptr<FaultLink> inject_faults(std::unique_ptr<link::Link> inner,
                                         std::vector<FaultRule> rules, FaultOptions options) {
  return std::make_unique<InjectedFaults>(std::move(inner), std::move(rules), std::move(options));
}

CapturedFaults inject_faults(std::unique_ptr<link::Link> inner, std::vector<FaultRule> rules,
                             FaultOptions options, std::shared_ptr<link::CaptureFile> file,
                             std::string_view interface_name) {
  const std::uint32_t interface = file->add_interface(interface_name);
  // Only a lost frame is in neither capture.
  options.on_fault = [file, interface, told = std::move(options.on_fault)](
                         Instant at, Direction direction, const wire::ByteChain& frame,
                         std::string_view note) {
    if (is_loss(note)) file->write(at, interface, direction, frame, note);
    if (told) told(at, direction, frame, note);
  };
  auto faults = inject_faults(link::capture(std::move(inner), file, interface, Direction::outbound),
                              std::move(rules), std::move(options));
  const FaultCounts* counts = &faults->counts();
  return {link::capture(std::move(faults), file, interface, Direction::inbound), counts};
}

}  // namespace softrnic::fabric
