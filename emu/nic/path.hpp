// SPDX-License-Identifier: BSD-3-Clause
// The way to a destination: its address vector, and how far its MAC address is resolved.
//
// Every destination is taken as on-link: there is no gateway, so an address off the subnet is
// asked for on the link itself and fails where no proxy answers.
#pragma once

#include <cstdint>

#include "nic/address_attributes.hpp"
#include "nic/interface_identity.hpp"
#include "nic/neighbor_table.hpp"
#include "nic/resource_error.hpp"
#include "wire/address_vector.hpp"
#include "wire/expected.hpp"

namespace softrnic::nic {

class Path {
 public:
  enum class State : std::uint8_t { resolving, ready, failed };

  Path() = default;

  // Without a flow label the vector has the UDP source port of `own_flow_label`, and zero in the
  // flow label's place on the wire (as Linux).
  static wire::Expected<Path, ResourceError> to(const AddressAttributes& attributes,
                                                const InterfaceIdentity& identity,
                                                std::uint32_t own_flow_label);

  // Asks the neighbour table again if it has changed, or had said no; cheap otherwise. Once ready,
  // a path stays so on its last MAC address until the neighbour is known to be gone; once failed,
  // until it answers.
  State refresh(wire::Instant now, NeighborTable& neighbors);

  const wire::AddressVector& vector() const { return vector_; }
  const wire::Gid& destination() const { return vector_.destination; }
  // To the NIC itself.
  bool is_local() const { return kind_ == Kind::local; }
  // To a multicast group.
  bool is_group() const { return kind_ == Kind::group; }
  // Whether the vector's UDP source port is for every queue pair: that of a flow label, or the one
  // that the link has.
  bool has_own_port() const { return fixed_port_ || vector_.flow_label != 0; }

 private:
  enum class Kind : std::uint8_t { neighbor, local, group };

  wire::AddressVector vector_;
  Kind kind_ = Kind::neighbor;
  bool fixed_port_ = false;
  State state_ = State::resolving;
  std::uint64_t generation_ = ~std::uint64_t{0};  // of the table, when last asked
};

}  // namespace softrnic::nic
