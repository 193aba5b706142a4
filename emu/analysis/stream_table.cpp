// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/stream_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace softrnic::analysis {

namespace {

using wire::Service;

bool is_connected(Service service) {
  return service == Service::reliable_connection || service == Service::unreliable_connection ||
         service == Service::extended_reliable_connection;
}

IndexMap::Key connected_key(std::uint32_t source, std::uint32_t destination, std::uint32_t qpn,
                            Service service) {
  return {source, destination, qpn | static_cast<std::uint32_t>(service) << 24, kUnknownQpn};
}

// Port 0 and "any port" are told apart.
std::uint32_t port_key(std::uint16_t port) {
  return port + 1u;
}
constexpr std::uint32_t kAnyPort = 0;

// So many packets before the first one seen may have been lost on the way to the capture.
constexpr std::uint32_t kLostAtFirst = 1024;

}  // namespace

StreamTable::StreamTable(const AnalyzerOptions& options)
    : awaited_size_(options.forgets ? std::bit_ceil(std::min(options.remembered, kAwaited))
                                    : kAwaited) {
  for (const KnownConnection& known : options.connections) {
    ConnectionTerms terms;
    for (std::size_t side : {0u, 1u}) {
      terms.address[side] = known.address[side];
      terms.qpn[side] = known.qpn[side];
    }
    terms.path_mtu = known.path_mtu;
    connect(terms);
  }
}

std::uint32_t StreamTable::address_number(const wire::Gid& gid) {
  for (std::size_t i : {0u, 1u}) {
    if (last_number_[i] != kNone && last_gid_[i] == gid) return last_number_[i];
  }
  IndexMap::Key key;
  std::memcpy(key.data(), gid.bytes.data(), sizeof key);
  std::uint64_t& number = addresses_[key];
  if (number == 0) number = ++address_count_;
  std::swap(last_gid_[0], last_gid_[1]);
  std::swap(last_number_[0], last_number_[1]);
  last_gid_[0] = gid;
  last_number_[0] = static_cast<std::uint32_t>(number - 1);
  return last_number_[0];
}

IndexMap::Key StreamTable::key_of(const Frame& frame) {
  const std::uint32_t source = address_number(frame.source);
  const std::uint32_t destination = address_number(frame.destination);
  IndexMap::Key key =
      connected_key(source, destination, frame.headers.bth.destination_qpn, frame.opcode->service);
  if (frame.opcode->service == Service::unreliable_datagram) {
    key[3] = frame.headers.deth.source_qpn;
  }
  return key;
}

IndexMap::Key StreamTable::key_of(const Direction& d) {
  IndexMap::Key key = connected_key(d.source, d.destination, d.qpn, d.service);
  key[3] = d.source_qpn;
  return key;
}

std::uint32_t StreamTable::find_direction(const IndexMap::Key& key) const {
  const std::uint32_t found = by_key_.find(addresses_.hash(key), has(key));
  return found == NumberTable::kNothing || directions_[found].retired ? kNone : found;
}

std::uint32_t StreamTable::direction_of(const Frame& frame, const Foreseen& foreseen) {
  const std::uint32_t index = find_or_make(frame, foreseen);
  Direction& d = directions_[index];
  if (frame.opcode->is_response()) pair_by_answer(index, frame);
  if (d.stream == kNone) {
    make_stream(d, frame);
    if (d.peer != kNone) join(index, d.peer);
    apply_terms(index);
  }
  return index;
}

std::uint32_t StreamTable::find_or_make(const Frame& frame, const Foreseen& foreseen) {
  if (foreseen.direction != kNone && !directions_[foreseen.direction].retired) {
    return foreseen.direction;
  }
  if (frame.opcode->service == Service::congestion_notification) {
    const std::uint32_t flow = find_flow_of_cnp(frame);
    if (flow != kNone) return flow;
  }
  const IndexMap::Key key = key_of(frame);
  const std::uint32_t known = find_direction(key);
  return known != kNone ? known : make_direction(key, frame);
}

