// SPDX-License-Identifier: BSD-3-Clause
#include "replay/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace softrnic::replay {

namespace {

using wire::Operation;

// What makes a packet the counterpart of another: all but what may differ.
struct Role {
  std::uint8_t sender = 0;  // captured side
  std::size_t row = 0;      // of the messages' alignment
  std::uint8_t answer = 0;  // 0: request, 1: acknowledgement, 2: data, 3: NAK, 4: none of them
  std::int32_t place = 0;   // PSN within the message, or since the beginning
  std::size_t copy = 0;

  auto key() const { return std::tie(sender, row, answer, place, copy); }
  friend bool operator<(const Role& a, const Role& b) { return a.key() < b.key(); }
};

std::uint8_t answer_class(const DialoguePacket& packet) {
  if (!packet.is_answer()) return 0;
  if (packet.info().operation != Operation::acknowledge) return 2;
  return packet.syndrome.is_ack() ? 1 : 3;
}

class Rows {
 public:
  Rows(const DialogueConnection& captured, const DialogueConnection& live)
      : captured_(captured), live_(live), turned_(is_turned_round(captured, live)) {
    for (const std::uint8_t side : {std::uint8_t{0}, std::uint8_t{1}}) {
      const std::uint8_t other = live_side(side);
      const auto aligned = align_messages(captured.messages[side], live.messages[other]);
      rows_[0][side].assign(captured.messages[side].size(), kNoRow);
      rows_[1][side].assign(live.messages[other].size(), kNoRow);
      for (std::size_t row = 0; row < aligned.size(); ++row) {
        if (aligned[row].captured != kNone) rows_[0][side][aligned[row].captured] = row;
        if (aligned[row].live != kNone) rows_[1][side][aligned[row].live] = row;
      }
    }
  }

  std::vector<SideBySideRow> lay() {
    std::map<Role, std::uint32_t> waiting;  // captured packets
    std::map<Role, std::size_t> copies;
    for (std::uint32_t i = 0; i < captured_.packets.size(); ++i) {
      waiting.emplace(role_of(captured_, i, 0, copies), i);
    }
    copies.clear();
    std::vector<std::uint32_t> counterpart(captured_.packets.size(), kNone);
    // Live packets without a counterpart, by the captured one that they stand behind; 0: at the
    // front.
    std::map<std::uint32_t, std::vector<std::uint32_t>> alone;
    std::uint32_t behind = 0;
    for (std::uint32_t j = 0; j < live_.packets.size(); ++j) {
      const auto found = waiting.find(role_of(live_, j, 1, copies));
      if (found == waiting.end()) {
        alone[behind].push_back(j);
        continue;
      }
      counterpart[found->second] = j;
      behind = found->second + 1;
    }
    std::vector<SideBySideRow> rows;
    const auto add_alone = [&](std::uint32_t after) {
      const auto found = alone.find(after);
      if (found == alone.end()) return;
      for (const std::uint32_t j : found->second) rows.push_back({kNone, j, '>'});
    };
    add_alone(0);
    for (std::uint32_t i = 0; i < captured_.packets.size(); ++i) {
      const std::uint32_t j = counterpart[i];
      rows.push_back({i, j, j == kNone ? '<' : are_alike(i, j) ? ' ' : '|'});
      add_alone(i + 1);
    }
    return rows;
  }

  bool turned() const { return turned_; }

 private:
  static constexpr std::size_t kNoRow = ~std::size_t{0};

  std::uint8_t live_side(std::uint8_t side) const {
    return turned_ ? static_cast<std::uint8_t>(1 - side) : side;
  }

  Role role_of(const DialogueConnection& connection, std::uint32_t index, std::size_t which,
               std::map<Role, std::size_t>& copies) const {
    const DialoguePacket& packet = connection.packets[index];
    Role role;
    role.sender = which == 1 ? live_side(packet.sender) : packet.sender;
    role.answer = answer_class(packet);
    const std::uint8_t requester =
        packet.is_answer() ? static_cast<std::uint8_t>(1 - role.sender) : role.sender;
    role.row = kNoRow;
    role.place = packet.relative_psn;
    const std::uint8_t own =
        packet.is_answer() ? static_cast<std::uint8_t>(1 - packet.sender) : packet.sender;
    const std::uint32_t of = message_of(connection.messages[own], packet);
    if (of != kNone) {
      const DialogueMessage& message = connection.messages[own][of];
      role.row = rows_[which][requester][of];
      role.place = static_cast<std::int32_t>(packet.relative_psn) - first_psn(connection, message);
    }
    role.copy = copies[role]++;
    return role;
  }

  // What was spoilt on its way is taken for what it was sent as.
  static std::uint32_t message_of(const std::vector<DialogueMessage>& messages,
                                  const DialoguePacket& packet) {
    if (packet.message != kNone || !packet.spoilt) return packet.message;
    const auto found = std::find_if(messages.begin(), messages.end(), [&](const auto& message) {
      const wire::Psn psn(packet.psn);
      const std::int32_t at = psn.since(wire::Psn(message.facts.first_psn));
      return at >= 0 && at < static_cast<std::int32_t>(message.facts.psn_count);
    });
    return found == messages.end() ? kNone : static_cast<std::uint32_t>(found - messages.begin());
  }

