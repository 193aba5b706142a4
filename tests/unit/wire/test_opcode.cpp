// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "wire/transport_headers.hpp"

namespace softrnic::wire {
namespace {

// As `tshark -G values` gives them for infiniband.bth.opcode, the service's name shortened to what
// stands there in brackets.
const std::map<unsigned, std::string>& wireshark_names() {
  static const std::map<unsigned, std::string> names = {
      {0x00, "RC SEND First"},
      {0x01, "RC SEND Middle"},
      {0x02, "RC SEND Last"},
      {0x03, "RC SEND Last with Immediate"},
      {0x04, "RC SEND Only"},
      {0x05, "RC SEND Only with Immediate"},
      {0x06, "RC RDMA WRITE First"},
      {0x07, "RC RDMA WRITE Middle"},
      {0x08, "RC RDMA WRITE Last"},
      {0x09, "RC RDMA WRITE Last with Immediate"},
      {0x0a, "RC RDMA WRITE Only"},
      {0x0b, "RC RDMA WRITE Only with Immediate"},
      {0x0c, "RC RDMA READ Request"},
      {0x0d, "RC RDMA READ response First"},
      {0x0e, "RC RDMA READ response Middle"},
      {0x0f, "RC RDMA READ response Last"},
      {0x10, "RC RDMA READ response Only"},
      {0x11, "RC Acknowledge"},
      {0x12, "RC ATOMIC Acknowledge"},
      {0x13, "RC CmpSwap"},
      {0x14, "RC FetchAdd"},
      {0x16, "RC SEND Last with Invalidate"},
      {0x17, "RC SEND Only with Invalidate"},
      {0x20, "UC SEND First"},
      {0x21, "UC SEND Middle"},
      {0x22, "UC SEND Last"},
      {0x23, "UC SEND Last with Immediate"},
      {0x24, "UC SEND Only"},
      {0x25, "UC SEND Only with Immediate"},
      {0x26, "UC RDMA WRITE First"},
      {0x27, "UC RDMA WRITE Middle"},
      {0x28, "UC RDMA WRITE Last"},
      {0x29, "UC RDMA WRITE Last with Immediate"},
      {0x2a, "UC RDMA WRITE Only"},
      {0x2b, "UC RDMA WRITE Only with Immediate"},
      {0x64, "UD SEND only"},
      {0x65, "UD SEND only with Immediate"},
      {0xa0, "XRC SEND First"},
      {0xa1, "XRC SEND Middle"},
      {0xa2, "XRC SEND Last"},
      {0xa3, "XRC SEND Last with Immediate"},
      {0xa4, "XRC SEND Only"},
      {0xa5, "XRC SEND Only with Immediate"},
      {0xa6, "XRC RDMA WRITE First"},
      {0xa7, "XRC RDMA WRITE Middle"},
      {0xa8, "XRC RDMA WRITE Last"},
      {0xa9, "XRC RDMA WRITE Last with Immediate"},
      {0xaa, "XRC RDMA WRITE Only"},
      {0xab, "XRC RDMA WRITE Only with Immediate"},
      {0xac, "XRC RDMA READ Request"},
      {0xad, "XRC RDMA READ response First"},
      {0xae, "XRC RDMA READ response Middle"},
      {0xaf, "XRC RDMA READ response Last"},
      {0xb0, "XRC RDMA READ response Only"},
      {0xb1, "XRC Acknowledge"},
      {0xb2, "XRC ATOMIC Acknowledge"},
      {0xb3, "XRC CmpSwap"},
      {0xb4, "XRC FetchAdd"},
      {0xb6, "XRC SEND Last with Invalidate"},
      {0xb7, "XRC SEND Only with Invalidate"},
  };
  return names;
}

TEST_CASE("opcodes are called what Wireshark calls them") {
  for (const auto& [value, name] : wireshark_names()) {
    INFO("opcode " << value << ", " << name);
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    REQUIRE(row != nullptr);
    REQUIRE(row->name == name);
  }
}

TEST_CASE("Wireshark's opcodes, CNP, FLUSH and ATOMIC WRITE are all there is") {
  std::set<std::string> names;
  for (unsigned value = 0; value < 256; ++value) {
    INFO("opcode " << value);
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    const bool newer = value == 0x1c || value == 0x1d || value == 0xbc || value == 0xbd;
    REQUIRE((row != nullptr) == (wireshark_names().count(value) != 0 || value == 0x81 || newer));
    if (row == nullptr) continue;
    REQUIRE(static_cast<unsigned>(row->opcode) == value);
    REQUIRE(&info(row->opcode) == row);
    REQUIRE(names.insert(std::string(row->name)).second);
  }
  REQUIRE(names.count("CNP") == 1);
  REQUIRE(names.count("RC FLUSH") == 1);
  REQUIRE(names.count("XRC ATOMIC WRITE") == 1);
}

TEST_CASE("a value outside the enum has an unknown row") {
  REQUIRE(info(static_cast<Opcode>(0x15)).service == Service::unknown);
  REQUIRE(info(static_cast<Opcode>(0xff)).operation == Operation::unknown);
}

TEST_CASE("the service is the top three bits of an opcode, and leads its name") {
  const std::array<std::string, 6> names = {"RC", "UC", "RD", "UD", "CNP", "XRC"};
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    INFO(row->name);
    REQUIRE(static_cast<unsigned>(row->service) == value >> 5);
    REQUIRE(to_string(row->service) == names[value >> 5]);
    const std::string lead = row->service == Service::congestion_notification
                                 ? std::string("CNP")
                                 : std::string(to_string(row->service)) + " ";
    REQUIRE(row->name.substr(0, lead.size()) == lead);
  }
  REQUIRE(to_string(Service::unknown) == "unknown");
}

// Position, operation and extension headers follow from the name, for any service.
TEST_CASE("position and operation are what the name says") {
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    INFO(row->name);
    const auto says = [row](std::string_view word) {
      return row->name.find(word) != std::string_view::npos;
    };
    const Position position = says(" First")    ? Position::first
                              : says(" Middle") ? Position::middle
                              : says(" Last")   ? Position::last
                                                : Position::only;
    REQUIRE(row->position == position);
    REQUIRE(row->starts_message() == (position == Position::first || position == Position::only));
    REQUIRE(row->ends_message() == (position == Position::last || position == Position::only));

    const Operation operation = says("SEND")            ? Operation::send
                                : says("RDMA WRITE")    ? Operation::write
                                : says("READ Request")  ? Operation::read_request
                                : says("READ response") ? Operation::read_response
                                : says("ATOMIC Ack")    ? Operation::atomic_acknowledge
                                : says("Acknowledge")   ? Operation::acknowledge
                                : says("CmpSwap")       ? Operation::compare_swap
                                : says("FetchAdd")      ? Operation::fetch_add
                                : says("FLUSH")         ? Operation::flush
                                : says("ATOMIC WRITE")  ? Operation::atomic_write
                                : says("CNP")           ? Operation::cnp
                                                        : Operation::unknown;
    REQUIRE(operation != Operation::unknown);
    REQUIRE(row->operation == operation);
    REQUIRE(row->is_response() ==
            (operation == Operation::read_response || operation == Operation::acknowledge ||
             operation == Operation::atomic_acknowledge));
  }
}

