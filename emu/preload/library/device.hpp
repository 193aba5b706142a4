// SPDX-License-Identifier: BSD-3-Clause
// The device of this process, and its files: as the verbs library in the process has it, else as
// the environment says.
#pragma once

#include <sys/stat.h>

#include "preload/device_files.hpp"

namespace softrnic::preload {

// Put together for one call and good for as long: what there is may change from call to call.
class Device {
 public:
  Device();

  const DeviceFiles& files() const { return files_; }
  // What stat(2) says of a place.
  void status(const Place& place, struct stat* status) const;
  ino_t inode(const Place& place) const;

 private:
  Identity identity_;
  DeviceFiles files_;
};

}  // namespace softrnic::preload
