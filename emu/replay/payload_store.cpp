// SPDX-License-Identifier: BSD-3-Clause
#include "replay/payload_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace softrnic::replay {

namespace {

constexpr std::size_t kPendingSize = 1 << 18;

// Without a name from the beginning, or for as short as it takes to take the name away.
link::FileDescriptor open_nameless() {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  link::FileDescriptor file(::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  std::string name = path + "/softrnic-XXXXXX";
  file = link::FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file.valid()) ::unlink(name.c_str());
  return file;
}

}  // namespace

PayloadStore::~PayloadStore() {
  unmap();
}

PayloadStore::PayloadStore(PayloadStore&& other) noexcept {
  *this = std::move(other);
}

PayloadStore& PayloadStore::operator=(PayloadStore&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  std::swap(written_, other.written_);
  std::swap(pending_, other.pending_);
  std::swap(pending_size_, other.pending_size_);
  std::swap(map_, other.map_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

bool PayloadStore::open() {
  if (file_.valid()) return true;
  file_ = open_nameless();
  if (file_.valid()) pending_ = std::make_unique<std::byte[]>(kPendingSize);
  return file_.valid();
}

bool PayloadStore::flush() {
  std::size_t done = 0;
  while (done < pending_size_) {
    const ssize_t n = ::pwrite(file_.get(), pending_.get() + done, pending_size_ - done,
                               static_cast<off_t>(written_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
  pending_size_ = 0;
  return true;
}

std::optional<std::uint64_t> PayloadStore::append(wire::ByteView bytes) {
  if (!open()) return {};
  unmap();
  const std::uint64_t at = size_;
  while (!bytes.empty()) {
    if (pending_size_ == kPendingSize && !flush()) return {};
    const std::size_t n = std::min(bytes.size(), kPendingSize - pending_size_);
    std::memcpy(pending_.get() + pending_size_, bytes.data(), n);
    pending_size_ += n;
    size_ += n;
    bytes = bytes.subspan(n);
  }
  return at;
}

std::optional<std::uint64_t> PayloadStore::append_zeros(std::uint64_t size) {
  if (!open() || !flush()) return {};
  unmap();
  const std::uint64_t at = size_;
  if (size != 0 &&
      ::posix_fallocate(file_.get(), static_cast<off_t>(size_), static_cast<off_t>(size)) != 0) {
    return {};
  }
  size_ += size;
  written_ = size_;
  return at;
}

std::span<std::byte> PayloadStore::bytes() {
  if (size_ == 0) return {};
  if (map_ == nullptr) {
    if (!flush()) return {};
    void* map = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (map == MAP_FAILED) return {};
    map_ = static_cast<std::byte*>(map);
    mapped_ = size_;
  }
  return {map_, mapped_};
}

void PayloadStore::unmap() {
  if (map_ != nullptr) ::munmap(map_, mapped_);
  map_ = nullptr;
  mapped_ = 0;
}

}  // namespace softrnic::replay
