// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/device.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "verbs/context.hpp"
#include "verbs/device_identity.hpp"

namespace softrnic::verbs {
namespace {

// The texts fit: the environment bounds the name.
template <std::size_t N>
void copy_text(char (&to)[N], const std::string& text) {
  std::snprintf(to, N, "%s", text.c_str());
}

Device* make() {
  auto environment = Environment::read([](const char* name) { return std::getenv(name); });
  if (!environment) {
    complain(environment.error());
    return nullptr;
  }
  auto* device = new Device;  // for the life of the process
  device->environment = std::move(environment).value();
  device->node_type = IBV_NODE_CA;
  device->transport_type = IBV_TRANSPORT_IB;
  copy_text(device->name, device->environment.device);
  copy_text(device->dev_name, "uverbs0");
  copy_text(device->dev_path, "/sys/class/infiniband_verbs/uverbs0");
  copy_text(device->ibdev_path, "/sys/class/infiniband/" + device->environment.device);
  return device;
}

// Of the adapter while it is open; else of a link that is opened to ask it.
std::optional<wire::MacAddress> mac_address(const Device& device) {
  if (const auto adapter = Adapter::current()) {
    Adapter::Hold hold(*adapter);
    return hold->mac();
  }
  if (device.environment.mac) return device.environment.mac;
  const auto link = link::open_link(device.environment.link_specification());
  if (!link) return std::nullopt;
  return mac_of(device.environment, (*link)->capabilities());
}

}  // namespace

Device* Device::get() {
  static Device* device = make();
  return device;
}

void complain(const std::string& line) {
  std::fprintf(stderr, "softrnic: %s\n", line.c_str());
}

}  // namespace softrnic::verbs

using namespace softrnic::verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  Device* device = Device::get();
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (list == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  list[0] = device;
  if (count != nullptr) *count = device == nullptr ? 0 : 1;
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

int ibv_get_device_index(ibv_device*) {
  return 0;
}

__be64 ibv_get_device_guid(ibv_device* device) {
  const auto mac = mac_address(Device::of(device));
  return mac ? htobe64(guid_of(*mac)) : 0;
}

ibv_context* ibv_open_device(ibv_device* device) {
  auto adapter = Adapter::open(Device::of(device).environment);
  if (!adapter) {
    complain(adapter.error());
    errno = ENODEV;
    return nullptr;
  }
  auto context = std::make_unique<Context>(*adapter);
  if (!context->async_events.valid()) return nullptr;
  context->context.device = device;
  const Adapter::Hold hold(**adapter);
  (*adapter)->contexts.insert(context.get());
  return context.release()->handle();
}

// The number of counters; 0 when the device is not open. For who shows them as files.
int softrnic_counters(void (*visit)(const char* name, unsigned long long value, void* context),
                      void* context) {
  const auto adapter = Adapter::current();
  if (adapter == nullptr) return 0;
  softrnic::transport::Counters counters;
  {
    Adapter::Hold hold(*adapter);
    counters = hold->counters();
  }
  int visited = 0;
  for (const auto& [name, value] : softrnic::transport::counter_names()) {
    visit(std::string(name).c_str(), counters.*value, context);
    ++visited;
  }
  return visited;
}

// The MAC address and the addresses behind the GIDs, at most `most`, link-local first; how many. 0
// when the device is not open.
int softrnic_identity(unsigned char mac[6], unsigned char (*addresses)[16], int most) {
  const auto adapter = Adapter::current();
  if (adapter == nullptr) return 0;
  Adapter::Hold hold(*adapter);
  std::memcpy(mac, hold->mac().bytes.data(), hold->mac().bytes.size());
  int given = 0;
  for (const softrnic::wire::Gid& address : hold->gids().addresses()) {
    if (given == most) break;
    std::memcpy(addresses[given++], address.bytes.data(), address.bytes.size());
  }
  return given;
}

}  // extern "C"
