// SPDX-License-Identifier: BSD-3-Clause
// Writes the acknowledgement of a request, in the name of whom the request is for: addresses the
// other way round, the request's PSN, a syndrome to choose (IBTA vol. 1, 9.7.5.1).
#pragma once

#include "link/frame.hpp"
#include "wire/aeth.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::fabric {

// `request` is of a reliable service; the acknowledgement goes to queue pair `to`. False when the
// empty `frame` is too small for it.
bool write_answer(const wire::PacketView& request, std::uint32_t to, const wire::Aeth& aeth,
                  link::Frame& frame);

}  // namespace softrnic::fabric
