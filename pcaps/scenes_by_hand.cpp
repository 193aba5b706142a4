// SPDX-License-Identifier: BSD-3-Clause
// Scenes with packets that the emulated cards do not send: connection management, congestion
// notifications, and end-to-end credits.
#include <array>
#include <chrono>

#include "scenes.hpp"
#include "wire/cm_message.hpp"
#include "wire/ip_cm.hpp"

namespace softrnic::pcaps {

namespace {

using transport::SendOperation;
using wire::Opcode;
using wire::Psn;
using wire::Syndrome;

constexpr std::uint32_t kSmall = 64;
constexpr std::uint16_t kPort = 7174;  // that bob listens on
constexpr std::uint32_t kAliceId = 0xa11ce001;
constexpr std::uint32_t kBobId = 0xb0b00001;
constexpr std::uint32_t kDatagramQueueKey = 0x11111111;

// --- connection management ---

// Each side numbers what it sends from QP 1 on its own.
class Conversation {
 public:
  explicit Conversation(Stage& stage) : stage_(stage) {}

  void say(const Stage::Card& from, const wire::CmMessage& message) {
    wire::MadHeader header;
    header.transaction_id = 0x0000000100000001;
    std::array<std::byte, wire::kMadSize> bytes;
    wire::CmMad(header, message).serialize(bytes);
    wire::TransportHeaders headers;
    headers.bth.opcode = Opcode::ud_send_only;
    headers.bth.destination_qpn = wire::kGeneralServiceQpn;
    headers.bth.psn = Psn(psn_[&from == &stage_.bob() ? 1 : 0]++);
    headers.deth = {wire::kGeneralServiceQueueKey, 0, wire::kGeneralServiceQpn};
    stage_.say(from, headers, bytes);
  }

