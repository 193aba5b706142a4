// SPDX-License-Identifier: BSD-3-Clause
#include "craft/packet_name.hpp"

#include <algorithm>
#include <array>

#include "fabric/fault_terms.hpp"

namespace softrnic::craft {

namespace {

using wire::OpcodeInfo;
using wire::Operation;
using wire::Position;
using Answer = PacketName::Answer;
using Form = PacketName::Form;

constexpr std::array<std::string_view, 11> kOperations{
    "send",          "write",       "read_request",
    "read_response", "acknowledge", "atomic_acknowledge",
    "compare_swap",  "fetch_add",   "flush",
    "atomic_write",  "cnp"};
constexpr std::array<std::string_view, 4> kPositions{"first", "middle", "last", "only"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAliases{{
    {"atomic_ack", "atomic_acknowledge"},
    {"cas", "compare_swap"},
    {"cmp_swap", "compare_swap"},
    {"fadd", "fetch_add"},
    {"fetch_and_add", "fetch_add"},
    {"read", "read_request"},
}};

constexpr std::uint16_t kEndings = wire::kImmDt | wire::kIeth;

bool has_places(Operation operation) {
  return operation == Operation::send || operation == Operation::write ||
         operation == Operation::read_response;
}

std::string second_word(const OpcodeInfo& row) {
  std::string name(kOperations[static_cast<std::size_t>(row.operation)]);
  if (has_places(row.operation)) {
    name += '_';
    name += kPositions[static_cast<std::size_t>(row.position)];
  }
  if (row.has(wire::kImmDt)) name += "_immediate";
  if (row.has(wire::kIeth)) name += "_invalidate";
  return name;
}

std::string service_word(const OpcodeInfo& row) {
  return fabric::to_lower(wire::to_string(row.service));
}

template <class Test>
const OpcodeInfo* find_row(Test test) {
  for (int value = 0; value < 256; ++value) {
    const OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    if (row != nullptr && test(*row)) return row;
  }
  return nullptr;
}

const OpcodeInfo* only_packet(std::string_view service, Operation operation) {
  return find_row([&](const OpcodeInfo& row) {
    return service_word(row) == service && row.operation == operation &&
           row.position == Position::only && (row.extension_headers & kEndings) == 0;
  });
}

constexpr std::array kCmAttributes{wire::CmAttribute::connect_request,
                                   wire::CmAttribute::message_receipt_acknowledgment,
                                   wire::CmAttribute::connect_reject,
                                   wire::CmAttribute::connect_reply,
                                   wire::CmAttribute::ready_to_use,
                                   wire::CmAttribute::disconnect_request,
                                   wire::CmAttribute::disconnect_reply,
                                   wire::CmAttribute::service_id_resolution_request,
                                   wire::CmAttribute::service_id_resolution_reply,
                                   wire::CmAttribute::load_alternate_path,
                                   wire::CmAttribute::alternate_path_response};

std::optional<PacketName> find_cm(std::string_view word) {
  for (const wire::CmAttribute attribute : kCmAttributes) {
    if (cm_name(attribute) != word) continue;
    PacketName name;
    name.form = Form::cm;
    name.opcode = &wire::info(wire::Opcode::ud_send_only);
    name.operation = Operation::send;
    name.cm = attribute;
    return name;
  }
  return std::nullopt;
}

std::optional<PacketName> find_answer(std::string_view service, std::string_view word) {
  const OpcodeInfo* row = only_packet(service, Operation::acknowledge);
  if (row == nullptr) return std::nullopt;
  PacketName name;
  name.form = Form::answer;
  name.opcode = row;
  name.operation = row->operation;
  if (word == "ack") name.answer = Answer::ack;
  if (word == "nak") name.answer = Answer::nak;
  if (word == "rnr") name.answer = Answer::rnr;
  if (word != "ack" && word != "nak" && word != "rnr") return std::nullopt;
  return name;
}

std::optional<PacketName> find_message(std::string_view service, std::string_view word) {
  for (const Operation operation : {Operation::send, Operation::write, Operation::read_response}) {
    if (word != kOperations[static_cast<std::size_t>(operation)]) continue;
    const OpcodeInfo* row = only_packet(service, operation);
    if (row == nullptr) return std::nullopt;
    PacketName name;
    name.form = Form::message;
    name.opcode = row;
    name.operation = operation;
    return name;
  }
  return std::nullopt;
}

}  // namespace

std::string packet_name(const OpcodeInfo& opcode) {
  if (opcode.operation == Operation::cnp) return "cnp";
  return service_word(opcode) + " " + second_word(opcode);
}

std::string cm_name(wire::CmAttribute attribute) {
  std::string name = fabric::to_lower(wire::to_string(attribute));
  std::ranges::replace(name, ' ', '_');
  return name;
}

bool is_service_word(std::string_view word) {
  return word == "rc" || word == "uc" || word == "ud" || word == "xrc" || word == "cm";
}

std::optional<PacketName> find_packet_name(std::string_view first, std::string_view second) {
  PacketName name;
  if (first == "raw") {
    name.form = Form::raw;
    return name;
  }
  if (first == "cnp") {
    name.opcode = &wire::info(wire::Opcode::cnp);
    name.operation = Operation::cnp;
    return name;
  }
  // "rc_write_only" in one word.
  if (second.empty() && first.find('_') != std::string_view::npos) {
    second = first.substr(first.find('_') + 1);
    first = first.substr(0, first.find('_'));
  }
  if (first == "cm") return find_cm(second);
  for (const auto& [alias, word] : kAliases) {
    if (second == alias) second = word;
  }
  if (const auto answer = find_answer(first, second)) return answer;
  if (const auto message = find_message(first, second)) return message;
  name.opcode = find_row([&](const OpcodeInfo& row) {
    return service_word(row) == first && second_word(row) == second;
  });
  if (name.opcode == nullptr) return std::nullopt;
  name.operation = name.opcode->operation;
  return name;
}

std::vector<std::string> second_words(std::string_view first) {
  std::vector<std::string> words;
  if (first == "cm") {
    for (const wire::CmAttribute attribute : kCmAttributes) words.push_back(cm_name(attribute));
    return words;
  }
  for (const std::string_view word :
       {"send", "write", "read", "read_response", "ack", "nak", "rnr"}) {
    if (find_packet_name(first, word)) words.emplace_back(word);
  }
  find_row([&](const OpcodeInfo& row) {
    if (service_word(row) == first) words.push_back(second_word(row));
    return false;
  });
  return words;
}

const OpcodeInfo* opcode_with(const OpcodeInfo& row, std::uint16_t ending) {
  return find_row([&](const OpcodeInfo& other) {
    return other.service == row.service && other.operation == row.operation &&
           other.position == row.position && (other.extension_headers & kEndings) == ending;
  });
}

const OpcodeInfo* opcode_at(const OpcodeInfo& only, Position position) {
  const bool ends = position == Position::last || position == Position::only;
  const int ending = ends ? only.extension_headers & kEndings : 0;
  return find_row([&](const OpcodeInfo& row) {
    return row.service == only.service && row.operation == only.operation &&
           row.position == position && (row.extension_headers & kEndings) == ending;
  });
}

}  // namespace softrnic::craft
