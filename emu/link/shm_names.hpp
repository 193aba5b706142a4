// SPDX-License-Identifier: BSD-3-Clause
// What follows from the names of a segment and a host alone: the addresses a host wishes for, and
// where segments are kept. Neither allocates, so that whoever only asks can do so anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "wire/gid.hpp"

namespace softrnic::link::shm {

// Last octets of IPv4 addresses in a /24.
inline constexpr std::uint32_t kMostAddress = 254;
inline constexpr std::uint8_t kIpv4Prefix = 24;
inline constexpr std::uint8_t kIpv6Prefix = 64;

// The last octet a host's name asks for: that of a letter is its place in the alphabet, that of
// "node7" is 7.
std::uint32_t wished_address(std::string_view host);
// As a number (shm_stations.hpp). Where it is taken, that of the next attempt.
std::uint64_t wished_mac(std::string_view segment, std::string_view host,
                         std::uint64_t attempt = 0);

// Its addresses in the segment's own networks.
wire::Gid ipv4_of(std::string_view segment, std::uint32_t address);
wire::Gid ipv6_of(std::string_view segment, std::uint32_t address);

// As std::getenv.
using Variable = const char* (*)(const char* name);
inline constexpr const char* kDirectoryVariable = "SOFTRNIC_SHM_DIR";

// The path of the directory of this user's segments into `path`, terminated; false when there is no
// place for one, or no room.
bool directory_path(Variable variable, std::span<char> path);

}  // namespace softrnic::link::shm
