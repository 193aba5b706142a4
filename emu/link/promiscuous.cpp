// SPDX-License-Identifier: BSD-3-Clause
#include "link/promiscuous.hpp"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>

namespace softrnic::link {

int make_promiscuous(int packet_socket, int interface_index) {
  packet_mreq request{};
  request.mr_ifindex = interface_index;
  request.mr_type = PACKET_MR_PROMISC;
  return ::setsockopt(packet_socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) ==
                 0
             ? 0
             : errno;
}

}  // namespace softrnic::link
