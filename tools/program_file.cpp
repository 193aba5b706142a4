// SPDX-License-Identifier: BSD-3-Clause
#include "program_file.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "elf_program.hpp"
#include "failure.hpp"
#include "library_folder.hpp"

namespace softrnic::tools {

namespace {

// A script's interpreter may be a script; the kernel follows so many (exec.c, BINPRM).
constexpr int kMostInterpreters = 5;
// What execvp takes where PATH is not set.
constexpr const char* kUsualPath = "/bin:/usr/bin";

// 0 when it can be run, else why not.
int why_not_runnable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR;
}

[[noreturn]] void fail_not_runnable(const std::string& path, int error) {
  throw Failure(is_absent(error) ? kNotFound : kNotExecutable,
                fmt::format("{}: {}", path, std::strerror(error)));
}

// Calls found(folder) for each of a list such as PATH, until it returns true. An empty one is the
// current folder.
template <class Found>
void each_folder(std::string_view list, Found found) {
  while (true) {
    const std::size_t colon = list.find(':');
    const std::string_view folder = list.substr(0, colon);
    if (found(folder.empty() ? std::string(".") : std::string(folder))) return;
    if (colon == std::string_view::npos) return;
    list.remove_prefix(colon + 1);
  }
}

bool is_privileged(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string without_last_part(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The loader's own words (ld.so(8), "Dynamic string tokens").
std::string with_origin(std::string folder, const std::string& origin) {
  for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"}) {
    const std::size_t at = folder.find(token);
    if (at != std::string::npos) folder.replace(at, token.size(), origin);
  }
  return folder;
}

std::string verbs_in_rpath(const ElfProgram& program, const std::string& path) {
  std::string found;
  if (program.rpath.empty()) return found;
  each_folder(program.rpath, [&](const std::string& folder) {
    const std::string real = with_origin(folder, without_last_part(path));
    const std::string library = fmt::format("{}/{}", real, kVerbsLibrary);
    if (::access(library.c_str(), F_OK) == 0) found = real;
    return !found.empty();
  });
  return found;
}

void require_loadable(const ElfProgram& program, const std::string& path) {
  constexpr std::string_view kMend =
      "what it starts may be another matter: `softrnic env` prints the variables for that";
  if (!program.native) {
    fail_usage("{} is a program of another machine or word size: the libraries are not for it",
               path);
  }
  if (program.interpreter.empty()) {
    fail_usage(
        "{} is linked statically and loads no library, so that no emulated NIC can be put "
        "under it; link it dynamically ({})",
        path, kMend);
  }
  if (program.interpreter.find("ld-musl") != std::string::npos) {
    fail_usage(
        "{} is linked with the C library musl, and the libraries with glibc; use one that "
        "is linked with glibc ({})",
        path, kMend);
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (const int error = why_not_runnable(name); error != 0) fail_not_runnable(name, error);
    return name;
  }
  const char* path = std::getenv("PATH");
  std::string found;
  std::string refused;  // was there, and could not be run
  int error = ENOENT;
  each_folder(path == nullptr ? kUsualPath : path, [&](const std::string& folder) {
    const std::string candidate = folder + '/' + name;
    const int why = why_not_runnable(candidate);
    if (why == 0) found = candidate;
    if (why == EACCES && refused.empty()) {
      refused = candidate;
      error = why;
    }
    return why == 0;
  });
  if (!found.empty() && !name.empty()) return found;
  if (!refused.empty()) fail_not_runnable(refused, error);
  throw Failure(kNotFound, fmt::format("{}: there is no such program in PATH", name));
}

ProgramFile examine_program(const std::string& path) {
  ProgramFile file;
  file.path = path;
  file.loaded = path;
  for (int i = 0; i < kMostInterpreters; ++i) {
    const std::string interpreter = script_interpreter(file.loaded);
    if (interpreter.empty()) break;
    if (const int error = why_not_runnable(interpreter); error != 0) {
      throw Failure(kNotFound, fmt::format("{}: its interpreter {}: {}", file.loaded, interpreter,
                                           std::strerror(error)));
    }
    file.loaded = interpreter;
  }
  file.privileged = is_privileged(file.loaded);
  // One that cannot be read can be run all the same; and whatever is no ELF file a shell reads.
  const auto program = ElfProgram::read(file.loaded);
  if (!program) return file;
  require_loadable(*program, file.loaded);
  for (const std::string& library : program->needed) {
    if (library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan")) {
      file.first_libraries.push_back(library);
    }
  }
  file.rpath_verbs = verbs_in_rpath(*program, file.loaded);
  return file;
}

}  // namespace softrnic::tools