 private:
  Stage& stage_;
  std::uint32_t psn_[2]{};
};

void address(std::span<std::byte> private_data, const Stage::Card& from, const Stage::Card& to) {
  wire::IpCmHeader ip;
  ip.source_port = 40000;
  ip.set_addresses(from.ip, to.ip);
  ip.serialize(private_data.first<wire::IpCmHeader::kSize>());
}

wire::CmReq request(Stage& stage) {
  wire::CmReq req;
  req.local_communication_id = kAliceId;
  req.service_id = wire::IpServiceId{6, kPort}.value();
  req.local_ca_guid = 0x020000fffe000001;
  req.local_qpn = stage.alice().qpn;
  req.responder_resources = 4;
  req.initiator_depth = 4;
  req.remote_response_timeout = 20;
  req.starting_psn = Psn(Setting{}.bob_psn);  // what bob is to begin with
  req.local_response_timeout = 20;
  req.retry_count = Setting{}.retry_count;
  req.path_mtu = 1;
  req.rnr_retry_count = Setting{}.rnr_retry;
  req.max_cm_retries = 15;
  req.primary_path.local_gid = stage.alice().ip;
  req.primary_path.remote_gid = stage.bob().ip;
  req.primary_path.ack_timeout = Setting{}.timeout;
  req.alternate_path.local_lid = req.alternate_path.remote_lid = 0;
  req.alternate_path.hop_limit = 0;
  address(req.private_data, stage.alice(), stage.bob());
  return req;
}

wire::CmRep reply(Stage& stage) {
  wire::CmRep rep;
  rep.local_communication_id = kBobId;
  rep.remote_communication_id = kAliceId;
  rep.local_qpn = stage.bob().qpn;
  rep.starting_psn = Psn(Setting{}.alice_psn);
  rep.responder_resources = 4;
  rep.initiator_depth = 4;
  rep.rnr_retry_count = Setting{}.rnr_retry;
  rep.local_ca_guid = 0x020000fffe000002;
  return rep;
}

void act_connection(Stage& stage) {
  Conversation cm(stage);
  cm.say(stage.alice(), request(stage));
  cm.say(stage.bob(), reply(stage));
  wire::CmRtu ready;
  ready.local_communication_id = kAliceId;
  ready.remote_communication_id = kBobId;
  cm.say(stage.alice(), ready);

  stage.post_receive(stage.bob(), 1024);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
  stage.post(stage.bob(), SendOperation::rdma_read, kSmall);
  stage.run();

  wire::CmDreq end;
  end.local_communication_id = kAliceId;
  end.remote_communication_id = kBobId;
  end.remote_qpn = stage.bob().qpn;
  cm.say(stage.alice(), end);
  wire::CmDrep ended;
  ended.local_communication_id = kBobId;
  ended.remote_communication_id = kAliceId;
  cm.say(stage.bob(), ended);
}

void act_rejection(Stage& stage) {
  Conversation cm(stage);
  cm.say(stage.alice(), request(stage));
  wire::CmRej refusal;
  refusal.remote_communication_id = kAliceId;
  refusal.message = wire::CmAnswered::request;
  refusal.reason = wire::CmRejectReason::invalid_service_id;
  cm.say(stage.bob(), refusal);
}

void act_unanswered_request(Stage& stage) {
  Conversation cm(stage);
  cm.say(stage.alice(), request(stage));
  stage.pause(wire::cm_timeout(20));
  cm.say(stage.alice(), request(stage));
  cm.say(stage.bob(), reply(stage));
  wire::CmRtu ready;
  ready.local_communication_id = kAliceId;
  ready.remote_communication_id = kBobId;
  cm.say(stage.alice(), ready);
}

void act_datagram_service(Stage& stage) {
  Conversation cm(stage);
  wire::CmSidrReq question;
  question.request_id = kAliceId;
  question.service_id = wire::IpServiceId{17, kPort}.value();
  address(question.private_data, stage.alice(), stage.bob());
  cm.say(stage.alice(), question);
  wire::CmSidrRep answer;
  answer.request_id = kAliceId;
  answer.service_id = question.service_id;
  answer.qpn = stage.bob().qpn;
  answer.queue_key = kDatagramQueueKey;
  cm.say(stage.bob(), answer);
  stage.post_receive(stage.bob(), 512);
  stage.post(stage.alice(), SendOperation::send, kSmall);
  stage.run();
}

// --- congestion ---

void act_congestion(Stage& stage) {
  const auto write = [&](int times, wire::Duration pause) {
    for (int i = 0; i < times; ++i) {
      stage.post(stage.alice(), SendOperation::rdma_write, 256);
      stage.run();
      stage.pause(pause);
    }
  };
  write(20, std::chrono::microseconds(0));
  wire::TransportHeaders cnp;
  cnp.bth = wire::cnp_bth(stage.alice().qpn);
  constexpr std::uint8_t kDscp48 = 48 << 2;  // as cards send it, in a class that goes first
  stage.say(stage.bob(), cnp, {}, kDscp48);
  write(20, std::chrono::microseconds(90));
}

// --- credits ---

void act_credits(Stage& stage) {
  std::uint32_t psn = Setting{}.alice_psn;
  std::uint32_t completed = 0;
  const auto send = [&](int times) {
    for (int i = 0; i < times; ++i) {
      wire::TransportHeaders headers;
      headers.bth.opcode = Opcode::rc_send_only;
      headers.bth.destination_qpn = stage.bob().qpn;
      headers.bth.ack_request = true;
      headers.bth.psn = Psn(psn++);
      stage.say(stage.alice(), headers, std::span(stage.alice().memory).first(kSmall));
      ++completed;
    }
  };
  const auto acknowledge = [&](std::uint8_t credit_code) {
    wire::TransportHeaders headers;
    headers.bth.opcode = Opcode::rc_acknowledge;
    headers.bth.destination_qpn = stage.alice().qpn;
    headers.bth.psn = Psn(psn - 1);
    headers.aeth = {Syndrome::ack(credit_code), completed};
    stage.say(stage.bob(), headers);
  };
  send(1);
  acknowledge(2);  // two receives are posted
  send(3);         // the third goes beyond them, as one may
  acknowledge(0);  // bob had just posted one more, and has none now
  acknowledge(4);  // a new acknowledgement of the same, as he posted four
  send(4);
  acknowledge(Syndrome::kNoCredits);  // from here on he does not count any more
  send(2);
  acknowledge(Syndrome::kNoCredits);
}

}  // namespace

std::vector<Scene> scenes_by_hand() {
  Setting datagram;
  datagram.service = wire::Service::unreliable_datagram;
  Setting congested;
  congested.traffic_class = 0x02;  // ECT(0)
  congested.alice_faults = {"tx mark-ecn 20th WRITE"};
  return {
      {"cm-connect",
       "CM: REQ, REP, RTU, then a SEND and a READ, at the end DREQ and DREP",
       {},
       act_connection},
      {"cm-reject", "CM: a REQ to a port nobody listens on, and the REJ", {}, act_rejection},
      {"cm-retry",
       "CM: a REQ without an answer, and the same once more after 4.3 s",
       {},
       act_unanswered_request},
      {"cm-sidr", "CM: SIDR REQ and REP find the queue pair of a datagram service, then a UD SEND",
       datagram, act_datagram_service},
      {"cnp", "a WRITE marked on its way, the CNP for it, and a sender that slows down", congested,
       act_congestion},
      {"credits",
       "ACKs with end-to-end credits: a SEND beyond them, new credits, at last none kept",
       {},
       act_credits},
  };
}

}  // namespace softrnic::pcaps
