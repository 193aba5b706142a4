// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32.hpp"

#include <isa-l/crc.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softrnic::wire {
namespace {

std::uint32_t isal_crc32(std::uint32_t crc, ByteView bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

#if defined(__x86_64__)
// ISA-L has a table-driven version for other processors too, but zlib's is faster there. Plain
// constants: zero until their initialisers have run, which is slower but not wrong.
const bool kHasIsal =
    __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
const bool kHasAvx = __builtin_cpu_supports("avx") != 0;

// ISA-L's AVX code leaves the upper halves of the vector registers in use, and every SSE
// instruction after it, anywhere in the program, then waits for them: that costs ten times the
// sum itself. Clearing them is one instruction.
[[gnu::target("avx")]] std::uint32_t isal_crc32_avx(std::uint32_t crc, ByteView bytes) {
  crc = isal_crc32(crc, bytes);
  _mm256_zeroupper();
  return crc;
}
#else
constexpr bool kHasIsal = false;
constexpr bool kHasAvx = false;

std::uint32_t isal_crc32_avx(std::uint32_t crc, ByteView bytes) {
  return isal_crc32(crc, bytes);
}
#endif

}  // namespace

Crc32Backend crc32_backend() {
  return kHasIsal ? Crc32Backend::isal : Crc32Backend::portable;
}

std::uint32_t crc32(std::uint32_t crc, ByteView bytes) {
  if (!kHasIsal) return crc32_portable(crc, bytes);
  return kHasAvx ? isal_crc32_avx(crc, bytes) : isal_crc32(crc, bytes);
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
