// SPDX-License-Identifier: GPL-2.0-or-later
#include "dissector/takeover.hpp"

#include <vector>

#include "dissector/dissect.hpp"
#include "dissector/infiniband.hpp"

namespace softrnic::dissector {
namespace {

struct Place {
  const char* table;
  wire::RoceVersion version;
  dissector_handle_t own;
};
Place places[] = {{"ethertype", wire::RoceVersion::v1, nullptr},
                  {"udp.port", wire::RoceVersion::v2, nullptr}};

// The entries of a table that are now `handle`'s; the built-in's UDP port can be configured.
struct Search {
  dissector_handle_t handle;
  std::vector<unsigned> found;
};

void look_at(const gchar*, ftenum_t, gpointer key, gpointer value, gpointer search) {
  auto& wanted = *static_cast<Search*>(search);
  const auto* entry = static_cast<dtbl_entry_t*>(value);
  if (dtbl_entry_get_handle(const_cast<dtbl_entry_t*>(entry)) == wanted.handle) {
    wanted.found.push_back(GPOINTER_TO_UINT(key));
  }
}

std::vector<unsigned> entries_of(const Place& place, dissector_handle_t handle) {
  Search search{handle, {}};
  if (handle != nullptr) dissector_table_foreach(place.table, look_at, &search);
  return search.found;
}

bool enabled() {
  return proto_is_protocol_enabled(find_protocol_by_id(protocol()));
}

}  // namespace

void register_takeover(dissector_handle_t v1, dissector_handle_t v2) {
  places[0].own = v1;
  places[1].own = v2;
  dissector_add_for_decode_as("ethertype", v1);
  dissector_add_for_decode_as_with_preference("udp.port", v2);
  take_over();
}

void take_over() {
  for (const Place& place : places) {
    dissector_handle_t built_in = infiniband_handle(place.version);
    const bool take = enabled();
    for (const unsigned entry : entries_of(place, take ? built_in : place.own)) {
      if (take) {
        dissector_change_uint(place.table, entry, place.own);
      } else {
        dissector_reset_uint(place.table, entry);
      }
    }
  }
}

}  // namespace softrnic::dissector
