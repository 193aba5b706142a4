// SPDX-License-Identifier: BSD-3-Clause
// The memory of one NIC's user, with a model of what it should hold.
//
// First places are taken, then the memory is made and filled; every byte outside the places is a
// guard that nobody may touch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/nic.hpp"
#include "property/random.hpp"

namespace softrnic::property {

struct Place {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};
using Places = std::vector<Place>;  // a scatter/gather list

std::uint32_t total_length(const Places& places);

class Arena {
 public:
  explicit Arena(std::uint64_t seed) : random_(seed) {}

  Place take(std::uint32_t length, std::uint32_t alignment = 1);
  // Pieces of random sizes, some of them perhaps empty, that add up to `length`.
  Places take_scattered(std::uint32_t length, std::uint32_t pieces);

  // Makes and fills the memory; registers it once for each way in which it is used.
  void commit(nic::Nic& nic, transport::ProtectionDomain domain);
  void withdraw(nic::Nic& nic);

  // A region over the whole arena that grants one right, under an address of its own.
  struct View {
    std::uint64_t address = 0;  // of offset 0
    nic::MemoryKeys keys;
  };
  const View& source() const { return views_[0]; }     // grants nothing but local reading
  const View& local() const { return views_[1]; }      // local write
  const View& writable() const { return views_[2]; }   // remote write
  const View& readable() const { return views_[3]; }   // remote read
  const View& atomic() const { return views_[4]; }     // remote atomic
  const View& flushable() const { return views_[5]; }  // both flushes
  // No region: a window over the whole arena that grants remote write.
  const View& window() const { return views_[6]; }

  std::vector<transport::Sge> elements(const Places& places, const View& view) const;

  // The model.
  std::vector<std::byte> expected(const Places& places) const;
  void expect(const Places& places, std::span<const std::byte> bytes);  // fills from the front
  std::uint64_t expected_word(const Place& place) const;
  void expect_word(const Place& place, std::uint64_t value);
  // What happens there is not known: not compared from now on.
  void forget(const Places& places);

  std::uint64_t word(const Place& place) const;
  std::vector<std::byte> actual(const Places& places) const;
  // The user writes new bytes there, in truth and in the model.
  void scribble(const Places& places);

  // Where memory and model first differ, within the places or anywhere; empty when nowhere.
  std::string difference(const Places& places) const;
  std::string difference() const;

 private:
  std::string difference(std::uint64_t from, std::uint64_t to) const;

  Random random_;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte> expected_;
  std::vector<bool> unknown_;
  std::vector<View> views_;
  std::uint32_t bindable_ = 0;  // the region behind the window
};

}  // namespace softrnic::property
