// SPDX-License-Identifier: BSD-3-Clause
// The other side of `softrnic peer`, for its tests: region_client LINK IP/LEN HOST PORT ADDRESS
// LENGTH RKEY ACTION. Connects over TCP as a pingpong client, does one thing to the peer's memory
// and prints how the work request ended, and the bytes it read as hexadecimal digits.
//
// ACTION: write OFFSET HEX | read OFFSET LENGTH | add OFFSET NUMBER
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "nic/event_loop.hpp"
#include "out_of_band.hpp"

using namespace softrnic;
using namespace softrnic::tools;

namespace {

std::uint64_t number(const char* text) {
  const auto value = parse_number(text);
  if (!value) fail_usage("{}: not a number", text);
  return *value;
}

std::vector<std::byte> bytes_of(const std::string& digits) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string digits_of(std::span<const std::byte> bytes) {
  std::string digits;
  for (const std::byte byte : bytes) digits += fmt::format("{:02x}", std::to_integer<int>(byte));
  return digits;
}

transport::Completion do_it(nic::Nic& nic, std::uint32_t qpn, nic::CompletionQueue& completions,
                            const transport::SendRequest& request) {
  if (const auto error = nic.post_send(qpn, request)) {
    fail("not posted: {}", transport::to_string(*error));
  }
  transport::Completion completion;
  nic::EventLoop loop(nic);
  const bool came = loop.run_until(
      [&] {
        return completions.poll({&completion, 1}) == 1;
      },
      nic::real_now() + std::chrono::seconds(20));
  if (!came) fail("no completion came");
  return completion;
}

void connect(nic::Nic& nic, std::uint32_t gid_index, const EndpointAddress& local,
             const EndpointAddress& remote) {
  transport::QueuePairAttributes attributes;
  attributes.destination_qpn = remote.qpn;
  attributes.receive_psn = wire::Psn(remote.psn);
  attributes.send_psn = wire::Psn(local.psn);
  nic::AddressAttributes address;
  address.gid_index = gid_index;
  address.destination = remote.gid;
  using transport::QueuePairState;
  for (const auto state : {QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
    if (const auto error = nic.modify(local.qpn, state, attributes, &address)) {
      fail("not connected: {}", nic::to_string(*error));
    }
  }
}

int run(char** argv) {
  DeviceOptions options;
  options.link = argv[1];
  options.addresses = {parse_interface_address(argv[2])};
  options.complete();
  Device device(options);
  nic::Nic& nic = device.nic();
  const std::string action = argv[8];
  const std::uint64_t offset = number(argv[9]);
  std::vector<std::byte> memory = action == "write"  ? bytes_of(argv[10])
                                  : action == "read" ? std::vector<std::byte>(number(argv[10]))
                                                     : std::vector<std::byte>(8);

  const auto domain = nic.allocate_domain();
  const auto keys = nic.memory().add({.domain = domain,
                                      .base = memory.data(),
                                      .length = memory.size(),
                                      .access = transport::kLocalWrite,
                                      .virtual_address = {},
                                      .key = {}});
  auto& completions = nic.create_completion_queue(16);
  nic::QueuePairInit init;
  init.domain = domain;
  init.send_completions = &completions;
  init.receive_completions = &completions;
  auto queue_pair = nic.create_queue_pair(init);
  if (!keys || !queue_pair) fail("no resources");
  const std::uint32_t gid_index = choose_gid(nic.gids(), {});
  const EndpointAddress local{0, (*queue_pair)->qpn(), 77, nic.gids().find(gid_index)->gid};
  nic.modify(local.qpn, transport::QueuePairState::init, {});
  connect(nic, gid_index, local,
          exchange_as_client(nic, argv[3], static_cast<std::uint16_t>(number(argv[4])), local,
                             kNoLimit));

  const transport::Sge sge{reinterpret_cast<std::uintptr_t>(memory.data()),
                           static_cast<std::uint32_t>(memory.size()), keys->local};
  transport::SendRequest request;
  request.operation = action == "write"  ? transport::SendOperation::rdma_write
                      : action == "read" ? transport::SendOperation::rdma_read
                                         : transport::SendOperation::fetch_add;
  request.sges = {&sge, 1};
  request.remote_address = number(argv[5]) + offset;
  request.remote_key = static_cast<std::uint32_t>(number(argv[7]));
  if (action == "add") request.swap_add = number(argv[10]);
  const auto completion = do_it(nic, local.qpn, completions, request);
  fmt::print("{}\n{}\n", transport::to_string(completion.status), digits_of(memory));
  return kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 11) fail_usage("LINK IP/LEN HOST PORT ADDRESS LENGTH RKEY ACTION OFFSET VALUE");
    return run(argv);
  } catch (const Failure& failure) {
    fmt::print(stderr, "region_client: {}\n", failure.what());
    return failure.exit_status();
  }
}
