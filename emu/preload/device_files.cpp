// SPDX-License-Identifier: BSD-3-Clause
#include "preload/device_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "preload/file_text.hpp"
#include "transport/counters.hpp"

namespace softrnic::preload {

namespace {

using enum Directory;

// What a directory's or a file's name is, where it is not the same for all devices.
enum class Naming : std::uint8_t { fixed, device, interface, gid, counter };

struct DirectoryRow {
  Directory self;
  Directory parent;
  std::string_view name;
  Naming naming = Naming::fixed;
};

constexpr std::array kDirectories{
    DirectoryRow{infiniband, outside, "/sys/class/infiniband"},
    DirectoryRow{infiniband_verbs, outside, "/sys/class/infiniband_verbs"},
    DirectoryRow{infiniband_mad, outside, "/sys/class/infiniband_mad"},
    DirectoryRow{device_nodes, outside, "/dev/infiniband"},
    DirectoryRow{Directory::device, infiniband, "", Naming::device},
    DirectoryRow{ports, Directory::device, "ports"},
    DirectoryRow{port, ports, "1"},
    DirectoryRow{gids, port, "gids"},
    DirectoryRow{gid_attributes, port, "gid_attrs"},
    DirectoryRow{gid_types, gid_attributes, "types"},
    DirectoryRow{gid_interfaces, gid_attributes, "ndevs"},
    DirectoryRow{partition_keys, port, "pkeys"},
    DirectoryRow{counters, port, "counters"},
    DirectoryRow{hardware_counters, port, "hw_counters"},
    DirectoryRow{parent, Directory::device, "device"},
    DirectoryRow{interfaces, parent, "net"},
    DirectoryRow{Directory::interface, interfaces, "", Naming::interface},
    DirectoryRow{uverbs, infiniband_verbs, "uverbs0"},
};

const DirectoryRow& row_of(Directory directory) {
  return kDirectories[static_cast<std::size_t>(directory)];
}

struct FileRow {
  Directory in;
  std::string_view name;
  void (*write)(const FileSource& source, FileText& out) = nullptr;
  FileKind kind = FileKind::text;
  Naming naming = Naming::fixed;
};

constexpr std::array kFiles{
    FileRow{Directory::device, "board_id", write_board},
    FileRow{Directory::device, "fw_ver", write_version},
    FileRow{Directory::device, "hca_type", write_type},
    FileRow{Directory::device, "hw_rev", write_zero},
    FileRow{Directory::device, "node_desc", write_device},
    FileRow{Directory::device, "node_guid", write_guid},
    FileRow{Directory::device, "node_type", write_node_type},
    FileRow{Directory::device, "sys_image_guid", write_guid},
    FileRow{Directory::device, "uevent", write_device_event},
    FileRow{port, "cap_mask", write_capabilities},
    FileRow{port, "lid", write_lid},
    FileRow{port, "lid_mask_count", write_zero},
    FileRow{port, "link_layer", write_link_layer},
    FileRow{port, "phys_state", write_physical_state},
    FileRow{port, "rate", write_rate},
    FileRow{port, "sm_lid", write_lid},
    FileRow{port, "sm_sl", write_zero},
    FileRow{port, "state", write_state},
    FileRow{gids, "", write_gid, FileKind::text, Naming::gid},
    FileRow{gid_types, "", write_gid_type, FileKind::text, Naming::gid},
    FileRow{gid_interfaces, "", write_gid_interface, FileKind::text, Naming::gid},
    FileRow{partition_keys, "0", write_partition_key},
    FileRow{hardware_counters, "lifespan", write_lifespan},
    FileRow{hardware_counters, "", write_hardware_counter, FileKind::text, Naming::counter},
    FileRow{counters, "VL15_dropped", write_zero},
    FileRow{counters, "excessive_buffer_overrun_errors", write_zero},
    FileRow{counters, "link_downed", write_zero},
    FileRow{counters, "link_error_recovery", write_zero},
    FileRow{counters, "local_link_integrity_errors", write_zero},
    FileRow{counters, "port_rcv_constraint_errors", write_zero},
    FileRow{counters, "port_rcv_data", write_received_words},
    FileRow{counters, "port_rcv_errors", write_receive_errors},
    FileRow{counters, "port_rcv_packets", write_received_packets},
    FileRow{counters, "port_rcv_remote_physical_errors", write_zero},
    FileRow{counters, "port_rcv_switch_relay_errors", write_zero},
    FileRow{counters, "port_xmit_constraint_errors", write_zero},
    FileRow{counters, "port_xmit_data", write_sent_words},
    FileRow{counters, "port_xmit_discards", write_send_discards},
    FileRow{counters, "port_xmit_packets", write_sent_packets},
    FileRow{counters, "port_xmit_wait", write_zero},
    FileRow{counters, "symbol_error", write_zero},
    FileRow{parent, "device", write_no_number},
    FileRow{parent, "numa_node", write_no_node},
    FileRow{parent, "subsystem_device", write_no_number},
    FileRow{parent, "subsystem_vendor", write_no_number},
    FileRow{parent, "vendor", write_no_number},
    FileRow{uverbs, "abi_version", write_driver_abi},
    FileRow{uverbs, "dev", write_node_numbers},
    FileRow{uverbs, "ibdev", write_device},
    FileRow{uverbs, "uevent", write_uverbs_event},
    FileRow{infiniband_verbs, "abi_version", write_uverbs_abi},
    FileRow{infiniband_mad, "abi_version", write_mad_abi},
    FileRow{device_nodes, "uverbs0", nullptr, FileKind::device},
    // UCX asks whether it may use the device by this name.
    FileRow{device_nodes, "", nullptr, FileKind::device, Naming::device},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kDirectories.size(); ++i) {
    if (static_cast<std::size_t>(kDirectories[i].self) != i) return false;
  }
  return kDirectories.size() == static_cast<std::size_t>(outside);
}
static_assert(in_order(), "a directory's row is found by its number");

Place missing(int error) {
  return {.kind = FileKind::none, .error = error};
}

Place directory_at(Directory directory) {
  if (directory == outside) return {.kind = FileKind::elsewhere};
  return {.kind = FileKind::directory, .directory = directory};
}

// A component off the front of a path, and the slashes before it.
std::string_view take_component(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

}  // namespace

BoundedText<64> DeviceFiles::name_of(Directory directory) const {
  const DirectoryRow& row = row_of(directory);
  if (row.naming == Naming::device) return identity_->device;
  if (row.naming == Naming::interface) return identity_->interface.view();
  return row.name;
}

bool DeviceFiles::exists(Directory directory) const {
  const bool needs_interface = directory == interfaces || directory == Directory::interface;
  return !needs_interface || !identity_->interface.empty();
}

std::size_t DeviceFiles::count_of(std::uint16_t row) const {
  switch (kFiles[row].naming) {
    case Naming::gid:
      return 2 * identity_->address_count;  // RoCE v1 and v2
    case Naming::counter:
      return transport::counter_names().size();
    default:
      return 1;
  }
}

BoundedText<64> DeviceFiles::name_of(std::uint16_t row, std::size_t number) const {
  BoundedText<64> name;
  switch (kFiles[row].naming) {
    case Naming::gid:
      name.append_decimal(number);
      break;
    case Naming::counter:
      name.append(transport::counter_names()[number].name);
      break;
    case Naming::device:
      name = identity_->device;
      break;
    default:
      name.append(kFiles[row].name);
  }
  return name;
}

DeviceFiles::Entry DeviceFiles::entry(Directory directory, std::size_t n) const {
  for (const DirectoryRow& row : kDirectories) {
    if (row.parent != directory || !exists(row.self)) continue;
    if (n-- == 0) return {directory_at(row.self), name_of(row.self)};
  }
  for (std::uint16_t row = 0; row < kFiles.size(); ++row) {
    if (kFiles[row].in != directory) continue;
    const std::size_t count = count_of(row);
    if (n < count) {
      return {{.kind = kFiles[row].kind, .directory = directory, .row = row, .number = n},
              name_of(row, n)};
    }
    n -= count;
  }
  return {missing(ENOENT), {}};
}

Place DeviceFiles::step(Directory from, std::string_view name) const {
  if (name == ".") return directory_at(from);
  if (name == "..") return directory_at(row_of(from).parent);
  // As a link of sysfs: the device under both is one.
  if (from == uverbs && name == "device") return directory_at(parent);
  for (std::size_t n = 0;; ++n) {
    const Entry one = entry(from, n);
    if (one.place.kind == FileKind::none || one.name.view() == name) return one.place;
  }
}

Place DeviceFiles::find(Directory from, std::string_view path) const {
  Place place = directory_at(from);
  while (!path.empty()) {
    if (place.kind == FileKind::none || place.kind == FileKind::elsewhere) return place;
    // "state/" and "state/x" want a directory.
    if (place.kind != FileKind::directory) return missing(ENOTDIR);
    const std::string_view name = take_component(path);
    if (!name.empty()) place = step(place.directory, name);
  }
  return place;
}

Place DeviceFiles::find(std::string_view path) const {
  for (const DirectoryRow& row : kDirectories) {
    if (row.parent != outside || !path.starts_with(row.name)) continue;
    const std::string_view rest = path.substr(row.name.size());
    if (rest.empty() || rest.front() == '/') return find(row.self, rest);
  }
  return directory_at(outside);
}

void DeviceFiles::write(const Place& place, FileText& out) const {
  const FileRow& row = kFiles[place.row];
  if (row.write == nullptr) return;
  row.write({*identity_, counter_, place.number}, out);
  out.append('\n');
}

void DeviceFiles::append_path(Directory directory, PathText& out) const {
  // From the root down: there are few levels.
  std::array<Directory, 8> levels;
  std::size_t depth = 0;
  for (; directory != outside; directory = row_of(directory).parent) levels[depth++] = directory;
  for (std::size_t i = depth; i-- > 0;) {
    if (i + 1 < depth) out.append('/');
    out.append(name_of(levels[i]).view());
  }
}

void DeviceFiles::path_of(const Place& place, PathText& out) const {
  append_path(place.directory, out);
  if (place.kind == FileKind::directory) return;
  out.append('/');
  out.append(name_of(place.row, place.number).view());
}

}  // namespace softrnic::preload
