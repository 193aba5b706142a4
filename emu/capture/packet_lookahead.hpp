// SPDX-License-Identifier: BSD-3-Clause
// Looking ahead: packets are read some way before their turn, and what is known of their
// connections is meanwhile fetched into the processor's caches. With a hundred thousand connections
// next to nothing of it is there otherwise, and a packet costs one wait for memory after the other.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "analysis/analyzer.hpp"
#include "capture/capture_file.hpp"
#include "capture/packet_reading.hpp"

namespace softrnic::capture {

// `Taker` is told of the frames in their order with on_frame(), and fetches with prefetch().
template <class Taker>
class PacketLookahead {
 public:
  // `mirrored`: a switch may have cut the frames, and the taker compares all of their bytes.
  explicit PacketLookahead(Taker& taker, bool mirrored = false)
      : taker_(taker), mirrored_(mirrored) {}

  void on_record(LinkType link_type, const Record& record) {
    Place& place = places_[read_ % kPlaces];
    place.foreseen = {};
    place.record = record;
    read_packet(link_type, record, mirrored_, place.reading);
    if (needs_bytes(place.reading)) keep_bytes(link_type, place);
    for (unsigned step = 0; step < kSteps && step * kStride <= read_; ++step) {
      Place& ahead = places_[(read_ - step * kStride) % kPlaces];
      if (ahead.reading.analysable()) {
        taker_.prefetch(ahead.reading.frame, ahead.foreseen, step);
      }
    }
    if (++read_ - taken_ == kPlaces) take_next();
  }

  // No more records come: those that wait have their turn.
  void finish() {
    while (taken_ != read_) take_next();
  }

 private:
  static constexpr unsigned kSteps = analysis::Analyzer::kPrefetchSteps;
  // A memory access takes less time than so many packets.
  static constexpr std::size_t kStride = 4;
  static constexpr std::size_t kPlaces = 16;
  static_assert(kSteps * kStride <= kPlaces);

  struct Place {
    Record record;
    PacketReading reading;
    analysis::Foreseen foreseen;
    std::vector<std::byte> bytes;
  };

  // Of most packets the reading says all; of these their bytes are asked for.
  bool needs_bytes(const PacketReading& reading) const {
    const analysis::Frame& frame = reading.frame;
    const bool datagram =
        frame.opcode != nullptr && frame.opcode->service == wire::Service::unreliable_datagram;
    return mirrored_ || datagram || frame.icrc == analysis::IcrcVerdict::bad;
  }

  // A record's bytes are good until the next one only.
  void keep_bytes(LinkType link_type, Place& place) {
    place.bytes.assign(place.record.bytes.begin(), place.record.bytes.end());
    place.record.bytes = place.bytes;
    read_packet(link_type, place.record, mirrored_, place.reading);
  }

  void take_next() {
    const Place& place = places_[taken_++ % kPlaces];
    taker_.on_frame(place.reading, place.record, place.foreseen);
  }

  Taker& taker_;
  bool mirrored_;
  std::size_t read_ = 0;
  std::size_t taken_ = 0;
  std::array<Place, kPlaces> places_;
};

}  // namespace softrnic::capture
