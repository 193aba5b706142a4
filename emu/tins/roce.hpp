// SPDX-License-Identifier: BSD-3-Clause
// RoCE as PDUs of libtins: BTH, each extension header, GRH, management datagrams, and an ICRC that
// is right. docs/tins.md shows how they are used.
//
//   using namespace softrnic::tins;
//   auto packet = Tins::EthernetII(to, from) / Tins::IP(ip_to, ip_from) / Tins::UDP(4791, 49152) /
//                 BTH(BTH::rc_write_only, 0x12, 100) / RETH(0x7f00, 0x1234, 2) /
//                 Tins::RawPDU("hi");
//   packet.serialize();
//
// Values are in host order. What is read from bytes that are too short throws
// Tins::malformed_packet.
#pragma once

#include <tins/ipv6_address.h>
#include <tins/pdu.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace softrnic::tins {

enum class HeaderKind : std::uint8_t {
  bth,
  xrceth,
  deth,
  feth,
  reth,
  atomic_eth,
  aeth,
  atomic_ack_eth,
  immdt,
  ieth,
  mad,
  grh,
};

// A header of fixed size. Every field of it can be read and written by its name, which is the one
// that softrnic's fault rules and `softrnic craft --list` have ("ack_request", "remote_key").
class Header : public Tins::PDU {
 public:
  // Throws Tins::field_not_present for a name that is none of this header's. Of a value that is too
  // large for the field the low bits are taken.
  std::uint64_t field(std::string_view name) const;
  void field(std::string_view name, std::uint64_t value);

  std::uint32_t header_size() const override;
  PDUType pdu_type() const override { return type_of(kind_); }

  // Within what PDUType can hold, whose enumerators need ten bits: up to 1023.
  static constexpr PDUType type_of(HeaderKind kind) {
    return static_cast<PDUType>(PDU::USER_DEFINED_PDU + 1 + static_cast<int>(kind));
  }

 protected:
  explicit Header(HeaderKind kind) : kind_(kind) {}
  Header(HeaderKind kind, const std::uint8_t* buffer, std::uint32_t size);

  void write_serialization(std::uint8_t* buffer, std::uint32_t total_size) override;
  const std::uint8_t* bytes() const { return bytes_.data(); }
  std::uint8_t* bytes() { return bytes_.data(); }

 private:
  HeaderKind kind_;
  std::array<std::uint8_t, 40> bytes_{};
};

// Base transport header (IBTA vol. 1, 9.2). Behind its payload it writes the pad and the ICRC,
// which stand in no PDU of their own.
class BTH : public Header {
 public:
  static constexpr PDUType pdu_flag = type_of(HeaderKind::bth);

  // The opcodes' values; each has the name that `softrnic craft --list` shows.
  enum Opcode : std::uint8_t {
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
    ud_send_only = 0x64,
    ud_send_only_immediate = 0x65,
    cnp = 0x81,
    // Added to those of RC: rc_send_only + uc.
    uc = 0x20,
    xrc = 0xa0,
  };

  explicit BTH(int opcode = rc_send_only, std::uint32_t destination_qpn = 0, std::uint32_t psn = 0);
  // The headers that the opcode calls for, the payload and the ICRC become PDUs behind it.
  BTH(const std::uint8_t* buffer, std::uint32_t size);
  BTH* clone() const override { return new BTH(*this); }

  std::uint8_t opcode() const;
  std::uint32_t destination_qpn() const;
  std::uint32_t psn() const;
  bool ack_request() const;
  void opcode(std::uint8_t value);
  void destination_qpn(std::uint32_t value);
  void psn(std::uint32_t value);
  void ack_request(bool value);

  // As it was read; none in a packet that was not.
  std::optional<std::uint32_t> icrc() const { return icrc_; }
  // Written instead of the right one.
  void wrong_icrc(std::uint32_t value) { forced_icrc_ = value; }
  void right_icrc() { forced_icrc_.reset(); }
  // The pad count follows from the payload, unless it is given: then also the pad does.
  void pad_count(std::uint8_t count) { forced_pad_ = count; }

  std::uint32_t trailer_size() const override;

 protected:
  void write_serialization(std::uint8_t* buffer, std::uint32_t total_size) override;

 private:
  std::uint32_t pad() const;

  std::optional<std::uint32_t> icrc_;
  std::optional<std::uint32_t> forced_icrc_;
  std::optional<std::uint8_t> forced_pad_;
};

// An extension header: what is behind it stays with the BTH.
template <class Self, HeaderKind kKind>
class ExtensionHeader : public Header {
 public:
  static constexpr PDUType pdu_flag = type_of(kKind);

  ExtensionHeader() : Header(kKind) {}
  ExtensionHeader(const std::uint8_t* buffer, std::uint32_t size) : Header(kKind, buffer, size) {}
  Tins::PDU* clone() const override { return new Self(static_cast<const Self&>(*this)); }
};

class RETH : public ExtensionHeader<RETH, HeaderKind::reth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  RETH(std::uint64_t virtual_address, std::uint32_t remote_key, std::uint32_t dma_length);
  std::uint64_t virtual_address() const { return field("virtual_address"); }
  std::uint32_t remote_key() const { return static_cast<std::uint32_t>(field("remote_key")); }
  std::uint32_t dma_length() const { return static_cast<std::uint32_t>(field("dma_length")); }
};

