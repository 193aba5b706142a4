// SPDX-License-Identifier: BSD-3-Clause
// The order of responses: what an acknowledgement, a NAK, a READ response or an atomic result says
// about the requests it answers (IBTA vol. 1, 9.7.5 to 9.7.7).
#pragma once

#include "analysis/ledger.hpp"
#include "analysis/number_space.hpp"

namespace softrnic::analysis {

class ResponseSequence {
 public:
  // Of the requester, the receiver of these responses.
  explicit ResponseSequence(NumberSpace& numbers) : n_(numbers) {}

  void on_response(Observation& o);
  // A data response with a wrong ICRC: the requester does not get it.
  void on_spoilt(Observation& o);

 private:
  bool is_duplicate(const Observation& o) const;
  void on_duplicate(Observation& o);
  void on_acknowledge(Observation& o);
  void on_ack(Observation& o);
  void on_old_ack(Observation& o);
  bool is_selective(const Observation& o) const;
  void on_selective_ack(Observation& o);
  void on_nak(Observation& o);
  void on_sequence_nak(Observation& o);
  std::uint32_t shower_of_gap(wire::Psn psn) const;
  void on_rnr_nak(Observation& o);
  void on_data(Observation& o);
  void learn_mtu(Observation& o);
  void on_first_data(Observation& o, ReadRequest& read, std::size_t place);
  void on_data_for_nothing(Observation& o);
  void on_repeated_data(Observation& o, ReadRequest& read, SeenResponse& first);

  bool is_known(wire::Psn psn) const;
  void progress(Observation& o, wire::Psn end);
  void imply(const Observation& o, wire::Psn psn);
  void complete(Observation& o, std::uint32_t message);
  void learn(Observation& o, const Message& message);
  void miss_reads(Observation& o, wire::Psn end);
  void check_order(Observation& o, ReadRequest& read, std::size_t place);
  void check_size(Observation& o, const ReadRequest& read);
  void check_msn(Observation& o, std::uint32_t slack);
  void link(Observation& o, wire::Psn psn);
  SentPacket* refused(wire::Psn psn);

  NumberSpace& n_;
};

}  // namespace softrnic::analysis
