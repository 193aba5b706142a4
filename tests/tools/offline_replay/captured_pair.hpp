// SPDX-License-Identifier: BSD-3-Clause
// Two NICs in virtual time with a capture between them, as replay would read it from a file.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "fabric/fault_link.hpp"
#include "observed_link.hpp"
#include "offline_replay/capture_replay.hpp"
#include "unit/nic/nic_world.hpp"
#include "wire/icrc.hpp"

namespace softrnic::offline_replay::test {

using nic::test::Endpoint;

struct PairOptions {
  std::string requester = "10.0.0.1";
  std::string responder = "10.0.0.2";
  wire::RoceVersion version = wire::RoceVersion::v2;
  std::uint32_t path_mtu = 1024;
  // Faults between the point of capture and the responder, and between it and the requester; as
  // seen from that NIC.
  std::vector<std::string> faults_at_responder;
  std::vector<std::string> faults_at_requester;
  std::uint64_t seed = 1;
};

class CapturedPair {
 public:
  explicit CapturedPair(const PairOptions& options = {}) : options_(options) {
    requester_nic_ = &world_.add(world_.config(1), wrap(options.faults_at_requester, false));
    responder_nic_ = &world_.add(world_.config(2), wrap(options.faults_at_responder, true));
    requester_nic_->add_neighbor(nic::test::gid(options.responder), responder_nic_->mac());
    responder_nic_->add_neighbor(nic::test::gid(options.requester), requester_nic_->mac());
    add_connection();
  }

  // One more pair of connected queue pairs, with a buffer each; returns its index.
  std::size_t add_connection() {
    requesters_.push_back(std::make_unique<Endpoint>(make_end(*requester_nic_)));
    responders_.push_back(std::make_unique<Endpoint>(make_end(*responder_nic_)));
    nic::test::connect(*requesters_.back(), nic::test::gid(options_.requester), *responders_.back(),
                       nic::test::gid(options_.responder), options_.version, options_.path_mtu);
    return requesters_.size() - 1;
  }

  Endpoint& requester(std::size_t i = 0) { return *requesters_[i]; }
  Endpoint& responder(std::size_t i = 0) { return *responders_[i]; }

  // Time enough for every retry.
  void settle() { world_.run_for(std::chrono::seconds(30)); }
  void pause(wire::Duration duration) { world_.run_for(duration); }

  transport::SendRequest to_responder(transport::SendOperation operation, std::size_t offset = 0,
                                      std::size_t i = 0) const {
    transport::SendRequest request;
    request.operation = operation;
    request.remote_address = responders_[i]->address(offset);
    request.remote_key = responders_[i]->keys.remote;
    request.immediate = 0x11223344;
    request.swap_add = 7;
    request.compare = 1;
    return request;
  }

  const std::vector<CapturedFrame>& frames() const { return *frames_; }

 private:
  static constexpr std::size_t kBuffer = 1 << 16;

  static Endpoint make_end(nic::Nic& nic) {
    Endpoint end = nic::test::make_endpoint(nic, wire::Service::reliable_connection, kBuffer);
    end.buffer = nic::test::random_bytes(kBuffer, end.qpn());
    register_again(end);
    return end;
  }

  // The buffer moved with its new contents.
  static void register_again(Endpoint& end) {
    end.nic->memory().remove(end.keys.local);
    nic::RegionAttributes region;
    region.domain = end.domain;
    region.base = end.buffer.data();
    region.length = end.buffer.size();
    region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead |
                    transport::kRemoteAtomic;
    end.keys = end.nic->memory().add(region).value();
  }

  // The capture hangs at the responder's port, on the wire's side of its faults.
  std::unique_ptr<link::Link> wrap(const std::vector<std::string>& faults, bool captured) {
    std::unique_ptr<link::Link> link = world_.attach();
    if (captured) {
      auto account = std::make_shared<softrnic::test::LinkAccount>();
      account->on_frame = [frames = frames_](wire::Instant now, link::Direction,
                                             const wire::ByteChain& bytes) {
        CapturedFrame frame;
        frame.number = static_cast<std::uint32_t>(frames->size() + 1);
        frame.at = now;
        frame.wire_size = static_cast<std::uint32_t>(bytes.size());
        frame.bytes.resize(bytes.size());
        bytes.copy_to(0, frame.bytes);
        frames->push_back(std::move(frame));
      };
      link = std::make_unique<softrnic::test::ObservedLink>(std::move(link), account);
    }
    if (faults.empty()) return link;
    std::vector<fabric::FaultRule> rules;
    for (const std::string& text : faults) rules.push_back(fabric::FaultRule::parse(text).value());
    fabric::FaultOptions options;
    options.seed = options_.seed;
    return fabric::inject_faults(std::move(link), std::move(rules), options);
  }

  PairOptions options_;
  std::shared_ptr<std::vector<CapturedFrame>> frames_ =
      std::make_shared<std::vector<CapturedFrame>>();
  nic::test::NicWorld world_;
  nic::Nic* requester_nic_ = nullptr;
  nic::Nic* responder_nic_ = nullptr;
  std::vector<std::unique_ptr<Endpoint>> requesters_;
  std::vector<std::unique_ptr<Endpoint>> responders_;
};

// The frames numbered anew from 1, as an editor of captures leaves them.
inline std::vector<CapturedFrame> renumber(std::vector<CapturedFrame> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    frames[i].number = static_cast<std::uint32_t>(i + 1);
  }
  return frames;
}

inline wire::PacketView view_of(const CapturedFrame& frame) {
  return wire::PacketView::parse(wire::ByteView(frame.bytes)).value();
}

// Gives a frame that was changed an ICRC to fit.
inline void reseal(CapturedFrame& frame) {
  const wire::PacketView view = view_of(frame);
  wire::store_icrc(frame.bytes.data() + view.icrc_offset(), view.computed_icrc());
}

// The index of the first frame, from `from` on, of this opcode and, if given, syndrome.
inline std::size_t find_frame(const std::vector<CapturedFrame>& frames, wire::Opcode opcode,
                              std::optional<wire::Syndrome> syndrome = {}, std::size_t from = 0) {
  for (std::size_t i = from; i < frames.size(); ++i) {
    const wire::PacketView view = view_of(frames[i]);
    if (view.opcode().opcode != opcode) continue;
    if (!syndrome || view.headers().aeth.syndrome == *syndrome) return i;
  }
  FAIL("no such frame");
  return 0;
}

// Every difference and note in one string, for a failing check's message.
inline std::string explain(const CaptureReplay& replay) {
  std::string text;
  for (const FrameFailure& failure : replay.survey.failures) {
    text += fmt::format("frame {}: {}\n", failure.frame, failure.what);
  }
  for (const ConversationResult& result : replay.results) {
    text += result.refusal;
    for (const Difference& difference : result.comparison.differences) {
      text += fmt::format("frame {}: captured {}, softrnic {}\n", difference.frame,
                          difference.captured, difference.emulated);
    }
    for (const Note& note : result.comparison.notes) {
      text += fmt::format("frame {}: note: {}\n", note.frame, note.text);
    }
  }
  return text;
}

inline std::size_t differences(const CaptureReplay& replay) {
  std::size_t n = 0;
  for (const ConversationResult& result : replay.results) n += result.comparison.differences.size();
  return n;
}

inline std::size_t compared(const CaptureReplay& replay) {
  std::size_t n = 0;
  for (const ConversationResult& result : replay.results) {
    n += result.comparison.one_to_one + result.comparison.cumulative;
  }
  return n;
}

}  // namespace softrnic::offline_replay::test