class AETH : public ExtensionHeader<AETH, HeaderKind::aeth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  AETH(std::uint8_t syndrome, std::uint32_t msn);
  // Syndromes (IBTA vol. 1, table 44): credits 31 are none kept.
  static constexpr std::uint8_t ack(std::uint8_t credits = 31) {
    return static_cast<std::uint8_t>(credits & 31);
  }
  static constexpr std::uint8_t rnr(std::uint8_t timer) {
    return static_cast<std::uint8_t>(0x20 | (timer & 31));
  }
  static constexpr std::uint8_t nak(std::uint8_t code) {
    return static_cast<std::uint8_t>(0x60 | (code & 31));
  }
  std::uint8_t syndrome() const { return static_cast<std::uint8_t>(field("syndrome")); }
  std::uint32_t msn() const { return static_cast<std::uint32_t>(field("msn")); }
};

class DETH : public ExtensionHeader<DETH, HeaderKind::deth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  DETH(std::uint32_t queue_key, std::uint32_t source_qpn);
  std::uint32_t queue_key() const { return static_cast<std::uint32_t>(field("queue_key")); }
  std::uint32_t source_qpn() const { return static_cast<std::uint32_t>(field("source_qpn")); }
};

class AtomicETH : public ExtensionHeader<AtomicETH, HeaderKind::atomic_eth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  AtomicETH(std::uint64_t virtual_address, std::uint32_t remote_key, std::uint64_t swap_add,
            std::uint64_t compare = 0);
  std::uint64_t virtual_address() const { return field("virtual_address"); }
  std::uint32_t remote_key() const { return static_cast<std::uint32_t>(field("remote_key")); }
  std::uint64_t swap_add() const { return field("swap_add"); }
  std::uint64_t compare() const { return field("compare"); }
};

class AtomicAckETH : public ExtensionHeader<AtomicAckETH, HeaderKind::atomic_ack_eth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  explicit AtomicAckETH(std::uint64_t original);
  std::uint64_t original() const { return field("original"); }
};

class ImmDt : public ExtensionHeader<ImmDt, HeaderKind::immdt> {
 public:
  using ExtensionHeader::ExtensionHeader;
  explicit ImmDt(std::uint32_t immediate);
  std::uint32_t immediate() const { return static_cast<std::uint32_t>(field("immediate")); }
};

class IETH : public ExtensionHeader<IETH, HeaderKind::ieth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  explicit IETH(std::uint32_t remote_key);
  std::uint32_t remote_key() const { return static_cast<std::uint32_t>(field("remote_key")); }
};

class XRCETH : public ExtensionHeader<XRCETH, HeaderKind::xrceth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  explicit XRCETH(std::uint32_t shared_receive_queue);
  std::uint32_t shared_receive_queue() const {
    return static_cast<std::uint32_t>(field("shared_receive_queue"));
  }
};

class FETH : public ExtensionHeader<FETH, HeaderKind::feth> {
 public:
  using ExtensionHeader::ExtensionHeader;
  FETH(std::uint8_t placement_type, std::uint8_t selectivity);
};

// The header of a management datagram, which is 256 bytes with the data behind it. What comes to
// queue pair 1 is read as one.
class MAD : public ExtensionHeader<MAD, HeaderKind::mad> {
 public:
  using ExtensionHeader::ExtensionHeader;
  MAD(std::uint16_t attribute_id, std::uint64_t transaction_id);  // of communication management
};

// Global route header: RoCE v1 behind EtherType 0x8915. Its payload length is written for it.
class GRH : public ExtensionHeader<GRH, HeaderKind::grh> {
 public:
  GRH();
  GRH(const Tins::IPv6Address& destination, const Tins::IPv6Address& source);
  GRH(const std::uint8_t* buffer, std::uint32_t size);  // and the BTH behind it
  Tins::IPv6Address source() const;
  Tins::IPv6Address destination() const;
  void source(const Tins::IPv6Address& address);
  void destination(const Tins::IPv6Address& address);

 protected:
  void write_serialization(std::uint8_t* buffer, std::uint32_t total_size) override;
};

// Once, before frames of RoCE v1 are read or written: EtherType 0x8915 is a GRH for libtins.
void register_allocators();

// libtins knows no protocols by UDP port: what is behind a UDP header to port 4791 is bytes to it.
// Makes a BTH and its headers of them, in place. The BTH of the packet, of v1 too; null when it has
// none or it is malformed, and then nothing is changed.
BTH* parse(Tins::PDU& packet);

// For Sniffer::sniff_loop(): `handle` gets each packet with its BTH, and others are left out.
//   sniffer.sniff_loop(each_roce([](Tins::PDU& packet, BTH& bth) { ...; return true; }));
template <class Handle>
auto each_roce(Handle handle) {
  return [handle](Tins::PDU& packet) mutable {
    BTH* bth = parse(packet);
    return bth == nullptr || handle(packet, *bth);
  };
}

// Whether the ICRC that was read is the right one for the packet, from its Ethernet or IP header
// on.
bool icrc_ok(const Tins::PDU& packet);

}  // namespace softrnic::tins
