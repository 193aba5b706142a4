// SPDX-License-Identifier: BSD-3-Clause
// A BTH with the extension headers its opcode calls for, as one plain value.
//
// Which members mean anything is decided by bth.opcode alone (see OpcodeInfo); the others keep
// their defaults and are neither read nor written.
#pragma once

#include "wire/aeth.hpp"
#include "wire/atomic_ack_eth.hpp"
#include "wire/atomic_eth.hpp"
#include "wire/bth.hpp"
#include "wire/cnp.hpp"
#include "wire/deth.hpp"
#include "wire/feth.hpp"
#include "wire/ieth.hpp"
#include "wire/immdt.hpp"
#include "wire/reth.hpp"
#include "wire/xrceth.hpp"

namespace softrnic::wire {

struct TransportHeaders {
  Bth bth;
  Xrceth xrceth;
  Deth deth;
  Feth feth;
  Reth reth;
  AtomicEth atomic_eth;
  Aeth aeth;
  AtomicAckEth atomic_ack_eth;
  ImmDt immdt;
  Ieth ieth;
  CnpReserved cnp_reserved;

  // BTH plus extension headers of bth.opcode; just the BTH for a reserved opcode.
  std::size_t size() const;

  // Reads as many headers as the opcode calls for. `bytes` must hold them all (PacketView
  // checks); a reserved opcode reads the BTH only.
  static TransportHeaders parse(ByteView bytes);
  // The same into a value that is as made by default, which saves a copy.
  void read(ByteView bytes);

  // Writes size() bytes to the front of `bytes`, which must hold them; returns size().
  std::size_t serialize(ByteSpan bytes) const;

  friend bool operator==(const TransportHeaders&, const TransportHeaders&) = default;
};

// The largest size() of any opcode.
inline constexpr std::size_t kMaxTransportHeaders =
    Bth::kSize + Xrceth::kSize + AtomicEth::kSize + Aeth::kSize;

}  // namespace softrnic::wire
