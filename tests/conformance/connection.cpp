// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/connection.hpp"

#include <algorithm>

namespace softrnic::conformance {

namespace {

Setup with_first_psn(std::uint32_t psn) {
  return Setup().with([=](transport::QueuePairAttributes& a) {
    a.remote_access = transport::kRemoteAccess;
    a.send_psn = a.receive_psn = wire::Psn(psn);
  });
}

constexpr const char* kRemarks[] = {"", " (lost)", " (twice)", " (late)"};

}  // namespace

Connection::Connection(std::uint32_t first_psn)
    : requester_(with_first_psn(first_psn)), responder_(with_first_psn(first_psn)) {}

void Connection::post(transport::SendOperation operation, std::uint64_t id, std::uint64_t at,
                      std::uint32_t length, std::uint64_t to,
                      const std::function<void(transport::SendRequest&)>& edit) {
  requester_.post(operation, id, at, length, [&](transport::SendRequest& request) {
    request.remote_address = Subject::kBase + to;
    request.remote_key = responder_.key();
    if (edit) edit(request);
  });
}

// A late packet comes behind all others of its burst.
bool Connection::carry(Subject& from, Subject& to, const char* arrow, const Judge& judge) {
  const std::vector<Packet> burst = from.transmit();
  std::vector<Packet> late;
  for (const Packet& packet : burst) {
    const Fate fate = judge ? judge(wire_.size(), packet) : Fate::arrives;
    wire_.push_back(arrow + describe(packet) + kRemarks[static_cast<std::size_t>(fate)]);
    if (fate == Fate::arrives_late) late.push_back(packet);
    if (fate == Fate::arrives || fate == Fate::arrives_twice) to.deliver(packet);
    if (fate == Fate::arrives_twice) to.deliver(packet);
  }
  for (const Packet& packet : late) to.deliver(packet);
  return !burst.empty();
}

bool Connection::run(const Judge& judge) {
  for (int round = 0; round < 1000; ++round) {
    const bool asked = carry(requester_, responder_, "> ", judge);
    const bool answered = carry(responder_, requester_, "< ", judge);
    if (asked || answered) continue;
    if (!requester_.pass_deadline()) return true;
    responder_.now = requester_.now;
  }
  return false;
}

}  // namespace softrnic::conformance
