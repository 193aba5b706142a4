// SPDX-License-Identifier: BSD-3-Clause
// opendir(3) and its kin, scandir(3) and glob(3), by all their names.
#include <dirent.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "preload/library/answer.hpp"
#include "preload/library/stream.hpp"

namespace softrnic::preload {

namespace {

DIR* open_stream(const Place& place) {
  if (place.kind != FileKind::directory) {
    errno = place.kind == FileKind::none ? place.error : ENOTDIR;
    return nullptr;
  }
  Stream* stream = Stream::open(place.directory, -1);
  return stream == nullptr ? nullptr : stream->handle();
}

struct dirent* read_entry(DIR* handle) {
  Stream* stream = Stream::from(handle);
  return stream != nullptr ? stream->read() : libc::readdir.get()(handle);
}

int read_entry_into(DIR* handle, struct dirent* entry, struct dirent** result) {
  Stream* stream = Stream::from(handle);
  if (stream == nullptr) return libc::readdir_r.get()(handle, entry, result);
  const struct dirent* found = stream->read();
  if (found != nullptr) std::memcpy(entry, found, sizeof *entry);
  *result = found == nullptr ? nullptr : entry;
  return 0;
}

// A list that grows as its owner frees it: with malloc().
class EntryList {
 public:
  EntryList() = default;
  ~EntryList() {
    for (int i = 0; i < size_; ++i) std::free(entries_[i]);
    std::free(entries_);
  }
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;

  bool add(const struct dirent& entry) {
    auto** longer = static_cast<struct dirent**>(
        std::realloc(entries_, (static_cast<std::size_t>(size_) + 1) * sizeof *entries_));
    if (longer == nullptr) return false;
    entries_ = longer;
    auto* copy = static_cast<struct dirent*>(std::malloc(sizeof entry));
    if (copy == nullptr) return false;
    std::memcpy(copy, &entry, sizeof entry);
    entries_[size_++] = copy;
    return true;
  }

  void sort(libc::Compare compare) {
    if (compare == nullptr || size_ == 0) return;
    using Plain = int (*)(const void*, const void*);
    std::qsort(entries_, static_cast<std::size_t>(size_), sizeof *entries_,
               reinterpret_cast<Plain>(reinterpret_cast<void*>(compare)));
  }

  int hand_over(struct dirent*** list) {
    const int size = size_;
    *list = entries_;
    entries_ = nullptr;
    size_ = 0;
    return size;
  }

 private:
  struct dirent** entries_ = nullptr;
  int size_ = 0;
};

int scan(const Device& device, const Place& place, struct dirent*** list, libc::Filter filter,
         libc::Compare compare) {
  if (place.kind != FileKind::directory) {
    return fail(place.kind == FileKind::none ? place.error : ENOTDIR);
  }
  const ErrnoKept kept;
  EntryList entries;
  struct dirent entry {};
  for (std::size_t n = 0; fill_entry(device, place.directory, n, entry); ++n) {
    if (filter != nullptr && filter(&entry) == 0) continue;
    if (!entries.add(entry)) return -1;
  }
  entries.sort(compare);
  return entries.hand_over(list);
}

int scan_path(const char* path, struct dirent*** list, libc::Filter filter, libc::Compare compare) {
  return answer(
      path,
      [=](const Device& device, const Place& place) {
        return scan(device, place, list, filter, compare);
      },
      [=] { return libc::scandir.get()(path, list, filter, compare); });
}

// glob() of the C library does not see what it calls itself answered here, unless told to.
int match(const char* pattern, int flags, int (*error)(const char*, int), glob_t* result) {
  if (!may_be_ours(pattern) || (flags & GLOB_ALTDIRFUNC) != 0) {
    return libc::glob.get()(pattern, flags, error, result);
  }
  result->gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
  result->gl_readdir = [](void* stream) { return read_entry(static_cast<DIR*>(stream)); };
  result->gl_closedir = [](void* stream) { ::closedir(static_cast<DIR*>(stream)); };
  result->gl_stat = [](const char* path, struct stat* status) { return ::stat(path, status); };
  result->gl_lstat = [](const char* path, struct stat* status) { return ::lstat(path, status); };
  return libc::glob.get()(pattern, flags | GLOB_ALTDIRFUNC, error, result);
}

}  // namespace

}  // namespace softrnic::preload

using namespace softrnic::preload;

extern "C" {

DIR* opendir(const char* path) {
  return answer(
      path, [](const Device&, const Place& place) { return open_stream(place); },
      [=] { return libc::opendir.get()(path); });
}

// A descriptor of ours is no directory to the C library.
DIR* fdopendir(int descriptor) {
  DIR* stream = libc::fdopendir.get()(descriptor);
  if (stream != nullptr || errno != ENOTDIR) return stream;
  PathText path;
  if (!path_of_descriptor(descriptor, path)) return nullptr;
  const Device device;
  const Place place = device.files().find(path.view());
  if (place.kind != FileKind::directory) return nullptr;
  Stream* ours = Stream::open(place.directory, descriptor);
  return ours == nullptr ? nullptr : ours->handle();
}

struct dirent* readdir(DIR* stream) {
  return read_entry(stream);
}
struct dirent64* readdir64(DIR* stream) {
  return reinterpret_cast<struct dirent64*>(read_entry(stream));
}
int readdir_r(DIR* stream, struct dirent* entry, struct dirent** result) {
  return read_entry_into(stream, entry, result);
}
int readdir64_r(DIR* stream, struct dirent64* entry, struct dirent64** result) {
  return read_entry_into(stream, reinterpret_cast<struct dirent*>(entry),
                         reinterpret_cast<struct dirent**>(result));
}

int closedir(DIR* handle) {
  Stream* stream = Stream::from(handle);
  if (stream == nullptr) return libc::closedir.get()(handle);
  stream->close();
  return 0;
}
int dirfd(DIR* handle) noexcept {
  Stream* stream = Stream::from(handle);
  return stream != nullptr ? stream->descriptor() : libc::dirfd.get()(handle);
}
void rewinddir(DIR* handle) noexcept {
  Stream* stream = Stream::from(handle);
  stream != nullptr ? stream->seek(0) : libc::rewinddir.get()(handle);
}
long telldir(DIR* handle) noexcept {
  const Stream* stream = Stream::from(handle);
  return stream != nullptr ? stream->position() : libc::telldir.get()(handle);
}
void seekdir(DIR* handle, long position) noexcept {
  Stream* stream = Stream::from(handle);
  stream != nullptr ? stream->seek(position) : libc::seekdir.get()(handle, position);
}

int scandir(const char* path, struct dirent*** list, int (*filter)(const struct dirent*),
            int (*compare)(const struct dirent**, const struct dirent**)) {
  return scan_path(path, list, filter, compare);
}
int scandir64(const char* path, struct dirent64*** list, int (*filter)(const struct dirent64*),
              int (*compare)(const struct dirent64**, const struct dirent64**)) {
  return scan_path(path, reinterpret_cast<struct dirent***>(list),
                   reinterpret_cast<softrnic::preload::libc::Filter>(filter),
                   reinterpret_cast<softrnic::preload::libc::Compare>(compare));
}

int glob(const char* pattern, int flags, int (*error)(const char*, int), glob_t* result) noexcept {
  return match(pattern, flags, error, result);
}
int glob64(const char* pattern, int flags, int (*error)(const char*, int),
           glob64_t* result) noexcept {
  return match(pattern, flags, error, reinterpret_cast<glob_t*>(result));
}

}  // extern "C"
