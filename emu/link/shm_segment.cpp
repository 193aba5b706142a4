// SPDX-License-Identifier: BSD-3-Clause
#include "link/shm_segment.hpp"
#include "link/shm_locks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "link/network_interface.hpp"

namespace softrnic::link::shm {

namespace {

// The lock is held for as long as it takes to set up a port. Who finds it taken for longer has met
// a process that is stopped.
constexpr auto kLockPatience = std::chrono::seconds(5);
constexpr auto kLockRetry = std::chrono::milliseconds(1);
// How often to begin again because the last one of a segment was just removing it.
constexpr int kAttempts = 1000;
// Of the memory that is left, a port takes this part at most, so that there is always some left for
// the next.
constexpr std::uint64_t kShareOfFree = 16;

bool set_lock(int file, short type, off_t from, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = from;
  lock.l_len = length;
  int result;
  do {
    result = ::fcntl(file, F_OFD_SETLK, &lock);
  } while (result < 0 && errno == EINTR);
  return result == 0;
}

// Whether another has a lock there.
bool locked(int file, off_t from, off_t length) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = from;
  lock.l_len = length;
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// 0, or an errno.
int allocate(int file, std::size_t from, std::size_t length) {
  int error;
  do {
    error = ::posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(length));
  } while (error == EINTR);
  return error;
}

std::string bell_name(const std::string& segment, std::size_t port) {
  return segment + ":" + std::to_string(port);  // which no segment can be called
}

wire::Unexpected<OpenError> refuse(std::string_view name, const std::string& why) {
  return wire::Unexpected{OpenError{"shm:" + std::string(name) + ": " + why}};
}

}  // namespace

