// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/host_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "offline_replay/captured_memory.hpp"
#include "offline_replay/emulated_responder.hpp"
#include "offline_replay/responder_priming.hpp"
#include "offline_replay/response_assignment.hpp"

namespace softrnic::offline_replay {
namespace {

using wire::Operation;

// READ responses emulated although the capture holds none of them, for one host: more only costs
// time, and a file may ask for any number.
constexpr std::uint64_t kUnseenResponses = 1u << 18;

// A conversation on its way through the emulated responder.
struct Passage {
  const Conversation* conversation = nullptr;
  RequestCourse course;
  ResponseAssignment responses;
  std::optional<std::size_t> primed_stretch;
  ResponderPriming priming;
  std::vector<MemoryChange> changes;  // of each step; of no length where it changes nothing
  // Of each answer's payload: what other requests changed while the READ was under way.
  std::vector<std::vector<ByteRange>> disputed;
  std::vector<Emitted> emitted;
  std::vector<MemoryMismatch> changed;
  std::uint32_t changed_frame = 0;
  std::uint32_t closed_frame = 0;  // a key stopped working
  ConversationResult result;
};

class HostReplay {
 public:
  // `readings`: one for each conversation.
  HostReplay(const std::vector<const Conversation*>& conversations,
             const std::vector<Reading>& readings, const std::vector<Packet>& packets,
             const std::vector<Packet>& damaged)
      : packets_(packets), damaged_(damaged) {
    for (std::size_t user = 0; user < conversations.size(); ++user) {
      Passage passage;
      passage.conversation = conversations[user];
      passage.course = follow_requests(AnswerEvidence(*conversations[user]), readings[user]);
      passage.responses = assign_responses(*passage.conversation, passage.course);
      passage.changes = memory_changes(passage.course);
      passages_.push_back(std::move(passage));
    }
  }

  std::vector<ConversationResult> run() {
    const std::optional<std::string> refusal = prepare();
    if (refusal) {
      for (Passage& passage : passages_) passage.result.refusal = *refusal;
    } else {
      feed_all();
    }
    std::vector<ConversationResult> results;
    for (Passage& passage : passages_) results.push_back(conclude(passage));
    return results;
  }

 private:
  std::optional<std::string> prepare() {
    const wire::Gid& address = passages_.front().conversation->responder;
    std::set<std::uint32_t> keys;
    std::uint64_t longest = 0;
    for (std::size_t user = 0; user < passages_.size(); ++user) {
      for (const Step& step : passages_[user].course.steps) {
        longest += step.request->payload.size();
        const auto use = key_use(*step.request, user);
        if (!use) continue;
        keys.insert(use->key);
        if (granted(step)) memory_.grant(*use);
      }
      longest += passages_[user].conversation->path_mtu;
    }
    note_activity(address);
    set_changes();
    if (auto refusal = memory_.build(passages_.size())) return refusal;
    responder_ = std::make_unique<EmulatedResponder>(address, memory_.domains(), longest, keys);
    return responder_->refusal();
  }

  void set_changes() {
    std::vector<MemoryChange> changes;
    for (const Passage& passage : passages_) {
      std::copy_if(passage.changes.begin(), passage.changes.end(), std::back_inserter(changes),
                   [](const MemoryChange& change) { return change.length > 0; });
    }
    memory_.set_changes(std::move(changes));
    for (Passage& passage : passages_) find_disputed(passage);
  }

  // A responder may execute later requests while the response to a READ is still on its way
  // (IBTA vol. 1, 10.8.3.3: only a fence orders them). From the READ's first execution to its
  // response, bytes may have either value.
  void find_disputed(Passage& passage) const {
    const auto& steps = passage.course.steps;
    passage.disputed.resize(passage.conversation->answers.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto use = key_use(*steps[i].request, 0);
      if (!use || use->access != transport::kRemoteRead) continue;
      for (const std::size_t k : passage.responses.of_step[i]) {
        const Packet& answer = *passage.conversation->answers[k];
        const std::int64_t position = passage.course.answer_positions[k];
        const std::size_t first = execution_of(steps, i, position);
        const std::uint64_t address =
            use->address + static_cast<std::uint64_t>(position - steps[i].position) *
                               passage.conversation->path_mtu;
        for (ByteRange part : memory_.changed_between(use->key, address, answer.payload.size(),
                                                      steps[first].request->frame, answer.frame)) {
          passage.disputed[k].push_back({part.begin - address, part.end - address});
        }
      }
    }
  }

