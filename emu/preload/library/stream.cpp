// SPDX-License-Identifier: BSD-3-Clause
#include "preload/library/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "preload/library/descriptor.hpp"
#include "preload/library/libc.hpp"

namespace softrnic::preload {

namespace {

constinit std::array<Stream, 64> streams;

unsigned char type_of(FileKind kind) {
  if (kind == FileKind::directory) return DT_DIR;
  return kind == FileKind::device ? DT_CHR : DT_REG;
}

void fill(std::string_view name, ino_t inode, unsigned char type, std::size_t n,
          struct dirent& entry) {
  entry.d_ino = inode;
  entry.d_off = static_cast<off_t>(n + 1);
  entry.d_reclen = sizeof entry;
  entry.d_type = type;
  const std::size_t size = std::min(name.size(), sizeof entry.d_name - 1);
  std::memcpy(entry.d_name, name.data(), size);
  entry.d_name[size] = '\0';
}

}  // namespace

bool fill_entry(const Device& device, Directory directory, std::size_t n, struct dirent& entry) {
  constexpr std::size_t kDots = 2;
  if (n < kDots) {
    const Place place = device.files().find(directory, n == 0 ? "." : "..");
    const ino_t inode = place.kind == FileKind::directory ? device.inode(place) : 1;
    fill(n == 0 ? "." : "..", inode, DT_DIR, n, entry);
    return true;
  }
  const DeviceFiles::Entry one = device.files().entry(directory, n - kDots);
  if (one.place.kind == FileKind::none) return false;
  fill(one.name.view(), device.inode(one.place), type_of(one.place.kind), n, entry);
  return true;
}

Stream* Stream::open(Directory directory, int descriptor) {
  for (Stream& stream : streams) {
    if (stream.used_.exchange(true, std::memory_order_acquire)) continue;
    stream.directory_ = directory;
    stream.descriptor_ = descriptor;
    stream.position_ = 0;
    return &stream;
  }
  errno = EMFILE;
  return nullptr;
}

Stream* Stream::from(DIR* handle) {
  auto* stream = reinterpret_cast<Stream*>(handle);
  const std::less<> before;
  const bool ours =
      !before(stream, streams.data()) && before(stream, streams.data() + streams.size());
  return ours ? stream : nullptr;
}

struct dirent* Stream::read() {
  const ErrnoKept kept;
  const Device device;
  if (!fill_entry(device, directory_, position_, entry_)) return nullptr;
  ++position_;
  return &entry_;
}

void Stream::close() {
  const ErrnoKept kept;
  if (descriptor_ >= 0) ::close(descriptor_);
  used_.store(false, std::memory_order_release);
}

int Stream::descriptor() {
  if (descriptor_ < 0) {
    const Device device;
    descriptor_ = open_place(device, device.files().find(directory_, "."),
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  return descriptor_;
}

}  // namespace softrnic::preload
