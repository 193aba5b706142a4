// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cerrno>
#include <set>
#include <string>

#include "preload/device_files.hpp"
#include "transport/counters.hpp"

namespace softrnic::preload {
namespace {

// Each counter its own value, by the place of its name.
std::uint64_t counter(std::string_view name) {
  std::uint64_t value = 1000;
  for (const transport::CounterName& one : transport::counter_names()) {
    if (one.name == name) return value;
    ++value;
  }
  FAIL("no such counter: " << name);
  return 0;
}

Identity card(std::string_view interface = "") {
  Identity identity;
  identity.device = std::string_view("softrnic0");
  identity.interface = interface;
  identity.mac = *wire::MacAddress::from_string("02:00:00:00:00:07");
  identity.add(wire::Gid::link_local(identity.mac));
  identity.add(*wire::Gid::from_string("10.0.0.1"));
  return identity;
}

struct Tree {
  Identity identity = card();
  DeviceFiles files{identity, counter};

  explicit Tree(std::string_view interface = "") : identity(card(interface)) {}

  std::string read(const std::string& path) const {
    const Place place = files.find(path);
    CAPTURE(path);
    REQUIRE(place.kind == FileKind::text);
    FileText text;
    files.write(place, text);
    return std::string(text.view());
  }
  std::set<std::string> list(const std::string& path) const {
    const Place place = files.find(path);
    CAPTURE(path);
    REQUIRE(place.kind == FileKind::directory);
    std::set<std::string> names;
    for (std::size_t n = 0;; ++n) {
      const DeviceFiles::Entry one = files.entry(place.directory, n);
      if (one.place.kind == FileKind::none) return names;
      CHECK(names.insert(std::string(one.name.view())).second);
    }
  }
};

const std::string kDevice = "/sys/class/infiniband/softrnic0/";
const std::string kPort = kDevice + "ports/1/";

TEST_CASE("DeviceFiles: what the kernel writes") {
  const Tree tree;
  CHECK(tree.read(kDevice + "node_type") == "1: CA\n");
  CHECK(tree.read(kDevice + "node_guid") == "0000:00ff:fe00:0007\n");
  CHECK(tree.read(kDevice + "sys_image_guid") == "0000:00ff:fe00:0007\n");
  CHECK(tree.read(kDevice + "node_desc") == "softrnic0\n");
  CHECK(tree.read(kDevice + "device/numa_node") == "-1\n");
  CHECK(tree.read(kPort + "state") == "4: ACTIVE\n");
  CHECK(tree.read(kPort + "phys_state") == "5: LinkUp\n");
  CHECK(tree.read(kPort + "rate") == "100 Gb/sec (4X EDR)\n");
  CHECK(tree.read(kPort + "link_layer") == "Ethernet\n");
  CHECK(tree.read(kPort + "pkeys/0") == "0xffff\n");
  CHECK(tree.read(kPort + "gids/0") == "fe80:0000:0000:0000:0000:00ff:fe00:0007\n");
  CHECK(tree.read(kPort + "gids/3") == "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
  CHECK(tree.read(kPort + "gid_attrs/types/2") == "IB/RoCE v1\n");
  CHECK(tree.read(kPort + "gid_attrs/types/3") == "RoCE v2\n");
  CHECK(tree.read("/sys/class/infiniband_verbs/uverbs0/ibdev") == "softrnic0\n");
  CHECK(tree.read("/sys/class/infiniband_verbs/uverbs0/dev") == "231:192\n");
  CHECK(tree.read("/sys/class/infiniband_verbs/abi_version") == "6\n");
}

TEST_CASE("DeviceFiles: the counters under the names users know") {
  const Tree tree;
  CHECK(tree.read(kPort + "hw_counters/out_of_sequence") ==
        std::to_string(counter("out_of_sequence")) + "\n");
  CHECK(tree.read(kPort + "counters/port_xmit_data") ==
        std::to_string(counter("sent_bytes") / 4) + "\n");
  CHECK(tree.read(kPort + "counters/port_rcv_packets") ==
        std::to_string(counter("rcvd_pkts")) + "\n");
  // All of them, and how long the kernel keeps a value.
  CHECK(tree.list(kPort + "hw_counters").size() == transport::counter_names().size() + 1);
}

TEST_CASE("DeviceFiles: the names in a directory") {
  const Tree tree;
  using Names = std::set<std::string>;
  CHECK(tree.list("/sys/class/infiniband") == Names{"softrnic0"});
  CHECK(tree.list("/sys/class/infiniband_verbs") == Names{"uverbs0", "abi_version"});
  CHECK(tree.list("/dev/infiniband") == Names{"uverbs0", "softrnic0"});
  CHECK(tree.list(kDevice + "ports") == Names{"1"});
  CHECK(tree.list(kPort + "gids") == Names{"0", "1", "2", "3"});
  CHECK(tree.list(kPort + "gid_attrs/ndevs") == Names{"0", "1", "2", "3"});
  CHECK(tree.list(kPort + "pkeys") == Names{"0"});
}

TEST_CASE("DeviceFiles: an interface under the link is named where there is one") {
  const Tree alone;
  CHECK(alone.files.find(kDevice + "device/net").error == ENOENT);
  CHECK(alone.read(kPort + "gid_attrs/ndevs/1") == "softrnic0\n");
  const Tree on_tap("tap1");
  CHECK(on_tap.list(kDevice + "device/net") == std::set<std::string>{"tap1"});
  CHECK(on_tap.list(kDevice + "device/net/tap1").empty());
  CHECK(on_tap.read(kPort + "gid_attrs/ndevs/1") == "tap1\n");
}

TEST_CASE("DeviceFiles: what can be listed can be found, and says its own path") {
  const Tree tree("tap1");
  std::vector<std::string> folders = {"/sys/class/infiniband", "/sys/class/infiniband_verbs",
                                      "/sys/class/infiniband_mad", "/dev/infiniband"};
  std::size_t files = 0;
  while (!folders.empty()) {
    const std::string path = folders.back();
    folders.pop_back();
    for (const std::string& name : tree.list(path)) {
      const std::string full = path + "/" + name;
      const Place place = tree.files.find(full);
      PathText own;
      tree.files.path_of(place, own);
      CHECK(own.view() == full);
      if (place.kind == FileKind::directory) {
        folders.push_back(full);
        continue;
      }
      ++files;
      if (place.kind == FileKind::text) CHECK(tree.read(full).back() == '\n');
    }
  }
  CHECK(files > 100);
}

TEST_CASE("DeviceFiles: paths with detours") {
  const Tree tree;
  CHECK(tree.read("/sys/class/infiniband//softrnic0/./ports/../node_type") == "1: CA\n");
  CHECK(tree.read("/sys/class/infiniband_verbs/uverbs0/device/vendor") == "0x0000\n");
  CHECK(tree.files.find("/dev/infiniband/").kind == FileKind::directory);
  CHECK(tree.files.find("/dev/infiniband/uverbs0").kind == FileKind::device);
  CHECK(tree.files.find("/sys/class/infiniband/../net").kind == FileKind::elsewhere);
  CHECK(tree.files.find("/sys/class/infinibandx").kind == FileKind::elsewhere);
  CHECK(tree.files.find("/sys/class/infiniband_cm").kind == FileKind::elsewhere);
}

TEST_CASE("DeviceFiles: what is not there, and why") {
  const Tree tree;
  CHECK(tree.files.find(kDevice + "nothing").error == ENOENT);
  CHECK(tree.files.find(kDevice + "nothing/more").error == ENOENT);
  CHECK(tree.files.find(kPort + "gids/4").error == ENOENT);
  CHECK(tree.files.find(kPort + "gids/00").error == ENOENT);
  CHECK(tree.files.find(kDevice + "ports/2").error == ENOENT);
  CHECK(tree.files.find(kDevice + "fw_ver/").error == ENOTDIR);
  CHECK(tree.files.find(kDevice + "fw_ver/..").error == ENOTDIR);
  CHECK(tree.files.find("/dev/infiniband/rdma_cm").error == ENOENT);
}

TEST_CASE("DeviceFiles: other paths are told at a glance") {
  for (const char* path : {"/sys/class/infiniband", "/sys/class/infiniband/x", "/dev/infiniband",
                           "/dev/infiniband/uverbs0", "/sys/class/infiniband_verbs/uverbs0"}) {
    CHECK(may_be_ours(path));
  }
  for (const char* path : {"", "/", "/sys", "/sys/class/net", "/sys/class/infinibandx",
                           "/dev/infinibandx", "/dev/infiniband_x", "/dev/null", "/s", "/d",
                           "sys/class/infiniband", "/etc/passwd", "/dev/infiniban"}) {
    CAPTURE(path);
    CHECK_FALSE(may_be_ours(path));
  }
  CHECK_FALSE(may_be_ours(nullptr));
}

TEST_CASE("BoundedText: what does not fit is left out, and it ends") {
  BoundedText<8> text("0123456789");
  CHECK(text.view() == "0123456");
  CHECK(std::string(text.c_str()) == "0123456");
  text.clear();
  text.append_decimal(~std::uint64_t{0});
  CHECK(text.view() == "1844674");
  text.clear();
  text.append_hex(0x0f);
  text.append_hex(0xa0);
  CHECK(text.view() == "0fa0");
}

}  // namespace
}  // namespace softrnic::preload
