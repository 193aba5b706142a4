// SPDX-License-Identifier: BSD-3-Clause
// What lies where in a shared-memory segment (docs/shm.md).
//
// Everything that more than one process touches is an atomic word, changed by one store or one
// compare-and-swap, so that a process may die between any two instructions. Nothing read from here
// is trusted: indices are checked, and whatever is used twice is read once and kept.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/address_vector.hpp"
#include "wire/ethernet.hpp"

namespace softrnic::link::shm {

// Who touches a word holds no lock, in this process or another.
template <class T>
using Word = std::atomic<T>;
static_assert(Word<std::uint32_t>::is_always_lock_free && Word<std::uint64_t>::is_always_lock_free);

inline constexpr std::array<char, 16> kMagic = {'s', 'o', 'f', 't', 'r', 'n', 'i', 'c',
                                                ' ', 's', 'e', 'g', 'm', 'e', 'n', 't'};
// Raised with every change of this file.
inline constexpr std::uint32_t kFormat = 1;

inline constexpr std::size_t kPorts = 128;
inline constexpr std::size_t kHosts = kPorts;
// Frames that may wait at a port: as many as ten senders can lend it.
inline constexpr std::size_t kRing = 4096;
// Frames a port can have under way at most. 512 of 4096 bytes of payload are 2 MiB, which is in
// flight only while the receiver is kept from running; fewer are taken where memory is scarce.
inline constexpr std::size_t kMaxBuffers = 512;
inline constexpr std::size_t kLeastBuffers = 64;
inline constexpr std::size_t kStations = 1024;  // MAC addresses the segment learns
inline constexpr std::size_t kHostName = 32;    // with its terminating zero

// A host's queue pair numbers, 24 bits, are given out to its processes in blocks of 2^17: one for
// each there can be.
inline constexpr std::uint32_t kNumberBits = 17;
inline constexpr std::size_t kNumberBlocks = std::size_t{1} << (24 - kNumberBits);

// Carries packets of path MTU 4096 with room to spare (network headers, BTH and extensions, ICRC:
// at most 4200), which is what RoCE can use. Whoever wants jumbo frames makes the segment so.
inline constexpr std::uint32_t kDefaultMtu = 4200;
inline constexpr std::uint32_t kLeastMtu = 576;
inline constexpr std::uint32_t kMostMtu = 9216;

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

// Stays as it is in every format, so that each knows the others.
struct Preamble {
  std::array<char, 16> magic;
  std::uint32_t format;
  std::uint32_t mtu;
};

enum class PortState : std::uint32_t {
  free,      // as a new file is
  attached,  // somebody lives there, or died there
  leaving,   // being cleared
};

enum class PortRole : std::uint32_t { station, mirror };

struct PortRecord {
  // Read by all; written when one attaches or leaves.
  alignas(kCacheLine) Word<std::uint32_t> state;
  Word<std::uint32_t> generation;  // counts those who lived there
  Word<std::uint32_t> role;
  Word<std::uint32_t> host;
  Word<std::uint32_t> buffers;
  Word<std::uint32_t> process;
  // Not zero: the receiver sleeps, or is about to, and wants to be woken.
  alignas(kCacheLine) Word<std::uint32_t> waiting;
  alignas(kCacheLine) Word<std::uint64_t> head;  // written by the receiver
  alignas(kCacheLine) Word<std::uint64_t> tail;  // where a sender tries first
  alignas(kCacheLine) Word<std::uint64_t> dropped;
};

// A NIC identity, shared by the processes that attach with the host's name. Changed under the
// segment's lock; the words are read without.
struct HostRecord {
  std::array<char, kHostName> name;
  Word<std::uint64_t> mac;      // 0: there is no such host
  Word<std::uint32_t> address;  // last octet of its IPv4 address, last group of its IPv6 address
  // By block of queue pair numbers: its port + 1, or 0.
  std::array<Word<std::uint32_t>, kNumberBlocks> blocks;
};

struct Header {
  Preamble preamble;
  // Counts changes of anything below that a sender looks up.
  alignas(kCacheLine) Word<std::uint64_t> version;
  // MAC address << 16 | kStation | kHost, if it is a host's | index; 0: empty. In buckets of a
  // cache line.
  alignas(kCacheLine) std::array<Word<std::uint64_t>, kStations> stations;
  std::array<HostRecord, kHosts> hosts;
  std::array<PortRecord, kPorts> ports;
};

inline constexpr std::uint64_t kStation = 0x8000;
inline constexpr std::uint64_t kHost = 0x4000;
inline constexpr std::uint64_t kIndex = 0xff;

// A port's own memory: the ring of what others send it, who has which of its buffers (a token, 0:
// nobody), and the buffers.
struct PortArea {
  std::array<Word<std::uint64_t>, kRing> ring;
  alignas(kPage) std::array<Word<std::uint32_t>, kMaxBuffers> lent;
  // Buffers follow, from the next page on.
};

inline constexpr std::size_t kHeaderSize = round_up(sizeof(Header), kPage);
inline constexpr std::size_t kAreaSize = round_up(sizeof(PortArea), kPage);

// A buffer: headroom, then the longest frame of the segment.
constexpr std::size_t buffer_size(std::uint32_t mtu) {
  return round_up(wire::kHeadroom + wire::EthernetHeader::kMaxSize + mtu, kCacheLine);
}
constexpr std::size_t port_size(std::uint32_t mtu) {
  return kAreaSize + round_up(kMaxBuffers * buffer_size(mtu), kPage);
}
constexpr std::size_t port_offset(std::uint32_t mtu, std::size_t port) {
  return kHeaderSize + port * port_size(mtu);
}
constexpr std::size_t segment_size(std::uint32_t mtu) {
  return port_offset(mtu, kPorts);
}

// Who has a buffer on loan: a port, and which of those who lived there. Never 0.
constexpr std::uint32_t loan_token(std::size_t port, std::uint32_t generation) {
  return static_cast<std::uint32_t>(port + 1) << 24 | (generation & 0xffffff);
}
constexpr std::size_t borrower_of(std::uint32_t token) {  // kPorts or more: nobody
  return (token >> 24) == 0 ? kPorts : (token >> 24) - 1;
}

}  // namespace softrnic::link::shm
