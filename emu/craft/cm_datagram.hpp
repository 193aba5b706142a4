// SPDX-License-Identifier: BSD-3-Clause
// Where the fields of a CM datagram lie, by the names of wire's tables, and such a datagram with
// everything in it that a description leaves open.
//
// A field of the message goes by its name alone ("service_id"), one of the paths of a REQ as
// "primary.flow_label" or "alternate.local_gid", one of the datagram's header as "mad.status".
// "private_data" and "info" are bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "craft/payload_text.hpp"
#include "wire/cm_message.hpp"

namespace softrnic::craft {

struct CmPlace {
  enum class Kind : std::uint8_t { number, gid, bytes };

  Kind kind = Kind::number;
  std::string name;
  std::size_t bit = 0;    // from the beginning of the datagram
  std::size_t width = 0;  // bits
};

// Every place, in the order of the bytes.
void for_each_cm_place(wire::CmAttribute message, const std::function<void(const CmPlace&)>& visit);
std::optional<CmPlace> find_cm_place(wire::CmAttribute message, std::string_view name);

// What the ends of a connection put into their messages.
struct CmEnds {
  wire::Gid local;
  wire::Gid remote;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;
  std::uint32_t local_qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t starting_psn = 0;
  std::uint32_t queue_key = 0;
  std::uint16_t port = 0;  // of the service
  std::uint32_t path_mtu = 1024;
};

Bytes cm_datagram(wire::CmAttribute message, const CmEnds& ends);

// Puts `value` at the place. "info" and "private_data" that are longer do not fit: a sentence.
std::optional<std::string> write_cm_field(Bytes& datagram, const CmPlace& place,
                                          std::string_view value, bool quoted);
// The value as write_cm_field() takes it.
std::string cm_field_text(wire::ByteView datagram, const CmPlace& place);

}  // namespace softrnic::craft
