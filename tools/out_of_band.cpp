// SPDX-License-Identifier: BSD-3-Clause
#include "out_of_band.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "failure.hpp"
#include "interruption.hpp"
#include "vanished_link.hpp"

namespace softrnic::tools {

namespace {

constexpr std::string_view kDone{"done\0", 5};
// A LID of zero that says that selective repeat is wanted.
constexpr std::string_view kOffer{"0x00"};
// How often a connection attempt is looked at; the NIC is turned in between.
constexpr wire::Duration kConnectCheck = std::chrono::milliseconds(2);

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// Splits off the text before the next colon.
std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

void set_non_blocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

wire::Instant deadline_after(wire::Duration limit) {
  return limit == kNoLimit ? wire::kNever : nic::real_now() + limit;
}

bool ready(int descriptor, short events) {
  pollfd entry{descriptor, events, 0};
  return ::poll(&entry, 1, 0) > 0;
}

using Meanwhile = std::function<void()>;

// Turns the NIC until `descriptor` is readable.
void wait_readable(nic::Nic& nic, int descriptor, wire::Instant deadline, const char* what,
                   const Meanwhile& meanwhile) {
  nic::EventLoop loop(nic);
  const Interruption interruption(loop);
  loop.watch(descriptor);
  const auto done = [&] {
    if (meanwhile) meanwhile();
    return ready(descriptor, POLLIN);
  };
  if (loop.run_until(done, deadline)) return;
  require_link(nic);
  if (interrupted()) fail("interrupted while waiting for {}", what);
  fail("{} did not come in time: is the other side a pingpong of the same kind?", what);
}

// Reads exactly `size` bytes.
std::string read_text(nic::Nic& nic, const Socket& socket, std::size_t size, const char* what,
                      wire::Instant deadline, const Meanwhile& meanwhile) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    wait_readable(nic, socket.get(), deadline, what, meanwhile);
    const ssize_t n = ::recv(socket.get(), text.data() + done, size - done, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) fail("reading {}: {}", what, std::strerror(errno));
    if (n == 0) fail("the other side closed the connection before {} had come", what);
    done += static_cast<std::size_t>(n);
  }
  return text;
}

// The texts are far smaller than a socket's buffer, so that one send takes them.
void write_text(const Socket& socket, std::string_view text) {
  const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  if (n != static_cast<ssize_t>(text.size())) {
    fail("the other side took no address: {}", n < 0 ? std::strerror(errno) : "connection full");
  }
}

void write_address(const Socket& socket, const EndpointAddress& address) {
  std::string message = to_message(address);
  message.push_back('\0');
  write_text(socket, message);
}

EndpointAddress read_address(nic::Nic& nic, const Socket& socket, wire::Instant deadline,
                             const Meanwhile& meanwhile) {
  const std::string text =
      read_text(nic, socket, kMessageSize, "the address of the other side", deadline, meanwhile);
  const auto address = parse_message(std::string_view(text).substr(0, text.find('\0')));
  if (!address) fail("the other side sent no pingpong address but {:?}", text.c_str());
  return *address;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) fail("there is no host {}: {}", host, ::gai_strerror(error));
  return {list, &::freeaddrinfo};
}

// 0 or an errno; -1 when interrupted.
int connect_turning(nic::Nic& nic, int descriptor, const addrinfo& to, wire::Instant deadline) {
  set_non_blocking(descriptor);
  if (::connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  nic::EventLoop loop(nic);
  const Interruption interruption(loop);
  while (!ready(descriptor, POLLOUT)) {
    loop.run_until([] { return false; }, nic::real_now() + kConnectCheck);
    if (interrupted()) return -1;
    require_link(nic);
    if (nic::real_now() >= deadline) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Socket connect_to(nic::Nic& nic, const std::string& host, std::uint16_t port,
                  wire::Instant deadline) {
  const AddressList list = look_up(host, port);
  int error = 0;
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    Socket socket(::socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol));
    if (!socket.valid()) {
      error = errno;
      continue;
    }
    error = connect_turning(nic, socket.get(), *to, deadline);
    if (error == 0) return socket;
    if (error < 0) fail("interrupted while connecting to {}", host);
  }
  fail("cannot connect to {} port {}: {}; start the server first, and give both the same -p", host,
       port, std::strerror(error));
}

int bind_everywhere(int descriptor, int family, std::uint16_t port) {
  const int on = 1;
  const int off = 0;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) {
    ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    return ::bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any);
  }
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  return ::bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any);
}

}  // namespace

