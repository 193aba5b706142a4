// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/address_handle.hpp"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "verbs/protection_domain.hpp"

namespace softrnic::verbs {
namespace {

constexpr std::uint8_t kDefaultHopLimit = 64;

// The 40 bytes in front of a datagram: an IPv6 header (or GRH), or 20 bytes of no meaning and an
// IPv4 header (IBTA annex A17.4.5.2).
struct NetworkHeader {
  wire::Gid source;
  wire::Gid destination;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint32_t flow_label = 0;
};

std::uint16_t ones_complement_sum(const std::uint8_t* bytes, std::size_t length) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < length; i += 2)
    sum += std::uint32_t{bytes[i]} << 8 | bytes[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

bool is_ipv4(const std::uint8_t* header) {
  return header[0] == 0x45 && ones_complement_sum(header, sizeof(iphdr)) == 0xffff;
}

wire::Gid ipv4_gid(const std::uint8_t* bytes) {
  std::uint32_t address = 0;
  std::memcpy(&address, bytes, sizeof(address));
  return wire::Gid::from_ipv4(ntohl(address));
}

NetworkHeader parse(const ibv_grh& grh) {
  std::array<std::uint8_t, sizeof(ibv_grh)> bytes;
  std::memcpy(bytes.data(), &grh, bytes.size());
  NetworkHeader result;
  const std::uint8_t* ipv4 = bytes.data() + sizeof(ibv_grh) - sizeof(iphdr);
  if (is_ipv4(ipv4)) {
    result.traffic_class = ipv4[1];
    result.hop_limit = ipv4[8];
    result.source = ipv4_gid(ipv4 + 12);
    result.destination = ipv4_gid(ipv4 + 16);
    return result;
  }
  const std::uint32_t word = ntohl(grh.version_tclass_flow);
  result.traffic_class = static_cast<std::uint8_t>(word >> 20);
  result.flow_label = word & 0xfffff;
  result.hop_limit = grh.hop_limit;
  result.source = gid_of(grh.sgid);
  result.destination = gid_of(grh.dgid);
  return result;
}

}  // namespace

wire::Gid gid_of(const ibv_gid& gid) {
  wire::Gid result;
  std::memcpy(result.bytes.data(), gid.raw, result.bytes.size());
  return result;
}

ibv_gid gid_of(const wire::Gid& gid) {
  ibv_gid result;
  std::memcpy(result.raw, gid.bytes.data(), sizeof(result.raw));
  return result;
}

std::optional<nic::AddressAttributes> address_of(const ibv_ah_attr& attributes) {
  if (attributes.is_global == 0 || attributes.port_num != 1) return std::nullopt;
  nic::AddressAttributes address;
  address.gid_index = attributes.grh.sgid_index;
  address.destination = gid_of(attributes.grh.dgid);
  address.traffic_class = attributes.grh.traffic_class;
  // Zero would not leave the host.
  address.hop_limit = attributes.grh.hop_limit == 0 ? kDefaultHopLimit : attributes.grh.hop_limit;
  address.flow_label = attributes.grh.flow_label & IB_GRH_FLOWLABEL_MASK;
  address.service_level = attributes.sl;
  return address;
}

ibv_ah_attr attributes_of(const nic::AddressAttributes& address) {
  ibv_ah_attr attributes{};
  attributes.grh.dgid = gid_of(address.destination);
  attributes.grh.flow_label = address.flow_label;
  attributes.grh.sgid_index = static_cast<std::uint8_t>(address.gid_index);
  attributes.grh.hop_limit = address.hop_limit;
  attributes.grh.traffic_class = address.traffic_class;
  attributes.sl = address.service_level;
  attributes.is_global = 1;
  attributes.port_num = 1;
  return attributes;
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;
using namespace softrnic;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  const auto address = address_of(*attributes);
  if (!address) {
    errno = EINVAL;
    return nullptr;
  }
  Context& context = Context::of(pd->context);
  auto made = std::make_unique<AddressHandle>();
  Adapter::Hold hold(*context.adapter);
  const auto handle = hold->create_address_handle(ProtectionDomain::of(pd).domain, *address);
  if (!handle) {
    errno = nic::error_number(handle.error());
    return nullptr;
  }
  made->context = pd->context;
  made->pd = pd;
  made->handle = *handle;
  context.address_handles.insert(made.get());
  return made.release();
}

int ibv_destroy_ah(ibv_ah* ah) {
  AddressHandle& its = AddressHandle::of(ah);
  Context& context = Context::of(ah->context);
  Adapter::Hold hold(*context.adapter);
  if (const auto error = hold->destroy_address_handle(ah->handle)) {
    return nic::error_number(*error);
  }
  context.address_handles.erase(&its);
  delete &its;
  return 0;
}

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attributes) {
  *attributes = {};
  attributes->dlid = wc->slid;
  attributes->sl = wc->sl;
  attributes->src_path_bits = wc->dlid_path_bits;
  attributes->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) == 0) return 0;
  const NetworkHeader header = parse(*grh);
  attributes->is_global = 1;
  attributes->grh.dgid = gid_of(header.source);
  attributes->grh.flow_label = header.flow_label;
  attributes->grh.traffic_class = header.traffic_class;
  attributes->grh.hop_limit = 0xff;
  // The entry of our own address; of the two RoCE versions that of routable datagrams, unless this
  // was none: an IPv6 header and a GRH look alike, and only the last has a next header of its own.
  constexpr std::uint8_t kNextHeaderIba = 0x1b;
  const bool v1 = header.source.is_ipv4_mapped() ? false : grh->next_hdr == kNextHeaderIba;
  Adapter::Hold hold(*Context::of(context).adapter);
  const auto entries = hold->gids().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool version_fits = (entries[i].version == wire::RoceVersion::v1) == v1;
    if (version_fits && entries[i].gid == header.destination) {
      attributes->grh.sgid_index = static_cast<std::uint8_t>(i);
      return 0;
    }
  }
  errno = ENOENT;
  return -1;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}

int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*, std::uint16_t*) {
  // Neighbours are the NIC's business here, and found when they are needed.
  errno = EOPNOTSUPP;
  return -1;
}

}  // extern "C"
