// SPDX-License-Identifier: BSD-3-Clause
#include "offline_replay/connection_setup.hpp"

#include <map>
#include <optional>
#include <utility>

namespace softrnic::offline_replay {
namespace {

// Offsets in a management datagram (IBTA vol. 1, 13.4.2) and, after its 24-byte header, in REQ
// and REP (12.6.5, 12.6.8).
constexpr std::size_t kMadSize = 256;
constexpr std::size_t kManagementClass = 1;
constexpr std::size_t kAttributeId = 16;
constexpr std::size_t kMessage = 24;
constexpr std::size_t kLocalCommunicationId = kMessage + 0;
constexpr std::size_t kRemoteCommunicationId = kMessage + 4;
constexpr std::size_t kReqQpn = kMessage + 32;
constexpr std::size_t kReqFirstPsn = kMessage + 44;
constexpr std::size_t kReqPathMtu = kMessage + 50;  // upper four bits
constexpr std::size_t kRepQpn = kMessage + 12;
constexpr std::size_t kRepFirstPsn = kMessage + 20;

constexpr std::uint8_t kCommunicationManagement = 7;
constexpr std::uint16_t kReq = 0x10;
constexpr std::uint16_t kRep = 0x13;

bool is_connection_message(const Packet& packet) {
  return packet.opcode->service == wire::Service::unreliable_datagram &&
         packet.headers.bth.destination_qpn == 1 && packet.captured_payload >= kMadSize &&
         wire::load_u8(packet.payload.data() + kManagementClass) == kCommunicationManagement;
}

// Path MTU code 1 to 5 is 256 to 4096 bytes; 0 for any other.
std::uint32_t path_mtu_of_code(std::uint8_t code) {
  return code >= 1 && code <= 5 ? 128u << code : 0;
}

}  // namespace

std::vector<ConnectionSetup> connection_setups(const std::vector<Packet>& packets) {
  std::vector<ConnectionSetup> setups;
  // REQs by who sent them and the identifier they were given.
  std::map<std::pair<wire::Gid, std::uint32_t>, ConnectionSetup> requests;
  for (const Packet& packet : packets) {
    if (!is_connection_message(packet)) continue;
    const std::byte* mad = packet.payload.data();
    const std::uint16_t attribute = wire::load_be16(mad + kAttributeId);
    if (attribute == kReq) {
      ConnectionSetup setup;
      setup.active = {packet.source, wire::load_be24(mad + kReqQpn),
                      wire::Psn(wire::load_be24(mad + kReqFirstPsn))};
      setup.path_mtu = path_mtu_of_code(wire::load_u8(mad + kReqPathMtu) >> 4);
      requests[{packet.source, wire::load_be32(mad + kLocalCommunicationId)}] = setup;
    } else if (attribute == kRep) {
      const auto request =
          requests.find({packet.destination, wire::load_be32(mad + kRemoteCommunicationId)});
      if (request == requests.end()) continue;
      ConnectionSetup setup = request->second;
      setup.frame = packet.frame;
      setup.passive = {packet.source, wire::load_be24(mad + kRepQpn),
                       wire::Psn(wire::load_be24(mad + kRepFirstPsn))};
      setups.push_back(setup);
      requests.erase(request);  // a repeated REP tells nothing new
    }
  }
  return setups;
}

}  // namespace softrnic::offline_replay
