// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/header_fields.hpp"

#include <array>
#include <vector>

#include "wire/grh.hpp"
#include "wire/transport_headers.hpp"

namespace softrnic::dissector {
namespace {

using wire::Aeth;
using wire::AtomicAckEth;
using wire::AtomicEth;
using wire::Bth;
using wire::Deth;
using wire::Feth;
using wire::Grh;
using wire::Ieth;
using wire::ImmDt;
using wire::Reth;
using wire::Xrceth;

constexpr std::array kGrh = {
    HeaderField{&Grh::kVersion, "roce.grh.ipver", "IP Version", Show::decimal},
    HeaderField{&Grh::kTrafficClass, "roce.grh.tclass", "Traffic Class", Show::hexadecimal},
    HeaderField{&Grh::kFlowLabel, "roce.grh.flowlabel", "Flow Label", Show::hexadecimal},
    HeaderField{&Grh::kPayloadLength, "roce.grh.paylen", "Payload Length", Show::decimal},
    HeaderField{&Grh::kNextHeader, "roce.grh.nxthdr", "Next Header", Show::hexadecimal},
    HeaderField{&Grh::kHopLimit, "roce.grh.hoplmt", "Hop Limit", Show::decimal},
};
constexpr std::array kBth = {
    HeaderField{&Bth::kOpcode, "roce.bth.opcode", "Opcode", Show::opcode},
    HeaderField{&Bth::kSolicited, "roce.bth.se", "Solicited Event", Show::flag},
    HeaderField{&Bth::kMigrationRequest, "roce.bth.migreq", "Migration Request", Show::flag},
    HeaderField{&Bth::kPadCount, "roce.bth.pad", "Pad Count", Show::decimal},
    HeaderField{&Bth::kVersion, "roce.bth.tver", "Transport Header Version", Show::decimal},
    HeaderField{&Bth::kPartitionKey, "roce.bth.pkey", "Partition Key", Show::hexadecimal},
    HeaderField{&Bth::kFecn, "roce.bth.fecn", "Forward Congestion (FECN)", Show::flag},
    HeaderField{&Bth::kBecn, "roce.bth.becn", "Backward Congestion (BECN)", Show::flag},
    HeaderField{&Bth::kReserved6, "roce.bth.reserved6", "Reserved (6 bits)", Show::hexadecimal},
    HeaderField{&Bth::kDestinationQpn, "roce.bth.destqp", "Destination Queue Pair",
                Show::hexadecimal},
    HeaderField{&Bth::kAckRequest, "roce.bth.ackreq", "Acknowledge Request", Show::flag},
    HeaderField{&Bth::kReserved7, "roce.bth.reserved7", "Reserved (7 bits)", Show::hexadecimal},
    HeaderField{&Bth::kPsn, "roce.bth.psn", "Packet Sequence Number", Show::decimal},
};
// RDETH (IBTA vol. 1, 9.3.1): RD is nowhere spoken, so wire/ does not know it.
constexpr wire::Field kRdethReserved{"reserved", 0, 8};
constexpr wire::Field kRdethContext{"ee_context", 8, 24};
constexpr std::array kRdeth = {
    HeaderField{&kRdethReserved, "roce.rdeth.reserved", "Reserved", Show::hexadecimal},
    HeaderField{&kRdethContext, "roce.rdeth.eecnxt", "End-to-End Context", Show::hexadecimal},
};
constexpr std::array kXrceth = {
    HeaderField{&Xrceth::kReserved, "roce.xrceth.reserved", "Reserved", Show::hexadecimal},
    HeaderField{&Xrceth::kSharedReceiveQueue, "roce.xrceth.srq", "Shared Receive Queue",
                Show::hexadecimal},
};
constexpr std::array kDeth = {
    HeaderField{&Deth::kQueueKey, "roce.deth.qkey", "Queue Key", Show::hexadecimal},
    HeaderField{&Deth::kReserved, "roce.deth.reserved", "Reserved", Show::hexadecimal},
    HeaderField{&Deth::kSourceQpn, "roce.deth.srcqp", "Source Queue Pair", Show::hexadecimal},
};
constexpr std::array kFeth = {
    HeaderField{&Feth::kReserved, "roce.feth.reserved", "Reserved", Show::hexadecimal},
    HeaderField{&Feth::kSelectivity, "roce.feth.sel", "Selectivity Level", Show::sel},
    HeaderField{&Feth::kPlacementType, "roce.feth.plt", "Placement Type", Show::plt},
};
constexpr std::array kReth = {
    HeaderField{&Reth::kVirtualAddress, "roce.reth.va", "Virtual Address", Show::hexadecimal},
    HeaderField{&Reth::kRemoteKey, "roce.reth.rkey", "Remote Key", Show::hexadecimal},
    HeaderField{&Reth::kDmaLength, "roce.reth.dmalen", "DMA Length", Show::decimal},
};
constexpr std::array kAtomicEth = {
    HeaderField{&AtomicEth::kVirtualAddress, "roce.atomiceth.va", "Virtual Address",
                Show::hexadecimal},
    HeaderField{&AtomicEth::kRemoteKey, "roce.atomiceth.rkey", "Remote Key", Show::hexadecimal},
    HeaderField{&AtomicEth::kSwapAdd, "roce.atomiceth.swapadd", "Swap or Add Data",
                Show::hexadecimal},
    HeaderField{&AtomicEth::kCompare, "roce.atomiceth.compare", "Compare Data", Show::hexadecimal},
};
constexpr std::array kAeth = {
    HeaderField{&Aeth::kSyndrome, "roce.aeth.syndrome", "Syndrome", Show::hexadecimal},
    HeaderField{&Aeth::kMsn, "roce.aeth.msn", "Message Sequence Number", Show::decimal},
};
constexpr std::array kAtomicAckEth = {
    HeaderField{&AtomicAckEth::kOriginal, "roce.atomicacketh.original", "Original Remote Data",
                Show::hexadecimal},
};
constexpr std::array kImmDt = {
    HeaderField{&ImmDt::kData, "roce.immdt", "Immediate Data", Show::hexadecimal},
};
constexpr std::array kIeth = {
    HeaderField{&Ieth::kRemoteKey, "roce.ieth.rkey", "Remote Key", Show::hexadecimal},
};

// Every field of a layout table has a name here, in the same order.
template <std::size_t N, std::size_t M>
constexpr bool names(const std::array<HeaderField, N>& named,
                     const std::array<wire::Field, M>& laid_out) {
  if (N != M) return false;
  for (std::size_t i = 0; i < N; ++i) {
    if (named[i].field->bit_offset != laid_out[i].bit_offset) return false;
  }
  return true;
}
static_assert(names(kGrh, Grh::kFields) && names(kBth, Bth::kFields));
static_assert(names(kXrceth, Xrceth::kFields) && names(kDeth, Deth::kFields));
static_assert(names(kFeth, Feth::kFields) && names(kReth, Reth::kFields));
static_assert(names(kAtomicEth, AtomicEth::kFields) && names(kAeth, Aeth::kFields));
static_assert(names(kAtomicAckEth, AtomicAckEth::kFields));
static_assert(names(kImmDt, ImmDt::kFields) && names(kIeth, Ieth::kFields));

constexpr std::array<HeaderLayout, kHeaders> kLayouts = {{
    {"roce.grh", "Global Route Header", Grh::kSize, kGrh},
    {"roce.bth", "Base Transport Header", Bth::kSize, kBth},
    {"roce.rdeth", "Reliable Datagram Extended Transport Header", 4, kRdeth},
    {"roce.xrceth", "XRC Extended Transport Header", Xrceth::kSize, kXrceth},
    {"roce.deth", "Datagram Extended Transport Header", Deth::kSize, kDeth},
    {"roce.feth", "Flush Extended Transport Header", Feth::kSize, kFeth},
    {"roce.reth", "RDMA Extended Transport Header", Reth::kSize, kReth},
    {"roce.atomiceth", "Atomic Extended Transport Header", AtomicEth::kSize, kAtomicEth},
    {"roce.aeth", "ACK Extended Transport Header", Aeth::kSize, kAeth},
    {"roce.atomicacketh", "Atomic ACK Extended Transport Header", AtomicAckEth::kSize,
     kAtomicAckEth},
    {"roce.immdt.header", "Immediate Data Extended Transport Header", ImmDt::kSize, kImmDt},
    {"roce.ieth", "Invalidate Extended Transport Header", Ieth::kSize, kIeth},
    {"roce.cnp", "Congestion Notification Packet", wire::CnpReserved::kSize, {}},
}};

struct HeaderIds {
  int item = -1;
  int subtree = -1;
  std::vector<int> fields;
};
std::array<HeaderIds, kHeaders> ids;

const value_string kPlacementTypes[] = {{0, "none"},
                                        {1, "global visibility"},
                                        {2, "persistence"},
                                        {3, "global visibility and persistence"},
                                        {0, nullptr}};
const value_string kSelectivityLevels[] = {{0, "range"}, {1, "memory region"}, {0, nullptr}};

// The opcode table as Wireshark wants it.
value_string_ext* opcode_names() {
  static std::vector<value_string> names;
  static value_string_ext* extended = nullptr;
  if (extended != nullptr) return extended;
  for (unsigned value = 0; value < 256; ++value) {
    const wire::OpcodeInfo* row = wire::find_opcode(static_cast<std::uint8_t>(value));
    // The table's names are literals, so their ends are there.
    if (row != nullptr) names.push_back({value, row->name.data()});
  }
  names.push_back({0, nullptr});
  extended =
      value_string_ext_new(names.data(), static_cast<unsigned>(names.size()), "RoCE opcodes");
  return extended;
}

unsigned bytes_touched(const wire::Field& field) {
  return (field.bit_offset % 8u + field.bit_width + 7u) / 8u;
}

ftenum unsigned_type(unsigned bytes) {
  switch (bytes) {
    case 1:
      return FT_UINT8;
    case 2:
      return FT_UINT16;
    case 3:
      return FT_UINT24;
    case 4:
      return FT_UINT32;
    default:
      return FT_UINT64;
  }
}

std::uint64_t mask_of(const wire::Field& field) {
  const unsigned bits = bytes_touched(field) * 8;
  if (field.bit_width == bits) return 0;
  const std::uint64_t ones = (std::uint64_t{1} << field.bit_width) - 1;
  return ones << (bits - field.bit_offset % 8u - field.bit_width);
}

hf_register_info to_register(int* id, const HeaderField& field) {
  hf_register_info info{id,
                        {field.title, field.filter, unsigned_type(bytes_touched(*field.field)),
                         BASE_DEC, nullptr, mask_of(*field.field), nullptr, HFILL}};
  switch (field.show) {
    case Show::decimal:
      break;
    case Show::hexadecimal:
      info.hfinfo.display = BASE_HEX;
      break;
    case Show::flag:
      info.hfinfo.type = FT_BOOLEAN;
      info.hfinfo.display = 8;
      break;
    case Show::opcode:
      info.hfinfo.display = BASE_HEX | BASE_EXT_STRING;
      info.hfinfo.strings = opcode_names();
      break;
    case Show::plt:
      info.hfinfo.strings = kPlacementTypes;
      break;
    case Show::sel:
      info.hfinfo.strings = kSelectivityLevels;
      break;
  }
  return info;
}

void register_header(Header header, std::vector<hf_register_info>& fields) {
  const HeaderLayout& row = layout(header);
  HeaderIds& own = ids[static_cast<std::size_t>(header)];
  fields.push_back(
      {&own.item, {row.title, row.filter, FT_NONE, BASE_NONE, nullptr, 0, nullptr, HFILL}});
  own.fields.assign(row.fields.size(), -1);
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    fields.push_back(to_register(&own.fields[i], row.fields[i]));
  }
}

}  // namespace

const HeaderLayout& layout(Header header) {
  return kLayouts[static_cast<std::size_t>(header)];
}

void register_header_fields(int protocol) {
  static std::vector<hf_register_info> fields;
  std::array<int*, kHeaders> subtrees;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    register_header(static_cast<Header>(i), fields);
    subtrees[i] = &ids[i].subtree;
  }
  proto_register_field_array(protocol, fields.data(), static_cast<int>(fields.size()));
  proto_register_subtree_array(subtrees.data(), static_cast<int>(subtrees.size()));
}

int header_item(Header header) {
  return ids[static_cast<std::size_t>(header)].item;
}

int header_subtree(Header header) {
  return ids[static_cast<std::size_t>(header)].subtree;
}

int header_field(Header header, std::size_t index) {
  return ids[static_cast<std::size_t>(header)].fields[index];
}

}  // namespace softrnic::dissector
