/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program of the xdp link: takes RoCE and the NIC's own ARP, neighbour discovery and ping
 * for the AF_XDP socket of the queue, and leaves all other traffic to the kernel.
 *
 * Every header is looked at in the frame's first buffer; "xdp.frags" lets the frame have more.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "link/xdp_roce_maps.h"

#define ROCE_V1_ETHERTYPE 0x8915
#define ROCE_V2_PORT 4791
#define ICMPV6 58
#define NEIGHBOR_SOLICITATION 135
#define IPV4_HEADER_WORDS 5
#define IPV4_FRAGMENT_BITS 0x3fff /* more-fragments and the offset */

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, XDP_ROCE_MAX_QUEUES);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct xdp_roce_station);
} station SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, XDP_ROCE_MAX_ADDRESSES);
  __type(key, struct xdp_roce_address);
  __type(value, __u8);
} addresses SEC(".maps");

struct vlan_tag {
  __be16 control;
  __be16 ethertype;
};

/* ARP for IPv4 over Ethernet (RFC 826). */
struct arp_ipv4 {
  __be16 hardware_type;
  __be16 protocol;
  __u8 hardware_length;
  __u8 protocol_length;
  __be16 operation;
  __u8 sender_mac[6];
  __u8 sender_ip[4];
  __u8 target_mac[6];
  __u8 target_ip[4];
};

/* An ICMPv6 message as far as a neighbour solicitation's target (RFC 4861, 4.3). */
struct solicitation {
  __u8 type;
  __u8 code;
  __be16 checksum;
  __be32 reserved;
  __u8 target[16];
};

static __always_inline int is_own_address(const void* bytes) {
  struct xdp_roce_address key;
  __builtin_memcpy(&key, bytes, sizeof key);
  return bpf_map_lookup_elem(&addresses, &key) != 0;
}

static __always_inline int is_own_ipv4(const void* bytes) {
  struct xdp_roce_address key = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  __builtin_memcpy(&key.bytes[12], bytes, 4);
  return bpf_map_lookup_elem(&addresses, &key) != 0;
}

/* To the NIC or to a group; to anyone until the NIC has told its address. */
static __always_inline int is_for_station(const struct ethhdr* ethernet) {
  const __u32 only = 0;
  const struct xdp_roce_station* own = bpf_map_lookup_elem(&station, &only);
  int i;
  if (!own || !own->known || (ethernet->h_dest[0] & 1)) return 1;
  for (i = 0; i < ETH_ALEN; ++i) {
    if (ethernet->h_dest[i] != own->mac[i]) return 0;
  }
  return 1;
}

static __always_inline int is_roce_port(const struct udphdr* udp, const void* end) {
  return (const void*)(udp + 1) <= end && udp->dest == bpf_htons(ROCE_V2_PORT);
}

static __always_inline int takes_arp(const struct arp_ipv4* arp, const void* end) {
  return (const void*)(arp + 1) <= end && arp->protocol == bpf_htons(ETH_P_IP) &&
         arp->protocol_length == 4 && arp->hardware_length == ETH_ALEN &&
         is_own_ipv4(arp->target_ip);
}

static __always_inline int takes_ipv4(const struct iphdr* ip, const void* end) {
  if ((const void*)(ip + 1) > end || ip->version != 4 || ip->ihl != IPV4_HEADER_WORDS ||
      (ip->frag_off & bpf_htons(IPV4_FRAGMENT_BITS))) {
    return 0;
  }
  if (ip->protocol == IPPROTO_UDP) return is_roce_port((const void*)(ip + 1), end);
  return ip->protocol == IPPROTO_ICMP && is_own_ipv4(&ip->daddr);
}

static __always_inline int takes_icmpv6(const struct ipv6hdr* ip, const void* end) {
  const struct solicitation* message = (const void*)(ip + 1);
  if (is_own_address(&ip->daddr)) return 1;
  return (const void*)(message + 1) <= end && message->type == NEIGHBOR_SOLICITATION &&
         is_own_address(message->target);
}

static __always_inline int takes_ipv6(const struct ipv6hdr* ip, const void* end) {
  if ((const void*)(ip + 1) > end || ip->version != 6) return 0;
  if (ip->nexthdr == IPPROTO_UDP) return is_roce_port((const void*)(ip + 1), end);
  return ip->nexthdr == ICMPV6 && takes_icmpv6(ip, end);
}

static __always_inline int takes(const struct xdp_md* context) {
  const void* end = (const void*)(long)context->data_end;
  const struct ethhdr* ethernet = (const void*)(long)context->data;
  const void* network = ethernet + 1;
  __be16 type;
  if (network > end || !is_for_station(ethernet)) return 0;
  type = ethernet->h_proto;
  if (type == bpf_htons(ETH_P_8021Q)) {
    const struct vlan_tag* tag = network;
    network = tag + 1;
    if (network > end) return 0;
    type = tag->ethertype;
  }
  if (type == bpf_htons(ROCE_V1_ETHERTYPE)) return 1;
  if (type == bpf_htons(ETH_P_IP)) return takes_ipv4(network, end);
  if (type == bpf_htons(ETH_P_IPV6)) return takes_ipv6(network, end);
  return type == bpf_htons(ETH_P_ARP) && takes_arp(network, end);
}

SEC("xdp.frags")
int xdp_roce(struct xdp_md* context) {
  if (!takes(context)) return XDP_PASS;
  /* A queue without a socket leaves the frame to the kernel. */
  return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);
}

char program_license[] SEC("license") = "BSD-3-Clause";