// A CNP goes to the queue pair that sends too fast, whatever its service (annex A17).
std::uint32_t StreamTable::find_flow_of_cnp(const Frame& frame) {
  const std::uint32_t source = address_number(frame.source);
  const std::uint32_t destination = address_number(frame.destination);
  for (Service service : {Service::reliable_connection, Service::extended_reliable_connection,
                          Service::unreliable_connection}) {
    const std::uint32_t found = find_direction(
        connected_key(source, destination, frame.headers.bth.destination_qpn, service));
    if (found != kNone) return found;
  }
  return kNone;
}

// What is new by the packet's turn was not fetched, which costs time only: a direction keeps its
// key.
void StreamTable::prefetch(const Frame& frame, Foreseen& foreseen, unsigned step) {
  if (frame.opcode->service == Service::congestion_notification) return;
  switch (step) {
    case 0:
      foreseen.key = key_of(frame);
      foreseen.hash = addresses_.hash(foreseen.key);
      by_key_.prefetch(foreseen.hash);
      return;
    case 1:
      if (const std::uint32_t likely = by_key_.first(foreseen.hash);
          likely != NumberTable::kNothing) {
        prefetch(likely);
      }
      return;
    case 2:
      foreseen.direction = by_key_.find(foreseen.hash, has(foreseen.key));
      if (foreseen.direction == kNone) return;
      prefetch_state(directions_[foreseen.direction], frame);
      foreseen.stream = directions_[foreseen.direction].stream;
      return;
    default:
      if (foreseen.direction == kNone) return;
      prefetch_histories(directions_[foreseen.direction], frame);
  }
}

void StreamTable::prefetch_state(const Direction& d, const Frame& frame) const {
  if (d.stream != kNone) prefetch_all(streams_[d.stream]);
  if (frame.opcode->is_response()) {
    if (d.peer != kNone) prefetch(d.peer);
  } else if (d.requests != nullptr) {
    d.requests->prefetch();
  }
}

void StreamTable::prefetch_histories(const Direction& d, const Frame& frame) const {
  if (!frame.opcode->is_response()) {
    if (d.requests != nullptr) d.requests->prefetch_histories();
  } else if (d.peer != kNone && directions_[d.peer].requests != nullptr) {
    directions_[d.peer].requests->prefetch();
  }
}

std::uint32_t StreamTable::make_direction(const IndexMap::Key& key, const Frame& frame) {
  Direction d;
  d.source = key[0];
  d.destination = key[1];
  d.qpn = frame.headers.bth.destination_qpn;
  d.source_qpn = key[3];
  d.service = frame.opcode->service;
  d.udp_source_port = frame.udp_source_port;
  const std::uint32_t index = static_cast<std::uint32_t>(directions_.size());
  directions_.push_back(std::move(d));
  by_key_.put(addresses_.hash(key), index, has(key),
              [this](std::uint32_t i) { return addresses_.hash(key_of(directions_[i])); });
  if (is_connected(directions_[index].service)) set_open(index, true);
  pair_new(index, frame);
  return index;
}

void StreamTable::make_stream(Direction& d, const Frame& frame) {
  Stream stream;
  stream.index = static_cast<std::uint32_t>(streams_.size());
  stream.service = d.service;
  stream.version = frame.version;
  stream.sides[0].address = frame.source;
  stream.sides[0].udp_source_port = frame.udp_source_port;
  stream.sides[0].qpn = d.source_qpn;
  stream.sides[1].address = frame.destination;
  stream.sides[1].qpn = d.qpn;
  d.stream = streams_.push_back(stream);
  d.side = 0;
  d.owns_stream = true;
}

// --- pairing ---

const std::uint64_t* StreamTable::find_terms(const Direction& d) const {
  if (!is_connected(d.service)) return nullptr;
  const std::uint64_t* found = terms_by_qp_.find({d.source, d.destination, d.qpn, 0});
  return found == nullptr || *found == 0 ? nullptr : found;
}

