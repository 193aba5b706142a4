// SPDX-License-Identifier: BSD-3-Clause
#include "elf_program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "link/file_descriptor.hpp"

namespace softrnic::tools {

namespace {

constexpr bool kWide = sizeof(void*) == 8;
using Header = std::conditional_t<kWide, Elf64_Ehdr, Elf32_Ehdr>;
using Segment = std::conditional_t<kWide, Elf64_Phdr, Elf32_Phdr>;
using Dynamic = std::conditional_t<kWide, Elf64_Dyn, Elf32_Dyn>;

// Longer names are no names; a program has fewer segments and entries than these.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostSegments = 256;
constexpr std::size_t kMostEntries = 4096;

class ElfFile {
 public:
  explicit ElfFile(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    // A FIFO or a device would be read for ever.
    readable_ = file_.valid() && ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
  }

  bool read(std::uint64_t offset, void* to, std::size_t size) const {
    if (!readable_ || offset > static_cast<std::uint64_t>(INT64_MAX)) return false;
    return ::pread(file_.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    T value{};
    if (!read(offset, &value, sizeof value)) return std::nullopt;
    return value;
  }

  // A terminated string; empty when it does not end, or is too long.
  std::string text(std::uint64_t offset) const {
    std::array<char, kLongestText> text{};
    if (!readable_ || offset > static_cast<std::uint64_t>(INT64_MAX)) return {};
    const ssize_t size = ::pread(file_.get(), text.data(), text.size(), static_cast<off_t>(offset));
    if (size <= 0) return {};
    const auto* end =
        static_cast<const char*>(std::memchr(text.data(), '\0', static_cast<std::size_t>(size)));
    return end == nullptr ? std::string{}
                          : std::string(text.data(), static_cast<std::size_t>(end - text.data()));
  }

 private:
  link::FileDescriptor file_;
  bool readable_ = false;
};

// What this very program is.
std::optional<Header> own_header() {
  return ElfFile("/proc/self/exe").read<Header>(0);
}

bool is_native(const Header& header, const Header& own) {
  return header.e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
         header.e_ident[EI_DATA] == own.e_ident[EI_DATA] && header.e_machine == own.e_machine;
}

std::vector<Segment> segments_of(const ElfFile& file, const Header& header) {
  std::vector<Segment> segments;
  if (header.e_phentsize != sizeof(Segment)) return segments;
  const std::size_t count = std::min<std::size_t>(header.e_phnum, kMostSegments);
  for (std::size_t i = 0; i < count; ++i) {
    const auto segment = file.read<Segment>(header.e_phoff + i * sizeof(Segment));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

// Where in the file that is which will lie at `address`.
std::optional<std::uint64_t> file_offset(const std::vector<Segment>& segments,
                                         std::uint64_t address) {
  for (const Segment& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

void read_dynamic(const ElfFile& file, const std::vector<Segment>& segments, const Segment& dynamic,
                  ElfProgram& program) {
  std::vector<Dynamic> entries;
  const std::size_t most = std::min<std::size_t>(dynamic.p_filesz / sizeof(Dynamic), kMostEntries);
  for (std::size_t i = 0; i < most; ++i) {
    const auto entry = file.read<Dynamic>(dynamic.p_offset + i * sizeof(Dynamic));
    if (!entry || entry->d_tag == DT_NULL) break;
    entries.push_back(*entry);
  }
  const auto strings = std::find_if(entries.begin(), entries.end(),
                                    [](const Dynamic& e) { return e.d_tag == DT_STRTAB; });
  if (strings == entries.end()) return;
  const auto table = file_offset(segments, strings->d_un.d_ptr);
  if (!table) return;
  bool has_runpath = false;
  for (const Dynamic& entry : entries) {
    if (entry.d_tag == DT_NEEDED) program.needed.push_back(file.text(*table + entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) program.rpath = file.text(*table + entry.d_un.d_val);
    has_runpath = has_runpath || entry.d_tag == DT_RUNPATH;
  }
  if (has_runpath) program.rpath.clear();
}

}  // namespace

std::optional<ElfProgram> ElfProgram::read(const std::string& path) {
  const ElfFile file(path.c_str());
  std::array<unsigned char, EI_NIDENT> identification{};
  if (!file.read(0, identification.data(), identification.size()) ||
      std::memcmp(identification.data(), ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  ElfProgram program;
  const auto header = file.read<Header>(0);
  const auto own = own_header();
  if (!header || !own || !is_native(*header, *own)) return program;
  program.native = true;
  const std::vector<Segment> segments = segments_of(file, *header);
  for (const Segment& segment : segments) {
    if (segment.p_type == PT_INTERP) program.interpreter = file.text(segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, segments, segment, program);
  }
  return program;
}

std::string script_interpreter(const std::string& path) {
  const ElfFile file(path.c_str());
  std::array<char, 2> mark{};
  if (!file.read(0, mark.data(), mark.size()) || mark != std::array{'#', '!'}) return {};
  // A script's text has no zero; what has one is no script. The kernel reads 256 bytes.
  std::string line;
  for (std::uint64_t at = 2; at < 256; ++at) {
    const auto c = file.read<char>(at);
    if (!c || *c == '\n') break;
    line += *c;
  }
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

}  // namespace softrnic::tools
