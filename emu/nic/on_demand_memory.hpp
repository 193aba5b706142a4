// SPDX-License-Identifier: BSD-3-Clause
// Memory of this process that may not be there: an address a peer named in an on-demand region, up
// to the whole address space. The kernel looks, so that a bad address is an answer and no crash.
#pragma once

#include <cstddef>
#include <span>

namespace softrnic::nic {

// False when the kernel does not let a process read itself so (a strict seccomp filter).
bool on_demand_is_possible();

// Copies; false, and perhaps a part copied, when not all of the range is mapped and permits it.
bool read_on_demand(const std::byte* from, std::span<std::byte> to);
bool write_on_demand(std::byte* to, std::span<const std::byte> from);

// Makes the pages of a short range present and writable, so that it can be used in place; false
// when it is not mapped or not writable.
bool prepare_on_demand(std::byte* bytes, std::size_t size);

}  // namespace softrnic::nic
