// SPDX-License-Identifier: BSD-3-Clause
#include "preload/file_text.hpp"

#include "transport/counters.hpp"

namespace softrnic::preload {

namespace {

// "1:2:3:4" in groups of four digits.
void append_groups(std::span<const std::uint8_t> bytes, FileText& out) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 2 == 0) out.append(':');
    out.append_hex(bytes[i]);
  }
}

// A port's counters count octets in words (IBTA vol. 1, 16.1.3.5).
constexpr std::uint64_t kWord = 4;

const wire::Gid& address_of(const FileSource& source) {
  return source.identity.addresses[source.number / 2];
}

}  // namespace

void write_node_type(const FileSource&, FileText& out) {
  out.append("1: CA");
}
void write_type(const FileSource&, FileText& out) {
  out.append("softrnic");
}
void write_board(const FileSource&, FileText& out) {
  out.append("softrnic");
}
void write_version(const FileSource&, FileText& out) {
  out.append(SOFTRNIC_VERSION);
}
void write_zero(const FileSource&, FileText& out) {
  out.append('0');
}

void write_device(const FileSource& source, FileText& out) {
  out.append(source.identity.device.view());
}

void write_device_event(const FileSource& source, FileText& out) {
  out.append("NAME=");
  out.append(source.identity.device.view());
}

// EUI-64 of the MAC address (RFC 4291, appendix A), as Linux makes it for a RoCE device.
void write_guid(const FileSource& source, FileText& out) {
  const wire::Gid gid = wire::Gid::link_local(source.identity.mac);
  append_groups(std::span(gid.bytes).subspan(8), out);
}

void write_state(const FileSource&, FileText& out) {
  out.append("4: ACTIVE");
}
void write_physical_state(const FileSource&, FileText& out) {
  out.append("5: LinkUp");
}
void write_rate(const FileSource&, FileText& out) {
  out.append("100 Gb/sec (4X EDR)");
}
void write_link_layer(const FileSource&, FileText& out) {
  out.append("Ethernet");
}
void write_lid(const FileSource&, FileText& out) {
  out.append("0x0");
}
// Connection management, GIDs made from IP addresses (ib_verbs.h, IB_PORT_CM_SUP and
// IB_PORT_IP_BASED_GIDS).
void write_capabilities(const FileSource&, FileText& out) {
  out.append("0x04010000");
}

void write_gid(const FileSource& source, FileText& out) {
  append_groups(address_of(source).bytes, out);
}

// In the order of nic::GidTable.
void write_gid_type(const FileSource& source, FileText& out) {
  out.append(source.number % 2 == 0 ? "IB/RoCE v1" : "RoCE v2");
}

void write_gid_interface(const FileSource& source, FileText& out) {
  const Identity& identity = source.identity;
  out.append(identity.interface.empty() ? identity.device.view() : identity.interface.view());
}

void write_partition_key(const FileSource&, FileText& out) {
  out.append("0xffff");
}

// How long the kernel keeps a value before it asks the device again, in ms.
void write_lifespan(const FileSource&, FileText& out) {
  out.append("10");
}

void write_hardware_counter(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter(transport::counter_names()[source.number].name));
}

void write_sent_words(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("sent_bytes") / kWord);
}
void write_sent_packets(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("sent_pkts"));
}
void write_send_discards(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("tx_unresolved"));
}
void write_received_words(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("rcvd_bytes") / kWord);
}
void write_received_packets(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("rcvd_pkts"));
}
void write_receive_errors(const FileSource& source, FileText& out) {
  out.append_decimal(source.counter("icrc_errors") + source.counter("malformed_pkts"));
}

void write_no_node(const FileSource&, FileText& out) {
  out.append("-1");
}
void write_no_number(const FileSource&, FileText& out) {
  out.append("0x0000");
}

void write_node_numbers(const FileSource&, FileText& out) {
  out.append_decimal(kMajor);
  out.append(':');
  out.append_decimal(kMinor);
}

void write_uverbs_event(const FileSource&, FileText& out) {
  out.append("MAJOR=");
  out.append_decimal(kMajor);
  out.append("\nMINOR=");
  out.append_decimal(kMinor);
  out.append("\nDEVNAME=infiniband/uverbs0");
}

// RXE_UVERBS_ABI_VERSION, IB_USER_VERBS_ABI_VERSION and IB_USER_MAD_ABI_VERSION of Linux 6.1.
void write_driver_abi(const FileSource&, FileText& out) {
  out.append('2');
}
void write_uverbs_abi(const FileSource&, FileText& out) {
  out.append('6');
}
void write_mad_abi(const FileSource&, FileText& out) {
  out.append('5');
}

}  // namespace softrnic::preload
