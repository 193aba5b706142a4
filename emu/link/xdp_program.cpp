// SPDX-License-Identifier: BSD-3-Clause
#include "link/xdp_program.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "link/file_descriptor.hpp"
#include "link/xdp_roce_maps.h"

namespace softrnic::link {

// The object file of xdp_roce.bpf.c.
extern const unsigned char xdp_roce_object[];
extern const std::size_t xdp_roce_object_size;

namespace {

// The kernel lets go of a previous owner's program some time after that process has ended.
constexpr int kAttachAttempts = 50;
constexpr std::chrono::milliseconds kAttachPause(20);

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

wire::Unexpected<OpenError> refuse(std::string message) {
  return wire::Unexpected{OpenError{std::move(message)}};
}

std::string why_not_loaded(int error) {
  std::string cause = "cannot load the XDP program: " + error_text(error);
  if (error == EPERM || error == EACCES) {
    cause +=
        ": run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW of the host (those of "
        "`unshare -Ur` are not enough)";
  } else if (error == EINVAL || error == ENOTSUP) {
    cause += ": it needs Linux 5.18 or later with CONFIG_XDP_SOCKETS; use packet: instead";
  }
  return cause;
}

std::string why_not_attached(const std::string& name, int error) {
  if (error == EBUSY || error == EEXIST) {
    return "interface \"" + name +
           "\" has another XDP program: end its owner, or take it off "
           "with `ip link set " +
           name + " xdp off`";
  }
  return "cannot attach the XDP program to interface \"" + name + "\": " + error_text(error) +
         ": use packet:" + name + " instead";
}

xdp_roce_address key_of(const wire::Gid& address) {
  xdp_roce_address key;
  std::memcpy(key.bytes, address.bytes.data(), sizeof key.bytes);
  return key;
}

}  // namespace

struct XdpProgram::Impl {
  int map(const char* name) const { return bpf_object__find_map_fd_by_name(object.get(), name); }

  // 0, or an errno.
  int attach(int index, std::uint32_t mode) {
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = mode;
    for (int attempt = 1;; ++attempt) {
      const int fd = bpf_link_create(bpf_program__fd(program), index, BPF_XDP, &options);
      if (fd >= 0) {
        link = FileDescriptor(fd);
        return 0;
      }
      if (fd != -EBUSY || attempt == kAttachAttempts) return -fd;
      std::this_thread::sleep_for(kAttachPause);
    }
  }

  std::unique_ptr<bpf_object, CloseObject> object;
  bpf_program* program = nullptr;
  int sockets = -1;
  int station = -1;
  int addresses = -1;
  std::vector<wire::Gid> told;
  FileDescriptor link;
};

XdpProgram::XdpProgram(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

XdpProgram::~XdpProgram() = default;

wire::Expected<std::unique_ptr<XdpProgram>, OpenError> XdpProgram::load() {
  // Its errors come back as values; we say what matters of them.
  libbpf_set_print(nullptr);
  auto impl = std::make_unique<Impl>();
  impl->object.reset(bpf_object__open_mem(xdp_roce_object, xdp_roce_object_size, nullptr));
  if (impl->object == nullptr) return refuse(why_not_loaded(errno));
  if (const int error = bpf_object__load(impl->object.get())) {
    return refuse(why_not_loaded(-error));
  }
  impl->program = bpf_object__find_program_by_name(impl->object.get(), "xdp_roce");
  impl->sockets = impl->map("sockets");
  impl->station = impl->map("station");
  impl->addresses = impl->map("addresses");
  return std::unique_ptr<XdpProgram>(new XdpProgram(std::move(impl)));
}

bool XdpProgram::set_socket(std::uint32_t queue, int socket) {
  return bpf_map_update_elem(impl_->sockets, &queue, &socket, BPF_ANY) == 0;
}

wire::Expected<XdpProgram::Mode, OpenError> XdpProgram::attach(const NetworkInterface& interface) {
  const int native = impl_->attach(interface.index, XDP_FLAGS_DRV_MODE);
  if (native == 0) return Mode::native;
  // Someone else's program would refuse the other mode as well, or worse, run beside ours.
  if (native == EBUSY || native == EEXIST) return refuse(why_not_attached(interface.name, native));
  const int generic = impl_->attach(interface.index, XDP_FLAGS_SKB_MODE);
  if (generic == 0) return Mode::generic;
  return refuse(why_not_attached(interface.name, generic));
}

void XdpProgram::set_addresses(const wire::MacAddress& mac, std::span<const wire::Gid> ips) {
  // New ones first: what is in both lists is never left out.
  const std::uint8_t present = 1;
  for (const wire::Gid& address : ips) {
    const xdp_roce_address key = key_of(address);
    (void)bpf_map_update_elem(impl_->addresses, &key, &present, BPF_ANY);
  }
  for (const wire::Gid& address : impl_->told) {
    if (std::ranges::find(ips, address) != ips.end()) continue;
    const xdp_roce_address key = key_of(address);
    (void)bpf_map_delete_elem(impl_->addresses, &key);
  }
  impl_->told.assign(ips.begin(), ips.end());

  xdp_roce_station own{};
  std::memcpy(own.mac, mac.bytes.data(), sizeof own.mac);
  own.known = 1;
  const std::uint32_t only = 0;
  (void)bpf_map_update_elem(impl_->station, &only, &own, BPF_ANY);
}

}  // namespace softrnic::link
