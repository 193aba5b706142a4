// SPDX-License-Identifier: BSD-3-Clause
#include "link_probe.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "link/link.hpp"

namespace softrnic::tools {

namespace {

LinkProbe try_to_open(const std::string& kind, const std::string& interface) {
  const auto link = link::open_link(kind + ":" + interface);
  return {kind, link.has_value(), link ? "" : link.error().message};
}

}  // namespace

std::vector<LinkProbe> probe_links() {
  const std::string name = fmt::format("srnic{}", ::getpid());
  auto tap = link::open_link("tap:" + name);
  if (!tap) {
    return {{"tap", false, tap.error().message},
            try_to_open("packet", "lo"),
            {"xdp", false, "not tried: there is no TAP to try it on"}};
  }
  // The TAP stays until this function returns.
  return {{"tap", true, ""}, try_to_open("packet", name), try_to_open("xdp", name)};
}

}  // namespace softrnic::tools
