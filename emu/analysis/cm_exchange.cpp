// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/cm_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "analysis/ledger.hpp"

namespace softrnic::analysis {

namespace {

using wire::CmAttribute;

// Bytes of a message that must have been captured: all that is read here of it.
std::size_t bytes_needed(std::uint16_t attribute) {
  switch (static_cast<CmAttribute>(attribute)) {
    case CmAttribute::connect_request:
      return wire::CmReq::kPrimaryPathOffset + wire::CmPath::kSize;
    case CmAttribute::connect_reply:
      return wire::CmRep::kPrivateDataOffset;
    case CmAttribute::service_id_resolution_reply:
      return wire::CmSidrRep::kInfoOffset;
    default:
      return wire::CmSidrReq::kPrivateDataOffset;  // of the others, the longest
  }
}

std::optional<wire::CmMad> parse(wire::ByteView payload) {
  std::array<std::byte, wire::kMadSize> whole{};
  const std::size_t captured = std::min(payload.size(), whole.size());
  if (captured < wire::MadHeader::kSize) return std::nullopt;
  std::memcpy(whole.data(), payload.data(), captured);
  const auto attribute =
      static_cast<std::uint16_t>(wire::get(whole.data(), wire::MadHeader::kAttributeId));
  if (captured < wire::MadHeader::kSize + bytes_needed(attribute)) return std::nullopt;
  return wire::CmMad::parse(whole);
}

}  // namespace

bool CmExchange::may_be_message(const Frame& frame) {
  return frame.headers.bth.destination_qpn == wire::kGeneralServiceQpn &&
         frame.headers.bth.opcode == wire::Opcode::ud_send_only &&
         frame.headers.deth.queue_key == wire::kGeneralServiceQueueKey &&
         frame.payload_size == wire::kMadSize;
}

std::optional<CmExchange::News> CmExchange::on_packet(const Frame& frame) {
  if (!may_be_message(frame)) return std::nullopt;
  const auto mad = parse(frame.payload);
  if (!mad) return std::nullopt;
  return std::visit([&](const auto& message) { return on(frame, mad->header, message); },
                    mad->message);
}

// --- connections ---

// What a REQ or REP says for its receiver (retries, its time-out, its first PSN) goes to the other
// side (IBTA vol. 1, 12.7.26 to 12.7.38).
CmExchange::News CmExchange::on(const Frame& frame, const Header& header, const wire::CmReq& req) {
  const Key key{frame.source, frame.destination, req.local_communication_id, false};
  News news;
  Exchange* known = find(key);
  const bool again = known != nullptr && known->transaction_id == header.transaction_id &&
                     known->terms.qpn[0] == req.local_qpn &&
                     known->terms.first_psn[1] == req.starting_psn.value();
  if (again) {
    is_new(frame, known->request, news);
    say_sent_again(frame, known->request, news);
    return news;
  }
  Exchange& exchange = make(key);
  exchange.transaction_id = header.transaction_id;
  is_new(frame, exchange.request, news);
  ConnectionTerms& terms = exchange.terms;
  terms.told_by = PairedBy::cm;
  terms.address[0] = frame.source;
  terms.address[1] = frame.destination;
  terms.qpn[0] = req.local_qpn;
  terms.path_mtu = wire::mtu_bytes(req.path_mtu);
  terms.retry_count[0] = terms.retry_count[1] = req.retry_count;
  terms.rnr_retry_count[1] = req.rnr_retry_count;
  terms.responder_resources[0] = req.responder_resources;
  terms.first_psn[1] = req.starting_psn.value();
  terms.ack_timeout[1] = req.primary_path.ack_timeout;
  news.finding =
      Finding{FindingKind::connection_request, 0, req.local_qpn, req.starting_psn.value()};
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmRep& rep) {
  News news;
  news.finding =
      Finding{FindingKind::connection_established, 0, rep.local_qpn, rep.starting_psn.value()};
  Exchange* exchange =
      find(Key{frame.destination, frame.source, rep.remote_communication_id, false});
  if (exchange == nullptr) return news;
  news.answers = exchange->request.frame;
  if (!is_new(frame, exchange->reply, news)) {
    news.finding.reset();
    // Sent again for a REQ that came again, or as no RTU came.
    if (exchange->reply.repetitions > exchange->request.repetitions) {
      say_sent_again(frame, exchange->reply, news);
    }
    return news;
  }
  exchange->answerer_id = rep.local_communication_id;
  news.finding->related = exchange->request.frame;
  ConnectionTerms& terms = exchange->terms;
  terms.qpn[1] = rep.local_qpn;
  terms.rnr_retry_count[0] = rep.rnr_retry_count;
  terms.responder_resources[1] = rep.responder_resources;
  terms.first_psn[0] = rep.starting_psn.value();
  news.connected = terms;
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmRtu& rtu) {
  News news;
  news.finding = Finding{FindingKind::connection_established};
  bool asked = true;
  Exchange* exchange = find(frame, rtu.local_communication_id, rtu.remote_communication_id, asked);
  if (exchange == nullptr) return news;
  news.answers = exchange->reply.frame;
  news.finding->related = exchange->reply.frame;
  if (!is_new(frame, exchange->ready, news)) news.finding.reset();
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmRej& rej) {
  News news;
  news.finding =
      Finding{FindingKind::connection_rejected, 0, static_cast<std::uint64_t>(rej.reason)};
  bool asked = false;
  Exchange* exchange = find(frame, rej.local_communication_id, rej.remote_communication_id, asked);
  if (exchange == nullptr) return news;
  const bool of_reply = rej.message == wire::CmAnswered::reply;
  news.answers = of_reply ? exchange->reply.frame : exchange->request.frame;
  news.finding->related = exchange->request.frame;
  if (!is_new(frame, exchange->rejection, news)) news.finding.reset();
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmDreq& dreq) {
  News news;
  news.finding = Finding{FindingKind::connection_closed};
  bool asked = false;
  Exchange* exchange =
      find(frame, dreq.local_communication_id, dreq.remote_communication_id, asked);
  if (exchange == nullptr) return news;
  Seen& seen = exchange->disconnect[asked ? 0 : 1];
  news.finding->related = exchange->request.frame;
  if (!is_new(frame, seen, news)) say_sent_again(frame, seen, news);
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmDrep& drep) {
  News news;
  news.finding = Finding{FindingKind::connection_closed, 0, 1};
  bool asked = false;
  Exchange* exchange =
      find(frame, drep.local_communication_id, drep.remote_communication_id, asked);
  if (exchange == nullptr) return news;
  news.answers = exchange->disconnect[asked ? 1 : 0].frame;
  news.finding->related = news.answers;
  if (!is_new(frame, exchange->disconnected, news)) news.finding.reset();
  return news;
}

// --- datagram services ---

CmExchange::News CmExchange::on(const Frame& frame, const Header& header,
                                const wire::CmSidrReq& req) {
  const Key key{frame.source, frame.destination, req.request_id, true};
  News news;
  Exchange* known = find(key);
  if (known != nullptr && known->transaction_id == header.transaction_id) {
    is_new(frame, known->request, news);
    say_sent_again(frame, known->request, news);
    return news;
  }
  Exchange& exchange = make(key);
  exchange.transaction_id = header.transaction_id;
  is_new(frame, exchange.request, news);
  news.finding = Finding{FindingKind::connection_request, 0, 0, kNone};
  return news;
}

CmExchange::News CmExchange::on(const Frame& frame, const Header&, const wire::CmSidrRep& rep) {
  News news;
  const bool valid = rep.status == wire::CmSidrStatus::valid;
  news.finding = valid ? Finding{FindingKind::connection_established, 0, rep.qpn, kNone}
                       : Finding{FindingKind::connection_rejected, 0,
                                 static_cast<std::uint64_t>(rep.status), kNone};
  Exchange* exchange = find(Key{frame.destination, frame.source, rep.request_id, true});
  if (exchange == nullptr) return news;
  news.answers = exchange->request.frame;
  news.finding->related = exchange->request.frame;
  if (!is_new(frame, exchange->reply, news)) news.finding.reset();
  return news;
}

// --- what is remembered ---

std::size_t CmExchange::HashOfKey::operator()(const Key& key) const {
  std::uint64_t hash = key.id * 2 + (key.sidr ? 1u : 0u);
  for (const wire::Gid* gid : {&key.asker, &key.answerer}) {
    std::uint64_t words[2];
    std::memcpy(words, gid->bytes.data(), sizeof words);
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

CmExchange::Exchange* CmExchange::find(const Key& key) {
  const auto found = exchanges_.find(key);
  return found == exchanges_.end() ? nullptr : &found->second;
}

CmExchange::Exchange& CmExchange::make(const Key& key) {
  const auto [place, fresh] = exchanges_.insert_or_assign(key, Exchange{});
  if (!fresh) return place->second;
  if (order_.size() < bound_) {
    order_.push_back(key);
  } else {
    exchanges_.erase(order_[oldest_]);
    order_[oldest_] = key;
    oldest_ = (oldest_ + 1) % order_.size();
  }
  return place->second;
}

// Either side may use an id that the other uses too, so both ids have to fit where both are known.
CmExchange::Exchange* CmExchange::find(const Frame& frame, std::uint32_t local_id,
                                       std::uint32_t remote_id, bool& asked) {
  const auto fits = [](const Exchange* exchange, std::uint32_t answerer_id) {
    return exchange != nullptr &&
           (exchange->answerer_id == 0 || answerer_id == 0 || exchange->answerer_id == answerer_id);
  };
  Exchange* of_sender = find(Key{frame.source, frame.destination, local_id, false});
  asked = fits(of_sender, remote_id);
  if (asked) return of_sender;
  Exchange* of_receiver = find(Key{frame.destination, frame.source, remote_id, false});
  return fits(of_receiver, local_id) ? of_receiver : nullptr;
}

bool CmExchange::is_new(const Frame& frame, Seen& seen, News& news) {
  if (seen.frame == 0) {
    seen.frame = frame.number;
    seen.time = frame.time;
    return true;
  }
  if (seen.repetitions != 0xff) ++seen.repetitions;
  news.original = seen.frame;
  news.repetition = seen.repetitions;
  return false;
}

// A request without an answer is sent again after a time-out (IBTA vol. 1, 12.9.8.2).
void CmExchange::say_sent_again(const Frame& frame, const Seen& seen, News& news) {
  news.finding = Finding{FindingKind::retransmission_timeout, seen.frame, seen.repetitions,
                         nanoseconds(seen.time, frame.time)};
}

std::size_t CmExchange::memory() const {
  return exchanges_.size() * (sizeof(Key) + sizeof(Exchange) + 2 * sizeof(void*)) +
         exchanges_.bucket_count() * sizeof(void*) + order_.capacity() * sizeof(Key);
}

}  // namespace softrnic::analysis
