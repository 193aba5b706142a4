// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/info_column.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "dissector/analysis.hpp"
#include "dissector/preferences.hpp"
#include "wire/aeth.hpp"

namespace softrnic::dissector {
namespace {

// A line that is built without allocating or formatting at large, and cut at its end: it is written
// for every packet of a list.
class Line {
 public:
  void add(std::string_view words) {
    const std::size_t size = std::min(words.size(), room());
    std::memcpy(text_.data() + size_, words.data(), size);
    size_ += size;
  }
  void add_decimal(std::string_view label, std::uint64_t value) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    add(label);
    add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  // At least `width` digits, behind "0x".
  void add_hexadecimal(std::string_view label, std::uint64_t value, std::size_t width = 1) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    const auto size = static_cast<std::size_t>(end - digits.data());
    add(label);
    add("0x");
    if (size < width) add(std::string_view("000000000000000", width - size));
    add(std::string_view(digits.data(), size));
  }
  bool empty() const { return size_ == 0; }
  const char* text() {
    text_[size_] = '\0';
    return text_.data();
  }

 private:
  std::size_t room() const { return text_.size() - 1 - size_; }

  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

const char* protocol_name(const Packet& packet) {
  return packet.version == wire::RoceVersion::v1 ? "RoCEv1" : "RoCEv2";
}

// RNR timers are whole multiples of 10 us: "20.48".
void add_milliseconds(Line& line, wire::Duration duration) {
  const auto hundredths = static_cast<std::uint64_t>(duration.count() / 10'000);
  line.add_decimal("", hundredths / 100);
  line.add_decimal(".", hundredths / 10 % 10);
  line.add_decimal("", hundredths % 10);
}

void add_syndrome(Line& line, wire::Service service, wire::Syndrome syndrome) {
  line.add(wire::to_string(service));
  if (syndrome.is_rnr_nak()) {
    line.add(" RNR NAK ");
    add_milliseconds(line, wire::rnr_timer(syndrome.value()));
    line.add(" ms");
  } else if (syndrome.is_nak()) {
    line.add(" NAK ");
    line.add(wire::to_string(static_cast<wire::NakCode>(syndrome.value())));
  } else if (syndrome.is_ack()) {
    line.add(" ACK");
  } else if (syndrome.is_selective()) {
    line.add(" selective ACK");
  } else {
    line.add_hexadecimal(" reserved syndrome ", syndrome.raw(), 2);
  }
}

// "DC SEND Only" or "RD SEND Only": RC's name behind another service.
bool add_rd_name(Line& line, const Packet& packet) {
  const wire::OpcodeInfo* opcode = rc_of_rd(packet.raw_opcode);
  if (!is_rd(packet.raw_opcode) || opcode == nullptr) return false;
  line.add(preferences().rd_is_dc ? "DC" : "RD");
  line.add(opcode->name.substr(wire::to_string(opcode->service).size()));
  return true;
}

void add_name(Line& line, const Packet& packet) {
  if (packet.opcode == nullptr && add_rd_name(line, packet)) return;
  if (packet.opcode == nullptr) {
    line.add_hexadecimal("Reserved opcode ", packet.raw_opcode, 2);
  } else if (packet.opcode->operation == wire::Operation::acknowledge && packet.has_headers) {
    add_syndrome(line, packet.opcode->service, packet.headers.aeth.syndrome);
  } else {
    line.add(packet.opcode->name);
  }
}

void add_atomic(Line& line, wire::Operation operation, const wire::AtomicEth& atomic) {
  line.add_hexadecimal(" VA=", atomic.virtual_address);
  line.add_hexadecimal(" RKEY=", atomic.remote_key);
  if (operation == wire::Operation::fetch_add) {
    line.add_hexadecimal(" ADD=", atomic.swap_add);
  } else {
    line.add_hexadecimal(" CMP=", atomic.compare);
    line.add_hexadecimal(" SWAP=", atomic.swap_add);
  }
}

void add_extensions(Line& line, const Packet& packet) {
  const wire::OpcodeInfo& opcode = *packet.opcode;
  const wire::TransportHeaders& h = packet.headers;
  if (opcode.extension_headers == 0) return;
  if (opcode.has(wire::kXrceth)) line.add_hexadecimal(" SRQ=", h.xrceth.shared_receive_queue);
  if (opcode.has(wire::kDeth)) line.add_hexadecimal(" SQP=", h.deth.source_qpn, 6);
  if (opcode.has(wire::kReth)) {
    line.add_hexadecimal(" VA=", h.reth.virtual_address);
    line.add_hexadecimal(" RKEY=", h.reth.remote_key);
    line.add_decimal(" LEN=", h.reth.dma_length);
  }
  if (opcode.has(wire::kAtomicEth)) add_atomic(line, opcode.operation, h.atomic_eth);
  if (opcode.has(wire::kAeth)) line.add_decimal(" MSN=", h.aeth.msn);
  if (opcode.has(wire::kAtomicAckEth)) line.add_hexadecimal(" ORIG=", h.atomic_ack_eth.original);
  if (opcode.has(wire::kImmDt)) line.add_hexadecimal(" IMM=", h.immdt.data, 8);
  if (opcode.has(wire::kIeth)) line.add_hexadecimal(" INV=", h.ieth.remote_key);
}

void add_own_words(Line& line, const Packet& packet) {
  if (!packet.has_bth) {
    if (packet.defect == Defect::too_short) line.add("Too short");
    return;
  }
  const wire::Bth& bth = packet.headers.bth;
  add_name(line, packet);
  line.add_hexadecimal(" QP=", bth.destination_qpn, 6);
  line.add_decimal(" PSN=", bth.psn.value());
  if (packet.opcode == nullptr) return;
  if (packet.has_headers) add_extensions(line, packet);
  const bool announces = packet.opcode->has(wire::kReth);
  if (packet.opcode->carries_payload && !announces) line.add_decimal(" LEN=", packet.payload_size);
  if (bth.solicited) line.add(" [SE]");
}

// Management datagrams, which the built-in reads and writes about: "CM: ConnectRequest".
bool is_management(const Packet& packet) {
  return packet.has_headers && packet.opcode != nullptr && packet.opcode->has(wire::kDeth) &&
         (packet.headers.bth.destination_qpn <= 1 || packet.headers.deth.source_qpn <= 1);
}

// What is worth a remark stands first, in brackets, as TCP does it.
void add_findings(Line& line, const analysis::PacketRecord* record) {
  if (record == nullptr || record->finding_count == 0 || analyzer() == nullptr) return;
  for (const analysis::Finding& finding : analyzer()->findings(*record)) {
    const analysis::FindingInfo& info = analysis::info(finding.kind);
    if (info.severity == analysis::Severity::chat) continue;
    line.add("[");
    line.add(info.title);
    line.add("] ");
  }
}

bool is_built_ins(const char* protocol) {
  for (const char* own : {"RoCEv1", "RoCEv2", "RoCE", "RRoCE", "InfiniBand"}) {
    if (std::strcmp(protocol, own) == 0) return true;
  }
  return false;
}

}  // namespace

void begin_columns(const Packet& packet, packet_info* pinfo) {
  col_set_str(pinfo->cinfo, COL_PROTOCOL, protocol_name(packet));
  col_clear(pinfo->cinfo, COL_INFO);
}

void finish_columns(const Packet& packet, const analysis::PacketRecord* record,
                    packet_info* pinfo) {
  if (!col_get_writable(pinfo->cinfo, COL_INFO)) return;
  const char* protocol = col_get_text(pinfo->cinfo, COL_PROTOCOL);
  const bool own = protocol == nullptr || is_built_ins(protocol);
  Line line;
  add_findings(line, record);
  if (own) {
    col_set_str(pinfo->cinfo, COL_PROTOCOL, protocol_name(packet));
    const char* text = is_management(packet) ? col_get_text(pinfo->cinfo, COL_INFO) : nullptr;
    if (text != nullptr && *text != '\0') {
      line.add(text);
      line.add(", ");
    }
    add_own_words(line, packet);
  } else {
    const char* text = col_get_text(pinfo->cinfo, COL_INFO);
    if (line.empty() || text == nullptr) return;
    line.add(text);
  }
  col_clear_fence(pinfo->cinfo, COL_INFO);
  col_add_str(pinfo->cinfo, COL_INFO, line.text());
}

}  // namespace softrnic::dissector
