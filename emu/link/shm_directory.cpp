// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "link/network_interface.hpp"

namespace softrnic::link::shm {

namespace {

constexpr const char* kVariable = "SOFTRNIC_SHM_DIR";
constexpr const char* kSharedMemory = "/dev/shm";
constexpr std::size_t kLongestName = 64;

// This user's number as the outermost namespace that can be seen knows it: inside `unshare -Ur`
// the user is 0, and root of the host is somebody else.
unsigned long outer_user() {
  const unsigned long user = ::geteuid();
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside, outside, count;
  while (map >> inside >> outside >> count) {
    if (user >= inside && user - inside < count) return outside + (user - inside);
  }
  return user;
}

bool is_directory(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

std::string choose_path() {
  if (const char* given = std::getenv(kVariable); given != nullptr && *given != '\0') return given;
  if (is_directory(kSharedMemory)) {
    return std::string(kSharedMemory) + "/softrnic-" + std::to_string(outer_user());
  }
  if (const char* run = std::getenv("XDG_RUNTIME_DIR"); run != nullptr && *run != '\0') {
    return std::string(run) + "/softrnic";
  }
  return {};
}

OpenError refusal(const std::string& path, const std::string& why) {
  return {"cannot keep segments in " + path + ": " + why + ": set " + kVariable +
          " to a directory of your own"};
}

}  // namespace

wire::Expected<Directory, OpenError> Directory::open() {
  const std::string path = choose_path();
  if (path.empty()) {
    return wire::Unexpected{OpenError{std::string("there is no ") + kSharedMemory +
                                      " to keep segments in: set " + kVariable +
                                      " to a directory of your own"}};
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
