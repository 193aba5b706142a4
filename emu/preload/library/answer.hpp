// SPDX-License-Identifier: BSD-3-Clause
// Who answers for a path: this library, where it is one of the device's; else whoever comes next.
#pragma once

#include <fcntl.h>

#include "preload/library/descriptor.hpp"
#include "preload/library/libc.hpp"

namespace softrnic::preload {

// answer(device, place) for a path of the device's, otherwise() for any other. The place may be one
// where there is nothing.
template <class Answer, class Otherwise>
auto answer(const char* path, Answer answer, Otherwise otherwise) {
  if (may_be_ours(path)) {
    const Device device;
    const Place place = device.files().find(path);
    if (place.kind != FileKind::elsewhere) return answer(device, place);
  }
  return otherwise();
}

// The same for a path from a directory's descriptor. To the kernel one of ours is no directory, so
// that only what it refused for that needs a second look.
template <class Answer, class Otherwise>
auto answer_at(int directory, const char* path, Answer answer, Otherwise otherwise) {
  const auto look_again = [&] {
    const auto result = otherwise();
    if (result >= 0 || errno != ENOTDIR || path == nullptr || path[0] == '/') return result;
    PathText base;
    if (directory == AT_FDCWD || !path_of_descriptor(directory, base)) return result;
    const Device device;
    Place place = device.files().find(base.view());
    if (place.kind != FileKind::directory) return result;
    place = device.files().find(place.directory, path);
    return place.kind == FileKind::elsewhere ? result : answer(device, place);
  };
  return preload::answer(path, answer, look_again);
}

}  // namespace softrnic::preload
