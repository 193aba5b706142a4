// SPDX-License-Identifier: BSD-3-Clause
#include "preload/library/libc.hpp"

namespace softrnic::preload::libc {

constinit Next<int(const char*, int, ...)> open("open");
constinit Next<int(int, const char*, int, ...)> openat("openat");
constinit Next<FILE*(const char*, const char*)> fopen("fopen");

constinit Next<int(const char*, struct stat*)> stat("stat");
constinit Next<int(const char*, struct stat*)> lstat("lstat");
constinit Next<int(int, struct stat*)> fstat("fstat");
constinit Next<int(int, const char*, struct stat*, int)> fstatat("fstatat");
constinit Next<int(int, const char*, int, unsigned, struct statx*)> statx("statx");

constinit Next<int(const char*, int)> access("access");
constinit Next<int(const char*, int)> eaccess("eaccess");
constinit Next<int(int, const char*, int, int)> faccessat("faccessat");
constinit Next<ssize_t(const char*, char*, std::size_t)> readlink("readlink");
constinit Next<ssize_t(int, const char*, char*, std::size_t)> readlinkat("readlinkat");
constinit Next<char*(const char*, char*)> realpath("realpath");
constinit Next<ssize_t(const char*, const char*, void*, std::size_t)> getxattr("getxattr");
constinit Next<ssize_t(const char*, const char*, void*, std::size_t)> lgetxattr("lgetxattr");
constinit Next<ssize_t(const char*, char*, std::size_t)> listxattr("listxattr");
constinit Next<ssize_t(const char*, char*, std::size_t)> llistxattr("llistxattr");

constinit Next<DIR*(const char*)> opendir("opendir");
constinit Next<DIR*(int)> fdopendir("fdopendir");
constinit Next<struct dirent*(DIR*)> readdir("readdir");
constinit Next<int(DIR*, struct dirent*, struct dirent**)> readdir_r("readdir_r");
constinit Next<int(DIR*)> closedir("closedir");
constinit Next<int(DIR*)> dirfd("dirfd");
constinit Next<void(DIR*)> rewinddir("rewinddir");
constinit Next<long(DIR*)> telldir("telldir");
constinit Next<void(DIR*, long)> seekdir("seekdir");
constinit Next<int(const char*, struct dirent***, Filter, Compare)> scandir("scandir");
constinit Next<int(const char*, int, int (*)(const char*, int), glob_t*)> glob("glob");

namespace {

template <class... Functions>
void find_all(Functions&... functions) {
  (functions.find(), ...);
}

[[gnu::constructor]] void find_all_functions() {
  find_all(open, openat, fopen, stat, lstat, fstat, fstatat, statx, access, eaccess, faccessat,
           readlink, readlinkat, realpath, getxattr, lgetxattr, listxattr, llistxattr, opendir,
           fdopendir, readdir, readdir_r, closedir, dirfd, rewinddir, telldir, seekdir, scandir,
           glob);
}

}  // namespace

}  // namespace softrnic::preload::libc
