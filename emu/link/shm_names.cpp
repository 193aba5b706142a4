// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>

namespace softrnic::link::shm {

namespace {

constexpr const char* kSharedMemory = "/dev/shm";
// A hundred lines; who has more is found by the number he has inside.
constexpr std::size_t kMostMap = 4096;

// FNV-1a, 64 bits: the same on every machine and in every version.
std::uint64_t hash(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return from ^ from >> 32;
}

// The next number of the text, which is taken off its front; false at its end.
bool take_number(std::string_view& text, unsigned long& number) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

// This user's number as the outermost namespace that can be seen knows it: inside `unshare -Ur`
// the user is 0, and root of the host is somebody else.
unsigned long outer_user() {
  const unsigned long user = ::geteuid();
  std::array<char, kMostMap> map;
  const int file = ::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  if (file < 0) return user;
  const ssize_t size = ::read(file, map.data(), map.size());
  ::close(file);
  std::string_view text(map.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  unsigned long inside, outside, count;
  while (take_number(text, inside) && take_number(text, outside) && take_number(text, count)) {
    if (user >= inside && user - inside < count) return outside + (user - inside);
  }
  return user;
}

bool is_directory(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_given(const char* value) {
  return value != nullptr && *value != '\0';
}

// As snprintf: whether all of it found room.
bool fits(int length, std::span<char> path) {
  return length >= 0 && static_cast<std::size_t>(length) < path.size();
}

}  // namespace

std::uint32_t wished_address(std::string_view host) {
  if (host.size() == 1 && host[0] >= 'a' && host[0] <= 'z') {
    return static_cast<std::uint32_t>(host[0] - 'a' + 1);
  }
  const std::size_t digits = host.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(host.data() + digits, host.data() + host.size(), number);
  if (error == std::errc() && number >= 1 && number <= kMostAddress) return number;
  return static_cast<std::uint32_t>(hash(host) % kMostAddress) + 1;
}

// Locally administered, not a group (IEEE 802, 8.2.2).
std::uint64_t wished_mac(std::string_view segment, std::string_view host, std::uint64_t attempt) {
  const std::uint64_t bits = hash(host, hash(segment) + attempt);
  return (bits & 0xfcffffffffff) | 0x020000000000;
}

wire::Gid ipv4_of(std::string_view segment, std::uint32_t address) {
  const auto subnet = static_cast<std::uint32_t>(hash(segment) & 0xffff);
  return wire::Gid::from_ipv4(0x0a000000 | subnet << 8 | (address & 0xff));
}

wire::Gid ipv6_of(std::string_view segment, std::uint32_t address) {
  // fd00::/8 with the segment's own 40 bits, which RFC 4193 wants random (3.2.2).
  const std::uint64_t net = hash(segment);
  wire::Gid ipv6;
  ipv6.bytes[0] = 0xfd;
  for (std::size_t i = 1; i <= 5; ++i) {
    ipv6.bytes[i] = static_cast<std::uint8_t>(net >> (8 * i));
  }
  ipv6.bytes[15] = static_cast<std::uint8_t>(address);
  return ipv6;
}

bool directory_path(Variable variable, std::span<char> path) {
  if (const char* given = variable(kDirectoryVariable); is_given(given)) {
    return fits(std::snprintf(path.data(), path.size(), "%s", given), path);
  }
  if (is_directory(kSharedMemory)) {
    return fits(
        std::snprintf(path.data(), path.size(), "%s/softrnic-%lu", kSharedMemory, outer_user()),
        path);
  }
  const char* run = variable("XDG_RUNTIME_DIR");
  return is_given(run) && fits(std::snprintf(path.data(), path.size(), "%s/softrnic", run), path);
}

}  // namespace softrnic::link::shm
