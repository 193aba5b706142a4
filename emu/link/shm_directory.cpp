// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "link/network_interface.hpp"
#include "link/shm_names.hpp"

namespace softrnic::link::shm {

namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestName = 64;

std::string choose_path() {
  std::array<char, kLongestPath> path;
  const auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  return directory_path(variable, path) ? path.data() : std::string{};
}

OpenError refusal(const std::string& path, const std::string& why) {
  return {"cannot keep segments in " + path + ": " + why + ": set " + kDirectoryVariable +
          " to a directory of your own"};
}

}  // namespace

wire::Expected<Directory, OpenError> Directory::open() {
  const std::string path = choose_path();
  if (path.empty()) {
    return wire::Unexpected{
        OpenError{std::string("there is no /dev/shm to keep segments in: set ") +
                  kDirectoryVariable + " to a directory of your own"}};
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return wire::Unexpected{refusal(path, error_text(errno))};
  }
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!descriptor.valid()) {
    const int error = errno;
    return wire::Unexpected{
        refusal(path, error == ELOOP || error == ENOTDIR
                          ? "it is no directory of its own, but a link or a file"
                          : error_text(error))};
  }
  if (const std::string why = why_not_own(descriptor.get(), path); !why.empty()) {
    return wire::Unexpected{refusal(path, why)};
  }
  return Directory{std::move(descriptor), path};
}

std::vector<std::string> Directory::entries() const {
  std::vector<std::string> names;
  const int copy = ::openat(descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : ::fdopendir(copy);
  if (stream == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(stream)) names.emplace_back(entry->d_name);
  ::closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

bool valid_segment_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string why_not_own(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return error_text(errno);
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & 077) != 0) {
    return "other users may use it (`chmod go= " + path + "` takes that from them)";
  }
  return {};
}

}  // namespace softrnic::link::shm
