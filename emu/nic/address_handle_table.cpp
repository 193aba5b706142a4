// SPDX-License-Identifier: BSD-3-Clause
#include "nic/address_handle_table.hpp"

#include <algorithm>

namespace softrnic::nic {

AddressHandle* AddressHandleTable::add(transport::ProtectionDomain domain, const Path& path) {
  if (handles_.size() >= max_) return nullptr;
  auto handle = std::make_unique<AddressHandle>();
  handle->domain = domain;
  handle->path = path;
  handle->number = next_number();
  handle->place = handles_.size();
  by_number_.insert(handle->number, handle.get());
  handles_.push_back(std::move(handle));
  return handles_.back().get();
}

bool AddressHandleTable::remove(std::uint32_t number) {
  const AddressHandle* handle = by_number_.erase(number);
  if (handle == nullptr) return false;
  const std::size_t place = handle->place;
  std::swap(handles_[place], handles_.back());
  handles_[place]->place = place;
  handles_.pop_back();
  return true;
}

bool AddressHandleTable::uses(transport::ProtectionDomain domain) const {
  return std::any_of(handles_.begin(), handles_.end(),
                     [domain](const auto& handle) { return handle->domain == domain; });
}

std::uint32_t AddressHandleTable::next_number() {
  do {
    ++last_number_;
  } while (last_number_ == 0 || by_number_.find(last_number_) != nullptr);
  return last_number_;
}

}  // namespace softrnic::nic