// One mapping for each file in a process, however many ports it has there.
class Segment::Mapping {
 public:
  Mapping(std::byte* base, std::size_t size) : base_(base), size_(size) {}
  ~Mapping() { ::munmap(base_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* base() const { return base_; }

  // Null, with errno set, when there is none to be had.
  static std::shared_ptr<Mapping> of(int file, std::size_t size) {
    using Identity = std::pair<dev_t, ino_t>;
    static std::mutex mutex;
    static std::map<Identity, std::weak_ptr<Mapping>> mappings;
    struct stat status {};
    if (::fstat(file, &status) != 0) return nullptr;
    const std::lock_guard guard(mutex);
    std::erase_if(mappings, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Mapping>& known = mappings[{status.st_dev, status.st_ino}];
    if (auto mapping = known.lock(); mapping && mapping->size_ == size) return mapping;
    void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) return nullptr;
    auto mapping = std::make_shared<Mapping>(static_cast<std::byte*>(base), size);
    known = mapping;
    return mapping;
  }

 private:
  std::byte* base_;
  std::size_t size_;
};

Segment::Segment(Directory directory, FileDescriptor file, std::string name)
    : directory_(std::move(directory)), file_(std::move(file)), name_(std::move(name)) {}

wire::Expected<Segment, OpenError> Segment::open(std::string_view name, std::uint32_t mtu) {
  if (!valid_segment_name(name)) {
    return refuse(name, "cannot name a segment: use 1 to 64 letters, digits, '.', '_' and '-'");
  }
  if (mtu != 0 && (mtu < kLeastMtu || mtu > kMostMtu)) {
    return refuse(name, "its MTU can be " + std::to_string(kLeastMtu) + " to " +
                            std::to_string(kMostMtu) + ", not " + std::to_string(mtu));
  }
  const std::string file_name(name);
  for (int i = 0; i < kAttempts; ++i) {
    auto directory = Directory::open();
    if (!directory) return wire::Unexpected{directory.error()};
    const std::string path = directory->path + "/" + file_name;
    FileDescriptor file(::openat(directory->descriptor.get(), file_name.c_str(),
                                 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file.valid()) {
      if (errno == ENOENT) continue;  // the directory was just being removed
      const std::string cause = errno == ELOOP ? "it is a symbolic link" : error_text(errno);
      return refuse(name, "cannot open " + path + ": " + cause + ": choose another name");
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return refuse(name, path + " is no segment: remove it, or choose another name");
    }
    if (const std::string why = why_not_own(file.get(), path); !why.empty()) {
      return refuse(name, "cannot use " + path + ": " + why);
    }
    Segment segment(std::move(*directory), std::move(file), file_name);
    if (!segment.lock()) {
      return refuse(name, "another process keeps it locked: is a program stopped that uses it?");
    }
    if (segment.gone()) continue;  // removed while we waited
    bool again = false;
    if (std::string why = segment.examine(mtu, again); !why.empty()) return refuse(name, why);
    if (again) continue;
    if (std::string why = segment.map(); !why.empty()) return refuse(name, why);
    segment.remove_leftovers();
    return segment;
  }
  return refuse(name, "it is removed again and again: choose another name");
}

std::string Segment::examine(std::uint32_t mtu, bool& again) {
  const std::string path = directory_.path + "/" + name_;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return "cannot read " + path + ": " + error_text(errno);
  if (status.st_size == 0) return initialize(mtu);
  Preamble preamble{};
  const ssize_t got = ::pread(file_.get(), &preamble, sizeof(preamble), 0);
  if (got != sizeof(preamble) || preamble.magic != kMagic) {
    return path + " is no segment: remove it, or choose another name";
  }
  if (!anybody_else()) {
    remove();
    again = true;
    return {};
  }
  if (preamble.format != kFormat) {
    return "a program of another version of softrnic is on it (format " +
           std::to_string(preamble.format) + ", this one speaks " + std::to_string(kFormat) +
           "): end that one, or choose another name";
  }
  if (preamble.mtu < kLeastMtu || preamble.mtu > kMostMtu ||
      static_cast<std::uint64_t>(status.st_size) != segment_size(preamble.mtu)) {
    return path + " is damaged: end the programs that use it";
  }
  if (mtu != 0 && mtu != preamble.mtu) {
    return "its MTU is " + std::to_string(preamble.mtu) +
           " since its first program made it so: give that, or none";
  }
  mtu_ = preamble.mtu;
  return {};
}

std::string Segment::initialize(std::uint32_t mtu) {
  mtu_ = mtu == 0 ? kDefaultMtu : mtu;
  const Preamble preamble{kMagic, kFormat, mtu_};
  // First, so that what is left of a process that dies in here is known for a leftover.
  const bool written =
      ::pwrite(file_.get(), &preamble, sizeof(preamble), 0) == ssize_t{sizeof(preamble)};
  int error = written ? 0 : errno;
  if (error == 0 && ::ftruncate(file_.get(), static_cast<off_t>(segment_size(mtu_))) != 0) {
    error = errno;
  }
  if (error == 0) error = allocate(file_.get(), 0, kHeaderSize);
  if (error == 0) return {};
  const std::string path = directory_.path;
  remove();
  return "cannot make it in " + path + ": " + error_text(error) +
         (error == ENOSPC ? ": make room there, or set SOFTRNIC_SHM_DIR" : "");
}

std::string Segment::map() {
  // By a description of its own: a mapping keeps the one it was made of open, and its locks held.
  const FileDescriptor file(
      ::openat(directory_.descriptor.get(), name_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat mine {
  }, theirs{};
  if (!file.valid() || ::fstat(file.get(), &mine) != 0 || ::fstat(file_.get(), &theirs) != 0 ||
      mine.st_ino != theirs.st_ino) {
    return "cannot open it again: " + error_text(errno);
  }
  mapping_ = Mapping::of(file.get(), segment_size(mtu_));
  return mapping_ ? "" : "cannot map it: " + error_text(errno);
}

Header& Segment::header() const {
  return *reinterpret_cast<Header*>(mapping_->base());
}

PortArea& Segment::area(std::size_t port) const {
  return *reinterpret_cast<PortArea*>(mapping_->base() + port_offset(mtu_, port));
}

std::byte* Segment::buffer(std::size_t port, std::size_t index) const {
  return mapping_->base() + port_offset(mtu_, port) + kAreaSize + index * buffer_size(mtu_);
}

bool Segment::try_lock() {
  return set_lock(file_.get(), F_WRLCK, kSegmentLock, 1);
}

bool Segment::lock() {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (!try_lock()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kLockRetry);
  }
  return true;
}

void Segment::unlock() {
  set_lock(file_.get(), F_UNLCK, kSegmentLock, 1);
}

void Segment::release_locks() {
  set_lock(file_.get(), F_UNLCK, 0, 0);
}

bool Segment::claim(std::size_t port) {
  return set_lock(file_.get(), F_WRLCK, kPortLocks + static_cast<off_t>(port), 1);
}

bool Segment::alive(std::size_t port) const {
  return locked(file_.get(), kPortLocks + static_cast<off_t>(port), 1);
}

bool Segment::anybody_else() const {
  return locked(file_.get(), kPortLocks, kPorts);
}

std::size_t Segment::reserve(std::size_t port, std::size_t most) {
  struct statvfs room {};
  std::size_t count = most;
  if (::fstatvfs(file_.get(), &room) == 0) {
    const std::uint64_t share = std::uint64_t{room.f_bavail} * room.f_bsize / kShareOfFree;
    count = std::clamp<std::size_t>(share / buffer_size(mtu_), kLeastBuffers, most);
  }
  for (; count >= kLeastBuffers; count /= 2) {
    if (allocate(file_.get(), port_offset(mtu_, port), kAreaSize + count * buffer_size(mtu_)) ==
        0) {
      return count;
    }
  }
  return 0;
}

FileDescriptor Segment::open_bell(std::size_t port, bool create) const {
  const std::string name = bell_name(name_, port);
  if (create && ::mkfifoat(directory_.descriptor.get(), name.c_str(), 0600) != 0 &&
      errno != EEXIST) {
    return {};
  }
  // Open for both, so that it never ends for the one and never breaks for the other (SIGPIPE).
  FileDescriptor bell(::openat(directory_.descriptor.get(), name.c_str(),
                               O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!bell.valid() || ::fstat(bell.get(), &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  return bell;
}

void Segment::remove() {
  // The file last: it is what others open, lock, and then find to be gone.
  const std::string prefix = name_ + ":";
  for (const std::string& entry : directory_.entries()) {
    if (entry.starts_with(prefix)) ::unlinkat(directory_.descriptor.get(), entry.c_str(), 0);
  }
  ::unlinkat(directory_.descriptor.get(), name_.c_str(), 0);
  ::rmdir(directory_.path.c_str());  // if it was the last segment
}

bool Segment::gone() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

// Those of other segments, whose programs were all killed.
void Segment::remove_leftovers() const {
  for (const std::string& entry : directory_.entries()) {
    if (entry == name_ || !valid_segment_name(entry)) continue;
    FileDescriptor file(::openat(directory_.descriptor.get(), entry.c_str(),
                                 O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    FileDescriptor directory(
        ::openat(directory_.descriptor.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Segment other({std::move(directory), directory_.path}, std::move(file), entry);
    if (!other.try_lock() || other.gone() || other.anybody_else()) continue;
    Preamble preamble{};
    const ssize_t got = ::pread(other.file_.get(), &preamble, sizeof(preamble), 0);
    if (got == sizeof(preamble) && preamble.magic == kMagic) other.remove();
  }
}

}  // namespace softrnic::link::shm
