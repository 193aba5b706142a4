// SPDX-License-Identifier: BSD-3-Clause
// What the sample captures show, scene by scene.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stage.hpp"

namespace softrnic::pcaps {

struct Scene {
  std::string name;   // of the file, without .pcapng
  std::string shows;  // one line for the reader
  Setting setting;
  std::function<void(Stage&)> act;
};

std::vector<Scene> scenes();

// Those of them that are about memory itself.
std::vector<Scene> scenes_of_memory();

// Those of them with packets that the NICs do not send by themselves.
std::vector<Scene> scenes_by_hand();

}  // namespace softrnic::pcaps
