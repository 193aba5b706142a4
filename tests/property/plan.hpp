// SPDX-License-Identifier: BSD-3-Clause
// One case of the property tests, spelled out: NICs, connections, operations, faults. A plan is
// made from a seed, can be printed, and still makes sense when operations or faults are taken out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/queue_pair_attributes.hpp"
#include "transport/work_request.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::property {

// Longest inline data.
inline constexpr std::uint32_t kMaxInline = 300;

// One end of a connection.
struct Side {
  std::uint32_t nic = 0;
  std::uint32_t send_depth = 16;
  std::uint32_t receive_depth = 16;
  std::uint8_t max_rd_atomic = 1;  // outstanding from this side, and what the other side serves
  std::uint32_t first_psn = 0;
  std::uint32_t post_burst = 4;  // requests posted between two turns
  // Receives posted before the first request, and then `receive_burst` every `receive_interval`
  // (0: as soon as there is room).
  std::uint32_t early_receives = 8;
  std::uint32_t receive_burst = 4;
  std::uint32_t receive_interval_us = 0;
  std::uint32_t spare_receives = 0;  // posted and never used
};

// Where a reliable connection's receives come from.
enum class Receiving : std::uint8_t {
  own,       // receive queues
  shared,    // a shared receive queue at either side
  extended,  // the same, by XRC: an initiator and a target each way
};

struct Connection {
  wire::Service service = wire::Service::reliable_connection;
  Receiving receiving = Receiving::own;
  wire::RoceVersion version = wire::RoceVersion::v2;
  bool ipv6 = false;
  std::uint32_t path_mtu = 1024;
  std::uint8_t timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_timer = 12;
  std::uint8_t rnr_retry = 7;
  // Both sides alike.
  bool selective_repeat = false;
  bool credits = false;
  bool honors_credits = true;
  std::array<Side, 2> sides;
};

// How an operation's memory relates to that of an earlier one of its flow.
enum class Relation : std::uint8_t {
  fresh,      // all its own
  overwrite,  // WRITE: the target of an earlier WRITE
  read_back,  // READ: the target of an earlier WRITE
  forward,    // SEND or WRITE: what an earlier READ fetched, behind a fence
};

enum class Counter : std::uint8_t { own, of_flow, of_nic };

struct Operation {
  std::uint32_t id = 0;  // its number in the plan as made; names it for others' `refers_to`
  std::uint32_t connection = 0;
  std::uint32_t side = 0;  // of the connection: who posts it
  transport::SendOperation operation{};
  std::uint32_t length = 0;
  std::uint32_t pieces = 1;          // scatter/gather elements
  std::uint32_t receive_pieces = 1;  // of the receive it consumes
  std::uint32_t receive_slack = 0;   // bytes by which that receive is larger
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
  std::uint32_t immediate = 0;
  Relation relation = Relation::fresh;
  std::uint32_t refers_to = 0;
  Counter counter = Counter::own;
  std::uint64_t operand = 0;  // what is added, or swapped in
  bool compare_hits = false;
  bool is_inline = false;
  bool by_window = false;  // a WRITE that names a memory window

  std::uint32_t flow() const { return connection * 2 + side; }
  bool has_immediate() const {
    return operation == transport::SendOperation::send_with_immediate ||
           operation == transport::SendOperation::rdma_write_with_immediate;
  }
  bool is_send() const {
    return operation == transport::SendOperation::send ||
           operation == transport::SendOperation::send_with_immediate || invalidates();
  }
  bool invalidates() const { return operation == transport::SendOperation::send_with_invalidate; }
  bool is_atomic_write() const { return operation == transport::SendOperation::atomic_write; }
  bool is_flush() const { return operation == transport::SendOperation::flush; }
  bool is_write() const {
    return operation == transport::SendOperation::rdma_write ||
           operation == transport::SendOperation::rdma_write_with_immediate;
  }
  bool is_read() const { return operation == transport::SendOperation::rdma_read; }
  bool is_atomic() const {
    return operation == transport::SendOperation::compare_swap ||
           operation == transport::SendOperation::fetch_add;
  }
  bool consumes_receive() const {
    return is_send() || operation == transport::SendOperation::rdma_write_with_immediate;
  }
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t nics = 2;
  std::uint32_t tick_ns = 1000;
  std::uint32_t ring = 4096;
  bool arp = false;  // NICs find each other by themselves
  // After this many turns NIC 1 is cut off for good.
  std::optional<std::uint32_t> cut_after;
  std::vector<Connection> connections;
  std::vector<Operation> operations;             // each flow's in the order they are posted
  std::vector<std::vector<std::string>> faults;  // per NIC: rules for its link
};

// `severed`: reliable connections, one NIC of which is cut off at some time.
enum class Kind : std::uint8_t { reliable, unreliable, severed };

Plan make_plan(std::uint64_t seed, Kind kind);
std::string to_string(const Plan& plan);

}  // namespace softrnic::property
