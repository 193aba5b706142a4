// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "link/link.hpp"
#include "link/udp_neighbors.hpp"
#include "nic/gid_table.hpp"
#include "preload/identity.hpp"
#include "verbs/made_up_mac.hpp"

namespace softrnic::preload {
namespace {

// A Variable is a plain function, as getenv() is.
std::map<std::string, std::string> variables;

const char* variable(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

Identity identity_in(std::map<std::string, std::string> environment) {
  variables = std::move(environment);
  return identity_of(variable);
}

// A directory for segments, for this process and the identity alike.
class Segments {
 public:
  Segments() {
    std::string name = (std::filesystem::temp_directory_path() / "softrnic-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    ::setenv("SOFTRNIC_SHM_DIR", path_.c_str(), 1);
  }
  ~Segments() {
    ::unsetenv("SOFTRNIC_SHM_DIR");
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void check_same(const Identity& identity, const link::Identity& wanted) {
  CHECK(identity.mac.to_string() == wanted.mac.to_string());
  std::vector<nic::InterfaceAddress> addresses;
  for (const auto& [ip, length] : wanted.addresses) addresses.push_back({ip, length});
  const nic::GidTable gids(wanted.mac, addresses);
  REQUIRE(identity.address_count == gids.addresses().size());
  for (std::size_t i = 0; i < identity.address_count; ++i) {
    CHECK(identity.addresses[i].to_string() == gids.addresses()[i].to_string());
  }
}

link::Identity attached(const std::string& specification, std::unique_ptr<link::Link>& link) {
  auto opened = link::open_link(specification);
  INFO((opened ? std::string{} : opened.error().message));
  REQUIRE(opened);
  link = std::move(opened).value();
  return *link->capabilities().identity;
}

TEST_CASE("identity_of: a segment that nobody has made yet gives what it will give") {
  const Segments segments;
  for (const std::string host : {"a", "b", "node7", "other.host"}) {
    const Identity foretold = identity_in({{"SOFTRNIC_SHM_DIR", segments.path()},
                                           {"SOFTRNIC_LINK", "shm:lab"},
                                           {"SOFTRNIC_HOST", host}});
    std::unique_ptr<link::Link> link;
    check_same(foretold, attached("shm:lab,host=" + host, link));
  }
}

TEST_CASE("identity_of: a host that got other addresses than it wished for") {
  const Segments segments;
  std::unique_ptr<link::Link> first;
  std::unique_ptr<link::Link> second;
  attached("shm:lab,host=node2", first);
  const link::Identity displaced = attached("shm:lab,host=b", second);  // wishes for 2 as well
  CHECK(displaced.addresses[0].ip.bytes[15] == 3);
  check_same(
      identity_in({{"SOFTRNIC_SHM_DIR", segments.path()}, {"SOFTRNIC_LINK", "shm:lab,host=b"}}),
      displaced);
}

TEST_CASE("identity_of: what is no segment is passed over") {
  const Segments segments;
  const std::string path = segments.path() + "/lab";
  std::ofstream(path) << "something else altogether, and rather longer than a preamble";
  const Identity identity =
      identity_in({{"SOFTRNIC_SHM_DIR", segments.path()}, {"SOFTRNIC_LINK", "shm:lab"}});
  CHECK(identity.address_count == 3);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  CHECK(identity_in({{"SOFTRNIC_SHM_DIR", segments.path()}, {"SOFTRNIC_LINK", "shm:lab"}})
            .address_count == 3);
}

TEST_CASE("identity_of: MAC and addresses of the environment") {
  const Identity identity = identity_in({{"SOFTRNIC_SHM_DIR", "/nowhere"},
                                         {"SOFTRNIC_DEVICE", "mlx5_0"},
                                         {"SOFTRNIC_MAC", "02:00:00:00:00:01"},
                                         {"SOFTRNIC_ADDRESSES", "10.9.9.9/24,fd00::9,10.9.9.9"}});
  CHECK(identity.device.view() == "mlx5_0");
  CHECK(identity.mac.to_string() == "02:00:00:00:00:01");
  REQUIRE(identity.address_count == 5);  // its own three, and two
  CHECK(identity.addresses[0].to_string() == "fe80::ff:fe00:1");
  CHECK(identity.addresses[3].to_string() == "10.9.9.9");
  CHECK(identity.addresses[4].to_string() == "fd00::9");
}

TEST_CASE("identity_of: links on an interface or an address") {
  const Identity on_tap = identity_in({{"SOFTRNIC_LINK", "tap:rnic0"}});
  CHECK(on_tap.interface.view() == "rnic0");
  CHECK(on_tap.mac.to_string() == verbs::made_up_mac("tap:rnic0", {}).to_string());
  CHECK(on_tap.address_count == 1);
  const Identity on_udp = identity_in({{"SOFTRNIC_LINK", "udp:[fd00::1]"}});
  CHECK(on_udp.interface.empty());
  CHECK(on_udp.mac == link::stand_in_mac(*wire::Gid::from_string("fd00::1")));
  REQUIRE(on_udp.address_count == 2);
  CHECK(on_udp.addresses[1].to_string() == "fd00::1");
}

TEST_CASE("identity_of: nonsense is passed over") {
  const Identity identity = identity_in({{"SOFTRNIC_SHM_DIR", "/nowhere"},
                                         {"SOFTRNIC_DEVICE", "../../etc"},
                                         {"SOFTRNIC_MAC", "ff:ff:ff:ff:ff:ff"},
                                         {"SOFTRNIC_LINK", "shm:../../etc/passwd"},
                                         {"SOFTRNIC_ADDRESSES", ",,x,0.0.0.0,ff02::1,,"}});
  CHECK(identity.device.view() == "softrnic0");
  CHECK_FALSE(identity.mac.is_multicast());
  CHECK(identity.address_count == 3);
  identity_in({{"SOFTRNIC_LINK", ":"}});
  identity_in({{"SOFTRNIC_LINK", "udp:[]"}});
  identity_in({{"SOFTRNIC_LINK", "udp:["}});
  std::string many;
  for (int i = 1; i < 250; ++i) many += "10.1.1." + std::to_string(i) + ",";
  CHECK(identity_in({{"SOFTRNIC_ADDRESSES", many}}).address_count == Identity::kMostAddresses);
}

}  // namespace
}  // namespace softrnic::preload
