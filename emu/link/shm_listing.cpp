// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "link/file_descriptor.hpp"
#include "link/shm_directory.hpp"
#include "link/shm_host.hpp"
#include "link/shm_layout.hpp"
#include "link/shm_locks.hpp"
#include "link/shm_names.hpp"

namespace softrnic::link {

namespace {

using namespace shm;

FileDescriptor open_directory() {
  std::array<char, 4096> path;
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  if (!directory_path(variable, path)) return {};
  FileDescriptor directory(::open(path.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid() || !why_not_own(directory.get(), path.data()).empty()) return {};
  return directory;
}

std::vector<std::string> segment_names(const Directory& directory) {
  std::vector<std::string> names = directory.entries();
  std::erase_if(names, [](const std::string& name) { return !valid_segment_name(name); });
  return names;
}

bool lives(int file, std::size_t port) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kPortLocks + static_cast<off_t>(port);
  lock.l_len = 1;
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The words of the file as they are now; each is looked at once.
std::unique_ptr<Header> read_header(int file) {
  auto header = std::make_unique<Header>();
  if (::pread(file, static_cast<void*>(header.get()), sizeof(Header), 0) !=
      static_cast<ssize_t>(sizeof(Header))) {
    return nullptr;
  }
  const Preamble& preamble = header->preamble;
  return preamble.magic == kMagic && preamble.format == kFormat ? std::move(header) : nullptr;
}

std::string name_of(const HostRecord& host) {
  return {host.name.begin(), std::find(host.name.begin(), host.name.end(), '\0')};
}

std::optional<ListedSegment> look_at(const Directory& directory, const std::string& name) {
  const FileDescriptor file(::openat(directory.descriptor.get(), name.c_str(),
                                     O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::unique_ptr<Header> header = read_header(file.get());
  if (header == nullptr) return {};
  ListedSegment segment;
  segment.name = name;
  for (std::size_t port = 0; port < kPorts; ++port) segment.ports += lives(file.get(), port);
  if (segment.ports == 0) return {};
  for (const HostRecord& host : header->hosts) {
    if (host.mac.load(std::memory_order_relaxed) != 0) segment.hosts.push_back(name_of(host));
  }
  std::erase_if(segment.hosts, [](const std::string& host) { return !valid_host_name(host); });
  std::sort(segment.hosts.begin(), segment.hosts.end());
  return segment;
}

}  // namespace

std::vector<ListedSegment> list_segments() {
  std::vector<ListedSegment> segments;
  const Directory directory{open_directory(), {}};
  if (!directory.descriptor.valid()) return segments;
  for (const std::string& name : segment_names(directory)) {
    if (auto segment = look_at(directory, name)) segments.push_back(std::move(*segment));
  }
  return segments;
}

}  // namespace softrnic::link
