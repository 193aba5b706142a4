// SPDX-License-Identifier: BSD-3-Clause
// The functions that this library answers for its own paths, as whoever comes next has them.
// On the systems this is built for, off_t has 64 bits: the names that end in 64 are the same.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "preload/library/next.hpp"

namespace softrnic::preload::libc {

static_assert(sizeof(off_t) == 8 && sizeof(struct stat) == sizeof(struct stat64) &&
              sizeof(struct dirent) == sizeof(struct dirent64));

using Filter = int (*)(const struct dirent*);
using Compare = int (*)(const struct dirent**, const struct dirent**);

extern Next<int(const char*, int, ...)> open;
extern Next<int(int, const char*, int, ...)> openat;
extern Next<FILE*(const char*, const char*)> fopen;

extern Next<int(const char*, struct stat*)> stat;
extern Next<int(const char*, struct stat*)> lstat;
extern Next<int(int, struct stat*)> fstat;
extern Next<int(int, const char*, struct stat*, int)> fstatat;
extern Next<int(int, const char*, int, unsigned, struct statx*)> statx;

extern Next<int(const char*, int)> access;
extern Next<int(const char*, int)> eaccess;
extern Next<int(int, const char*, int, int)> faccessat;
extern Next<ssize_t(const char*, char*, std::size_t)> readlink;
extern Next<ssize_t(int, const char*, char*, std::size_t)> readlinkat;
extern Next<char*(const char*, char*)> realpath;
extern Next<ssize_t(const char*, const char*, void*, std::size_t)> getxattr;
extern Next<ssize_t(const char*, const char*, void*, std::size_t)> lgetxattr;
extern Next<ssize_t(const char*, char*, std::size_t)> listxattr;
extern Next<ssize_t(const char*, char*, std::size_t)> llistxattr;

extern Next<DIR*(const char*)> opendir;
extern Next<DIR*(int)> fdopendir;
extern Next<struct dirent*(DIR*)> readdir;
extern Next<int(DIR*, struct dirent*, struct dirent**)> readdir_r;
extern Next<int(DIR*)> closedir;
extern Next<int(DIR*)> dirfd;
extern Next<void(DIR*)> rewinddir;
extern Next<long(DIR*)> telldir;
extern Next<void(DIR*, long)> seekdir;
extern Next<int(const char*, struct dirent***, Filter, Compare)> scandir;
extern Next<int(const char*, int, int (*)(const char*, int), glob_t*)> glob;

}  // namespace softrnic::preload::libc

namespace softrnic::preload {

// Leaves errno as it was found: for what succeeds.
class ErrnoKept {
 public:
  ErrnoKept() : kept_(errno) {}
  ~ErrnoKept() { errno = kept_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int kept_;
};

// As a function of the C library fails.
inline int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace softrnic::preload
