// SPDX-License-Identifier: BSD-3-Clause
#include "stage.hpp"

#include <algorithm>
#include <array>

#include "fabric/fault_link.hpp"
#include "stage_links.hpp"
#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"

namespace softrnic::pcaps {

using transport::QueuePairState;
using transport::SendOperation;

namespace {

// 2026-01-01 00:00:00 UTC.
constexpr wire::Instant kStart{std::chrono::seconds(1'767'225'600)};
// What a NIC's turn takes, and so the time between a burst and its answer.
constexpr wire::Duration kTurn = std::chrono::microseconds(10);
// So long before it the NICs come up.
constexpr wire::Duration kRehearsal = std::chrono::minutes(1);
constexpr std::uint32_t kQueueKey = 0x11111111;
constexpr std::uint16_t kPingIdentifier = 0x5253;

// A counter's eight bytes, and then a text, so that a payload is easy to recognise.
std::vector<std::byte> readable_memory(std::string_view name) {
  std::vector<std::byte> bytes;
  for (int line = 0; bytes.size() < Stage::kMemory; ++line) {
    std::string text = "line " + std::to_string(1000 + line) + " of the memory of ";
    text += name;
    text += '\n';
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  }
  bytes.resize(Stage::kMemory);
  return bytes;
}

nic::InterfaceAddress interface_address(bool ipv6, unsigned number) {
  const std::string digits = std::to_string(number);
  return *nic::InterfaceAddress::from_string(ipv6 ? "fd00::" + digits + "/64"
                                                  : "10.0.0." + digits + "/24");
}

// Bytes from the network header to the BTH.
std::size_t network_size(const wire::AddressVector& path) {
  const std::size_t ethernet =
      path.vlan ? wire::EthernetHeader::kMaxSize : wire::EthernetHeader::kSize;
  return path.size() - ethernet;
}

std::uint32_t gid_index(const nic::Nic& nic, const wire::Gid& gid, wire::RoceVersion version) {
  const auto entries = nic.gids().entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.gid == gid && entry.version == version;
  });
  return static_cast<std::uint32_t>(found - entries.begin());
}

}  // namespace

Stage::Stage(const Setting& setting, const std::string& capture_path)
    : setting_(setting), now_(kStart - kRehearsal) {
  auto file = link::CaptureFile::create(capture_path);
  if (!file) {
    failure_ = file.error().message;
    return;
  }
  file_ = *file;
  plug_in(alice_, "alice", 1, setting.alice_faults);
  plug_in(bob_, "bob", 2, setting.bob_faults);
  if (!failure_.empty()) return;
  if (!setting.strangers) {
    alice_.nic->add_neighbor(bob_.ip, bob_.nic->mac());
    bob_.nic->add_neighbor(alice_.ip, alice_.nic->mac());
  }
  equip(alice_);
  equip(bob_);
  connect(alice_, bob_, setting.alice_psn, setting.bob_psn);
  connect(bob_, alice_, setting.bob_psn, setting.alice_psn);
  // What NICs say when they come up is no part of the scene.
  run_for(kRehearsal);
  curtain_up_ = true;
  now_ = kStart;
}

void Stage::plug_in(Card& card, std::string_view name, unsigned number,
                    const std::vector<std::string>& faults) {
  card.name = name;
  const std::uint32_t interface = card.interface = file_->add_interface(name);
  std::unique_ptr<link::Link> port =
      std::make_unique<Recorder>(wire_.attach(std::string(name)), file_, interface, curtain_up_);
  std::vector<fabric::FaultRule> rules;
  for (const std::string& text : faults) {
    auto rule = fabric::FaultRule::parse(text);
    if (rule) {
      rules.push_back(*rule);
    } else {
      failure_ = rule.error();
    }
  }
  fabric::FaultOptions options;
  options.seed = number;
  options.on_fault = [this, interface](wire::Instant at, link::Direction direction,
                                       const wire::ByteChain& frame, std::string_view fault) {
    // The others reach the wire, and with it the capture.
    if (fabric::is_loss(fault)) file_->write(at, interface, direction, frame, fault);
  };
  if (!rules.empty()) port = fabric::inject_faults(std::move(port), std::move(rules), options);
  port = std::make_unique<OneByOne>(std::move(port));

  nic::NicConfig config;
  config.mac.bytes = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(number)};
  config.addresses = {interface_address(setting_.ipv6, number)};
  config.vlan = setting_.vlan;
  config.seed = number;
  config.first_qpn = 0x10 + number;
  card.ip = config.addresses.front().address;
  card.nic = std::make_unique<nic::Nic>(config, std::move(port));
}