  // The host's program is at work when the host sends a request of its own, and when it gets a
  // message.
  void note_activity(const wire::Gid& address) {
    for (const Packet& packet : packets_) {
      const wire::OpcodeInfo& opcode = *packet.opcode;
      const bool sent =
          packet.source == address && !opcode.is_response() && opcode.operation != Operation::cnp;
      const bool got = packet.destination == address && opcode.operation == Operation::send;
      if (sent || got) memory_.note_activity(packet.frame);
    }
  }

  void feed_all() {
    // (frame, conversation, step), in the capture's order.
    std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>> order;
    for (std::size_t user = 0; user < passages_.size(); ++user) {
      const auto& steps = passages_[user].course.steps;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        order.emplace_back(steps[i].request->frame, user, i);
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [frame, user, i] : order) {
      Passage& passage = passages_[user];
      if (!passage.result.refusal.empty()) continue;
      if (auto refusal = take_step(passage, user, i)) passage.result.refusal = *refusal;
    }
  }

  std::optional<std::string> take_step(Passage& passage, std::size_t user, std::size_t i) {
    const Step& step = passage.course.steps[i];
    if (passage.conversation->answers.empty()) {
      passage.result.silent = true;
    } else if (passage.primed_stretch != step.stretch) {
      if (auto refusal = prime(passage, user, step)) return refusal;
    }
    if (step.fate == Fate::not_received) {
      ++passage.result.withheld;
      return std::nullopt;
    }
    // Not for want of a receive: nothing makes the emulated responder say so.
    if (step.fate == Fate::not_ready && !step.takes_receive) return std::nullopt;

    if (auto refusal = prepare_step(passage, user, i)) return refusal;
    ++passage.result.fed;
    collect(passage, i, responder_->feed(*step.request));
    if (step.fate == Fate::executed) learn(passage, i);
    return std::nullopt;
  }

  std::optional<std::string> prime(Passage& passage, std::size_t user, const Step& step) {
    const Stretch& stretch = passage.course.stretches[step.stretch];
    passage.primed_stretch = step.stretch;
    passage.priming =
        prime_responder(*passage.conversation, passage.course, stretch, memory_.domain_of(user));
    if (auto refusal = responder_->prime(passage.priming)) return refusal;
    if (!stretch.in_message) return std::nullopt;
    if (stretch.message_operation == Operation::send) {
      if (auto refusal = responder_->post_receive(passage.priming.qpn, kWholeScratch)) {
        return refusal;
      }
    }
    responder_->feed_opening(passage.priming, step.request->at, stretch.message_operation,
                             stretch.message_rest);
    return std::nullopt;
  }

  std::optional<std::string> prepare_step(Passage& passage, std::size_t user, std::size_t i) {
    const Step& step = passage.course.steps[i];
    const bool concerns = step.fate == Fate::executed || step.fate == Fate::refused;
    if (concerns && step.takes_receive && !passage.result.silent) {
      if (auto refusal = responder_->post_receive(passage.priming.qpn,
                                                  step.receive_limit.value_or(kWholeScratch))) {
        return refusal;
      }
    }
    const auto use = key_use(*step.request, user);
    if (!use || use->length == 0) return std::nullopt;
    if (step.fate == Fate::refused && !granted(step)) {
      if (memory_.would_grant(*use)) {
        responder_->close(use->key);
        open_.erase(use->key);
        if (passage.closed_frame == 0) passage.closed_frame = step.request->frame;
      }
      return std::nullopt;
    }
    const bool reaches_memory = granted(step) || step.fate == Fate::duplicate;
    if (!reaches_memory) return std::nullopt;
    MemoryRange* range = memory_.find(use->key, use->address, use->length);
    if (range == nullptr) return std::nullopt;
    if (granted(step)) {
      if (auto refusal = open(*range)) return refusal;
    }
    return show_responses(passage, i, *use, *range);
  }

