// SPDX-License-Identifier: BSD-3-Clause
// The opcode table: every BTH opcode with its name, service, operation, place in the message and
// the extension headers that follow (IBTA vol. 1, 9.2.1, table 38; annex A17 for CNP).
#pragma once

#include <cstdint>
#include <string_view>

namespace softrnic::wire {

// Top three bits of the opcode.
enum class Service : std::uint8_t {
  reliable_connection = 0,
  unreliable_connection = 1,
  reliable_datagram = 2,
  unreliable_datagram = 3,
  congestion_notification = 4,
  extended_reliable_connection = 5,
  unknown = 0xff,
};

// Short names as users write them: "RC", "UC", "RD", "UD", "CNP", "XRC".
std::string_view to_string(Service service);

enum class Opcode : std::uint8_t {
  rc_send_first = 0x00,
  rc_send_middle = 0x01,
  rc_send_last = 0x02,
  rc_send_last_immediate = 0x03,
  rc_send_only = 0x04,
  rc_send_only_immediate = 0x05,
  rc_write_first = 0x06,
  rc_write_middle = 0x07,
  rc_write_last = 0x08,
  rc_write_last_immediate = 0x09,
  rc_write_only = 0x0a,
  rc_write_only_immediate = 0x0b,
  rc_read_request = 0x0c,
  rc_read_response_first = 0x0d,
  rc_read_response_middle = 0x0e,
  rc_read_response_last = 0x0f,
  rc_read_response_only = 0x10,
  rc_acknowledge = 0x11,
  rc_atomic_acknowledge = 0x12,
  rc_compare_swap = 0x13,
  rc_fetch_add = 0x14,
  rc_send_last_invalidate = 0x16,
  rc_send_only_invalidate = 0x17,
  rc_flush = 0x1c,
  rc_atomic_write = 0x1d,

  uc_send_first = 0x20,
  uc_send_middle = 0x21,
  uc_send_last = 0x22,
  uc_send_last_immediate = 0x23,
  uc_send_only = 0x24,
  uc_send_only_immediate = 0x25,
  uc_write_first = 0x26,
  uc_write_middle = 0x27,
  uc_write_last = 0x28,
  uc_write_last_immediate = 0x29,
  uc_write_only = 0x2a,
  uc_write_only_immediate = 0x2b,

  ud_send_only = 0x64,
  ud_send_only_immediate = 0x65,

  cnp = 0x81,

  xrc_send_first = 0xa0,
  xrc_send_middle = 0xa1,
  xrc_send_last = 0xa2,
  xrc_send_last_immediate = 0xa3,
  xrc_send_only = 0xa4,
  xrc_send_only_immediate = 0xa5,
  xrc_write_first = 0xa6,
  xrc_write_middle = 0xa7,
  xrc_write_last = 0xa8,
  xrc_write_last_immediate = 0xa9,
  xrc_write_only = 0xaa,
  xrc_write_only_immediate = 0xab,
  xrc_read_request = 0xac,
  xrc_read_response_first = 0xad,
  xrc_read_response_middle = 0xae,
  xrc_read_response_last = 0xaf,
  xrc_read_response_only = 0xb0,
  xrc_acknowledge = 0xb1,
  xrc_atomic_acknowledge = 0xb2,
  xrc_compare_swap = 0xb3,
  xrc_fetch_add = 0xb4,
  xrc_send_last_invalidate = 0xb6,
  xrc_send_only_invalidate = 0xb7,
  xrc_flush = 0xbc,
  xrc_atomic_write = 0xbd,
};

enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic_acknowledge,
  compare_swap,
  fetch_add,
  flush,
  atomic_write,
  cnp,
  unknown,
};

// Where in its message a packet stands.
enum class Position : std::uint8_t { first, middle, last, only };

// Extension headers, in the order in which they stand on the wire. A set is an OR of bits.
enum ExtensionHeader : std::uint16_t {
  kXrceth = 1 << 0,
  kDeth = 1 << 1,
  kFeth = 1 << 2,
  kReth = 1 << 3,
  kAtomicEth = 1 << 4,
  kAeth = 1 << 5,
  kAtomicAckEth = 1 << 6,
  kImmDt = 1 << 7,
  kIeth = 1 << 8,
  kCnpReserved = 1 << 9,  // the 16 reserved bytes of a CNP (annex A17)
};

struct OpcodeInfo {
  Opcode opcode{};
  std::string_view name;  // as Wireshark spells it: "RC RDMA WRITE First"
  Service service = Service::unknown;
  Operation operation = Operation::unknown;
  Position position = Position::only;
  std::uint16_t extension_headers = 0;  // OR of ExtensionHeader
  std::uint8_t extension_size = 0;      // bytes of all extension headers
  bool carries_payload = false;

  constexpr bool has(ExtensionHeader h) const { return (extension_headers & h) != 0; }
  constexpr bool is_response() const {
    return operation == Operation::read_response || operation == Operation::acknowledge ||
           operation == Operation::atomic_acknowledge;
  }
  // A request that a READ or atomic response answers, be it empty, and not an ACK.
  constexpr bool awaits_response() const {
    return operation == Operation::read_request || operation == Operation::compare_swap ||
           operation == Operation::fetch_add || operation == Operation::flush ||
           operation == Operation::atomic_write;
  }
  constexpr bool starts_message() const {
    return position == Position::first || position == Position::only;
  }
  constexpr bool ends_message() const {
    return position == Position::last || position == Position::only;
  }
};

// The table row of a wire opcode, or null for a reserved one. O(1), never allocates.
const OpcodeInfo* find_opcode(std::uint8_t value);

// For opcodes of the enum, which all have a row.
const OpcodeInfo& info(Opcode opcode);

}  // namespace softrnic::wire
