// SPDX-License-Identifier: BSD-3-Clause
#include "demo_stage.hpp"

#include <algorithm>

#include "connected_queue_pair.hpp"
#include "fabric/fault_link.hpp"
#include "failure.hpp"
#include "limited_resources.hpp"
#include "payload_pattern.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::tools {

namespace {

// 2026-01-01 00:00:00 UTC: a capture with a date in it is easier on the eye than 1970.
constexpr wire::Instant kStart{std::chrono::seconds(1'767'225'600)};
// What one turn of both cards takes: about a burst on a 100 Gbit/s wire.
constexpr wire::Duration kTurn = std::chrono::microseconds(2);
// Of the demo's own clock. Every retry is over long before, if its number is bounded at all; the
// retries after an RNR NAK are not, and a fault rule can ask for one each time.
constexpr wire::Duration kPatience = std::chrono::minutes(5);
// Some ten times what the longest step takes on a wire that loses a fifth of the frames.
constexpr std::uint64_t kMostPackets = 200'000;
constexpr std::uint32_t kWireMtu = 9000;
constexpr std::uint32_t kCompletions = 256;

fabric::FaultRule::Way other_way(fabric::FaultRule::Way way) {
  using Way = fabric::FaultRule::Way;
  if (way == Way::both) return way;
  return way == Way::tx ? Way::rx : Way::tx;
}

void require(const std::optional<nic::ResourceError>& error, const char* what) {
  if (error) fail("{}: {}", what, nic::to_string(*error));
}

nic::InterfaceAddress address_of(bool ipv6, std::uint64_t which) {
  const std::string text =
      ipv6 ? fmt::format("fd00::{}/64", which) : fmt::format("10.0.0.{}/24", which);
  return *nic::InterfaceAddress::from_string(text);
}

std::uint32_t find_gid(const nic::GidTable& gids, const wire::Gid& gid, wire::RoceVersion version) {
  const auto entries = gids.entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const nic::GidEntry& entry) {
    return entry.gid == gid && entry.version == version;
  });
  return static_cast<std::uint32_t>(found - entries.begin());
}

}  // namespace

bool Card::has_finished(std::uint64_t id) const {
  return std::any_of(finished.begin(), finished.end(),
                     [id](const transport::Completion& c) { return c.id == id; });
}

Stage::Stage(const StageOptions& options) : options_(options), now_(kStart), wire_(kWireMtu) {
  if (!options_.capture_path.empty()) {
    auto file = link::CaptureFile::create(options_.capture_path);
    if (!file) fail("{}", file.error().message);
    capture_ = std::move(file).value();
  }
  alice_.name = "alice";
  bob_.name = "bob";
  plug_in(alice_, true, 1);
  plug_in(bob_, false, 2);
  create_queue_pair(alice_);
  create_queue_pair(bob_);
  connect(alice_, bob_);
  connect(bob_, alice_);
}

Stage::~Stage() = default;

// Each card's frames are injured, and then captured, where they enter the wire: every frame is in
// the file once, under the name of the card that sent it.
void Stage::plug_in(Card& card, bool is_alice, std::uint64_t which) {
  std::unique_ptr<link::Link> port = wire_.attach(card.name);
  std::uint32_t interface = 0;
  if (capture_) {
    interface = capture_->add_interface(card.name);
    port = link::capture(std::move(port), capture_, interface, link::Direction::outbound);
  }
  fabric::FaultOptions faults;
  faults.seed = mix_key(options_.seed, which);
  faults.connected = connected_queue_pair(card.nic);
  faults.on_fault = [this, is_alice, interface](wire::Instant at, link::Direction direction,
                                                const wire::ByteChain& frame,
                                                std::string_view fault) {
    note_fault(is_alice, at, frame, fault);
    // The others reach the wire, and with it the capture; one received has come from there.
    if (capture_ && fabric::is_loss(fault) && direction == link::Direction::outbound) {
      capture_->write(at, interface, direction, frame, fault);
    }
  };
  nic::NicConfig config;
  config.mac.bytes = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(which)};
  card.ip = address_of(options_.ipv6, which);
  config.addresses = {card.ip};
  config.seed = mix_key(options_.seed, 16 + which);
  card.nic = std::make_unique<nic::Nic>(
      config, fabric::inject_faults(std::move(port), faults_of(is_alice), faults));
  card.address = which << 32;
  card.gid_index = find_gid(card.nic->gids(), card.ip.address, options_.version);
}

std::vector<fabric::FaultRule> Stage::faults_of(bool is_alice) const {
  using Way = fabric::FaultRule::Way;
  std::vector<fabric::FaultRule> rules;
  for (fabric::FaultRule rule : options_.faults) {
    if (rule.way == (is_alice ? Way::rx : Way::tx)) continue;
    rule.way = Way::tx;
    // What alice does not receive is what bob does not send.
    if (!is_alice) rule.silenced = other_way(rule.silenced);
    rules.push_back(rule);
  }
  return rules;
}

