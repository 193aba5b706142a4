// SPDX-License-Identifier: BSD-3-Clause
// What programs ask of a path besides: may I, is it a link, what is it really called, has it
// extended attributes.
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "preload/library/answer.hpp"

namespace softrnic::preload {

namespace {

int access_to(const Place& place, int mode) {
  if (place.kind == FileKind::none) return fail(place.error);
  const int forbidden = place.kind == FileKind::device      ? X_OK
                        : place.kind == FileKind::directory ? W_OK
                                                            : W_OK | X_OK;
  return (mode & forbidden) != 0 ? fail(EACCES) : 0;
}

// For what is asked only of links, or of attributes, none of which there are.
template <class Result>
Result lacking(const Place& place, int error) {
  return static_cast<Result>(fail(place.kind == FileKind::none ? place.error : error));
}

char* real_path(const char* path, char* resolved) {
  return answer(
      path,
      [resolved](const Device& device, const Place& place) -> char* {
        if (place.kind == FileKind::none) {
          errno = place.error;
          return nullptr;
        }
        PathText text;
        device.files().path_of(place, text);
        char* to =
            resolved != nullptr ? resolved : static_cast<char*>(std::malloc(text.size() + 1));
        if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + 1);
        return to;
      },
      [=] { return libc::realpath.get()(path, resolved); });
}

ssize_t read_link(const char* path, char* to, std::size_t size) {
  return answer(
      path, [](const Device&, const Place& place) { return lacking<ssize_t>(place, EINVAL); },
      [=] { return libc::readlink.get()(path, to, size); });
}

ssize_t read_link_from(int directory, const char* path, char* to, std::size_t size) {
  return answer_at(
      directory, path,
      [](const Device&, const Place& place) { return lacking<ssize_t>(place, EINVAL); },
      [=] { return libc::readlinkat.get()(directory, path, to, size); });
}

int effective_access(const char* path, int mode) {
  return answer(
      path, [mode](const Device&, const Place& place) { return access_to(place, mode); },
      [=] { return libc::eaccess.get()(path, mode); });
}

ssize_t attribute(const Device&, const Place& place) {
  return lacking<ssize_t>(place, ENODATA);
}

// An empty list.
ssize_t attributes(const Device&, const Place& place) {
  return place.kind == FileKind::none ? fail(place.error) : 0;
}

}  // namespace

}  // namespace softrnic::preload

using namespace softrnic::preload;

extern "C" {

int access(const char* path, int mode) noexcept {
  return answer(
      path, [mode](const Device&, const Place& place) { return access_to(place, mode); },
      [=] { return libc::access.get()(path, mode); });
}
int eaccess(const char* path, int mode) noexcept {
  return effective_access(path, mode);
}
int euidaccess(const char* path, int mode) noexcept {
  return effective_access(path, mode);
}
int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  return answer_at(
      directory, path, [mode](const Device&, const Place& place) { return access_to(place, mode); },
      [=] { return libc::faccessat.get()(directory, path, mode, flags); });
}

ssize_t readlink(const char* path, char* to, std::size_t size) noexcept {
  return read_link(path, to, size);
}
ssize_t readlinkat(int directory, const char* path, char* to, std::size_t size) noexcept {
  return read_link_from(directory, path, to, size);
}

char* realpath(const char* path, char* resolved) noexcept {
  return real_path(path, resolved);
}
char* canonicalize_file_name(const char* path) noexcept {
  return real_path(path, nullptr);
}

// As programs built with _FORTIFY_SOURCE call them, with the room there is at the end.
extern void __chk_fail() __attribute__((noreturn));
ssize_t __readlink_chk(const char* path, char* to, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  return read_link(path, to, size);
}
ssize_t __readlinkat_chk(int directory, const char* path, char* to, std::size_t size,
                         std::size_t room) {
  if (size > room) __chk_fail();
  return read_link_from(directory, path, to, size);
}
char* __realpath_chk(const char* path, char* resolved, std::size_t room) {
  if (room < PATH_MAX) __chk_fail();
  return real_path(path, resolved);
}

ssize_t getxattr(const char* path, const char* name, void* value, std::size_t size) noexcept {
  return answer(path, attribute, [=] { return libc::getxattr.get()(path, name, value, size); });
}
ssize_t lgetxattr(const char* path, const char* name, void* value, std::size_t size) noexcept {
  return answer(path, attribute, [=] { return libc::lgetxattr.get()(path, name, value, size); });
}
ssize_t listxattr(const char* path, char* list, std::size_t size) noexcept {
  return answer(path, attributes, [=] { return libc::listxattr.get()(path, list, size); });
}
ssize_t llistxattr(const char* path, char* list, std::size_t size) noexcept {
  return answer(path, attributes, [=] { return libc::llistxattr.get()(path, list, size); });
}

}  // extern "C"
