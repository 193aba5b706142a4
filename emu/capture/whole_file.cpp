// SPDX-License-Identifier: BSD-3-Clause
#include "capture/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace softrnic::capture {
namespace {

using wire::Unexpected;

constexpr std::size_t kBufferSize = 256 * 1024;
constexpr int kAttempts = 100;

std::string complaint(const std::string& name, int error) {
  const char* mend = "name a file in a directory you may write to";
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    mend = "make room, or name a file on another disk";
  } else if (error == EPIPE) {
    mend = "its reader has gone";
  } else if (error == EISDIR) {
    mend = "name a file in it";
  }
  return fmt::format("cannot write {}: {}: {}", name, std::strerror(error), mend);
}

// The file that a chain of symbolic links leads to is what is replaced, not the first link.
std::string behind_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

struct Fresh {
  std::string path;
  int descriptor = -1;
};

// A new file beside `path`; with descriptor -1, errno says why there is none.
Fresh open_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  Fresh fresh;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // A long name leaves no room for more; 200 bytes of it tell enough.
    fresh.path = fmt::format("{}.{}.{}-{}", path.substr(0, name), path.substr(name, 200),
                             ::getpid(), attempt);
    fresh.descriptor = ::open(fresh.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fresh.descriptor >= 0 || errno != EEXIST) break;
  }
  return fresh;
}

}  // namespace

WholeFile::WholeFile(std::string name, int descriptor)
    : name_(std::move(name)), descriptor_(descriptor) {
  buffer_.reserve(kBufferSize);
}

WholeFile::WholeFile(WholeFile&& other) noexcept
    : name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      fresh_path_(std::exchange(other.fresh_path_, {})),
      owned_(std::move(other.owned_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      error_(other.error_),
      buffer_(std::move(other.buffer_)) {}

WholeFile& WholeFile::operator=(WholeFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(path_, other.path_);
  std::swap(fresh_path_, other.fresh_path_);
  std::swap(owned_, other.owned_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(error_, other.error_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

WholeFile::~WholeFile() {
  give_up();
}

void WholeFile::give_up() noexcept {
  if (!fresh_path_.empty()) ::unlink(fresh_path_.c_str());
  fresh_path_.clear();
}

wire::Expected<WholeFile, std::string> WholeFile::create(const std::string& path) {
  if (path == "-") return WholeFile("standard output", STDOUT_FILENO);
  if (path.empty()) return Unexpected{std::string("the file to write has no name")};
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return Unexpected{complaint(path, EISDIR)};
  if (exists && !S_ISREG(status.st_mode)) {
    const int opened = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened < 0) return Unexpected{complaint(path, errno)};
    WholeFile file(path, opened);
    file.owned_ = link::FileDescriptor(opened);
    return file;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) return Unexpected{complaint(path, errno)};
  const std::string place = behind_links(path);
  const Fresh fresh = open_beside(place);
  if (fresh.descriptor < 0) return Unexpected{complaint(path, errno)};
  WholeFile file(path, fresh.descriptor);
  file.owned_ = link::FileDescriptor(fresh.descriptor);
  file.path_ = place;
  file.fresh_path_ = fresh.path;
  if (exists) file.take_mode(status.st_mode);
  return file;
}

// Who may read the older file may read the new one; where that cannot be had, no harm is done.
void WholeFile::take_mode(unsigned mode) {
  [[maybe_unused]] const int kept = ::fchmod(descriptor_, mode & 07777);
}

bool WholeFile::fail(int error) {
  if (error_ == 0) error_ = error;
  buffer_.clear();
  give_up();
  return false;
}

bool WholeFile::write(wire::ByteView bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return write_gathered();
}

bool WholeFile::write_gathered() {
  return buffer_.size() < kBufferSize ? error_ == 0 : flush();
}

bool WholeFile::flush() {
  if (error_ != 0 || descriptor_ < 0) return fail(EBADF);
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      return fail(n == 0 ? ENOSPC : errno);
    }
  }
  buffer_.clear();
  return true;
}

wire::Expected<void, std::string> WholeFile::commit() {
  if (!flush()) return Unexpected{complaint(name_, error_)};
  descriptor_ = -1;
  owned_ = link::FileDescriptor();
  if (fresh_path_.empty()) return {};
  if (std::rename(fresh_path_.c_str(), path_.c_str()) != 0) {
    fail(errno);
    return Unexpected{complaint(name_, error_)};
  }
  fresh_path_.clear();
  return {};
}

bool WholeFile::on_terminal() const {
  return descriptor_ >= 0 && ::isatty(descriptor_) == 1;
}

}  // namespace softrnic::capture
