// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/info_column.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "wire/aeth.hpp"

namespace softrnic::dissector {
namespace {

// A line that is built without allocating and cut at its end.
class Line {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    const auto done = fmt::format_to_n(text_.data() + size_, text_.size() - 1 - size_, format,
                                       std::forward<Args>(args)...);
    size_ = static_cast<std::size_t>(done.out - text_.data());
  }
  const char* text() {
    text_[size_] = '\0';
    return text_.data();
  }

 private:
  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

const char* protocol_name(const Packet& packet) {
  return packet.version == wire::RoceVersion::v1 ? "RoCEv1" : "RoCEv2";
}

void add_syndrome(Line& line, wire::Service service, wire::Syndrome syndrome) {
  line.add("{} ", wire::to_string(service));
  if (syndrome.is_rnr_nak()) {
    const double ms = static_cast<double>(wire::rnr_timer(syndrome.value()).count()) / 1e6;
    line.add("RNR NAK {:.2f} ms", ms);
  } else if (syndrome.is_nak()) {
    line.add("NAK {}", wire::to_string(static_cast<wire::NakCode>(syndrome.value())));
  } else if (syndrome.is_ack()) {
    line.add("ACK");
  } else {
    line.add("reserved syndrome {:#04x}", syndrome.raw());
  }
}

void add_name(Line& line, const Packet& packet) {
  if (packet.opcode == nullptr) {
    line.add("Reserved opcode {:#04x}", packet.raw_opcode);
  } else if (packet.opcode->operation == wire::Operation::acknowledge && packet.has_headers) {
    add_syndrome(line, packet.opcode->service, packet.headers.aeth.syndrome);
  } else {
    line.add("{}", packet.opcode->name);
  }
}

void add_extensions(Line& line, const Packet& packet) {
  const wire::OpcodeInfo& opcode = *packet.opcode;
  const wire::TransportHeaders& h = packet.headers;
  if (opcode.has(wire::kXrceth)) line.add(" SRQ={:#x}", h.xrceth.shared_receive_queue);
  if (opcode.has(wire::kDeth)) line.add(" SQP=0x{:06x}", h.deth.source_qpn);
  if (opcode.has(wire::kReth)) {
    line.add(" VA=0x{:x} RKEY=0x{:x} LEN={}", h.reth.virtual_address, h.reth.remote_key,
             h.reth.dma_length);
  }
  if (opcode.has(wire::kAtomicEth)) {
    line.add(" VA=0x{:x} RKEY=0x{:x}", h.atomic_eth.virtual_address, h.atomic_eth.remote_key);
    if (opcode.operation == wire::Operation::fetch_add) {
      line.add(" ADD={:#x}", h.atomic_eth.swap_add);
    } else {
      line.add(" CMP={:#x} SWAP={:#x}", h.atomic_eth.compare, h.atomic_eth.swap_add);
    }
  }
  if (opcode.has(wire::kAeth)) line.add(" MSN={}", h.aeth.msn);
  if (opcode.has(wire::kAtomicAckEth)) line.add(" ORIG={:#x}", h.atomic_ack_eth.original);
  if (opcode.has(wire::kImmDt)) line.add(" IMM=0x{:08x}", h.immdt.data);
  if (opcode.has(wire::kIeth)) line.add(" INV=0x{:x}", h.ieth.remote_key);
}

void add_own_words(Line& line, const Packet& packet) {
  if (!packet.has_bth) {
    if (packet.defect == Defect::too_short) line.add("Too short");
    return;
  }
  const wire::Bth& bth = packet.headers.bth;
  add_name(line, packet);
  line.add(" QP=0x{:06x} PSN={}", bth.destination_qpn, bth.psn.value());
  if (packet.opcode == nullptr) return;
  if (packet.has_headers) add_extensions(line, packet);
  const bool announces = packet.opcode->has(wire::kReth);
  if (packet.opcode->carries_payload && !announces) line.add(" LEN={}", packet.payload_size);
  if (bth.solicited) line.add(" [SE]");
}

// Management datagrams, which the built-in reads and writes about: "CM: ConnectRequest".
bool is_management(const Packet& packet) {
  return packet.has_headers && packet.opcode != nullptr && packet.opcode->has(wire::kDeth) &&
         (packet.headers.bth.destination_qpn <= 1 || packet.headers.deth.source_qpn <= 1);
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

void finish_columns(const Packet& packet, packet_info* pinfo) {
  if (!col_get_writable(pinfo->cinfo, COL_INFO)) return;
  const char* protocol = col_get_text(pinfo->cinfo, COL_PROTOCOL);
  const bool own = protocol == nullptr || is_built_ins(protocol);
  if (own) col_set_str(pinfo->cinfo, COL_PROTOCOL, protocol_name(packet));
  if (!own) return;
  Line line;
  const char* text = is_management(packet) ? col_get_text(pinfo->cinfo, COL_INFO) : nullptr;
  if (text != nullptr && *text != '\0') line.add("{}, ", text);
  add_own_words(line, packet);
  col_clear_fence(pinfo->cinfo, COL_INFO);
  col_add_str(pinfo->cinfo, COL_INFO, line.text());
}

}  // namespace softrnic::dissector
