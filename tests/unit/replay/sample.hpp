// SPDX-License-Identifier: BSD-3-Clause
// The sample captures, as recorded connections.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "replay/recorded_connection.hpp"
#include "sample_captures.hpp"

namespace softrnic::replay::test {

inline std::string sample(const std::string& name) {
  return fmt::format("{}/{}.pcapng", kSampleCaptures, name);
}

inline RecordedConnection recorded(const std::string& name, const ConnectionChoice& choice = {}) {
  auto connection = record_connection(sample(name), choice);
  INFO(name);
  if (!connection) FAIL(connection.error());
  return std::move(*connection);
}

}  // namespace softrnic::replay::test
