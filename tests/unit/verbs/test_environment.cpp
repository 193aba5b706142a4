// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <map>

#include "verbs/environment.hpp"

namespace softrnic::verbs {
namespace {

using Variables = std::map<std::string, std::string>;

wire::Expected<Environment, std::string> read(const Variables& variables) {
  return Environment::read([&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Environment must_read(const Variables& variables) {
  const auto environment = read(variables);
  INFO((environment ? std::string{} : environment.error()));
  REQUIRE(environment);
  return *environment;
}

std::string complaint(const std::string& name, const std::string& value) {
  const auto environment = read({{name, value}});
  CAPTURE(name, value);
  REQUIRE_FALSE(environment);
  CHECK(environment.error().starts_with(name + '=' + value + ": "));
  CHECK(environment.error().find('\n') == std::string::npos);
  return environment.error().substr(name.size() + value.size() + 3);
}

Variables all_variables() {
  return {{"SOFTRNIC_LINK", "tap:rnic0"},
          {"SOFTRNIC_DEVICE", "mlx5_0"},
          {"SOFTRNIC_HOST", "node7"},
          {"SOFTRNIC_ADDRESSES", "10.0.0.1/24,fd00::1/64,192.168.7.7/32"},
          {"SOFTRNIC_MAC", "02:00:00:00:00:01"},
          {"SOFTRNIC_MTU", "2048"},
          {"SOFTRNIC_FAULTS", "loss.toml"},
          {"SOFTRNIC_SEED", "18446744073709551615"},
          {"SOFTRNIC_CAPTURE", "run-%p.pcapng"},
          {"SOFTRNIC_LIMITS", "max_qp=1000,max_sge=4"}};
}

TEST_CASE("Environment: silence is one NIC on the default segment") {
  const Environment environment = must_read({});
  CHECK(environment == Environment{});
  CHECK(environment.link_specification() == "shm:default,host=a");
  CHECK(environment.device == "softrnic0");
  CHECK(environment.variables().empty());
}

TEST_CASE("Environment: an empty variable is as good as none") {
  Variables empty;
  for (const EnvironmentVariable& variable : environment_variables()) {
    empty[std::string(variable.name)] = "";
  }
  CHECK(must_read(empty) == Environment{});
}

TEST_CASE("Environment: every variable is read") {
  const Environment environment = must_read(all_variables());
  CHECK(environment.link == "tap:rnic0");
  CHECK(environment.device == "mlx5_0");
  CHECK(environment.host == "node7");
  REQUIRE(environment.addresses.size() == 3);
  CHECK(environment.addresses[1].to_string() == "fd00::1/64");
  CHECK(environment.mac->to_string() == "02:00:00:00:00:01");
  CHECK(environment.mtu == 2048);
  CHECK(environment.faults == "loss.toml");
  CHECK(environment.seed == ~std::uint64_t{0});
  CHECK(environment.capture == "run-%p.pcapng");
  CHECK(environment.limits.queue_pairs == 1000);
  CHECK(environment.limits.sges == 4);
}

TEST_CASE("Environment: what is read is given back, and read again") {
  const Environment environment = must_read(all_variables());
  Variables given;
  for (const auto& [name, value] : environment.variables()) given[name] = value;
  CHECK(given == all_variables());
  CHECK(must_read(given) == environment);
}

TEST_CASE("Environment: only a link shm: names its host") {
  CHECK(must_read({{"SOFTRNIC_LINK", "shm:lab"}, {"SOFTRNIC_HOST", "b"}}).link_specification() ==
        "shm:lab,host=b");
  CHECK(must_read({{"SOFTRNIC_LINK", "shm:lab,host=c"}}).link_specification() == "shm:lab,host=c");
  CHECK(must_read({{"SOFTRNIC_LINK", "udp:[fd00::1]"}}).link_specification() == "udp:[fd00::1]");
}

TEST_CASE("Environment: each process of a capture has its file") {
  CHECK(must_read({{"SOFTRNIC_CAPTURE", "%p-%p.pcapng"}}).capture_path(42) == "42-42.pcapng");
  CHECK(must_read({{"SOFTRNIC_CAPTURE", "run.pcapng"}}).capture_path(42) == "run.pcapng");
  CHECK(must_read({{"SOFTRNIC_CAPTURE", "%%p"}}).capture_path(7) == "%7");
}

TEST_CASE("Environment: a bad value is one line that names it, and the mend") {
  CHECK(complaint("SOFTRNIC_LINK", "wire:x").find("shm:NAME, udp:ADDRESS") != std::string::npos);
  CHECK(complaint("SOFTRNIC_LINK", "tap:") == "what is it called? Give tap:NAME");
  CHECK(complaint("SOFTRNIC_LINK", "shm") == "what is it called? Give shm:NAME");
  complaint("SOFTRNIC_LINK", "shm:a/b");
  complaint("SOFTRNIC_LINK", "shm:.hidden");
  complaint("SOFTRNIC_LINK", "shm:a,mtu=3");
  complaint("SOFTRNIC_LINK", "shm:a,host=");
  complaint("SOFTRNIC_DEVICE", "a/b");
  complaint("SOFTRNIC_DEVICE", "..");
  complaint("SOFTRNIC_DEVICE", "uverbs0");
  complaint("SOFTRNIC_DEVICE", "rdma_cm");
  complaint("SOFTRNIC_DEVICE", std::string(64, 'x'));
  CHECK(must_read({{"SOFTRNIC_DEVICE", std::string(63, 'x')}}).device.size() == 63);
  complaint("SOFTRNIC_HOST", "a b");
  complaint("SOFTRNIC_HOST", std::string(32, 'x'));
  complaint("SOFTRNIC_ADDRESSES", "10.0.0.1/24,");
  complaint("SOFTRNIC_ADDRESSES", "10.0.0.1/33");
  complaint("SOFTRNIC_ADDRESSES", "ff02::1");
  complaint("SOFTRNIC_ADDRESSES", "0.0.0.0");
  complaint("SOFTRNIC_MAC", "01:00:00:00:00:01");
  complaint("SOFTRNIC_MAC", "00:00:00:00:00:00");
  complaint("SOFTRNIC_MAC", "02-00-00-00-00-01");
  complaint("SOFTRNIC_MTU", "1500");
  complaint("SOFTRNIC_MTU", "1024 ");
  complaint("SOFTRNIC_SEED", "0");
  complaint("SOFTRNIC_SEED", "18446744073709551616");
  complaint("SOFTRNIC_SEED", "-1");
  complaint("SOFTRNIC_LIMITS", "max_qp");
  complaint("SOFTRNIC_LIMITS", "max_unicorns=1");
  complaint("SOFTRNIC_LIMITS", "max_qp=99999999999999");
  complaint("SOFTRNIC_LIMITS", "max_qp=1,,max_cq=1");
  CHECK(complaint("SOFTRNIC_LIMITS", "max_mtu=1500") ==
        "max_mtu must be 256, 512, 1024, 2048 or 4096");
}

}  // namespace
}  // namespace softrnic::verbs
