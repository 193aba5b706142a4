// SPDX-License-Identifier: BSD-3-Clause
// open(2), openat(2) and fopen(3), by all their names.
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "preload/library/answer.hpp"

namespace softrnic::preload {

namespace {

int open_by_path(const char* path, int flags, mode_t mode) {
  return answer(
      path,
      [flags](const Device& device, const Place& place) {
        return open_place(device, place, flags);
      },
      [=] { return libc::open.get()(path, flags, mode); });
}

int open_from(int directory, const char* path, int flags, mode_t mode) {
  return answer_at(
      directory, path,
      [flags](const Device& device, const Place& place) {
        return open_place(device, place, flags);
      },
      [=] { return libc::openat.get()(directory, path, flags, mode); });
}

// The flags of fopen's mode.
int flags_of(const char* mode) {
  int flags = std::strchr(mode, '+') != nullptr ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] == 'w' || mode[0] == 'a') flags |= O_CREAT;
  if (std::strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  if (std::strchr(mode, 'e') != nullptr) flags |= O_CLOEXEC;
  return flags;
}

FILE* open_stream(const char* path, const char* mode) {
  return answer(
      path,
      [mode](const Device& device, const Place& place) -> FILE* {
        const int descriptor = open_place(device, place, flags_of(mode));
        if (descriptor < 0) return nullptr;
        FILE* stream = ::fdopen(descriptor, mode);
        if (stream == nullptr) ::close(descriptor);
        return stream;
      },
      [=] { return libc::fopen.get()(path, mode); });
}

bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// The argument after the flags, where there is one.
mode_t mode_after(int flags, std::va_list arguments) {
  return has_mode(flags) ? va_arg(arguments, mode_t) : mode_t{};
}

}  // namespace

}  // namespace softrnic::preload

using namespace softrnic::preload;

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_after(flags, arguments);
  va_end(arguments);
  return open_by_path(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_after(flags, arguments);
  va_end(arguments);
  return open_by_path(path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_after(flags, arguments);
  va_end(arguments);
  return open_from(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_after(flags, arguments);
  va_end(arguments);
  return open_from(directory, path, flags, mode);
}

// As programs built with _FORTIFY_SOURCE call them.
int __open_2(const char* path, int flags) {
  return open_by_path(path, flags, 0);
}
int __open64_2(const char* path, int flags) {
  return open_by_path(path, flags, 0);
}
int __openat_2(int directory, const char* path, int flags) {
  return open_from(directory, path, flags, 0);
}
int __openat64_2(int directory, const char* path, int flags) {
  return open_from(directory, path, flags, 0);
}

FILE* fopen(const char* path, const char* mode) {
  return open_stream(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return open_stream(path, mode);
}

}  // extern "C"
