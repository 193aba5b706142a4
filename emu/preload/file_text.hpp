// SPDX-License-Identifier: BSD-3-Clause
// What the kernel writes into each file of a device, without the line's end.
#pragma once

#include <cstddef>

#include "preload/device_files.hpp"

namespace softrnic::preload {

struct FileSource {
  const Identity& identity;
  CounterValue counter;
  std::size_t number;  // of a file of which there are several
};

void write_board(const FileSource& source, FileText& out);
void write_capabilities(const FileSource& source, FileText& out);
void write_device(const FileSource& source, FileText& out);
void write_device_event(const FileSource& source, FileText& out);
void write_driver_abi(const FileSource& source, FileText& out);
void write_gid(const FileSource& source, FileText& out);
void write_gid_interface(const FileSource& source, FileText& out);
void write_gid_type(const FileSource& source, FileText& out);
void write_guid(const FileSource& source, FileText& out);
void write_hardware_counter(const FileSource& source, FileText& out);
void write_lid(const FileSource& source, FileText& out);
void write_lifespan(const FileSource& source, FileText& out);
void write_link_layer(const FileSource& source, FileText& out);
void write_mad_abi(const FileSource& source, FileText& out);
void write_no_node(const FileSource& source, FileText& out);
void write_no_number(const FileSource& source, FileText& out);
void write_node_numbers(const FileSource& source, FileText& out);
void write_node_type(const FileSource& source, FileText& out);
void write_partition_key(const FileSource& source, FileText& out);
void write_physical_state(const FileSource& source, FileText& out);
void write_rate(const FileSource& source, FileText& out);
void write_receive_errors(const FileSource& source, FileText& out);
void write_received_packets(const FileSource& source, FileText& out);
void write_received_words(const FileSource& source, FileText& out);
void write_send_discards(const FileSource& source, FileText& out);
void write_sent_packets(const FileSource& source, FileText& out);
void write_sent_words(const FileSource& source, FileText& out);
void write_state(const FileSource& source, FileText& out);
void write_type(const FileSource& source, FileText& out);
void write_uverbs_abi(const FileSource& source, FileText& out);
void write_uverbs_event(const FileSource& source, FileText& out);
void write_version(const FileSource& source, FileText& out);
void write_zero(const FileSource& source, FileText& out);

}  // namespace softrnic::preload