// The sizes of IBTA volume 1, tables 38 and following, by what the name says.
TEST_CASE("each opcode has the extension headers of the standard, in bytes") {
  std::size_t largest = 0;
  for (unsigned value = 0; value < 256; ++value) {
    const OpcodeInfo* row = find_opcode(static_cast<std::uint8_t>(value));
    if (row == nullptr) continue;
    INFO(row->name);
    std::size_t size = 0;
    const bool starts = row->starts_message();
    switch (row->operation) {
      case Operation::write:
        size = starts ? 16 : 0;
        break;
      case Operation::read_request:
      case Operation::atomic_write:
      case Operation::cnp:
        size = 16;
        break;
      case Operation::read_response:
        size = row->position == Position::middle ? 0 : 4;
        break;
      case Operation::acknowledge:
        size = 4;
        break;
      case Operation::atomic_acknowledge:
        size = 4 + 8;
        break;
      case Operation::compare_swap:
      case Operation::fetch_add:
        size = 28;
        break;
      case Operation::flush:
        size = 4 + 16;
        break;
      default:
        break;
    }
    if (row->name.find("Immediate") != std::string_view::npos) size += 4;
    if (row->name.find("Invalidate") != std::string_view::npos) size += 4;
    if (row->service == Service::unreliable_datagram) size += 8;
    if (row->service == Service::extended_reliable_connection && !row->is_response()) size += 4;
    REQUIRE(row->extension_size == size);

    TransportHeaders headers;
    headers.bth.opcode = row->opcode;
    REQUIRE(headers.size() == 12 + size);
    largest = std::max(largest, headers.size());
  }
  REQUIRE(largest <= kMaxTransportHeaders);
}

TEST_CASE("payload goes with data, not with requests for it or with acknowledges") {
  REQUIRE(info(Opcode::rc_send_only).carries_payload);
  REQUIRE(info(Opcode::rc_read_response_middle).carries_payload);
  REQUIRE(info(Opcode::rc_atomic_write).carries_payload);
  REQUIRE(info(Opcode::ud_send_only_immediate).carries_payload);
  REQUIRE_FALSE(info(Opcode::rc_read_request).carries_payload);
  REQUIRE_FALSE(info(Opcode::rc_acknowledge).carries_payload);
  REQUIRE_FALSE(info(Opcode::rc_atomic_acknowledge).carries_payload);
  REQUIRE_FALSE(info(Opcode::xrc_fetch_add).carries_payload);
  REQUIRE_FALSE(info(Opcode::rc_flush).carries_payload);
  REQUIRE_FALSE(info(Opcode::cnp).carries_payload);
}

TEST_CASE("has() asks for one extension header") {
  const OpcodeInfo& row = info(Opcode::xrc_write_only_immediate);
  REQUIRE(row.has(kXrceth));
  REQUIRE(row.has(kReth));
  REQUIRE(row.has(kImmDt));
  REQUIRE_FALSE(row.has(kAeth));
  REQUIRE_FALSE(row.has(kDeth));
  REQUIRE_FALSE(info(Opcode::xrc_read_response_first).has(kXrceth));
}

}  // namespace
}  // namespace softrnic::wire
