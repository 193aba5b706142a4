// SPDX-License-Identifier: BSD-3-Clause
#include "preload/identity.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "link/shm_layout.hpp"
#include "link/shm_names.hpp"
#include "link/shm_stations.hpp"
#include "link/udp_neighbors.hpp"
#include "verbs/made_up_mac.hpp"

namespace softrnic::preload {

namespace {

namespace shm = link::shm;

constexpr std::string_view kDevice = "softrnic0";
constexpr std::string_view kLink = "shm:default";
constexpr std::string_view kHost = "a";

std::string_view value_of(Variable variable, const char* name, std::string_view usual) {
  const char* value = variable(name);
  return value == nullptr || *value == '\0' ? usual : std::string_view(value);
}

bool is_name(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && text.front() != '.' &&
         text.find('/') == std::string_view::npos;
}

struct Host {
  std::string_view segment;
  std::string_view name;
};

// Of "lab" or "lab,host=b".
Host host_of(std::string_view link_name, Variable variable) {
  constexpr std::string_view kHostOption = ",host=";
  const std::size_t comma = link_name.find(kHostOption);
  if (comma == std::string_view::npos) {
    return {link_name, value_of(variable, "SOFTRNIC_HOST", kHost)};
  }
  return {link_name.substr(0, comma), link_name.substr(comma + kHostOption.size())};
}

class File {
 public:
  explicit File(const char* path)
      : descriptor_(::open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read(std::size_t offset, void* to, std::size_t size) const {
    return descriptor_ >= 0 &&
           ::pread(descriptor_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

 private:
  int descriptor_;
};

// What a segment that exists says of a host; the addresses it has may not be those it wished for.
struct Record {
  std::uint64_t mac;
  std::uint32_t address;
};
std::optional<Record> recorded(const Host& host, Variable variable) {
  std::array<char, 4096> directory;
  if (!shm::directory_path(variable, directory)) return std::nullopt;
  BoundedText<4200> path{std::string_view(directory.data())};
  path.append('/');
  path.append(host.segment);
  const File file(path.c_str());
  shm::Preamble preamble;
  if (!file.read(0, &preamble, sizeof preamble) || preamble.magic != shm::kMagic ||
      preamble.format != shm::kFormat) {
    return std::nullopt;
  }
  // Words as whoever writes them leaves them: each is read once.
  struct Beginning {
    std::array<char, shm::kHostName> name;
    std::uint64_t mac;
    std::uint32_t address;
  };
  static_assert(offsetof(Beginning, mac) == offsetof(shm::HostRecord, mac) &&
                offsetof(Beginning, address) == offsetof(shm::HostRecord, address));
  for (std::size_t i = 0; i < shm::kHosts; ++i) {
    Beginning record;
    const std::size_t offset = offsetof(shm::Header, hosts) + i * sizeof(shm::HostRecord);
    if (!file.read(offset, &record, sizeof record)) return std::nullopt;
    const auto end = std::find(record.name.begin(), record.name.end(), '\0');
    const std::string_view name(record.name.data(),
                                static_cast<std::size_t>(end - record.name.begin()));
    if (record.mac != 0 && name == host.name) return Record{record.mac, record.address};
  }
  return std::nullopt;
}

void add_given_addresses(Variable variable, Identity& identity) {
  std::string_view list = value_of(variable, "SOFTRNIC_ADDRESSES", "");
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma);
    if (const auto address = wire::Gid::from_string(one.substr(0, one.find('/')))) {
      identity.add(*address);
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

std::optional<wire::MacAddress> given_mac(Variable variable) {
  const auto mac = wire::MacAddress::from_string(value_of(variable, "SOFTRNIC_MAC", ""));
  if (!mac || mac->is_multicast() || *mac == wire::MacAddress{}) return std::nullopt;
  return mac;
}

// The address itself of "[fd00::1]" or "10.0.0.1"; none of a name with more to it.
std::optional<wire::Gid> plain_address(std::string_view text) {
  if (text.starts_with('[')) text = text.substr(1, text.find(']') - 1);
  return wire::Gid::from_string(text.substr(0, text.find_first_of("/,%")));
}

void be_host(const Host& host, Variable variable, Identity& identity) {
  Record record{shm::wished_mac(host.segment, host.name), shm::wished_address(host.name)};
  if (is_name(host.segment, 64)) record = recorded(host, variable).value_or(record);
  identity.mac = given_mac(variable).value_or(shm::mac_of(record.mac));
  identity.add(wire::Gid::link_local(identity.mac));
  identity.add(shm::ipv4_of(host.segment, record.address));
  identity.add(shm::ipv6_of(host.segment, record.address));
}

void be_at_address(const wire::Gid& address, Variable variable, Identity& identity) {
  identity.mac = given_mac(variable).value_or(link::stand_in_mac(address));
  identity.add(wire::Gid::link_local(identity.mac));
  identity.add(address);
}

void be_on_interface(std::string_view link, std::string_view name, Variable variable,
                     Identity& identity) {
  identity.mac = given_mac(variable).value_or(verbs::made_up_mac(link, wire::MacAddress{}));
  identity.add(wire::Gid::link_local(identity.mac));
  if (is_name(name, 15)) identity.interface = name;  // IFNAMSIZ, with its terminating zero
}

}  // namespace

void Identity::add(const wire::Gid& address) {
  const auto end = addresses.begin() + static_cast<std::ptrdiff_t>(address_count);
  const bool assignable = !address.is_zero() && !address.is_multicast() &&
                          !(address.is_ipv4_mapped() && address.ipv4() == 0);
  if (!assignable || address_count == addresses.size() ||
      std::find(addresses.begin(), end, address) != end) {
    return;
  }
  addresses[address_count++] = address;
}

BoundedText<64> device_name(Variable variable) {
  const std::string_view name = value_of(variable, "SOFTRNIC_DEVICE", kDevice);
  return is_name(name, 63) ? name : kDevice;
}

Identity identity_of(Variable variable) {
  Identity identity;
  identity.device = device_name(variable);
  const std::string_view link = value_of(variable, "SOFTRNIC_LINK", kLink);
  const std::size_t colon = std::min(link.find(':'), link.size());
  const std::string_view kind = link.substr(0, colon);
  const std::string_view name = link.substr(std::min(colon + 1, link.size()));
  const auto address = kind == "udp" ? plain_address(name) : std::nullopt;
  if (kind == "shm") {
    be_host(host_of(name, variable), variable, identity);
  } else if (address) {
    be_at_address(*address, variable, identity);
  } else {
    be_on_interface(link, name, variable, identity);
  }
  add_given_addresses(variable, identity);
  return identity;
}

}  // namespace softrnic::preload
