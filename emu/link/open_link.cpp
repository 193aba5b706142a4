// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "link/link.hpp"
#include "link/packet_link.hpp"
#include "link/shm_link.hpp"
#include "link/tap_link.hpp"
#include "link/udp_link.hpp"
#include "link/xdp_link.hpp"

namespace softrnic::link {

wire::Expected<std::unique_ptr<Link>, OpenError> open_link(std::string_view specification,
                                                           std::uint32_t mtu) {
  const std::size_t colon = specification.find(':');
  const std::string_view kind = specification.substr(0, colon);
  const std::string_view name =
      colon == std::string_view::npos ? std::string_view{} : specification.substr(colon + 1);
  if (kind == "tap" || kind == "packet" || kind == "xdp") {
    if (name.empty()) {
      return wire::Unexpected{OpenError{"link \"" + std::string(specification) +
                                        "\" names no interface: write " + std::string(kind) +
                                        ":NAME"}};
    }
    if (kind == "tap") return open_tap(name, mtu);
    if (kind == "packet") return open_packet(name);
    return open_xdp(name);
  }
  if (kind == "shm") {
    auto options = ShmOptions::parse(name);
    if (!options) return wire::Unexpected{options.error()};
    options->mtu = mtu;
    return open_shm(*options);
  }
  if (kind == "udp") {
    if (name.empty()) {
      return wire::Unexpected{OpenError{"link \"" + std::string(specification) +
                                        "\" names no address: write udp:ADDRESS"}};
    }
    auto options = UdpOptions::parse(name);
    if (!options) return wire::Unexpected{options.error()};
    options->mtu = mtu;
    return open_udp(*options);
  }
  return wire::Unexpected{
      OpenError{"there is no link \"" + std::string(specification) +
                "\": use shm:NAME, udp:ADDRESS, tap:NAME, packet:INTERFACE or xdp:INTERFACE"}};
}

}  // namespace softrnic::link