// Writes what was told of a connection into the stream.
void StreamTable::apply_terms(std::uint32_t index) {
  Direction& d = directions_[index];
  const std::uint64_t* found = find_terms(d);
  if (found == nullptr) return;
  const ConnectionTerms& terms = terms_[(*found - 1) >> 1];
  const std::size_t receiver = (*found - 1) & 1;
  const std::size_t sender = 1 - receiver;
  Stream& stream = streams_[d.stream];
  stream.sides[d.side].qpn = terms.qpn[sender];
  stream.paired_by = terms.told_by;
  if (terms.path_mtu != 0) stream.path_mtu = terms.path_mtu;
  for (std::size_t of : {sender, receiver}) {
    const std::size_t side = of == sender ? d.side : 1u - d.side;
    stream.retry_count[side] = terms.retry_count[of];
    stream.rnr_retry_count[side] = terms.rnr_retry_count[of];
    stream.ack_timeout[side] = terms.ack_timeout[of];
  }
}

// What can be said at the first packet of a direction, from who is there already.
void StreamTable::pair_new(std::uint32_t index, const Frame& frame) {
  const Direction& d = directions_[index];
  if (d.service == Service::unreliable_datagram) pair_datagrams(index);
  if (!d.open) return;
  pair_by_terms(index);
  if (d.open && !frame.opcode->is_response()) pair_by_guess(index, frame);
}

void StreamTable::pair_datagrams(std::uint32_t index) {
  const Direction& d = directions_[index];
  const std::uint32_t other = find_direction(
      {d.destination, d.source,
       d.source_qpn | static_cast<std::uint32_t>(Service::unreliable_datagram) << 24, d.qpn});
  if (other != kNone && other != index) pair(other, index, PairedBy::deth);
}

void StreamTable::pair_by_terms(std::uint32_t index) {
  Direction& d = directions_[index];
  const std::uint64_t* found = find_terms(d);
  if (found == nullptr) return;
  const ConnectionTerms& terms = terms_[(*found - 1) >> 1];
  const std::size_t receiver = (*found - 1) & 1;
  d.reads_allowed = terms.responder_resources[receiver];
  d.numbers().told_first = terms.first_psn[1 - receiver];
  const std::uint32_t other =
      find_direction(connected_key(d.destination, d.source, terms.qpn[1 - receiver], d.service));
  if (other != kNone && other != index) pair(other, index, terms.told_by);
}

// UC has no answers: the only candidate has to do. RC has them, so that a guess may wait, unless
// even the UDP source port is the same.
void StreamTable::pair_by_guess(std::uint32_t index, const Frame& frame) {
  const Direction& d = directions_[index];
  std::uint32_t port = kAnyPort;
  if (d.service != Service::unreliable_connection) {
    if (frame.version == wire::RoceVersion::v1) return;
    port = port_key(d.udp_source_port);
  }
  const std::uint32_t other = only_open(d.destination, d.source, d.service, port);
  if (other != kNone && other != index) pair(other, index, PairedBy::guess);
}

void StreamTable::pair(std::uint32_t a, std::uint32_t b, PairedBy how) {
  part(a);
  part(b);
  set_open(a, false);
  set_open(b, false);
  directions_[a].peer = b;
  directions_[b].peer = a;
  directions_[a].paired_by = directions_[b].paired_by = how;
  const bool a_stays = directions_[a].stream <= directions_[b].stream;
  // Where neither has a stream, it joins when one is made.
  if (std::min(directions_[a].stream, directions_[b].stream) != kNone) {
    join(a_stays ? a : b, a_stays ? b : a);
  }
}