void Stage::equip(Card& card) {
  card.domain = card.nic->allocate_domain();
  card.memory = readable_memory(card.name);
  card.address = &card == &alice_ ? 0xa11ce0000000 : 0xb0b000000000;
  nic::RegionAttributes region;
  region.domain = card.domain;
  region.base = card.memory.data();
  region.length = card.memory.size();
  region.virtual_address = card.address;
  region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead |
                  transport::kRemoteAtomic | transport::kFlushGlobal | transport::kBindWindow;
  card.keys = card.nic->memory().add(region).value();
  region.access = transport::kRemoteRead;
  card.read_only_keys = card.nic->memory().add(region).value();
  card.completions = &card.nic->create_completion_queue(256);
  nic::QueuePairInit init;
  init.type = transport::type_of(setting_.service);
  init.domain = card.domain;
  init.send_completions = card.completions;
  init.receive_completions = card.completions;
  const bool is_target = init.type == transport::QueuePairType::xrc_initiator && &card == &bob_;
  card.qpn = (*card.nic->create_queue_pair(is_target ? target_init(card) : init))->qpn();
}

// XRC: alice asks and bob answers, through a shared receive queue.
nic::QueuePairInit Stage::target_init(Card& card) {
  nic::SharedReceiveQueueInit queue;
  queue.domain = card.domain;
  queue.xrc_domain = &card.nic->create_xrc_domain();
  queue.completions = card.completions;
  card.shared_receive_queue = card.nic->create_shared_receive_queue(queue).value();
  nic::QueuePairInit init;
  init.type = transport::QueuePairType::xrc_target;
  init.xrc_domain = queue.xrc_domain;
  return init;
}

void Stage::connect(Card& card, const Card& peer, std::uint32_t psn, std::uint32_t peer_psn) {
  const bool reliable = setting_.service == wire::Service::reliable_connection ||
                        setting_.service == wire::Service::extended_reliable_connection;
  transport::QueuePairAttributes attributes;
  attributes.remote_access = transport::kRemoteWrite | transport::kRemoteRead |
                             transport::kRemoteAtomic | (reliable ? transport::kFlushGlobal : 0u);
  attributes.selective_repeat = setting_.selective_repeat;
  attributes.queue_key = kQueueKey;
  attributes.path_mtu = setting_.path_mtu;
  attributes.destination_qpn = peer.qpn;
  attributes.receive_psn = wire::Psn(peer_psn);
  attributes.send_psn = wire::Psn(psn);
  attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
  attributes.timeout = setting_.timeout;
  attributes.retry_count = setting_.retry_count;
  attributes.rnr_retry = setting_.rnr_retry;
  attributes.min_rnr_timer = setting_.rnr_timer;
  nic::AddressAttributes address;
  address.gid_index = gid_index(*card.nic, card.ip, setting_.version);
  address.destination = peer.ip;
  address.traffic_class = setting_.traffic_class;
  if (setting_.vlan) address.service_level = setting_.vlan->priority;

  const bool datagram = setting_.service == wire::Service::unreliable_datagram;
  for (const QueuePairState to :
       {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    const bool needs_address = to == QueuePairState::ready_to_receive && !datagram;
    const auto error =
        card.nic->modify(card.qpn, to, attributes, needs_address ? &address : nullptr);
    if (error) failure_ = nic::to_string(*error);
  }
  if (datagram) card.address_handle = card.nic->create_address_handle(card.domain, address).value();
}

transport::SendRequest Stage::request_of(Card& from, SendOperation operation) const {
  const Card& peer = &from == &alice_ ? bob_ : alice_;
  transport::SendRequest request;
  request.operation = operation;
  request.remote_address = peer.address;
  request.remote_key = peer.keys.remote;
  request.immediate = 0xcafe0001;
  request.address_handle = from.address_handle;
  request.remote_qpn = peer.qpn;
  request.remote_queue_key = kQueueKey;
  if (peer.shared_receive_queue != nullptr) {
    request.remote_srq = peer.shared_receive_queue->number();
  }
  return request;
}

void Stage::post_request(Card& from, transport::SendRequest request, std::uint32_t length) {
  const std::array sges{transport::Sge{from.address, length, from.keys.local}};
  request.id = next_id_++;
  if (length != 0) request.sges = sges;
  const auto error = from.nic->post_send(from.qpn, request);
  if (error) failure_ = transport::to_string(*error);
}

void Stage::post(Card& from, SendOperation operation, std::uint32_t length, bool solicited) {
  transport::SendRequest request = request_of(from, operation);
  request.solicited = solicited;
  post_request(from, request, length);
}

void Stage::post_atomic(Card& from, SendOperation operation, std::uint64_t swap_add,
                        std::uint64_t compare) {
  transport::SendRequest request = request_of(from, operation);
  request.swap_add = swap_add;
  request.compare = compare;
  post_request(from, request, 8);
}

void Stage::post_with_bad_key(Card& from, SendOperation operation, std::uint32_t length) {
  transport::SendRequest request = request_of(from, operation);
  request.remote_key = 0xbadbad01;
  post_request(from, request, length);
}

void Stage::post_flush(Card& from, std::uint32_t length) {
  transport::SendRequest request = request_of(from, SendOperation::flush);
  request.placement = transport::kGlobalVisibility;
  request.flush_length = length;
  post_request(from, request, 0);
}

std::uint32_t Stage::open_window(Card& at) {
  const auto window = at.nic->memory().allocate_window(at.domain, nic::WindowType::type_2a);
  if (!window) {
    failure_ = "there is no window";
    return 0;
  }
  transport::WindowBinding binding;
  binding.window_key = *window;
  binding.new_key = *window ^ 1;
  binding.region_key = at.keys.local;
  binding.access = transport::kRemoteWrite | transport::kRemoteRead;
  binding.address = at.address;
  binding.length = kMemory;
  transport::SendRequest request = request_of(at, SendOperation::bind_window);
  request.binding = &binding;
  post_request(at, request, 0);
  run();
  return binding.new_key;
}

void Stage::post_invalidating_send(Card& from, std::uint32_t length, std::uint32_t key) {
  transport::SendRequest request = request_of(from, SendOperation::send_with_invalidate);
  request.invalidate_key = key;
  post_request(from, request, length);
}

void Stage::post_to(Card& from, SendOperation operation, std::uint32_t length,
                    std::uint64_t remote_address, std::uint32_t remote_key) {
  transport::SendRequest request = request_of(from, operation);
  request.remote_address = remote_address;
  request.remote_key = remote_key;
  post_request(from, request, length);
}

void Stage::say(const Card& from, const wire::TransportHeaders& headers, wire::ByteView payload,
                std::uint8_t traffic_class) {
  const Card& to = other(from);
  wire::AddressVector path;
  path.version = setting_.version;
  path.source_mac = from.nic->mac();
  path.destination_mac = to.nic->mac();
  path.vlan = setting_.vlan;
  path.source = from.ip;
  path.destination = to.ip;
  path.traffic_class = traffic_class;

  const std::size_t bth = path.size();
  const std::size_t begin = bth + headers.size();
  const std::size_t pad = headers.bth.pad_count;
  std::vector<std::byte> frame(begin + payload.size() + pad + 4);
  const wire::ByteSpan out(frame);
  path.serialize(out, frame.size() - bth, next_identification_++);
  headers.serialize(out.subspan(bth));
  std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(begin));
  const std::size_t network = bth - network_size(path);
  const wire::ByteView covered(frame);
  wire::store_icrc(
      frame.data() + frame.size() - 4,
      wire::icrc(path.network_layer(), covered.subspan(network, begin - network), bth - network,
                 wire::ByteChain(covered.subspan(begin, payload.size() + pad))));
  file_->write(now_, from.interface, link::Direction::outbound, wire::ByteChain(covered));
  now_ += kTurn;
}

