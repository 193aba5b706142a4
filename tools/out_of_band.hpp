// SPDX-License-Identifier: BSD-3-Clause
// How the ends of a queue pair learn of each other: the TCP exchange of rdma-core's ibv_*_pingpong.
//
// Each side sends one text of 52 bytes, NUL included: "LID:QPN:PSN:GID" in hexadecimal. The client
// sends first; the server reads, connects its queue pair, answers; the client says "done".
//
// A softrnic that offers selective repeat writes the LID, which is zero, as "0x00" and not as
// "0000". Whoever reads it with scanf, as those programs do, reads zero.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nic/event_loop.hpp"
#include "wire/gid.hpp"

namespace softrnic::tools {

struct EndpointAddress {
  std::uint16_t lid = 0;  // InfiniBand's; zero on Ethernet
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  wire::Gid gid;
  bool offers_selective_repeat = false;

  friend bool operator==(const EndpointAddress&, const EndpointAddress&) = default;
};

// 32 hexadecimal digits in network order, and back.
std::string gid_digits(const wire::Gid& gid);
std::optional<wire::Gid> gid_of_digits(std::string_view digits);

// The text without its NUL, and back.
std::string to_message(const EndpointAddress& address);
std::optional<EndpointAddress> parse_message(std::string_view message);
// sizeof of that text, NUL included.
inline constexpr std::size_t kMessageSize =
    sizeof "0000:000000:000000:00000000000000000000000000000000";

// "LID 0x0000, QPN 0x000011, PSN 0x1a2b3c, GID ::ffff:10.0.0.1", as they print it.
std::string describe(const EndpointAddress& address);

// A TCP socket, closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// A socket that listens on every address of this host; a Failure when the port is taken.
Socket listen_on(std::uint16_t port);

// The functions below turn the NIC while they wait, so that it answers ARP and pings; they throw a
// Failure when the other side breaks off, talks nonsense or lets `limit` (kNoLimit: none) go by,
// and when Ctrl-C comes.
inline constexpr wire::Duration kNoLimit = wire::Duration::max();

// Waits until a client has come.
Socket accept_client(nic::Nic& nic, const Socket& listener);

// Learns the client's address, calls `connect` (which readies the local queue pair), then answers
// and waits for "done", all within `limit`. `meanwhile` is called after each turn of the NIC, if it
// is given.
EndpointAddress exchange_as_server(nic::Nic& nic, const Socket& client,
                                   const EndpointAddress& local, wire::Duration limit,
                                   const std::function<void(const EndpointAddress&)>& connect,
                                   const std::function<void()>& meanwhile = {});

// Connects, tells its address and learns the server's, all within `limit`.
EndpointAddress exchange_as_client(nic::Nic& nic, const std::string& host, std::uint16_t port,
                                   const EndpointAddress& local, wire::Duration limit);

}  // namespace softrnic::tools