void StreamTable::join(std::uint32_t stays_index, std::uint32_t joins_index) {
  Direction& stays = directions_[stays_index];
  Direction& joins = directions_[joins_index];
  Stream& stream = streams_[stays.stream];
  if (joins.stream != kNone && stream.path_mtu == 0) {
    stream.path_mtu = streams_[joins.stream].path_mtu;
  }
  joins.stream = stays.stream;
  joins.owns_stream = false;
  joins.side = static_cast<std::uint8_t>(1 - stays.side);
  stream.paired_by = stays.paired_by;
  stream.sides[joins.side].udp_source_port = joins.udp_source_port;
  stream.sides[joins.side].qpn = stays.qpn;
  stream.sides[stays.side].qpn = joins.qpn;
}

// Undoes a guess: who did not make the stream leaves it.
void StreamTable::part(std::uint32_t index) {
  Direction& d = directions_[index];
  if (d.peer == kNone) return;
  Direction& peer = directions_[d.peer];
  Direction& stays = d.owns_stream ? d : peer;
  Direction& leaves = d.owns_stream ? peer : d;
  if (stays.stream != kNone) {
    streams_[stays.stream].paired_by = PairedBy::nothing;
    streams_[stays.stream].sides[stays.side].qpn = kUnknownQpn;
  }
  leaves.stream = kNone;
  set_open(d.peer, true);
  set_open(index, true);
  peer.peer = kNone;
  d.peer = kNone;
  d.paired_by = peer.paired_by = PairedBy::nothing;
}

void StreamTable::set_open(std::uint32_t index, bool open) {
  Direction& d = directions_[index];
  if (d.open == open) return;
  d.open = open;
  for (std::uint32_t port : {kAnyPort, port_key(d.udp_source_port)}) {
    std::uint64_t& value =
        open_[{d.source, d.destination, static_cast<std::uint32_t>(d.service), port}];
    const std::uint64_t count = (value >> 32) + (open ? 1 : ~std::uint64_t{0});
    value = count << 32 | static_cast<std::uint32_t>(value ^ index);
  }
}

std::uint32_t StreamTable::only_open(std::uint32_t source, std::uint32_t destination,
                                     Service service, std::uint32_t port) const {
  const std::uint64_t* value =
      open_.find({source, destination, static_cast<std::uint32_t>(service), port});
  return value != nullptr && *value >> 32 == 1 ? static_cast<std::uint32_t>(*value) : kNone;
}

bool StreamTable::may_pair(const Direction& d) const {
  return d.open || d.paired_by == PairedBy::guess;
}

// A NAK names a packet that is missing, perhaps the first ones.
bool StreamTable::fits(const Direction& d, const Frame& answer) const {
  if (d.requests == nullptr) return false;
  const NumberSpace& n = *d.requests;
  const wire::Psn psn = answer.headers.bth.psn;
  const bool nak = answer.opcode->has(wire::kAeth) && answer.headers.aeth.syndrome.is_nak();
  const wire::Psn from = nak ? n.base - kLostAtFirst : n.base;
  return n.begun && !psn.before(from) && psn.before(n.next);
}

StreamTable::Awaited& StreamTable::awaited(const IndexMap::Key& key) {
  if (awaited_.empty()) awaited_.resize(awaited_size_);
  std::uint64_t hash = (std::uint64_t{key[0]} << 32 | key[1]) * 0x9e3779b97f4a7c15u;
  hash = ((hash >> 31 ^ hash) + (std::uint64_t{key[2]} << 32 | key[3])) * 0xbf58476d1ce4e5b9u;
  return awaited_[hash >> 50 & (awaited_size_ - 1)];
}

void StreamTable::await_answer(std::uint32_t index, wire::Psn psn) {
  const Direction& d = directions_[index];
  if (!may_pair(d)) return;
  const std::uint32_t number = psn.value() | static_cast<std::uint32_t>(d.service) << 24;
  for (std::uint32_t port : {kAnyPort, port_key(d.udp_source_port)}) {
    const IndexMap::Key key{d.source, d.destination, number, port};
    Awaited& slot = awaited(key);
    // Of several with one PSN the oldest is answered first.
    const bool taken =
        slot.direction != kNone && slot.key == key && may_pair(directions_[slot.direction]);
    if (!taken) slot = {key, index};
  }
}

