/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the XDP program and its loader share: the maps' names and the layout of their entries.
 * C, for the program is compiled as C to BPF.
 */
#ifndef SOFTRNIC_LINK_XDP_ROCE_MAPS_H
#define SOFTRNIC_LINK_XDP_ROCE_MAPS_H

#include <linux/types.h>

/* Receive queues an interface may have. */
#define XDP_ROCE_MAX_QUEUES 64
/* Addresses the NIC may have. */
#define XDP_ROCE_MAX_ADDRESSES 256

/* The only entry of the map "station": the NIC's MAC address, once it is known. */
struct xdp_roce_station {
  __u8 mac[6];
  __u8 known;
  __u8 reserved;
};

/* Key of the map "addresses": an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d. */
struct xdp_roce_address {
  __u8 bytes[16];
};

#endif