  static std::int32_t first_psn(const DialogueConnection& connection,
                                const DialogueMessage& message) {
    return message.requests.empty() ? 0 : connection.packets[message.requests.front()].relative_psn;
  }

  bool are_alike(std::uint32_t i, std::uint32_t j) const {
    const DialoguePacket& a = captured_.packets[i];
    const DialoguePacket& b = live_.packets[j];
    const bool same_answer = a.syndrome.kind() == b.syndrome.kind() &&
                             (!a.syndrome.is_nak() || a.syndrome == b.syndrome);
    return a.opcode == b.opcode && a.spoilt == b.spoilt && a.payload_size == b.payload_size &&
           a.digest == b.digest && a.value == b.value && same_answer;
  }

  const DialogueConnection& captured_;
  const DialogueConnection& live_;
  bool turned_;
  std::array<std::array<std::vector<std::size_t>, 2>, 2> rows_;
};

// "RC RDMA WRITE First" without its service, which is that of all.
std::string_view short_name(const DialoguePacket& packet) {
  std::string_view name = packet.info().name;
  const std::size_t space = name.find(' ');
  return space == std::string_view::npos ? name : name.substr(space + 1);
}

std::string answer_text(const DialoguePacket& packet) {
  const wire::Syndrome syndrome = packet.syndrome;
  if (packet.info().operation != Operation::acknowledge) return std::string(short_name(packet));
  if (syndrome.is_ack()) return "ACK";
  if (syndrome.is_rnr_nak()) return "RNR NAK";
  return fmt::format("NAK 0x{:02x}", syndrome.raw());
}

std::string packet_text(const DialoguePacket& packet, std::uint8_t captured_sender,
                        wire::Instant begin) {
  std::string text = fmt::format(
      "{:>6} {:>11.3f} {} {} {:+}", packet.frame,
      static_cast<double>((packet.at - begin).count()) / 1e3, captured_sender == 0 ? "->" : "<-",
      packet.is_answer() ? answer_text(packet) : std::string(short_name(packet)),
      packet.relative_psn);
  if (packet.info().has(wire::kAeth)) text += fmt::format(" msn {}", packet.msn);
  if (packet.payload_size != 0) text += fmt::format(" len {}", packet.payload_size);
  if (packet.repetition != 0) text += " again";
  if (packet.spoilt) text += " ICRC!";
  return text;
}

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) {
    text.resize(width);
    text.back() = '~';
  }
  return text;
}

}  // namespace

std::vector<SideBySideRow> lay_side_by_side(const Dialogue& captured, std::uint32_t captured_stream,
                                            const Dialogue& live, std::uint32_t live_stream) {
  return Rows(captured.connections()[captured_stream], live.connections()[live_stream]).lay();
}

std::string side_by_side_text(const Dialogue& captured, std::uint32_t captured_stream,
                              const Dialogue& live, std::uint32_t live_stream, std::size_t width,
                              std::size_t context) {
  const DialogueConnection& ours = captured.connections()[captured_stream];
  const DialogueConnection& theirs = live.connections()[live_stream];
  Rows laid(ours, theirs);
  const std::vector<SideBySideRow> rows = laid.lay();

  std::vector<bool> shown(rows.size(), false);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].mark == ' ') continue;
    const std::size_t from = i < context ? 0 : i - context;
    const std::size_t to = std::min(rows.size(), i + context + 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(from),
              shown.begin() + static_cast<std::ptrdiff_t>(to), true);
  }

  constexpr std::size_t kMiddle = 3;
  constexpr std::size_t kNarrowest = 24;
  const std::size_t half = std::max(kNarrowest, (width - std::min(width, kMiddle)) / 2);
  std::string text = fmt::format("{:<{}}   {}\n", " frame  time in us", half, " frame  time in us");
  std::size_t left_out = 0;
  const auto tell_left_out = [&] {
    if (left_out != 0) text += fmt::format("  ... {} packets alike\n", left_out);
    left_out = 0;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!shown[i]) {
      ++left_out;
      continue;
    }
    tell_left_out();
    std::string left;
    std::string right;
    if (rows[i].captured != kNone) {
      const DialoguePacket& packet = ours.packets[rows[i].captured];
      left = cut(packet_text(packet, packet.sender, ours.stream.first_time), half);
    }
    if (rows[i].live != kNone) {
      const DialoguePacket& packet = theirs.packets[rows[i].live];
      const auto sender =
          static_cast<std::uint8_t>(laid.turned() ? 1 - packet.sender : packet.sender);
      right = cut(packet_text(packet, sender, theirs.stream.first_time), half);
    }
    std::string line = fmt::format("{:<{}} {} {}", left, half, rows[i].mark, right);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  tell_left_out();
  return text;
}

}  // namespace softrnic::replay
