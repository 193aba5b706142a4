// SPDX-License-Identifier: BSD-3-Clause
// CM exchanges: REQ, REP and RTU that connect two queue pairs, REJ that does not, DREQ and DREP
// that part them; and SIDR REQ and REP, which find the queue pair of a datagram service
// (IBTA vol. 1, 12.6 to 12.11).
//
// An exchange is known by the two addresses and the communication id of the side that asked. A
// bounded number is remembered; the oldest makes room.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/connection_terms.hpp"
#include "analysis/finding.hpp"
#include "analysis/frame.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::analysis {

class CmExchange {
 public:
  explicit CmExchange(std::size_t bound = 1 << 16) : bound_(bound) {}

  // Whether a packet may be a CM message: cheap, for every packet.
  static bool may_be_message(const Frame& frame);

  struct News {
    std::optional<Finding> finding;
    std::uint32_t answers = 0;   // the frame of the message it answers
    std::uint32_t original = 0;  // sent again: the frame of the first one
    std::uint8_t repetition = 0;
    // With a REP: what the two said of themselves and of each other. [0] asked.
    std::optional<ConnectionTerms> connected;
  };

  // Nothing when it is no CM message, or too much of it was cut off.
  std::optional<News> on_packet(const Frame& frame);

  std::size_t size() const { return exchanges_.size(); }
  std::size_t memory() const;

 private:
  struct Key {
    wire::Gid asker;
    wire::Gid answerer;
    std::uint32_t id = 0;  // the asker's
    bool sidr = false;     // request ids are numbers of their own

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const;
  };
  // One message of the exchange: when it was first seen, and how often again.
  struct Seen {
    std::uint32_t frame = 0;
    wire::Instant time;
    std::uint8_t repetitions = 0;
  };
  struct Exchange {
    ConnectionTerms terms;
    std::uint64_t transaction_id = 0;
    std::uint32_t answerer_id = 0;  // 0: not told yet
    Seen request;
    Seen reply;
    Seen ready;
    Seen rejection;
    Seen disconnect[2];  // [0] the asker's
    Seen disconnected;
  };

  using Header = wire::MadHeader;
  News on(const Frame& frame, const Header& header, const wire::CmReq& req);
  News on(const Frame& frame, const Header& header, const wire::CmRep& rep);
  News on(const Frame& frame, const Header& header, const wire::CmRtu& rtu);
  News on(const Frame& frame, const Header& header, const wire::CmRej& rej);
  News on(const Frame& frame, const Header& header, const wire::CmDreq& dreq);
  News on(const Frame& frame, const Header& header, const wire::CmDrep& drep);
  News on(const Frame& frame, const Header& header, const wire::CmSidrReq& req);
  News on(const Frame& frame, const Header& header, const wire::CmSidrRep& rep);
  // MRA, LAP and APR change nothing that the analysis looks at.
  template <class Other>
  News on(const Frame&, const Header&, const Other&) {
    return {};
  }

  Exchange* find(const Key& key);
  Exchange& make(const Key& key);
  // By the ids of sender and receiver; `asked`: the sender is the one that asked.
  Exchange* find(const Frame& frame, std::uint32_t local_id, std::uint32_t remote_id, bool& asked);
  static bool is_new(const Frame& frame, Seen& seen, News& news);
  static void say_sent_again(const Frame& frame, const Seen& seen, News& news);

  std::size_t bound_;
  std::unordered_map<Key, Exchange, HashOfKey> exchanges_;
  std::vector<Key> order_;  // of the exchanges, a circle once full
  std::size_t oldest_ = 0;
};

}  // namespace softrnic::analysis
