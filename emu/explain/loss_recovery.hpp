// SPDX-License-Identifier: BSD-3-Clause
// Losses of one connection and how each was mended: which PSN, what made the sender go back, what
// was sent again, and the time that it took.
//
// A loss is a go-back: it begins with the first packet that is sent again and takes in all that
// follow from the same cause. Going back to the same PSN once more is another round of the same
// loss. The time lost runs from when the packet was sent last before it was missed (or, where the
// capture lacks that, from the packet that showed the gap) to the last time it was sent again.
//
// A wait after RNR NAKs is no loss: the packet arrived, and its receiver was not ready. It is kept
// here beside them, as it costs time in the same way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "analysis/packet_record.hpp"
#include "analysis/stream.hpp"
#include "wire/instant.hpp"

namespace softrnic::explain {

enum class LossCause : std::uint8_t {
  nak,        // the receiver said what it missed
  selective,  // the same, by softrnic's selective acknowledgement: no more is sent again
  timeout,    // nothing did: the sender's timer ran out
  implied,    // a READ or atomic response was missing before a later one
  unknown,    // sent again, and the capture does not show why
  never,      // not mended: UC, which does not repeat
  count,
};
inline constexpr std::size_t kLossCauses = static_cast<std::size_t>(LossCause::count);

std::string_view to_string(LossCause cause);

struct Loss {
  std::uint32_t connection = 0;
  std::uint32_t psn = 0;            // the first one sent again; of UC, the first one missing
  std::uint32_t lost_frame = 0;     // its first transmission; 0: lost in front of the capture
  std::uint32_t shown_frame = 0;    // the packet that showed a gap in the capture; 0: none did
  std::uint32_t late_frame = 0;     // what lost_frame had overtaken: its receiver discarded it
  std::uint32_t cause_frame = 0;    // the NAK, or the response that came too early; 0: none
  std::uint32_t again_frame = 0;    // the first packet sent again
  std::uint32_t last_frame = 0;     // the last one
  std::uint32_t packets = 0;        // missing in the capture and then sent, at least one
  std::uint32_t packets_again = 0;  // sent again
  std::uint32_t rounds = 1;
  std::uint8_t side = 0;  // who sends again
  LossCause cause = LossCause::unknown;
  bool gave_up = false;  // the sender may not repeat it once more, or nothing ever answered
  // It had been sent again before, from frame `before_from` to `before_to`; 0: it had not.
  std::uint32_t before_from = 0;
  std::uint32_t before_to = 0;
  wire::Instant lost_at;
  wire::Instant asked_at;  // of the cause; as again_at for a timeout
  wire::Instant again_at;
  wire::Instant last_round_at;

  wire::Duration time_lost() const { return last_round_at - lost_at; }
  // From the first transmission, or the gap, to the NAK; and from there to sending again.
  wire::Duration noticed_after() const { return asked_at - lost_at; }
  wire::Duration reacted_after() const { return again_at - asked_at; }
};

struct ReceiverNotReady {
  std::uint32_t connection = 0;
  std::uint32_t psn = 0;
  std::uint32_t first_frame = 0;  // the first RNR NAK
  std::uint32_t last_frame = 0;   // the last retransmission, or RNR NAK
  std::uint32_t naks = 0;
  std::uint8_t side = 0;  // who waits
  bool gave_up = false;
  wire::Instant begin;
  wire::Duration asked{};   // to wait, all NAKs together
  wire::Duration waited{};  // until sent again, all together
};

// Who is told when one has ended.
class LossSink {
 public:
  virtual void on_loss(const Loss& loss) = 0;
  virtual void on_not_ready(const ReceiverNotReady& wait) = 0;

 protected:
  ~LossSink() = default;
};

class LossRecovery {
 public:
  // A packet and what the analysis said of it; `lost`: StreamSide::lost of its sender after it.
  void on_packet(const analysis::Frame& frame, const analysis::PacketRecord& record,
                 std::span<const analysis::Finding> findings, const analysis::Stream& stream,
                 LossSink& sink);
  // Those that have not ended have.
  void finish(LossSink& sink);

 private:
  struct Gap {
    std::uint32_t frame = 0;
    std::uint32_t psn = 0;
    std::uint32_t missing = 0;
    wire::Instant at;
  };
  struct Notice {  // a NAK, or a response that came too early
    std::uint32_t frame = 0;
    wire::Instant at;
  };
  struct Late {  // a packet that others overtook
    std::uint32_t frame = 0;
    std::uint32_t overtaken_from = 0;  // the first of the others
  };
  // Packets sent again, one behind the other: what was lost of them is lost once more.
  struct Run {
    std::uint32_t psn = 0;
    std::uint32_t last_psn = 0;
    std::uint32_t frame = 0;  // 0: none
    std::uint32_t last_frame = 0;
    wire::Instant begin;
    wire::Instant end;
  };
  // Of what one side asks for.
  struct Requester {
    Gap gap;
    Late late;
    Notice nak;
    Notice early_response;
    std::array<Run, 4> runs{};  // the newest at newest_run
    std::uint8_t newest_run = 0;
    std::uint64_t lost_before = 0;
    std::uint64_t timeouts_before = 0;
    bool losing = false;
    Loss loss;
    bool waiting = false;
    std::uint32_t rnr_frame = 0;  // whose wait is not over
    wire::Instant rnr_at;
    ReceiverNotReady wait;
  };
  struct Sight;

  void on_again(const Sight& sight, const analysis::Finding& finding, LossSink& sink);
  void begin(const Sight& sight, const analysis::Finding& finding, LossCause cause);
  static void follow(const Sight& sight, Requester& r);
  static void find_lost(const Sight& sight, const Requester& r, const analysis::Finding& finding,
                        Loss& loss);
  void on_rnr_nak(const Sight& sight, const analysis::Finding& finding, LossSink& sink);
  void on_rnr_over(const Sight& sight, const analysis::Finding& finding);
  void on_gap(const Sight& sight, const analysis::Finding& finding, LossSink& sink);
  void give_up(const Sight& sight);
  static bool goes_on(const Sight& sight, const Requester& r, const analysis::Finding& finding,
                      LossCause cause);

  Requester& requester(std::uint8_t side) {
    if (requesters_[side] == nullptr) requesters_[side] = std::make_unique<Requester>();
    return *requesters_[side];
  }

  // Mostly one side alone loses anything.
  std::array<std::unique_ptr<Requester>, 2> requesters_;
};

}  // namespace softrnic::explain
