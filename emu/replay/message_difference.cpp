// SPDX-License-Identifier: BSD-3-Clause
#include "replay/message_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace softrnic::replay {

namespace {

using analysis::MessageState;
using wire::Operation;

constexpr std::string_view kAskedRule = {};
constexpr std::string_view kReadRule =
    "IBTA vol. 1, 9.7.5.1.3: a READ is answered by First, Middle and Last responses of the path "
    "MTU, "
    "or by an Only";
constexpr std::string_view kContentRule =
    "IBTA vol. 1, 9.7.5.1.3: a READ response carries the bytes the memory holds";
constexpr std::string_view kAtomicRule =
    "IBTA vol. 1, 9.4.5: an atomic's response carries the value from before the operation";

// A message's payload put together from packets that carry it, without repetitions; nothing when
// some of it was not captured or not kept.
std::optional<std::vector<std::byte>> assemble(const Dialogue& dialogue,
                                               const DialogueConnection& connection,
                                               const std::vector<std::uint32_t>& packets,
                                               std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t filled = 0;
  for (const std::uint32_t index : packets) {
    const DialoguePacket& packet = connection.packets[index];
    if (packet.spoilt || packet.repeats_payload || packet.payload_size == 0) continue;
    if (packet.payload_kept != packet.payload_size || packet.message_offset > size ||
        packet.payload_size > size - packet.message_offset) {
      return {};
    }
    const wire::ByteView payload = dialogue.payload(packet);
    std::copy(payload.begin(), payload.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(packet.message_offset));
    filled += payload.size();
  }
  if (filled != size) return {};
  return bytes;
}

// The packet that carries a byte of the message.
const DialoguePacket* carrier(const DialogueConnection& connection,
                              const std::vector<std::uint32_t>& packets, std::size_t at) {
  for (const std::uint32_t index : packets) {
    const DialoguePacket& packet = connection.packets[index];
    const bool carries = !packet.spoilt && !packet.repeats_payload && packet.message_offset <= at &&
                         at - packet.message_offset < packet.payload_size;
    if (carries) return &packet;
  }
  return nullptr;
}

// The responses to a READ that its requester took, in the order of their PSNs.
std::vector<const DialoguePacket*> taken_responses(const DialogueConnection& connection,
                                                   const DialogueMessage& message) {
  std::vector<const DialoguePacket*> taken;
  for (const std::uint32_t index : message.answers) {
    const DialoguePacket& packet = connection.packets[index];
    if (packet.spoilt || packet.repeats_payload) continue;
    if (packet.info().operation == Operation::read_response) taken.push_back(&packet);
  }
  std::stable_sort(taken.begin(), taken.end(),
                   [](const auto* a, const auto* b) { return a->relative_psn < b->relative_psn; });
  return taken;
}

bool is_atomic(Operation operation) {
  return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

// As far as the message was seen to be asked for in one go; repetitions cut it anew.
bool was_repeated(const DialogueMessage& message) {
  return message.facts.repetitions != 0;
}

std::string show_time(wire::Duration duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e3) return fmt::format("{} ns", duration.count());
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::string packets_of(const std::vector<const DialoguePacket*>& responses) {
  std::uint32_t largest = 0;
  for (const DialoguePacket* response : responses) {
    largest = std::max(largest, response->payload_size);
  }
  return fmt::format("{} packet{} of {}{}", responses.size(), responses.size() == 1 ? "" : "s",
                     responses.size() == 1 ? "" : "up to ", largest);
}

}  // namespace

MemoryMapping::Mismatch MemoryMapping::add(const analysis::Message& captured,
                                           const analysis::Message& live) {
  const Counterpart here{live.remote_key, live.virtual_address - captured.virtual_address};
  const auto [entry, is_new] = counterparts_.try_emplace(captured.remote_key, here);
  if (is_new) return Mismatch::none;
  if (entry->second.key != here.key) return Mismatch::key;
  return entry->second.distance == here.distance ? Mismatch::none : Mismatch::address;
}

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::send:
      return "SEND";
    case Operation::write:
      return "WRITE";
    case Operation::read_request:
      return "READ";
    case Operation::compare_swap:
      return "compare and swap";
    case Operation::fetch_add:
      return "fetch and add";
    case Operation::flush:
      return "FLUSH";
    case Operation::atomic_write:
      return "atomic WRITE";
    default:
      return "request";
  }
}

namespace {

// An echo is a request, too: then neither end is the one that asks.
bool both_ask(const ConnectionPair& pair) {
  const auto asks = [&pair](std::uint8_t side) {
    return !pair.live_messages(side).empty() || !pair.captured_messages(side).empty();
  };
  return asks(0) && asks(1);
}

std::string address_of(const ConnectionPair& pair, std::uint8_t side) {
  return pair.live.stream.sides[pair.live_side(side)].address.to_string();
}

}  // namespace

bool is_settled(const DialogueMessage& message) {
  return message.facts.state == MessageState::complete ||
         message.facts.state == MessageState::refused;
}

