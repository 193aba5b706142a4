// SPDX-License-Identifier: BSD-3-Clause
// Promiscuous mode for as long as a packet socket lives.
#pragma once

namespace softrnic::link {

// 0, or an errno. `packet_socket`: of family AF_PACKET.
int make_promiscuous(int packet_socket, int interface_index);

}  // namespace softrnic::link