void Stage::post_receive(Card& at, std::uint32_t length) {
  const std::array sges{transport::Sge{at.address + kMemory / 2, length, at.keys.local}};
  transport::ReceiveRequest request;
  request.id = next_id_++;
  request.sges = sges;
  const auto error = at.shared_receive_queue != nullptr ? at.shared_receive_queue->post(request)
                                                        : at.nic->post_receive(at.qpn, request);
  if (error) failure_ = transport::to_string(*error);
}

void Stage::post_receive_read_only(Card& at, std::uint32_t length) {
  const std::array sges{transport::Sge{at.address, length, at.read_only_keys.local}};
  transport::ReceiveRequest request;
  request.id = next_id_++;
  request.sges = sges;
  const auto error = at.nic->post_receive(at.qpn, request);
  if (error) failure_ = transport::to_string(*error);
}

void Stage::ping(Card& from) {
  const std::string_view text = "is bob there, asks alice";
  if (!from.nic->ping(now_, other(from).ip, kPingIdentifier, 1, std::as_bytes(std::span(text)))) {
    failure_ = "no address to ping from";
  }
}

void Stage::run() {
  run_for(std::chrono::hours(1));
}

void Stage::run_for(wire::Duration duration) {
  const wire::Instant limit = now_ + duration;
  while (failure_.empty() && now_ < limit) {
    bool busy = false;
    for (Card* card : {&alice_, &bob_}) {
      if (!card->nic->turn(now_)) continue;
      busy = true;
      now_ += kTurn;
    }
    if (busy) continue;
    const wire::Instant next = std::min(alice_.nic->next_deadline(), bob_.nic->next_deadline());
    if (next > limit) return;
    now_ = std::max(now_ + wire::Duration(1), next);
  }
}

std::string Stage::close() {
  if (failure_.empty() && file_ && !file_->close()) failure_ = "the capture could not be written";
  return failure_;
}

}  // namespace softrnic::pcaps
