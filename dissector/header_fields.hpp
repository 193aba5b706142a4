// SPDX-License-Identifier: GPL-2.0-or-later
// The filter names of the header fields, joined to wire's layout tables: where a field lies and how
// wide it is stands there and nowhere here.
//
// Names are the abbreviations of the standard's own figures, as Wireshark's InfiniBand dissector
// and RDMA people use them: roce.bth.psn, roce.reth.dmalen.
#pragma once

#include <cstddef>
#include <span>

#include "dissector/wireshark.hpp"
#include "wire/field.hpp"

namespace softrnic::dissector {

// How a value is shown. What is a number to the machine is decimal, what is an address or a key
// is hexadecimal.
enum class Show : unsigned char { decimal, hexadecimal, flag, opcode, plt, sel };

struct HeaderField {
  const wire::Field* field;
  const char* filter;
  const char* title;
  Show show;
};

enum class Header : unsigned char {
  grh,
  bth,
  rdeth,
  xrceth,
  deth,
  feth,
  reth,
  atomic_eth,
  aeth,
  atomic_ack_eth,
  immdt,
  ieth,
  cnp_reserved,
  count,
};

inline constexpr std::size_t kHeaders = static_cast<std::size_t>(Header::count);

struct HeaderLayout {
  const char* filter;
  const char* title;
  unsigned size;
  std::span<const HeaderField> fields;
};

const HeaderLayout& layout(Header header);

void register_header_fields(int protocol);

// Registered ids: of the header as a whole, of its subtree, of its fields in the layout's order.
int header_item(Header header);
int header_subtree(Header header);
int header_field(Header header, std::size_t index);

}  // namespace softrnic::dissector
