// SPDX-License-Identifier: BSD-3-Clause
// The opcode of a packet that stands elsewhere in its message.
#pragma once

#include "wire/opcode.hpp"

namespace softrnic::edit {

// As `like`, whose service and operation it has. `last`: the packet that ends the message, whose
// immediate or key to invalidate it takes where it ends it, too. Null where there is none.
const wire::OpcodeInfo* opcode_at(const wire::OpcodeInfo& like, bool starts, bool ends,
                                  const wire::OpcodeInfo& last);

}  // namespace softrnic::edit