std::string name_of(const ConnectionPair& pair, std::uint8_t requester, std::uint32_t message) {
  const auto& live = pair.live_messages(requester);
  const auto& captured = pair.captured_messages(requester);
  const DialogueMessage* found = message < live.size()       ? &live[message]
                                 : message < captured.size() ? &captured[message]
                                                             : nullptr;
  std::string name = found == nullptr ? std::string("connection")
                                      : fmt::format("{} of message {}",
                                                    name_of(found->facts.operation), message + 1);
  if (both_ask(pair)) name += fmt::format(" of {}", address_of(pair, requester));
  return name;
}

std::string live_asker(const ConnectionPair& pair, std::uint8_t requester) {
  return both_ask(pair) ? fmt::format("the live end {}", address_of(pair, requester))
                        : "the live requester";
}

std::string live_answerer(const ConnectionPair& pair, std::uint8_t requester) {
  const auto other = static_cast<std::uint8_t>(1 - requester);
  return both_ask(pair) ? fmt::format("the live end {}", address_of(pair, other))
                        : "the live responder";
}

void MessageComparison::compare(const AlignedPair& aligned, std::vector<DialogueDifference>& out) {
  out_ = &out;
  message_ = aligned.live;
  const Message& captured = pair_.captured_messages(requester_)[aligned.captured];
  const Message& live = pair_.live_messages(requester_)[aligned.live];
  if (captured.facts.operation != live.facts.operation) {
    add("other_operation", first_captured(captured), first_live(live),
        fmt::format("message {} of {} is a {}; of the captured one a {}", message_ + 1,
                    live_asker(pair_, requester_), name_of(live.facts.operation),
                    name_of(captured.facts.operation)));
    return;
  }
  compare_requests(captured, live);
  compare_responses(captured, live);
  compare_atomic(captured, live);
  compare_time(captured, live);
}

void MessageComparison::compare_requests(const Message& captured, const Message& live) {
  const analysis::Message& a = captured.facts;
  const analysis::Message& b = live.facts;
  if (!asks_the_same(captured, live)) {
    add("other_length", first_captured(captured), first_live(live),
        fmt::format("{}'s {} has {} bytes; the captured one's {}", live_asker(pair_, requester_),
                    subject(), b.length, a.length));
    return;
  }
  const bool known = !a.headers_cut && !b.headers_cut;
  if (a.whole && b.whole && (a.has_immediate != b.has_immediate || a.immediate != b.immediate)) {
    const auto show = [](const analysis::Message& message) {
      return message.has_immediate ? fmt::format("immediate 0x{:08x}", message.immediate)
                                   : std::string("no immediate");
    };
    add("other_immediate", first_captured(captured), first_live(live),
        fmt::format("{}'s {} carries {}; the captured one's {}", live_asker(pair_, requester_),
                    subject(), show(b), show(a)));
  }
  if (known && a.operation != Operation::send && (a.length != 0 || is_atomic(a.operation))) {
    const auto mismatch = memory_.add(a, b);
    if (mismatch == MemoryMapping::Mismatch::key) {
      add("other_key", first_captured(captured), first_live(live),
          fmt::format("{}'s {} names R_Key 0x{:08x}, which is not the one that "
                      "goes with the captured 0x{:08x} elsewhere",
                      live_asker(pair_, requester_), subject(), b.remote_key, a.remote_key));
    } else if (mismatch == MemoryMapping::Mismatch::address) {
      add("other_address", first_captured(captured), first_live(live),
          fmt::format("{}'s {} names address 0x{:x}, which lies elsewhere in its "
                      "region than the captured 0x{:x} does",
                      live_asker(pair_, requester_), subject(), b.virtual_address,
                      a.virtual_address));
    }
  }
  if (a.operation == Operation::send || a.operation == Operation::write) {
    if (a.whole && b.whole) compare_payload(captured, live, false);
  }
}

void MessageComparison::compare_payload(const Message& captured, const Message& live,
                                        bool answers) {
  const std::size_t size = captured.facts.length;
  if (size == 0 || live.facts.length != size) return;
  const auto& theirs = answers ? live.answers : live.requests;
  const auto a = assemble(pair_.captured_dialogue, pair_.captured,
                          answers ? captured.answers : captured.requests, size);
  const auto b = assemble(pair_.live_dialogue, pair_.live, theirs, size);
  if (!a || !b || *a == *b) return;
  const auto at =
      static_cast<std::size_t>(std::mismatch(a->begin(), a->end(), b->begin()).first - a->begin());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < size; ++i) wrong += (*a)[i] != (*b)[i] ? 1 : 0;
  const auto value = [at](const std::vector<std::byte>& bytes) {
    return std::to_integer<unsigned>(bytes[at]);
  };
  const std::string what = answers ? fmt::format("{} answered the {} with other bytes",
                                                 live_answerer(pair_, requester_), subject())
                                   : fmt::format("{}'s {} carries other bytes",
                                                 live_asker(pair_, requester_), subject());
  add(answers ? "response_payload" : "request_payload",
      carrier(pair_.captured, answers ? captured.answers : captured.requests, at),
      carrier(pair_.live, theirs, at),
      fmt::format("{} than the captured one: {} of {}, the first at {} (0x{:02x}, captured "
                  "0x{:02x})",
                  what, wrong, size, at, value(*b), value(*a)),
      answers ? kContentRule : kAskedRule);
}