void StreamTable::pair_by_answer(std::uint32_t index, const Frame& answer) {
  const wire::Psn psn = answer.headers.bth.psn;
  Direction& d = directions_[index];
  if (!may_pair(d)) return;
  if (d.peer != kNone && fits(directions_[d.peer], answer)) {  // the guess was right
    d.paired_by = directions_[d.peer].paired_by = PairedBy::answer;
    streams_[d.stream].paired_by = PairedBy::answer;
    return;
  }
  const std::uint32_t number = psn.value() | static_cast<std::uint32_t>(d.service) << 24;
  for (std::uint32_t port : {port_key(d.udp_source_port), kAnyPort}) {
    const IndexMap::Key key{d.destination, d.source, number, port};
    const Awaited& slot = awaited(key);
    if (slot.direction == kNone || slot.key != key || slot.direction == index) continue;
    if (!may_pair(directions_[slot.direction])) continue;
    pair(slot.direction, index, PairedBy::answer);
    return;
  }
  if (d.peer != kNone) return;
  for (std::uint32_t port : {port_key(d.udp_source_port), kAnyPort}) {
    const std::uint32_t other = only_open(d.destination, d.source, d.service, port);
    if (other == kNone || other == index || !fits(directions_[other], answer)) continue;
    pair(other, index, PairedBy::answer);
    return;
  }
}

// --- what CM and the user say ---

void StreamTable::connect(const ConnectionTerms& terms) {
  const std::uint32_t address[2] = {address_number(terms.address[0]),
                                    address_number(terms.address[1])};
  const auto number = static_cast<std::uint64_t>(terms_.size());
  bool news = false;
  for (std::uint32_t to : {0u, 1u}) {
    const std::uint64_t* known =
        terms_by_qp_.find({address[1 - to], address[to], terms.qpn[to], 0});
    news = news || known == nullptr || *known == 0 || !(terms_[(*known - 1) >> 1] == terms);
  }
  if (!news) return;
  terms_.push_back(terms);
  for (std::uint32_t to : {0u, 1u}) {
    terms_by_qp_[{address[1 - to], address[to], terms.qpn[to], 0}] = (number << 1 | to) + 1;
    for (Service service : {Service::reliable_connection, Service::unreliable_connection,
                            Service::extended_reliable_connection}) {
      const IndexMap::Key key = connected_key(address[1 - to], address[to], terms.qpn[to], service);
      const std::uint32_t former = find_direction(key);
      if (former == kNone) continue;
      set_open(former, false);
      directions_[former].retired = true;
    }
  }
}

void StreamTable::restart(std::uint32_t index, const Frame& frame) {
  Direction& d = directions_[index];
  const Stream former = streams_[d.stream];
  const std::uint8_t side = d.side;
  make_stream(d, frame);
  d.requests.reset();
  Stream& stream = streams_[d.stream];
  stream.path_mtu = former.path_mtu;
  stream.sides[0].qpn = former.sides[side].qpn;
  if (d.peer == kNone) return;
  Direction& peer = directions_[d.peer];
  stream.paired_by = former.paired_by;
  peer.stream = d.stream;
  peer.side = 1;
  peer.owns_stream = false;
  peer.requests.reset();
  stream.sides[1].udp_source_port = peer.udp_source_port;
}

void StreamTable::finish() {
  by_key_ = NumberTable();
  open_ = IndexMap();
  awaited_ = std::vector<Awaited>();
}

std::size_t StreamTable::memory() const {
  std::size_t bytes = streams_.memory() + directions_.memory() + addresses_.memory() +
                      by_key_.memory() + open_.memory() + terms_by_qp_.memory() +
                      terms_.capacity() * sizeof(ConnectionTerms) +
                      awaited_.capacity() * sizeof(Awaited);
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    const NumberSpace* numbers = directions_[i].requests.get();
    if (numbers != nullptr) bytes += sizeof(NumberSpace) + numbers->memory();
  }
  return bytes;
}

}  // namespace softrnic::analysis