  std::optional<std::string> open(const MemoryRange& range) {
    const auto current = open_.find(range.key);
    if (current != open_.end() && current->second == &range) return std::nullopt;
    // A key's index opens one region at a time, whatever its key byte.
    constexpr std::uint32_t kKeyByteBits = 8;
    std::erase_if(open_, [&range](const auto& entry) {
      return entry.first >> kKeyByteBits == range.key >> kKeyByteBits;
    });
    open_[range.key] = &range;
    return responder_->open(range);
  }

  // The memory gets what the captured answers to this READ or atomic show of it.
  std::optional<std::string> show_responses(Passage& passage, std::size_t i, const KeyUse& use,
                                            MemoryRange& range) {
    const Step& step = passage.course.steps[i];
    const auto& responses = passage.responses.of_step[i];
    if (use.access == transport::kRemoteRead && responses.empty()) {
      unseen_ += step.psns;
      if (unseen_ > kUnseenResponses) {
        return fmt::format(
            "not replayed from frame {} on: a READ of {} bytes whose responses were not captured",
            step.request->frame, use.length);
      }
    }
    const auto once = [&](const std::vector<std::size_t>& answers, auto&& take) {
      std::set<std::int64_t> shown;
      for (const std::size_t k : answers) {
        const std::int64_t position = passage.course.answer_positions[k];
        if (!shown.insert(position).second) continue;
        const Packet& answer = *passage.conversation->answers[k];
        std::array<std::byte, 8> original;
        const auto part = shown_memory(passage, step, answer, position, use, original);
        if (!part) continue;
        const auto& [address, bytes] = *part;
        for (const ByteRange& plain : parts_outside(passage.disputed[k], bytes.size())) {
          take(address + plain.begin, bytes.subspan(plain.begin, plain.end - plain.begin),
               answer.frame);
        }
      }
    };
    once(responses, [&](std::uint64_t address, wire::ByteView bytes, std::uint32_t frame) {
      show(passage, range, address, bytes, frame);
    });
    once(passage.responses.of_repetitions[i],
         [&](std::uint64_t address, wire::ByteView bytes, std::uint32_t frame) {
           memory_.hint(range, address, bytes, frame);
         });
    return std::nullopt;
  }

  void show(Passage& passage, MemoryRange& range, std::uint64_t address, wire::ByteView bytes,
            std::uint32_t frame) {
    if (bytes.empty()) return;
    const bool first = passage.changed.empty();
    memory_.show(range, address, bytes, frame, passage.changed);
    if (first && !passage.changed.empty()) passage.changed_frame = frame;
  }

  // The address and the bytes that this answer to the step shows. `original` holds an atomic's.
  static std::optional<std::pair<std::uint64_t, wire::ByteView>> shown_memory(
      const Passage& passage, const Step& step, const Packet& answer, std::int64_t position,
      const KeyUse& use, std::array<std::byte, 8>& original) {
    if (use.access == transport::kRemoteAtomic) {
      // Only the execution shows memory; a repeated answer shows what was saved then.
      if (step.fate != Fate::executed) return std::nullopt;
      const std::uint64_t value = answer.headers.atomic_ack_eth.original;
      std::memcpy(original.data(), &value, sizeof value);  // memory is in the host's order
      return std::pair{use.address, wire::ByteView(original)};
    }
    const std::uint64_t offset =
        static_cast<std::uint64_t>(position - step.position) * passage.conversation->path_mtu;
    if (offset > use.length) return std::nullopt;
    const std::uint64_t size =
        std::min<std::uint64_t>(answer.captured_payload, use.length - offset);
    return std::pair{use.address + offset, answer.payload.first(size)};
  }

  void collect(Passage& passage, std::size_t i, std::vector<EmulatedAnswer> answers) {
    passage.result.emulated_answers += static_cast<std::uint32_t>(answers.size());
    for (EmulatedAnswer& answer : answers) passage.emitted.push_back({i, std::move(answer)});
  }

