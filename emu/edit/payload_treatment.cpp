// SPDX-License-Identifier: BSD-3-Clause
#include "edit/payload_treatment.hpp"

#include <algorithm>

#include "edit/cm_translation.hpp"
#include "wire/bth.hpp"

namespace softrnic::edit {
namespace {

constexpr std::size_t kIcrcSize = 4;

bool zero(FrameParts& frame) {
  const wire::ByteSpan payload = frame.padded_payload();
  const auto is_set = [](std::byte byte) { return byte != std::byte{}; };
  if (std::ranges::none_of(payload, is_set)) return false;
  if (const wire::ByteSpan cm = cm_datagram(frame); !cm.empty()) {
    erase_private_data(cm);
  } else {
    std::ranges::fill(payload, std::byte{});
  }
  return true;
}

bool remove(FrameParts& frame) {
  const std::size_t headers = frame.headers_size();
  if (headers == 0 || headers > frame.body.size()) return false;
  if (frame.body.size() + frame.body_lacks == headers + kIcrcSize) return false;
  const auto begin = frame.body.begin() + static_cast<std::ptrdiff_t>(headers);
  if (frame.is_whole()) {
    frame.body.erase(begin, frame.body.end() - kIcrcSize);
  } else {
    frame.body.erase(begin, frame.body.end());
    frame.body_lacks = kIcrcSize;
  }
  wire::put(frame.body.data(), wire::Bth::kPadCount, 0);
  frame.set_lengths();
  return true;
}

}  // namespace

bool treat_payload(FrameParts& frame, Payload payload) {
  if (payload == Payload::zeroed) return zero(frame);
  return payload == Payload::removed && remove(frame);
}

bool cut_payload(FrameParts& frame) {
  const std::size_t headers = frame.headers_size();
  if (headers == 0 || headers >= frame.body.size()) return false;
  frame.trailer_lacks += static_cast<std::uint32_t>(frame.trailer.size());
  frame.trailer.clear();
  frame.body_lacks += static_cast<std::uint32_t>(frame.body.size() - headers);
  frame.body.resize(headers);
  return true;
}

}  // namespace softrnic::edit
