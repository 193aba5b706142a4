// SPDX-License-Identifier: BSD-3-Clause
#include "property/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "property/random.hpp"

namespace softrnic::property {

namespace {

using transport::SendOperation;

constexpr std::uint32_t kMaxUdPayload = 4096;

std::uint32_t random_psn(Random& random) {
  // Half of all connections wrap within their first packets.
  if (random.chance(50)) return 0xffffff - random.between(0, 300);
  return static_cast<std::uint32_t>(random.below(1u << 24));
}

std::uint32_t random_length(Random& random, std::uint32_t path_mtu) {
  switch (random.below(10)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return random.between(0, 64);
    case 3:
    case 4:
    case 5: {  // around a multiple of the path MTU
      const std::uint32_t centre = path_mtu * random.between(1, 5);
      return centre - 2 + random.between(0, 4);
    }
    case 6:
    case 7:
      return random.between(0, 4 * path_mtu);
    case 8:
      return random.between(0, 16384);
    default:
      if (random.chance(3)) return random.between(65536, 300'000);
      return random.chance(40) ? random.between(0, 65536) : random.between(0, 4096);
  }
}

Side random_side(Random& random, std::uint32_t nic) {
  Side side;
  side.nic = nic;
  side.send_depth = random.pick({1u, 2u, 4u, 16u, 64u, 128u});
  side.receive_depth = random.pick({1u, 2u, 8u, 32u, 128u});
  side.max_rd_atomic = random.pick<std::uint8_t>({1, 1, 2, 3, 4, 8, 16});
  side.first_psn = random_psn(random);
  side.post_burst = random.pick({1u, 2u, 8u, 64u});
  if (random.chance(40)) {  // late receives: RNR NAKs
    side.early_receives = random.between(0, 4);
    side.receive_burst = random.between(1, 4);
    side.receive_interval_us = random.pick({5u, 100u, 1000u, 5000u});
  } else {
    side.early_receives = side.receive_depth;
  }
  side.spare_receives = random.chance(20) ? random.between(1, 3) : 0;
  return side;
}

Connection random_connection(Random& random, Kind kind, std::uint32_t nics) {
  Connection connection;
  connection.version = random.chance(30) ? wire::RoceVersion::v1 : wire::RoceVersion::v2;
  connection.ipv6 = random.chance(40);
  connection.path_mtu = random.pick({256u, 512u, 1024u, 2048u, 4096u});
  connection.timeout = random.pick<std::uint8_t>({8, 10, 12, 14});  // 1 ms to 67 ms
  connection.rnr_timer = random.pick<std::uint8_t>({1, 3, 8, 12, 14});
  if (kind == Kind::unreliable) {
    connection.service = random.chance(50) ? wire::Service::unreliable_connection
                                           : wire::Service::unreliable_datagram;
  }
  const auto a = static_cast<std::uint32_t>(random.below(nics));
  const auto b = static_cast<std::uint32_t>((a + 1 + random.below(nics - 1)) % nics);
  connection.sides = {random_side(random, a), random_side(random, b)};
  if (connection.service == wire::Service::reliable_connection) {
    connection.receiving =
        random.pick({Receiving::own, Receiving::own, Receiving::shared, Receiving::extended});
  }
  return connection;
}

SendOperation random_operation(Random& random, wire::Service service) {
  if (service == wire::Service::unreliable_datagram) {
    return random.pick({SendOperation::send, SendOperation::send_with_immediate});
  }
  if (service == wire::Service::unreliable_connection) {
    return random.pick({SendOperation::send, SendOperation::send_with_immediate,
                        SendOperation::rdma_write, SendOperation::rdma_write_with_immediate});
  }
  return random.pick({SendOperation::send, SendOperation::send, SendOperation::send_with_immediate,
                      SendOperation::rdma_write, SendOperation::rdma_write,
                      SendOperation::rdma_write_with_immediate, SendOperation::rdma_read,
                      SendOperation::rdma_read, SendOperation::compare_swap,
                      SendOperation::fetch_add, SendOperation::send_with_invalidate,
                      SendOperation::atomic_write, SendOperation::flush});
}

// Picks an earlier operation of the same flow that `wanted` accepts.
template <class Wanted>
const Operation* earlier(Random& random, const std::vector<Operation>& operations,
                         std::uint32_t flow, const Wanted& wanted) {
  std::vector<const Operation*> found;
  for (const Operation& each : operations) {
    if (each.flow() == flow && wanted(each)) found.push_back(&each);
  }
  return found.empty() ? nullptr : found[random.below(found.size())];
}

bool read_since(const std::vector<Operation>& operations, const Operation& target) {
  return std::any_of(operations.begin(), operations.end(), [&](const Operation& each) {
    return each.relation == Relation::read_back && each.refers_to == target.id;
  });
}

// Lets the operation touch memory that an earlier one of its flow touched, where the transport's
// ordering rules (IBTA vol. 1, 9.5) still make the outcome certain.
void relate(Random& random, const std::vector<Operation>& operations, Operation& operation) {
  const auto is_fresh_write = [](const Operation& each) {
    return each.is_write() && each.relation != Relation::overwrite;
  };
  if (operation.is_read()) {
    const Operation* written = earlier(random, operations, operation.flow(), is_fresh_write);
    if (written == nullptr) return;
    operation.relation = Relation::read_back;
    operation.refers_to = written->id;
    operation.length = written->length;
    return;
  }
  if (operation.is_write() && random.chance(60)) {
    const Operation* written = earlier(random, operations, operation.flow(), is_fresh_write);
    if (written == nullptr) return;
    operation.relation = Relation::overwrite;
    operation.refers_to = written->id;
    operation.length = random.between(0, written->length);
    // A READ that is still being answered may be answered again, with what is there then.
    if (read_since(operations, *written)) operation.fence = true;
    return;
  }
  if (operation.is_write() || operation.is_send()) {
    const Operation* fetched = earlier(random, operations, operation.flow(),
                                       [](const Operation& each) { return each.is_read(); });
    if (fetched == nullptr) return;
    operation.relation = Relation::forward;
    operation.refers_to = fetched->id;
    operation.length = fetched->length;
    operation.fence = true;
  }
}

Operation random_request(Random& random, const Plan& plan, std::uint32_t id) {
  Operation operation;
  operation.id = id;
  operation.connection = static_cast<std::uint32_t>(random.below(plan.connections.size()));
  operation.side = random.chance(65) ? 0 : 1;
  const Connection& connection = plan.connections[operation.connection];
  operation.operation = random_operation(random, connection.service);
  operation.length = random_length(random, connection.path_mtu);
  operation.pieces = random.chance(60) ? 1 : random.between(1, 4);
  operation.receive_pieces = random.chance(60) ? 1 : random.between(1, 4);
  operation.receive_slack = random.chance(70) ? 0 : random.between(1, 500);
  operation.signaled = random.chance(75);
  operation.solicited = random.chance(20);
  operation.fence = random.chance(10);
  operation.immediate = static_cast<std::uint32_t>(random.next());
  if (operation.is_atomic_write()) {
    operation.length = 8;
    operation.pieces = 1;
  } else if (operation.is_atomic()) {
    operation.length = 8;
    operation.pieces = 1;
    operation.counter = random.pick({Counter::own, Counter::of_flow, Counter::of_nic});
    // The order of different flows is not known, so the shared counter is only added to.
    if (operation.counter == Counter::of_nic) operation.operation = SendOperation::fetch_add;
    operation.operand = random.next() >> random.between(0, 60);
    operation.compare_hits = random.chance(60);
  } else if (connection.service == wire::Service::reliable_connection && random.chance(25)) {
    relate(random, plan.operations, operation);
  }
  if (connection.service == wire::Service::unreliable_datagram) {
    operation.length = std::min({operation.length, connection.path_mtu, kMaxUdPayload});
  }
  const bool sends = operation.is_send() || operation.is_write() || operation.is_atomic_write();
  operation.is_inline = sends && operation.length <= kMaxInline &&
                        operation.relation != Relation::forward && random.chance(30);
  operation.by_window = operation.is_write() && random.chance(25);
  return operation;
}

// Rules whose probabilities add up to at most `budget` percent.
std::vector<std::string> random_faults(Random& random, std::uint32_t budget) {
  std::vector<std::string> rules;
  while (budget > 0 && rules.size() < 6) {
    const std::uint32_t share = std::min(budget, random.between(1, 8));
    budget -= share;
    switch (random.below(9)) {
      case 0:
      case 1:
        rules.push_back(fmt::format("drop {}%", share));
        break;
      case 2:
        rules.push_back(fmt::format("duplicate {}%", share));
        break;
      case 3:
        rules.push_back(fmt::format("reorder {} {}%", random.between(1, 8), share));
        break;
      case 4:
        rules.push_back(fmt::format("corrupt payload {}%", share));
        break;
      case 5:
        rules.push_back(fmt::format("corrupt icrc {}%", share));
        break;
      case 6:
        rules.push_back(fmt::format("delay {}us {}%", random.pick({3u, 50u, 400u, 3000u}), share));
        break;
      case 7:
        rules.push_back(fmt::format("drop {}% ACK", share));
        break;
      default:
        rules.push_back(fmt::format("tx corrupt psn {}%", share));
        break;
    }
  }
  return rules;
}

std::vector<std::vector<std::string>> random_fault_lists(Random& random, std::uint32_t nics) {
  std::vector<std::vector<std::string>> lists(nics);
  if (random.chance(15)) return lists;  // a perfect wire
  const std::uint32_t budget = random.pick({2u, 5u, 10u, 20u});
  // A frame passes two links; the faults of both together stay within the budget.
  for (auto& list : lists) list = random_faults(random, budget / 2);
  return lists;
}

}  // namespace

Plan make_plan(std::uint64_t seed, Kind kind) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.nics = random.chance(25) ? 3 : 2;
  plan.tick_ns = random.pick({100u, 1000u, 5000u});
  plan.ring = random.chance(10) ? 64 : 4096;
  plan.arp = random.chance(20);
  const std::uint32_t connections = random.chance(60) ? 1 : random.between(2, 6);
  for (std::uint32_t i = 0; i < connections; ++i) {
    plan.connections.push_back(random_connection(random, kind, plan.nics));
  }
  const std::uint32_t operations =
      random.chance(50) ? random.between(1, 12) : random.between(12, 70);
  for (std::uint32_t id = 0; id < operations; ++id) {
    plan.operations.push_back(random_request(random, plan, id));
  }
  plan.faults = random_fault_lists(random, plan.nics);
  if (kind == Kind::severed) {
    plan.cut_after = random.between(0, random.pick({10u, 100u, 1000u}));
    plan.arp = false;
    for (Connection& connection : plan.connections) {
      connection.retry_count = static_cast<std::uint8_t>(random.between(0, 7));
    }
    // With few retries left the faults would end connections before the cut does.
    for (auto& list : plan.faults) list.clear();
  }
  return plan;
}

namespace {

std::string_view relation_name(Relation relation) {
  switch (relation) {
    case Relation::fresh:
      return "";
    case Relation::overwrite:
      return " over the target of";
    case Relation::read_back:
      return " of the target of";
    case Relation::forward:
      return " of what was fetched by";
  }
  return "";
}

std::string line_of(const Operation& operation) {
  std::string line =
      fmt::format("  #{} connection {} side {}: {} {} B", operation.id, operation.connection,
                  operation.side, transport::to_string(operation.operation), operation.length);
  if (operation.pieces != 1) line += fmt::format(" in {} pieces", operation.pieces);
  if (operation.relation != Relation::fresh) {
    line += fmt::format("{} #{}", relation_name(operation.relation), operation.refers_to);
  }
  if (operation.has_immediate()) line += fmt::format(" immediate {:08x}", operation.immediate);
  if (operation.consumes_receive() && (operation.receive_pieces != 1 || operation.receive_slack)) {
    line +=
        fmt::format(" into {} pieces + {} B", operation.receive_pieces, operation.receive_slack);
  }
  if (operation.is_atomic()) {
    constexpr std::string_view kCounters[] = {"its own", "the flow's", "the NIC's"};
    line += fmt::format(" on {} counter, operand {:x}{}",
                        kCounters[static_cast<int>(operation.counter)], operation.operand,
                        operation.compare_hits ? ", compare equal" : "");
  }
  if (operation.is_inline) line += " inline";
  if (operation.by_window) line += " by a window";
  if (operation.fence) line += " fence";
  if (operation.solicited) line += " solicited";
  if (!operation.signaled) line += " unsignaled";
  return line + "\n";
}

std::string line_of(const Side& side) {
  return fmt::format(
      "    NIC {}: send queue {}, receive queue {}, rd_atomic {}, psn {:06x}, bursts of {}, "
      "receives {} then {} every {} us, {} spare\n",
      side.nic, side.send_depth, side.receive_depth, side.max_rd_atomic, side.first_psn,
      side.post_burst, side.early_receives, side.receive_burst, side.receive_interval_us,
      side.spare_receives);
}

std::string_view to_string(Receiving receiving) {
  switch (receiving) {
    case Receiving::own:
      return "";
    case Receiving::shared:
      return " with shared receive queues";
    case Receiving::extended:
      return " by XRC";
  }
  return "";
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::string text =
      fmt::format("seed {}: {} NICs, {} ns a turn, ring {}{}\n", plan.seed, plan.nics, plan.tick_ns,
                  plan.ring, plan.arp ? ", neighbours unknown" : "");
  if (plan.cut_after) text += fmt::format("  NIC 1 is cut off after {} turns\n", *plan.cut_after);
  for (std::size_t i = 0; i < plan.connections.size(); ++i) {
    const Connection& c = plan.connections[i];
    text +=
        fmt::format("  connection {}: {}{} {} IPv{}, path MTU {}, timeout {}, retries {}, RNR {}\n",
                    i, wire::to_string(c.service), to_string(c.receiving),
                    c.version == wire::RoceVersion::v1 ? "v1" : "v2", c.ipv6 ? 6 : 4, c.path_mtu,
                    c.timeout, c.retry_count, c.rnr_timer);
    if (c.selective_repeat) text += "    selective repeat\n";
    if (c.credits) text += "    end-to-end credits\n";
    for (const Side& side : c.sides) text += line_of(side);
  }
  for (const Operation& operation : plan.operations) text += line_of(operation);
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    for (const std::string& rule : plan.faults[i]) {
      text += fmt::format("  fault at NIC {}: {}\n", i, rule);
    }
  }
  return text;
}

}  // namespace softrnic::property
