// SPDX-License-Identifier: BSD-3-Clause
#include "property/arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace softrnic::property {

std::uint32_t total_length(const Places& places) {
  std::uint32_t sum = 0;
  for (const Place& place : places) sum += place.length;
  return sum;
}

Place Arena::take(std::uint32_t length, std::uint32_t alignment) {
  size_ += random_.between(1, 16);
  size_ = (size_ + alignment - 1) / alignment * alignment;
  const Place place{size_, length};
  size_ += length;
  return place;
}

Places Arena::take_scattered(std::uint32_t length, std::uint32_t pieces) {
  std::vector<std::uint32_t> cuts{0, length};
  while (cuts.size() < pieces + 1) cuts.push_back(random_.between(0, length));
  std::sort(cuts.begin(), cuts.end());
  Places places;
  for (std::size_t i = 1; i < cuts.size(); ++i) places.push_back(take(cuts[i] - cuts[i - 1]));
  return places;
}

void Arena::commit(nic::Nic& nic, transport::ProtectionDomain domain) {
  size_ += 16;
  memory_ = std::make_unique<std::byte[]>(size_);
  random_.fill({memory_.get(), size_});
  expected_.assign(memory_.get(), memory_.get() + size_);
  unknown_.assign(size_, false);

  constexpr std::uint32_t kRights[] = {0,
                                       transport::kLocalWrite,
                                       transport::kLocalWrite | transport::kRemoteWrite,
                                       transport::kRemoteRead,
                                       transport::kLocalWrite | transport::kRemoteAtomic,
                                       transport::kFlushGlobal | transport::kFlushPersistent,
                                       transport::kLocalWrite | transport::kBindWindow};
  for (const std::uint32_t rights : kRights) {
    View view;
    // Anywhere, also right below the end of the address space; atomics need eight-byte alignment.
    view.address = random_.chance(20) ? (~std::uint64_t{0} - size_) & ~std::uint64_t{7}
                                      : random_.next() >> 1 & ~std::uint64_t{7};
    nic::RegionAttributes attributes;
    attributes.domain = domain;
    attributes.base = memory_.get();
    attributes.length = size_;
    attributes.access = rights;
    attributes.virtual_address = view.address;
    view.keys = nic.memory().add(attributes).value();
    views_.push_back(view);
  }
  // The last region is there for the window's sake.
  bindable_ = views_.back().keys.local;
  View& window = views_.back();
  const std::uint32_t key = nic.memory().allocate_window(domain, nic::WindowType::type_1).value();
  window.keys = {0, key ^ 1};
  const auto fault = nic.memory().bind_window(domain, {.window_key = key,
                                                       .new_key = key ^ 1,
                                                       .region_key = bindable_,
                                                       .access = transport::kRemoteWrite,
                                                       .address = window.address,
                                                       .length = size_});
  if (fault != transport::MemoryFault::none) std::abort();
}

void Arena::withdraw(nic::Nic& nic) {
  if (nic.memory().remove(bindable_)) std::abort();  // not while the window is bound
  if (!nic.memory().remove_window(window().keys.remote)) std::abort();
  views_.back().keys.local = bindable_;
  for (const View& view : views_) {
    if (!nic.memory().remove(view.keys.local)) std::abort();
  }
}

std::vector<transport::Sge> Arena::elements(const Places& places, const View& view) const {
  std::vector<transport::Sge> sges;
  for (const Place& place : places) {
    sges.push_back({view.address + place.offset, place.length, view.keys.local});
  }
  return sges;
}

namespace {

std::vector<std::byte> gather(const std::byte* from, const Places& places) {
  std::vector<std::byte> bytes;
  for (const Place& place : places) {
    bytes.insert(bytes.end(), from + place.offset, from + place.offset + place.length);
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> Arena::expected(const Places& places) const {
  return gather(expected_.data(), places);
}

std::vector<std::byte> Arena::actual(const Places& places) const {
  return gather(memory_.get(), places);
}

void Arena::expect(const Places& places, std::span<const std::byte> bytes) {
  for (const Place& place : places) {
    const std::size_t n = std::min<std::size_t>(place.length, bytes.size());
    std::copy_n(bytes.begin(), n, expected_.begin() + static_cast<std::ptrdiff_t>(place.offset));
    bytes = bytes.subspan(n);
  }
}

std::uint64_t Arena::expected_word(const Place& place) const {
  std::uint64_t value = 0;
  std::memcpy(&value, expected_.data() + place.offset, sizeof value);
  return value;
}

void Arena::expect_word(const Place& place, std::uint64_t value) {
  std::memcpy(expected_.data() + place.offset, &value, sizeof value);
}

std::uint64_t Arena::word(const Place& place) const {
  std::uint64_t value = 0;
  std::memcpy(&value, memory_.get() + place.offset, sizeof value);
  return value;
}

void Arena::forget(const Places& places) {
  for (const Place& place : places) {
    std::fill_n(unknown_.begin() + static_cast<std::ptrdiff_t>(place.offset), place.length, true);
  }
}

void Arena::scribble(const Places& places) {
  for (const Place& place : places) {
    random_.fill({memory_.get() + place.offset, place.length});
    std::copy_n(memory_.get() + place.offset, place.length,
                expected_.begin() + static_cast<std::ptrdiff_t>(place.offset));
  }
}

std::string Arena::difference(const Places& places) const {
  for (const Place& place : places) {
    std::string found = difference(place.offset, place.offset + place.length);
    if (!found.empty()) return found;
  }
  return {};
}

std::string Arena::difference() const {
  return difference(0, size_);
}

std::string Arena::difference(std::uint64_t from, std::uint64_t to) const {
  if (std::memcmp(memory_.get() + from, expected_.data() + from, to - from) == 0) return {};
  for (std::uint64_t i = from; i < to; ++i) {
    if (memory_[i] != expected_[i] && !unknown_[i]) {
      return fmt::format("byte {} is {:02x}, not {:02x}", i, static_cast<unsigned>(memory_[i]),
                         static_cast<unsigned>(expected_[i]));
    }
  }
  return {};
}

}  // namespace softrnic::property