void MessageComparison::compare_responses(const Message& captured, const Message& live) {
  if (captured.facts.operation != Operation::read_request) return;
  const auto a = taken_responses(pair_.captured, captured);
  const auto b = taken_responses(pair_.live, live);
  if (a.empty() || b.empty()) return;
  const bool cut_anew = was_repeated(captured) || was_repeated(live);
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common && !cut_anew; ++i) {
    if (a[i]->payload_size != b[i]->payload_size) {
      add("response_sizes", a[i], b[i],
          fmt::format("{} answered the {} with {} bytes; the captured one with {}",
                      live_answerer(pair_, requester_), subject(), packets_of(b), packets_of(a)),
          kReadRule);
      break;
    }
    if (a[i]->opcode != b[i]->opcode) {
      add("response_opcode", a[i], b[i],
          fmt::format("{} answered the {} with {}; the captured one with {}",
                      live_answerer(pair_, requester_), subject(), b[i]->info().name,
                      a[i]->info().name),
          kReadRule);
      break;
    }
  }
  if (captured.facts.state == MessageState::complete &&
      live.facts.state == MessageState::complete) {
    compare_payload(captured, live, true);
  }
}

void MessageComparison::compare_atomic(const Message& captured, const Message& live) {
  if (!is_atomic(captured.facts.operation)) return;
  const DialoguePacket* asked_a = first_captured(captured);
  const DialoguePacket* asked_b = first_live(live);
  if (asked_a != nullptr && asked_b != nullptr && asked_a->digest != asked_b->digest) {
    add("other_operands", asked_a, asked_b,
        fmt::format("{}'s {} has other operands than the captured one",
                    live_asker(pair_, requester_), subject()));
  }
  const auto answer_of = [](const DialogueConnection& connection, const Message& message) {
    const auto found =
        std::find_if(message.answers.begin(), message.answers.end(), [&](std::uint32_t index) {
          const DialoguePacket& packet = connection.packets[index];
          return !packet.spoilt && packet.info().operation == Operation::atomic_acknowledge;
        });
    return found == message.answers.end() ? nullptr : &connection.packets[*found];
  };
  const DialoguePacket* a = answer_of(pair_.captured, captured);
  const DialoguePacket* b = answer_of(pair_.live, live);
  if (a == nullptr || b == nullptr || a->value == b->value) return;
  add("atomic_value", a, b,
      fmt::format("{} answered the {} with the value 0x{:x}; the captured one with "
                  "0x{:x}",
                  live_answerer(pair_, requester_), subject(), b->value, a->value),
      kAtomicRule);
}

void MessageComparison::compare_time(const Message& captured, const Message& live) {
  if (options_.late == wire::Duration(0) || was_repeated(live)) return;
  if (!is_settled(captured) || !is_settled(live) || live.facts.completed_frame == 0 ||
      captured.facts.completed_frame == 0) {
    return;
  }
  const wire::Duration a = captured.facts.completed_time - captured.facts.first_time;
  const wire::Duration b = live.facts.completed_time - live.facts.first_time;
  if (b - a < options_.late || b < 4 * a) return;
  DialogueDifference& late =
      add("late", nullptr, nullptr,
          fmt::format("{} answered the {} after {}; the captured one after {}",
                      live_answerer(pair_, requester_), subject(), show_time(b), show_time(a)));
  late.live_frame = late.order = live.facts.completed_frame;
  late.captured_frame = captured.facts.completed_frame;
  late.at = pair_.live_time(live.facts.completed_time);
}

DialogueDifference& MessageComparison::add(std::string_view kind, const DialoguePacket* captured,
                                           const DialoguePacket* live, std::string sentence,
                                           std::string_view rule) {
  DialogueDifference difference;
  difference.kind = kind;
  difference.sentence = std::move(sentence);
  difference.rule = rule;
  difference.requester = requester_;
  difference.message = message_ + 1;
  if (captured != nullptr) difference.captured_frame = captured->frame;
  if (live != nullptr) {
    difference.live_frame = difference.order = live->frame;
    difference.at = pair_.live_time(live->at);
  }
  out_->push_back(std::move(difference));
  return out_->back();
}

const DialoguePacket* MessageComparison::first_captured(const Message& message) const {
  return message.requests.empty() ? nullptr : &pair_.captured.packets[message.requests.front()];
}

const DialoguePacket* MessageComparison::first_live(const Message& message) const {
  return message.requests.empty() ? nullptr : &pair_.live.packets[message.requests.front()];
}

std::string MessageComparison::subject() const {
  return name_of(pair_, requester_, message_);
}

}  // namespace softrnic::replay
