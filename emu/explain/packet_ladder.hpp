// SPDX-License-Identifier: BSD-3-Clause
// A ladder diagram's packets: those a connection began with, and those around its worst moments.
//
// The newest few are remembered always; when something goes wrong they are kept, together with the
// few that come next. Of such passages the gravest are kept.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/finding.hpp"
#include "wire/instant.hpp"
#include "wire/opcode.hpp"

namespace softrnic::explain {

struct LadderPacket {
  wire::Instant at;
  std::uint32_t frame = 0;
  std::uint32_t psn = 0;
  std::int32_t relative_psn = 0;
  std::uint32_t bytes = 0;  // of payload
  std::uint32_t msn = 0;
  wire::Opcode opcode{};
  std::uint8_t sender = 0;  // side of the connection
  std::uint8_t syndrome = 0;
  std::uint8_t repetition = 0;
  bool has_aeth = false;
  bool has_finding = false;
  analysis::Finding finding;  // the gravest
};

class PacketLadder {
 public:
  static constexpr std::size_t kBeginning = 32;
  static constexpr std::size_t kBefore = 12;
  static constexpr std::size_t kAfter = 12;
  static constexpr std::size_t kLongest = 48;  // of one passage, when trouble goes on
  static constexpr std::size_t kMostPassages = 8;

  void add(const LadderPacket& packet);

  // Something went wrong with the newest packet: how grave it is decides what is kept.
  void keep_here(std::uint64_t gravity);

  // In the order of the frames, none twice. Between two that are not neighbours in the connection
  // some are left out; `gaps` holds how many before each packet.
  struct Packets {
    std::vector<LadderPacket> packets;
    std::vector<std::uint64_t> gaps;
    std::uint64_t left_out_at_end = 0;
  };
  Packets packets() const;

 private:
  struct Kept {
    std::uint64_t number = 0;  // in the connection, from 0
    LadderPacket packet;
  };

  struct Passage {
    std::uint64_t from = 0;
    std::uint64_t until = 0;
    std::uint64_t gravity = 0;
  };

  bool make_room(std::uint64_t gravity);
  bool is_in_passage(std::uint64_t number) const;

  std::vector<Kept> kept_;
  std::array<LadderPacket, kBefore> newest_{};
  std::uint64_t seen_ = 0;
  std::uint64_t keep_until_ = kBeginning;
  std::vector<Passage> passages_;
};

}  // namespace softrnic::explain
