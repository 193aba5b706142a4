// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/conversation.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace softrnic::offline_replay {
namespace {

using wire::Operation;

// How far a PSN may lie beyond all seen before and still belong to the same connection: a capture
// may lack that many packets. New connections start at random PSNs, mostly farther away.
constexpr std::int64_t kPsnSlack = 4096;
// How far back a requester may go.
constexpr std::int64_t kPsnHistory = 1 << 20;
constexpr std::uint32_t kSmallestMtu = 256;
constexpr std::array<std::uint32_t, 5> kPathMtus{256, 512, 1024, 2048, 4096};

struct FlowKey {
  wire::RoceVersion version{};
  wire::Gid source;
  wire::Gid destination;
  std::uint32_t destination_qpn = 0;

  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
};

// All packets to one queue pair from one address.
struct Flow {
  FlowKey key;
  std::vector<const Packet*> requests;
  std::vector<const Packet*> responses;
};

// Requests of a flow that continue one another's PSNs, with the frames during which they were the
// flow's connection.
struct Episode {
  const Flow* flow = nullptr;
  std::vector<const Packet*> requests;
  std::uint32_t first_frame = 0;
  std::uint32_t end_frame = std::numeric_limits<std::uint32_t>::max();
  const ConnectionSetup* setup = nullptr;
  const Flow* answers = nullptr;
};

std::vector<Flow> split_flows(const std::vector<Packet>& packets) {
  std::map<FlowKey, std::size_t> index;
  std::vector<Flow> flows;
  for (const Packet& packet : packets) {
    if (!packet.is_reliable_connection()) continue;
    const FlowKey key{packet.version, packet.source, packet.destination,
                      packet.headers.bth.destination_qpn};
    const auto [entry, is_new] = index.try_emplace(key, flows.size());
    if (is_new) flows.push_back({key, {}, {}});
    Flow& flow = flows[entry->second];
    (packet.opcode->is_response() ? flow.responses : flow.requests).push_back(&packet);
  }
  return flows;
}

// PSNs a request takes, at most: a READ's depend on the path MTU, which is not known yet.
std::int64_t most_psns(const Packet& request) {
  if (request.opcode->operation != Operation::read_request) return 1;
  return std::max<std::int64_t>(1, request.headers.reth.dma_length / kSmallestMtu + 1);
}

// The window of PSNs that continue an episode, in numbers that do not wrap.
class PsnWindow {
 public:
  explicit PsnWindow(const Packet& first) : anchor_(first.psn()) { extend(first); }

  bool continued_by(const Packet& request) const {
    const std::int64_t at = number(request.psn());
    return at >= std::max(low_, high_ - kPsnHistory) - kPsnSlack && at <= high_ + kPsnSlack;
  }
  void extend(const Packet& request) {
    const std::int64_t at = number(request.psn());
    low_ = std::min(low_, at);
    if (at + most_psns(request) <= high_) return;
    high_ = at + most_psns(request);
    anchor_ = request.psn();
    anchor_number_ = at;
  }
  bool contains(wire::Psn psn) const {
    const std::int64_t at = number(psn);
    return at >= std::max(low_, high_ - kPsnHistory) && at < high_;
  }

 private:
  std::int64_t number(wire::Psn psn) const { return anchor_number_ + psn.since(anchor_); }

