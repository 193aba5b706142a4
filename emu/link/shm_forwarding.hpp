// SPDX-License-Identifier: BSD-3-Clause
// Which ports a frame goes to: the segment as a switch, and each host as a NIC with many processes.
//
// A unicast frame goes where its MAC address lives, a group's and an unknown one to all. Of a
// host's processes, a RoCE packet goes to the one that has its queue pair number; what only one
// should answer (an ARP request, a neighbour solicitation, an echo request) to the first; the rest
// (answers to any of them, management datagrams, CM's among them) to each.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "link/shm_port.hpp"

namespace softrnic::link::shm {

// Who of a host's processes a frame is for.
struct Addressee {
  enum class Kind : std::uint8_t { queue_pair, first, each } kind = Kind::each;
  std::uint32_t qpn = 0;  // when it is a queue pair

  // `frame` holds its headers at least.
  static Addressee of(wire::ByteView frame);
  friend bool operator==(const Addressee&, const Addressee&) = default;
};

class Forwarding {
 public:
  explicit Forwarding(Port& port);

  // Notes where the frame comes from, and tells where it goes. The answer stands until the next.
  std::span<const std::uint8_t> route(wire::ByteView frame);
  // Who gets a copy of every frame, as of the last route().
  std::span<const std::uint8_t> mirrors() const { return mirrors_; }
  // What marks a buffer as borrowed by that port.
  std::uint32_t token(std::size_t port) const { return tokens_[port]; }

  void learn(std::uint64_t mac);

 private:
  void look_around();
  void note_source(std::uint64_t mac);
  std::span<const std::uint8_t> route_unknown(std::uint64_t mac, wire::ByteView frame);
  std::span<const std::uint8_t> flood(wire::ByteView frame);
  std::span<const std::uint8_t> to_host(std::size_t host, std::uint64_t mac, wire::ByteView frame);
  std::span<const std::uint8_t> to_member(wire::ByteView frame);  // of the host looked at last
  std::span<const std::uint8_t> to_one(std::size_t port);
  std::span<const std::uint8_t> remember(std::uint64_t mac, std::span<const std::uint8_t> ports);
  std::size_t owner_of(std::size_t host, std::uint32_t qpn) const;

  static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

  Port* port_;
  std::uint64_t version_ = ~std::uint64_t{0};
  std::uint64_t last_source_ = kNoAddress;
  std::uint64_t last_destination_ = kNoAddress;  // whose frames all go to answer_
  std::array<std::uint8_t, 1> remembered_{};
  std::span<const std::uint8_t> last_answer_;  // in remembered_

  std::array<std::uint32_t, kPorts> tokens_{};  // 0: nobody there
  std::array<std::uint8_t, kPorts> host_of_{};
  std::vector<std::uint8_t> others_;  // stations besides us
  std::vector<std::uint8_t> firsts_;  // of each host, if it is not us
  std::vector<std::uint8_t> mirrors_;
  std::size_t last_host_ = 0;
  std::uint64_t last_host_destination_ = kNoAddress;  // its address, when it has several members
  std::vector<std::uint8_t> members_;                 // of the host looked at last, we among them
  std::vector<std::uint8_t> fellows_;                 // and without us
  std::array<std::uint8_t, 1> one_{};
};

}  // namespace softrnic::link::shm