  // What the request wrote is known from now on.
  void learn(Passage& passage, std::size_t i) {
    const Packet& request = *passage.course.steps[i].request;
    const MemoryChange& change = passage.changes[i];
    if (change.length == 0) return;
    MemoryRange* range = memory_.find(change.key, change.address, change.length);
    if (range == nullptr) return;
    const std::uint64_t told =
        is_atomic(request) ? told_by_atomic(*range, change) : request.captured_payload;
    range->learn(change.address, told, request.frame);
    range->forget(change.address + told, change.length - told);
  }

  // An atomic tells the new value only where the old one was known.
  static std::uint64_t told_by_atomic(const MemoryRange& range, const MemoryChange& change) {
    const auto after = range.known.upper_bound(change.address);
    const bool known = after != range.known.begin() &&
                       std::prev(after)->second.end >= change.address + change.length;
    return known ? change.length : 0;
  }

  ConversationResult conclude(Passage& passage) {
    ConversationResult result = std::move(passage.result);
    result.conversation = passage.conversation;
    std::vector<const Packet*> damaged;
    for (const Packet& packet : damaged_) {
      if (packet.opcode->is_response() && packet.source == passage.conversation->responder &&
          packet.destination == passage.conversation->requester &&
          packet.headers.bth.destination_qpn == passage.conversation->requester_qpn) {
        damaged.push_back(&packet);
      }
    }
    if (result.refusal.empty() || !passage.emitted.empty()) {
      result.comparison = compare_answers(*passage.conversation, passage.course,
                                          std::move(passage.emitted), passage.disputed, damaged);
    }
    add_notes(passage, result);
    result.course = std::move(passage.course);
    return result;
  }

  static void add_notes(const Passage& passage, ConversationResult& result) {
    auto& notes = result.comparison.notes;
    if (result.silent) {
      notes.push_back({passage.conversation->requests.front()->frame,
                       "the captured peer never answers: replayed as a queue pair that does not "
                       "exist"});
    }
    if (result.withheld > 0) {
      notes.push_back({first_withheld(passage),
                       fmt::format("{} requests withheld: the captured peer did not receive them",
                                   result.withheld)});
    }
    for (std::size_t s = 1; s < passage.course.stretches.size(); ++s) {
      const Stretch& stretch = passage.course.stretches[s];
      notes.push_back(
          {passage.course.steps[stretch.first_step].request->frame,
           fmt::format("primed anew: the capture lacks the requests of {} PSNs before it",
                       stretch.missing)});
    }
    if (!passage.changed.empty()) {
      std::uint64_t bytes = 0;
      for (const MemoryMismatch& mismatch : passage.changed) bytes += mismatch.length;
      notes.push_back(
          {passage.changed_frame,
           fmt::format("{} bytes of memory changed by the captured host's own program", bytes)});
    }
    if (passage.closed_frame != 0) {
      notes.push_back({passage.closed_frame,
                       "a key that had opened this memory no longer does: closed from here on"});
    }
    std::stable_sort(notes.begin(), notes.end(),
                     [](const Note& a, const Note& b) { return a.frame < b.frame; });
  }

  static std::uint32_t first_withheld(const Passage& passage) {
    for (const Step& step : passage.course.steps) {
      if (step.fate == Fate::not_received) return step.request->frame;
    }
    return 0;
  }

  static constexpr std::uint64_t kWholeScratch = ~std::uint64_t{0};

  const std::vector<Packet>& packets_;
  const std::vector<Packet>& damaged_;
  std::vector<Passage> passages_;
  CapturedMemory memory_;
  std::unique_ptr<EmulatedResponder> responder_;
  std::map<std::uint32_t, const MemoryRange*> open_;
  std::uint64_t unseen_ = 0;
};

}  // namespace

std::vector<ConversationResult> replay_host_as_read(
    const std::vector<const Conversation*>& conversations, const std::vector<Reading>& readings,
    const std::vector<Packet>& packets, const std::vector<Packet>& damaged) {
  return HostReplay(conversations, readings, packets, damaged).run();
}

}  // namespace softrnic::offline_replay