std::string gid_digits(const wire::Gid& gid) {
  std::string digits;
  for (const std::uint8_t byte : gid.bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::optional<wire::Gid> gid_of_digits(std::string_view digits) {
  wire::Gid gid;
  if (digits.size() != 2 * gid.bytes.size()) return {};
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) {
    const auto byte = parse_hex(digits.substr(2 * i, 2));
    if (!byte) return {};
    gid.bytes[i] = static_cast<std::uint8_t>(*byte);
  }
  return gid;
}

std::string to_message(const EndpointAddress& address) {
  const std::string lid = address.offers_selective_repeat && address.lid == 0
                              ? std::string(kOffer)
                              : fmt::format("{:04x}", address.lid);
  return fmt::format("{}:{:06x}:{:06x}:{}", lid, address.qpn, address.psn, gid_digits(address.gid));
}

std::optional<EndpointAddress> parse_message(std::string_view message) {
  constexpr std::uint32_t kMost24Bits = 0xffffff;
  const std::string_view lid_text = next_part(message);
  const bool offer = lid_text == kOffer;
  const auto lid = offer ? 0 : parse_hex(lid_text);
  const auto qpn = parse_hex(next_part(message));
  const auto psn = parse_hex(next_part(message));
  const auto gid = gid_of_digits(message);
  if (!lid || *lid > 0xffff || !qpn || *qpn > kMost24Bits || !psn || *psn > kMost24Bits || !gid) {
    return {};
  }
  return EndpointAddress{static_cast<std::uint16_t>(*lid), *qpn, *psn, *gid, offer};
}

std::string describe(const EndpointAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> gid{};
  ::inet_ntop(AF_INET6, address.gid.bytes.data(), gid.data(), gid.size());
  return fmt::format("LID 0x{:04x}, QPN 0x{:06x}, PSN 0x{:06x}, GID {}", address.lid, address.qpn,
                     address.psn, gid.data());
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket listen_on(std::uint16_t port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.valid() && bind_everywhere(socket.get(), family, port) == 0 &&
        ::listen(socket.get(), 1) == 0) {
      set_non_blocking(socket.get());
      return socket;
    }
    error = errno;
    if (error == EADDRINUSE) break;
  }
  if (error == EADDRINUSE) fail("TCP port {} is taken: choose another with -p", port);
  if (error == EACCES) fail("TCP port {} needs root: choose one above 1023 with -p", port);
  fail("cannot listen on TCP port {}: {}", port, std::strerror(error));
}

Socket accept_client(nic::Nic& nic, const Socket& listener) {
  while (true) {
    wait_readable(nic, listener.get(), wire::kNever, "a client", {});
    Socket client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.valid()) return client;
    // A client that came and left before we looked; the next one may stay.
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      fail("no client can be accepted: {}", std::strerror(errno));
    }
  }
}

EndpointAddress exchange_as_server(nic::Nic& nic, const Socket& client,
                                   const EndpointAddress& local, wire::Duration limit,
                                   const std::function<void(const EndpointAddress&)>& connect,
                                   const std::function<void()>& meanwhile) {
  const wire::Instant deadline = deadline_after(limit);
  const EndpointAddress remote = read_address(nic, client, deadline, meanwhile);
  connect(remote);
  write_address(client, local);
  read_text(nic, client, kDone.size(), "\"done\"", deadline, meanwhile);
  return remote;
}

EndpointAddress exchange_as_client(nic::Nic& nic, const std::string& host, std::uint16_t port,
                                   const EndpointAddress& local, wire::Duration limit) {
  const wire::Instant deadline = deadline_after(limit);
  const Socket server = connect_to(nic, host, port, deadline);
  write_address(server, local);
  const EndpointAddress remote = read_address(nic, server, deadline, {});
  write_text(server, kDone);
  return remote;
}

}  // namespace softrnic::tools
