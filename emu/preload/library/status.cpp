// SPDX-License-Identifier: BSD-3-Clause
// stat(2) and its kin, by all their names.
#include <sys/sysmacros.h>

#include "preload/library/answer.hpp"

namespace softrnic::preload {

namespace {

int status_of(const Device& device, const Place& place, struct stat* status) {
  if (place.kind == FileKind::none) return fail(place.error);
  const ErrnoKept kept;
  device.status(place, status);
  return 0;
}

// After fstat() of any descriptor: where it is ours, says what its file in sysfs would.
void correct(int descriptor, struct stat* status) {
  if (!may_be_our_descriptor(*status)) return;
  const ErrnoKept kept;
  PathText path;
  if (!path_of_descriptor(descriptor, path)) return;
  const Device device;
  const Place place = device.files().find(path.view());
  if (place.kind == FileKind::none || place.kind == FileKind::elsewhere) return;
  // Who copies by the size wants what there is; a path's size is a page, as in sysfs.
  const off_t size = status->st_size;
  device.status(place, status);
  status->st_size = size;
}

int stat_path(const char* path, struct stat* status) {
  return answer(
      path,
      [status](const Device& device, const Place& place) {
        return status_of(device, place, status);
      },
      [=] { return libc::stat.get()(path, status); });
}

int lstat_path(const char* path, struct stat* status) {
  return answer(
      path,
      [status](const Device& device, const Place& place) {
        return status_of(device, place, status);
      },
      [=] { return libc::lstat.get()(path, status); });
}

int stat_descriptor(int descriptor, struct stat* status) {
  const int result = libc::fstat.get()(descriptor, status);
  if (result == 0) correct(descriptor, status);
  return result;
}

int stat_from(int directory, const char* path, struct stat* status, int flags) {
  const int result = answer_at(
      directory, path,
      [status](const Device& device, const Place& place) {
        return status_of(device, place, status);
      },
      [=] { return libc::fstatat.get()(directory, path, status, flags); });
  if (result == 0 && (flags & AT_EMPTY_PATH) != 0 && path != nullptr && *path == '\0') {
    correct(directory, status);
  }
  return result;
}

statx_timestamp time_of(const timespec& time) {
  statx_timestamp to{};
  to.tv_sec = time.tv_sec;
  to.tv_nsec = static_cast<unsigned>(time.tv_nsec);
  return to;
}

void extend(const struct stat& from, struct statx* to) {
  *to = {};
  to->stx_mask = STATX_BASIC_STATS;
  to->stx_blksize = static_cast<unsigned>(from.st_blksize);
  to->stx_nlink = static_cast<unsigned>(from.st_nlink);
  to->stx_uid = from.st_uid;
  to->stx_gid = from.st_gid;
  to->stx_mode = static_cast<std::uint16_t>(from.st_mode);
  to->stx_ino = from.st_ino;
  to->stx_size = static_cast<std::uint64_t>(from.st_size);
  to->stx_blocks = static_cast<std::uint64_t>(from.st_blocks);
  to->stx_atime = time_of(from.st_atim);
  to->stx_mtime = time_of(from.st_mtim);
  to->stx_ctime = time_of(from.st_ctim);
  to->stx_rdev_major = major(from.st_rdev);
  to->stx_rdev_minor = minor(from.st_rdev);
  to->stx_dev_major = major(from.st_dev);
  to->stx_dev_minor = minor(from.st_dev);
}

int extended(const Device& device, const Place& place, struct statx* extended_status) {
  struct stat status;
  const int result = status_of(device, place, &status);
  if (result == 0) extend(status, extended_status);
  return result;
}

int statx_from(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  const int result = answer_at(
      directory, path,
      [status](const Device& device, const Place& place) {
        return extended(device, place, status);
      },
      [=] { return libc::statx.get()(directory, path, flags, mask, status); });
  if (result != 0 || (flags & AT_EMPTY_PATH) == 0 || (path != nullptr && *path != '\0')) {
    return result;
  }
  struct stat plain {};
  plain.st_nlink = status->stx_nlink;
  plain.st_mode = status->stx_mode;
  plain.st_size = static_cast<off_t>(status->stx_size);
  if (!may_be_our_descriptor(plain)) return result;
  correct(directory, &plain);
  if (!may_be_our_descriptor(plain)) extend(plain, status);
  return result;
}

}  // namespace

}  // namespace softrnic::preload

using namespace softrnic::preload;

extern "C" {

int stat(const char* path, struct stat* status) noexcept {
  return stat_path(path, status);
}
int stat64(const char* path, struct stat64* status) noexcept {
  return stat_path(path, reinterpret_cast<struct stat*>(status));
}
int lstat(const char* path, struct stat* status) noexcept {
  return lstat_path(path, status);
}
int lstat64(const char* path, struct stat64* status) noexcept {
  return lstat_path(path, reinterpret_cast<struct stat*>(status));
}
int fstat(int descriptor, struct stat* status) noexcept {
  return stat_descriptor(descriptor, status);
}
int fstat64(int descriptor, struct stat64* status) noexcept {
  return stat_descriptor(descriptor, reinterpret_cast<struct stat*>(status));
}
int fstatat(int directory, const char* path, struct stat* status, int flags) noexcept {
  return stat_from(directory, path, status, flags);
}
int fstatat64(int directory, const char* path, struct stat64* status, int flags) noexcept {
  return stat_from(directory, path, reinterpret_cast<struct stat*>(status), flags);
}
int statx(int directory, const char* path, int flags, unsigned mask,
          struct statx* status) noexcept {
  return statx_from(directory, path, flags, mask, status);
}

// As programs built before glibc 2.33 call them; there is one version of the structure.
int __xstat(int, const char* path, struct stat* status) {
  return stat_path(path, status);
}
int __xstat64(int, const char* path, struct stat* status) {
  return stat_path(path, status);
}
int __lxstat(int, const char* path, struct stat* status) {
  return lstat_path(path, status);
}
int __lxstat64(int, const char* path, struct stat* status) {
  return lstat_path(path, status);
}
int __fxstat(int, int descriptor, struct stat* status) {
  return stat_descriptor(descriptor, status);
}
int __fxstat64(int, int descriptor, struct stat* status) {
  return stat_descriptor(descriptor, status);
}
int __fxstatat(int, int directory, const char* path, struct stat* status, int flags) {
  return stat_from(directory, path, status, flags);
}
int __fxstatat64(int, int directory, const char* path, struct stat* status, int flags) {
  return stat_from(directory, path, status, flags);
}

}  // extern "C"