void Stage::note_fault(bool is_alice, wire::Instant at, const wire::ByteChain& frame,
                       std::string_view fault) {
  InjuredFrame injured;
  injured.at = at;
  injured.from_alice = is_alice;
  injured.fault = fault;
  const auto packet = wire::PacketView::parse(frame);
  if (packet) {
    injured.what = packet->opcode().name;
    injured.psn = packet->bth().psn.value();
    injured.payload = packet->payload().size();
  } else {
    injured.what = "a frame that is not RoCE";
  }
  injured_.push_back(std::move(injured));
}

void Stage::create_queue_pair(Card& card) {
  card.domain = make_domain(*card.nic);
  card.keys = register_memory(*card.nic,
                              {.domain = card.domain,
                               .base = card.memory.data(),
                               .length = card.memory.size(),
                               .access = transport::kLocalWrite | transport::kRemoteWrite |
                                         transport::kRemoteRead | transport::kRemoteAtomic,
                               .virtual_address = card.address,
                               .key = {}},
                              "the memory of " + card.name);
  card.completions = make_completion_queue(*card.nic, kCompletions);
  nic::QueuePairInit init;
  init.domain = card.domain;
  init.send_completions = card.completions;
  init.receive_completions = card.completions;
  card.qpn = make_queue_pair(*card.nic, init)->qpn();
  card.first_psn = wire::Psn(static_cast<std::uint32_t>(mix_key(options_.seed, card.address)));
}

void Stage::connect(Card& card, const Card& other) {
  using transport::QueuePairState;
  constexpr std::uint8_t kReadsAtOnce = 16;
  transport::QueuePairAttributes attributes;
  attributes.remote_access =
      transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
  attributes.path_mtu = options_.path_mtu;
  attributes.destination_qpn = other.qpn;
  attributes.receive_psn = other.first_psn;
  attributes.send_psn = card.first_psn;
  attributes.max_dest_rd_atomic = kReadsAtOnce;
  attributes.max_rd_atomic = kReadsAtOnce;
  nic::AddressAttributes address;
  address.gid_index = card.gid_index;
  address.destination = other.ip.address;
  nic::Nic& nic = *card.nic;
  require(nic.modify(card.qpn, QueuePairState::init, attributes), "to INIT");
  require(nic.modify(card.qpn, QueuePairState::ready_to_receive, attributes, &address), "to RTR");
  require(nic.modify(card.qpn, QueuePairState::ready_to_send, attributes), "to RTS");
}

void Stage::post_send(Card& card, const transport::SendRequest& request) {
  if (const auto error = card.nic->post_send(card.qpn, request)) {
    fail("{} cannot post a {}: {}", card.name, transport::to_string(request.operation),
         transport::to_string(*error));
  }
}

void Stage::post_receive(Card& card, const transport::ReceiveRequest& request) {
  if (const auto error = card.nic->post_receive(card.qpn, request)) {
    fail("{} cannot post a receive: {}", card.name, transport::to_string(*error));
  }
}

void Stage::take_completions(Card& card) {
  transport::Completion batch[16];
  while (const std::size_t n = card.completions->poll(batch)) {
    card.finished.insert(card.finished.end(), batch, batch + n);
  }
}

bool Stage::turn() {
  bool busy = alice_.nic->turn(now_);
  busy = bob_.nic->turn(now_) || busy;
  take_completions(alice_);
  take_completions(bob_);
  return busy;
}

wire::Instant Stage::next_deadline() const {
  return std::min(alice_.nic->next_deadline(), bob_.nic->next_deadline());
}

std::uint64_t Stage::packets_sent() const {
  return alice_.nic->counters().sent_pkts + bob_.nic->counters().sent_pkts;
}

std::optional<std::string> Stage::run_until(const std::function<bool()>& done) {
  const wire::Instant latest = now_ + kPatience;
  const std::uint64_t most = packets_sent() + kMostPackets;
  while (!done()) {
    if (packets_sent() > most) {
      return fmt::format("{} packets were sent in vain: do the fault rules leave it a way out?",
                         kMostPackets);
    }
    if (turn()) {
      now_ += kTurn;
    } else {
      if (done()) break;
      now_ = std::max(next_deadline(), now_ + wire::Duration(1));
    }
    if (now_ > latest) {
      return fmt::format("nothing came of it in {} minutes of the demo's clock",
                         std::chrono::duration_cast<std::chrono::minutes>(kPatience).count());
    }
  }
  return std::nullopt;
}

void Stage::run_for(wire::Duration duration) {
  const wire::Instant end = now_ + duration;
  while (now_ < end) {
    const bool busy = turn();
    now_ = busy ? now_ + kTurn : std::clamp(next_deadline(), now_ + wire::Duration(1), end);
  }
}

void Stage::close_capture() {
  if (capture_ == nullptr) return;
  if (!capture_->close()) {
    throw Failure(kNotWritten,
                  fmt::format("{} is incomplete: it could not be written (is the disk full?)",
                              options_.capture_path));
  }
}

}  // namespace softrnic::tools
