// SPDX-License-Identifier: BSD-3-Clause
// The values inside a communication management message: queue pair numbers, keys, GIDs, and the
// addresses in its private data where it is of RDMA CM. All other bits stay as they are.
#pragma once

#include "edit/frame_parts.hpp"
#include "edit/translation.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::edit {

// The whole datagram in a frame, when it is a CM message that was captured whole; else empty.
wire::ByteSpan cm_datagram(FrameParts& frame);
wire::CmAttribute cm_attribute(wire::ByteView datagram);

// `sender` and `receiver`: the hosts the frame goes between, before any edit.
void translate_cm(wire::ByteSpan datagram, const Translation& translation, const wire::Gid& sender,
                  const wire::Gid& receiver);

// The field in which the sender says with which PSN the receiver is to begin sending to
// `local_qpn`; for a REQ and a REP.
struct CmStartingPsn {
  std::byte* data = nullptr;  // of the message; null: it names none
  wire::Field field{};
  std::uint32_t local_qpn = 0;
};
CmStartingPsn starting_psn(wire::ByteSpan datagram);

// Overwrites what an application says in it: private data, but for the addresses of RDMA CM.
void erase_private_data(wire::ByteSpan datagram);

}  // namespace softrnic::edit