  wire::Psn anchor_;
  std::int64_t anchor_number_ = 0;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

bool connects(const ConnectionSetup& setup, const FlowKey& key) {
  const auto between = [&key](const ConnectionEnd& from, const ConnectionEnd& to) {
    return key.source == from.address && key.destination == to.address &&
           key.destination_qpn == to.qpn;
  };
  return between(setup.active, setup.passive) || between(setup.passive, setup.active);
}

// The last setup before `frame` that made this flow's connection.
const ConnectionSetup* setup_of(const std::vector<ConnectionSetup>& setups, const FlowKey& key,
                                std::uint32_t frame) {
  const ConnectionSetup* found = nullptr;
  for (const ConnectionSetup& setup : setups) {
    if (setup.frame < frame && connects(setup, key)) found = &setup;
  }
  return found;
}

void split_episodes(const Flow& flow, const std::vector<ConnectionSetup>& setups,
                    std::vector<Episode>& episodes) {
  std::optional<PsnWindow> window;
  const std::size_t first_of_flow = episodes.size();
  for (const Packet* request : flow.requests) {
    const ConnectionSetup* setup = setup_of(setups, flow.key, request->frame);
    const bool same = window && window->continued_by(*request) && episodes.back().setup == setup;
    if (!same) {
      if (episodes.size() > first_of_flow) episodes.back().end_frame = request->frame;
      Episode episode;
      episode.flow = &flow;
      episode.setup = setup;
      episode.first_frame = setup != nullptr ? setup->frame : request->frame;
      episodes.push_back(episode);
      window.emplace(*request);
    }
    episodes.back().requests.push_back(request);
    window->extend(*request);
  }
}

bool has_operation(const std::vector<const Packet*>& requests, bool atomic) {
  return std::any_of(requests.begin(), requests.end(), [atomic](const Packet* request) {
    const Operation operation = request->opcode->operation;
    return atomic ? operation == Operation::compare_swap || operation == Operation::fetch_add
                  : operation == Operation::read_request || operation == Operation::flush ||
                        operation == Operation::atomic_write;
  });
}

// How well a flow's responses answer an episode: those whose PSN had been asked for by then.
struct Fit {
  std::int64_t fitting = 0;
  std::int64_t strange = 0;
  bool same_port = false;
};

Fit fit(const Episode& episode, const Flow& answers) {
  Fit result;
  const bool reads = has_operation(episode.requests, false);
  const bool atomics = has_operation(episode.requests, true);
  std::optional<PsnWindow> window;
  std::size_t next = 0;
  for (const Packet* answer : answers.responses) {
    if (answer->frame >= episode.end_frame) break;
    for (; next < episode.requests.size() && episode.requests[next]->frame < answer->frame;
         ++next) {
      if (window) {
        window->extend(*episode.requests[next]);
      } else {
        window.emplace(*episode.requests[next]);
      }
    }
    if (!window) continue;  // answers something before the episode
    const Operation operation = answer->opcode->operation;
    const bool possible = (operation != Operation::read_response || reads) &&
                          (operation != Operation::atomic_acknowledge || atomics);
    if (possible && window->contains(answer->psn())) {
      ++result.fitting;
    } else {
      ++result.strange;
    }
  }
  result.same_port =
      !answers.responses.empty() && !episode.requests.empty() &&
      answers.responses.front()->source_port == episode.requests.front()->source_port;
  return result;
}

bool reverse(const FlowKey& a, const FlowKey& b) {
  return a.version == b.version && a.source == b.destination && a.destination == b.source;
}

// Pairs each episode with the flow its answers came in. A flow answers one episode at a time, and
// two flows that belong together do so in both directions.
class Pairing {
 public:
  Pairing(std::vector<Episode>& episodes, const std::vector<Flow>& flows)
      : episodes_(episodes), flows_(flows) {}

  void run() {
    pair_by_setup();
    pair_by_answers();
    pair_by_port();
  }

 private:
  struct Candidate {
    std::int64_t score = 0;
    std::size_t episode = 0;
    const Flow* answers = nullptr;
  };

  void pair_by_setup() {
    for (Episode& episode : episodes_) {
      if (episode.setup == nullptr) continue;
      const bool from_active = episode.flow->key.source == episode.setup->active.address &&
                               episode.flow->key.destination_qpn == episode.setup->passive.qpn;
      const std::uint32_t qpn =
          from_active ? episode.setup->active.qpn : episode.setup->passive.qpn;
      for (const Flow& flow : flows_) {
        if (reverse(flow.key, episode.flow->key) && flow.key.destination_qpn == qpn) {
          take(episode, flow);
        }
      }
    }
  }

