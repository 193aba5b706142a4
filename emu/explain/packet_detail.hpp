// SPDX-License-Identifier: BSD-3-Clause
// What a packet adds to the detail behind a connection's plots.
#pragma once

#include "explain/explanation.hpp"

namespace softrnic::explain {

void add_detail(ConnectionDetail& detail, const SeenPacket& packet);

}  // namespace softrnic::explain
