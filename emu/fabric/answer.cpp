// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/answer.hpp"

#include "wire/address_vector.hpp"
#include "wire/icrc.hpp"

namespace softrnic::fabric {

namespace {

constexpr std::size_t kIcrcSize = 4;

wire::AddressVector way_back(const wire::PacketView& request) {
  const wire::EthernetHeader ethernet = request.ethernet();
  wire::AddressVector address;
  address.version = request.version();
  address.source_mac = ethernet.destination;
  address.destination_mac = ethernet.source;
  address.vlan = ethernet.vlan;
  address.source = request.destination();
  address.destination = request.source();
  address.traffic_class = request.traffic_class();
  if (request.version() == wire::RoceVersion::v2) {
    address.udp_source_port = request.udp().source_port;
  }
  return address;
}

}  // namespace

bool write_answer(const wire::PacketView& request, std::uint32_t to, const wire::Aeth& aeth,
                  link::Frame& frame) {
  const bool is_xrc = request.opcode().service == wire::Service::extended_reliable_connection;
  wire::TransportHeaders headers;
  headers.bth.opcode = is_xrc ? wire::Opcode::xrc_acknowledge : wire::Opcode::rc_acknowledge;
  headers.bth.partition_key = request.bth().partition_key;
  headers.bth.migration_request = request.bth().migration_request;
  headers.bth.destination_qpn = to;
  headers.bth.psn = request.bth().psn;
  headers.aeth = aeth;

  const wire::AddressVector address = way_back(request);
  const std::size_t transport = headers.size() + kIcrcSize;
  const wire::MutableByteChain room = frame.append(address.size() + transport);
  // All of it in the first piece, as links give frames.
  const wire::ByteSpan bytes = room.front();
  if (bytes.size() != address.size() + transport) return false;
  // The identification of a packet that is its datagram's only fragment means nothing (RFC 6864).
  address.serialize(bytes, transport, 0);
  headers.serialize(bytes.subspan(address.size()));
  const std::size_t network = request.ethernet().size();
  const wire::ByteView checked =
      wire::ByteView(bytes).subspan(network, bytes.size() - network - kIcrcSize);
  wire::store_icrc(bytes.data() + bytes.size() - kIcrcSize,
                   wire::icrc(address.network_layer(), checked, address.size() - network, {}));
  return true;
}

}  // namespace softrnic::fabric