  void pair_by_answers() {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < episodes_.size(); ++i) {
      if (episodes_[i].answers != nullptr) continue;
      for (const Flow& flow : flows_) {
        if (!reverse(flow.key, episodes_[i].flow->key) || flow.responses.empty()) continue;
        const Fit result = fit(episodes_[i], flow);
        if (result.fitting == 0 || result.strange > result.fitting) continue;
        candidates.push_back({score(result), i, &flow});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    for (const Candidate& candidate : candidates) {
      Episode& episode = episodes_[candidate.episode];
      if (episode.answers == nullptr && is_free(episode, *candidate.answers)) {
        take(episode, *candidate.answers);
      }
    }
  }

  // What is left over on either side and has one UDP source port belongs together, whatever its
  // PSNs are; where that is said of two flows only.
  void pair_by_port() {
    for (Episode& episode : episodes_) {
      if (episode.answers != nullptr) continue;
      const Flow* only = nullptr;
      std::size_t fitting = 0;
      for (const Flow& flow : flows_) {
        const bool same = reverse(flow.key, episode.flow->key) && !flow.responses.empty() &&
                          fit(episode, flow).same_port && is_unused(flow);
        if (!same) continue;
        only = &flow;
        ++fitting;
      }
      if (fitting == 1 && episode.requests.front()->source_port != 0) take(episode, *only);
    }
  }

  bool is_unused(const Flow& flow) const {
    return std::none_of(episodes_.begin(), episodes_.end(),
                        [&flow](const Episode& other) { return other.answers == &flow; });
  }

  // The port decides between flows that fit about as well: with many queue pairs that start at the
  // same PSN, several do.
  static std::int64_t score(const Fit& fit) {
    const std::int64_t good = std::max<std::int64_t>(fit.fitting * 4 - fit.strange, 1);
    return fit.same_port ? good * 2 : good;
  }

  // Neither flow is paired with a third one while the episode lasts.
  bool is_free(const Episode& episode, const Flow& answers) const {
    for (const Episode& other : episodes_) {
      if (other.answers == nullptr || other.end_frame <= episode.first_frame ||
          other.first_frame >= episode.end_frame) {
        continue;
      }
      if ((other.answers == &answers && other.flow != episode.flow) ||
          (other.answers == episode.flow && other.flow != &answers) ||
          (other.flow == &answers && other.answers != episode.flow)) {
        return false;
      }
    }
    return true;
  }

  static void take(Episode& episode, const Flow& answers) { episode.answers = &answers; }

  std::vector<Episode>& episodes_;
  const std::vector<Flow>& flows_;
};

// What packets say about their connection's path MTU.
class MtuEvidence {
 public:
  void add(const std::vector<const Packet*>& packets) {
    for (const Packet* packet : packets) {
      const auto size = static_cast<std::uint32_t>(packet->payload.size());
      const auto position = packet->opcode->position;
      if (position == wire::Position::first || position == wire::Position::middle) {
        exact_ = std::max(exact_, size);
      }
      least_ = std::max(least_, size);
    }
  }

  // A READ's PSNs reach up to the next request's.
  void add_reads(const std::vector<const Packet*>& requests) {
    for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
      if (requests[i]->opcode->operation != Operation::read_request) continue;
      const std::int32_t psns = requests[i + 1]->psn().since(requests[i]->psn());
      const std::uint32_t length = requests[i]->headers.reth.dma_length;
      if (psns < 1 || length == 0) continue;
      for (std::size_t m = 0; m < kPathMtus.size(); ++m) {
        const std::uint32_t packets = (length + kPathMtus[m] - 1) / kPathMtus[m];
        votes_[m] += packets == static_cast<std::uint32_t>(psns);
      }
    }
  }

  bool known() const { return exact_ != 0; }

  std::uint32_t decide(std::uint32_t told) const {
    if (known()) return round_up(std::max(exact_, least_));
    const std::uint32_t least = round_up(least_);
    const std::size_t best =
        static_cast<std::size_t>(std::max_element(votes_.begin(), votes_.end()) - votes_.begin());
    if (told >= least && (votes_[best] == 0 || votes_[index_of(told)] == votes_[best])) return told;
    constexpr std::uint32_t kUsual = 1024;
    if (votes_[best] == 0) return std::max(least, kUsual);
    for (std::size_t m = 0; m < kPathMtus.size(); ++m) {
      if (kPathMtus[m] >= least && votes_[m] == votes_[best]) return kPathMtus[m];
    }
    return std::max(least, kUsual);
  }

 private:
  static std::uint32_t round_up(std::uint32_t size) {
    for (const std::uint32_t mtu : kPathMtus) {
      if (size <= mtu) return mtu;
    }
    return kPathMtus.back();
  }
  static std::size_t index_of(std::uint32_t mtu) {
    return static_cast<std::size_t>(std::find(kPathMtus.begin(), kPathMtus.end() - 1, mtu) -
                                    kPathMtus.begin());
  }

