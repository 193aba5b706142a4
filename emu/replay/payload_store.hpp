// SPDX-License-Identifier: BSD-3-Clause
// Bytes kept outside the process's own memory: a file without a name, mapped, so that the kernel
// may write out what is not in use. Payloads of a capture of any size lie here, and a NIC's
// requests name them where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "link/file_descriptor.hpp"
#include "wire/bytes.hpp"

namespace softrnic::replay {

class PayloadStore {
 public:
  PayloadStore() = default;
  ~PayloadStore();
  PayloadStore(PayloadStore&& other) noexcept;
  PayloadStore& operator=(PayloadStore&& other) noexcept;

  // Appends and says where; nothing when there is no room on the disk.
  std::optional<std::uint64_t> append(wire::ByteView bytes);
  // The same with zeros; the room for them is taken at once.
  std::optional<std::uint64_t> append_zeros(std::uint64_t size);

  std::uint64_t size() const { return size_; }
  // Good until the next append. Empty when the system refuses to map it.
  std::span<std::byte> bytes();

 private:
  bool open();
  bool flush();
  void unmap();

  link::FileDescriptor file_;
  std::uint64_t size_ = 0;     // with what is not written yet
  std::uint64_t written_ = 0;  // of the file
  std::unique_ptr<std::byte[]> pending_;
  std::size_t pending_size_ = 0;
  std::byte* map_ = nullptr;
  std::uint64_t mapped_ = 0;
};

}  // namespace softrnic::replay
