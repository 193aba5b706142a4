// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32.hpp"

#include <isa-l/crc.h>
#include <zlib.h>

namespace softrnic::wire {
namespace {

// ISA-L has a table-driven version for other processors too, but zlib's is faster there.
bool has_carry_less_multiplication() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
#else
  return false;
#endif
}

}  // namespace

Crc32Backend crc32_backend() {
  static const Crc32Backend backend =
      has_carry_less_multiplication() ? Crc32Backend::isal : Crc32Backend::portable;
  return backend;
}

std::uint32_t crc32(std::uint32_t crc, ByteView bytes) {
  if (crc32_backend() == Crc32Backend::portable) return crc32_portable(crc, bytes);
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::uint32_t crc32_portable(std::uint32_t crc, ByteView bytes) {
  // zlib takes a null pointer as a request for the initial value.
  if (bytes.empty()) return crc;
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string_view to_string(Crc32Backend backend) {
  return backend == Crc32Backend::isal ? "isa-l" : "zlib";
}

}  // namespace softrnic::wire