  std::uint32_t exact_ = 0;
  std::uint32_t least_ = 0;
  std::array<std::uint32_t, kPathMtus.size()> votes_{};
};

Conversation make_conversation(const Episode& episode) {
  Conversation conversation;
  const FlowKey& key = episode.flow->key;
  conversation.version = key.version;
  conversation.requester = key.source;
  conversation.responder = key.destination;
  conversation.responder_qpn = key.destination_qpn;
  conversation.requests = episode.requests;
  if (episode.setup != nullptr) {
    const bool from_active = key.source == episode.setup->active.address &&
                             key.destination_qpn == episode.setup->passive.qpn;
    const ConnectionSetup& setup = *episode.setup;
    conversation.first_psn = (from_active ? setup.passive : setup.active).expected_psn;
    conversation.requester_qpn = (from_active ? setup.active : setup.passive).qpn;
    conversation.path_mtu = episode.setup->path_mtu;
  }
  if (episode.answers != nullptr) {
    conversation.requester_qpn = episode.answers->key.destination_qpn;
  }
  return conversation;
}

// Answers go to the last episode of their pair of flows that began before them, or to the first
// when none did.
void distribute_answers(const std::vector<Flow>& flows, const std::vector<Episode>& episodes,
                        Conversations& result) {
  for (const Flow& flow : flows) {
    std::vector<std::size_t> takers;
    for (std::size_t i = 0; i < episodes.size(); ++i) {
      if (episodes[i].answers == &flow) takers.push_back(i);
    }
    std::sort(takers.begin(), takers.end(), [&episodes](std::size_t a, std::size_t b) {
      return episodes[a].first_frame < episodes[b].first_frame;
    });
    for (const Packet* answer : flow.responses) {
      if (takers.empty()) {
        result.unclaimed.push_back(answer);
        continue;
      }
      std::size_t taker = takers.front();
      for (const std::size_t i : takers) {
        if (episodes[i].first_frame < answer->frame) taker = i;
      }
      result.list[taker].answers.push_back(answer);
    }
  }
}

// Both directions of a connection have one path MTU.
void find_path_mtus(Conversations& result) {
  using Key = std::tuple<wire::RoceVersion, wire::Gid, wire::Gid, std::uint32_t, std::uint32_t>;
  std::map<Key, MtuEvidence> evidence;
  const auto key_of = [](const Conversation& c, bool mirrored) {
    const std::uint32_t requester_qpn = c.requester_qpn.value_or(0xffffffff);
    return mirrored ? Key{c.version, c.responder, c.requester, c.responder_qpn, requester_qpn}
                    : Key{c.version, c.requester, c.responder, requester_qpn, c.responder_qpn};
  };
  for (const Conversation& conversation : result.list) {
    for (const bool mirrored : {false, true}) {
      MtuEvidence& found = evidence[key_of(conversation, mirrored)];
      found.add(conversation.requests);
      found.add(conversation.answers);
      if (!mirrored) found.add_reads(conversation.requests);
    }
  }
  for (Conversation& conversation : result.list) {
    const MtuEvidence& found = evidence[key_of(conversation, false)];
    conversation.path_mtu_known = found.known();
    conversation.path_mtu = found.decide(conversation.path_mtu);
  }
}

}  // namespace

Conversations find_conversations(const std::vector<Packet>& packets) {
  const std::vector<Flow> flows = split_flows(packets);
  const std::vector<ConnectionSetup> setups = connection_setups(packets);
  std::vector<Episode> episodes;
  for (const Flow& flow : flows) split_episodes(flow, setups, episodes);
  std::stable_sort(episodes.begin(), episodes.end(), [](const Episode& a, const Episode& b) {
    return a.requests.front()->frame < b.requests.front()->frame;
  });
  Pairing(episodes, flows).run();

  Conversations result;
  for (const Episode& episode : episodes) result.list.push_back(make_conversation(episode));
  distribute_answers(flows, episodes, result);
  find_path_mtus(result);
  return result;
}

}  // namespace softrnic::offline_replay
