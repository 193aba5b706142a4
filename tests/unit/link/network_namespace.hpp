// SPDX-License-Identifier: BSD-3-Clause
// A network namespace of the test's own, entered by this process until the end of the scope.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "link/file_descriptor.hpp"

namespace softrnic::link::test {

class NetworkNamespace {
 public:
  // Root goes back where it came from; an ordinary user stays in a user namespace for good.
  NetworkNamespace() : before_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (::unshare(CLONE_NEWNET) == 0) return;
    const unsigned uid = ::geteuid();
    const unsigned gid = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
      reason_ = "no network namespace: " + std::generic_category().message(errno);
      return;
    }
    write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  ~NetworkNamespace() { (void)::setns(before_.get(), CLONE_NEWNET); }
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  // Empty when the namespace is there.
  const std::string& why_not() const { return reason_; }

  // Runs `ip ARGUMENTS` in the namespace; true when it succeeded.
  static bool ip(const std::string& arguments) {
    return std::system(("ip " + arguments).c_str()) == 0;
  }

  // What a command prints.
  static std::string output(const std::string& command) {
    std::string text;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return text;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    ::pclose(pipe);
    return text;
  }

 private:
  static void write(const char* path, const std::string& text) {
    const FileDescriptor fd(::open(path, O_WRONLY | O_CLOEXEC));
    if (::write(fd.get(), text.data(), text.size()) < 0) std::perror(path);
  }

  FileDescriptor before_;
  std::string reason_;
};

// A test that cannot run says so in the form that tests/run counts; then it returns.
inline void skip(const std::string& test, const std::string& reason) {
  UNSCOPED_INFO(test);
  WARN("skipped: " << reason);
}

// True as soon as there is something to read; false when nothing came in `milliseconds`.
inline bool readable(int fd, int milliseconds = 5000) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) == 1;
}

}  // namespace softrnic::link::test
