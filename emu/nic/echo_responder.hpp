// SPDX-License-Identifier: BSD-3-Clause
// ping, both ways: answers ICMP and ICMPv6 echo requests and sends our own (RFC 792, RFC 4443).
#pragma once

#include <functional>
#include <vector>

#include "nic/frame_sender.hpp"
#include "nic/interface_identity.hpp"
#include "nic/ip_datagram.hpp"
#include "nic/neighbor_table.hpp"
#include "nic/resolution_queue.hpp"
#include "wire/icmp.hpp"

namespace softrnic::nic {

class EchoResponder {
 public:
  using Callback =
      std::function<void(wire::Instant, const wire::Gid& source, std::uint16_t identifier,
                         std::uint16_t sequence, wire::ByteView data)>;

  EchoResponder(const InterfaceIdentity& identity, NeighborTable& neighbors, FrameSender& frames,
                ResolutionQueue& resolution, transport::Counters& counters, std::uint32_t mtu);

  // A datagram to one of our addresses, from the station `mac`. Ignores what is no echo.
  void on_datagram(wire::Instant now, const IpDatagram& datagram, const wire::MacAddress& mac);
  void on_reply(Callback callback) { callback_ = std::move(callback); }

  // False when we have no address of the destination's kind, the data does not fit the MTU, or the
  // link has no frame to lend.
  bool request(wire::Instant now, const wire::Gid& destination, std::uint16_t identifier,
               std::uint16_t sequence, wire::ByteView data);

 private:
  // The datagram that carries `echo`, written to message_; no value when it exceeds the MTU.
  std::optional<IpDatagram> compose(const wire::Gid& source, const wire::Gid& destination,
                                    const wire::Echo& echo);

  const InterfaceIdentity& identity_;
  NeighborTable& neighbors_;
  FrameSender& frames_;
  ResolutionQueue& resolution_;
  transport::Counters& counters_;
  std::vector<std::byte> message_;  // one network packet
  Callback callback_;
};

}  // namespace softrnic::nic
