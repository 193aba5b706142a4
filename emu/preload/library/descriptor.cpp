// SPDX-License-Identifier: BSD-3-Clause
#include "preload/library/descriptor.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/library/libc.hpp"

namespace softrnic::preload {

namespace {

constexpr std::string_view kMark = "softrnic:";
// What the kernel puts before and behind the name (shmem.c, d_path).
constexpr std::string_view kBefore = "/memfd:softrnic:";
constexpr std::string_view kBehind = " (deleted)";
constexpr mode_t kTextMode = 0444;
constexpr mode_t kDirectoryMode = 0440;

int why_not_openable(const Place& place, int flags) {
  if (place.kind == FileKind::none) return (flags & O_CREAT) != 0 ? EACCES : place.error;
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return EEXIST;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (place.kind == FileKind::directory) return writes ? EISDIR : 0;
  if ((flags & O_DIRECTORY) != 0) return ENOTDIR;
  return place.kind == FileKind::text && writes ? EACCES : 0;
}

int open_in_memory(const Device& device, const Place& place, int flags) {
  PathText name;
  name.append(kMark);
  device.files().path_of(place, name);
  const bool directory = place.kind == FileKind::directory;
  const int descriptor = ::memfd_create(
      name.c_str(), MFD_ALLOW_SEALING | ((flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0u));
  if (descriptor < 0) return -1;
  FileText text;
  if (!directory) device.files().write(place, text);
  const bool made =
      ::write(descriptor, text.c_str(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::lseek(descriptor, 0, SEEK_SET) == 0 &&
      ::fchmod(descriptor, directory ? kDirectoryMode : kTextMode) == 0 &&
      ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) ==
          0;
  if (made) return descriptor;
  const int error = errno;
  ::close(descriptor);
  return fail(error);
}

}  // namespace

int open_place(const Device& device, const Place& place, int flags) {
  if (const int error = why_not_openable(place, flags); error != 0) return fail(error);
  const int before = errno;
  const int descriptor =
      place.kind == FileKind::device
          ? libc::open.get()("/dev/null", flags & (O_ACCMODE | O_CLOEXEC | O_NONBLOCK))
          : open_in_memory(device, place, flags);
  if (descriptor >= 0) errno = before;
  return descriptor;
}

bool path_of_descriptor(int descriptor, PathText& path) {
  const ErrnoKept kept;
  if (descriptor < 0) return false;
  BoundedText<32> link("/proc/self/fd/");
  link.append_decimal(static_cast<std::uint64_t>(descriptor));
  char text[512];
  const ssize_t size = libc::readlink.get()(link.c_str(), text, sizeof text);
  if (size <= 0) return false;
  const std::string_view name(text, static_cast<std::size_t>(size));
  if (!name.starts_with(kBefore) || !name.ends_with(kBehind)) return false;
  path.append(name.substr(kBefore.size(), name.size() - kBefore.size() - kBehind.size()));
  return true;
}

bool may_be_our_descriptor(const struct stat& status) {
  return status.st_nlink == 0 &&
         (status.st_mode == (S_IFREG | kTextMode) || status.st_mode == (S_IFREG | kDirectoryMode));
}

}  // namespace softrnic::preload
