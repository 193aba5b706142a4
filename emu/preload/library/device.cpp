// SPDX-License-Identifier: BSD-3-Clause
#include "preload/library/device.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "preload/library/libc.hpp"

namespace softrnic::preload {

namespace {

// Not getenv(), which some programs (bash) have their own of.
const char* variable(const char* name) {
  const std::size_t length = std::strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}

// In the child of a fork the loader's locks may be held by threads that are no more: whoever asks
// it there may wait for ever. Nor is the parent's open device the child's.
bool is_fork = false;

__attribute__((constructor)) void watch_forks() {
  ::pthread_atfork(nullptr, nullptr, [] { is_fork = true; });
}

// A library of verbs that this process has loaded, however it was loaded. Not asked for by its name
// alone, for which the loader would look through its folders.
class VerbsLibrary {
 public:
  VerbsLibrary() {
    if (is_fork) return;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
          constexpr std::string_view kName = "libibverbs.so.1";
          const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
          if (path.find(kName) == std::string_view::npos) return 0;
          *static_cast<const char**>(context) = info->dlpi_name;
          return 1;
        },
        &path_);
    if (path_ != nullptr) handle_ = ::dlopen(path_, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~VerbsLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  VerbsLibrary(const VerbsLibrary&) = delete;
  VerbsLibrary& operator=(const VerbsLibrary&) = delete;

  template <class Function>
  Function* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  const char* path_ = nullptr;
  void* handle_ = nullptr;
};

struct Sought {
  std::string_view name;
  std::uint64_t value;
};

std::uint64_t counter_value(std::string_view name) {
  using Visit = void(const char* name, unsigned long long value, void* context);
  using Counters = int(Visit * visit, void* context);
  const VerbsLibrary library;
  Sought sought{name, 0};
  if (auto* counters = library.function<Counters>("softrnic_counters")) {
    counters(
        [](const char* one, unsigned long long value, void* context) {
          auto* wanted = static_cast<Sought*>(context);
          if (wanted->name == one) wanted->value = value;
        },
        &sought);
  }
  return sought.value;
}

// What an open device says of itself goes before what can be told from outside.
void ask_open_device(Identity& identity) {
  using Ask = int(unsigned char mac[6], unsigned char(*addresses)[16], int most);
  const VerbsLibrary library;
  auto* ask = library.function<Ask>("softrnic_identity");
  if (ask == nullptr) return;
  wire::MacAddress mac;
  unsigned char addresses[Identity::kMostAddresses][16];
  const int count = ask(mac.bytes.data(), addresses, Identity::kMostAddresses);
  if (count <= 0) return;
  identity.mac = mac;
  identity.address_count = 0;
  for (int i = 0; i < count && i < static_cast<int>(Identity::kMostAddresses); ++i) {
    wire::Gid gid;
    std::memcpy(gid.bytes.data(), addresses[i], gid.bytes.size());
    identity.add(gid);
  }
}

Identity identity_now() {
  const ErrnoKept kept;
  Identity identity = identity_of(variable);
  ask_open_device(identity);
  return identity;
}

mode_t mode_of(FileKind kind) {
  if (kind == FileKind::directory) return S_IFDIR | 0755;
  if (kind == FileKind::device) return S_IFCHR | 0666;
  return S_IFREG | 0444;
}

constexpr off_t kPage = 4096;  // what sysfs says every file's size is

}  // namespace

Device::Device() : identity_(identity_now()), files_(identity_, counter_value) {}

// FNV-1a of the path: the same in every process.
ino_t Device::inode(const Place& place) const {
  PathText path;
  files_.path_of(place, path);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : path.view()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash >> 16) + 1;
}

void Device::status(const Place& place, struct stat* status) const {
  // Device, owner and times are those of the file system that the files seem to be in.
  const bool node = place.directory == Directory::device_nodes;
  if (libc::stat.get()(node ? "/dev" : "/sys", status) != 0) *status = {};
  status->st_ino = inode(place);
  status->st_mode = mode_of(place.kind);
  status->st_nlink = place.kind == FileKind::directory ? 2 : 1;
  status->st_uid = 0;
  status->st_gid = 0;
  status->st_rdev = place.kind == FileKind::device ? makedev(kMajor, kMinor) : 0;
  status->st_size = place.kind == FileKind::text ? kPage : 0;
  status->st_blksize = kPage;
  status->st_blocks = 0;
}

}  // namespace softrnic::preload
