// SPDX-License-Identifier: BSD-3-Clause
#include "property/unreliable_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "property/arena.hpp"
#include "property/case_net.hpp"

namespace softrnic::property {

namespace {

using transport::Completion;
using transport::CompletionOperation;
using transport::CompletionStatus;

constexpr std::uint32_t kGrhRoom = 40;
constexpr std::uint64_t kMaxSteps = 1'000'000;

struct Task {
  const Operation* operation = nullptr;
  Places local;
  Place remote;                   // WRITE
  std::vector<std::byte> before;  // what the target held
};

struct Flow {
  const Connection* connection = nullptr;
  const Side* sender = nullptr;
  const Side* receiver = nullptr;
  std::uint32_t sender_qpn = 0;
  std::uint32_t receiver_qpn = 0;
  std::uint32_t address_handle = 0;
  std::vector<Task> tasks;
  std::size_t posted = 0;
  std::size_t accounted = 0;
  std::vector<Places> receives;  // enough for every message
  std::size_t receives_posted = 0;
  std::size_t receives_completed = 0;
  std::optional<std::size_t> last_delivered;
};

class UnreliableRun {
 public:
  explicit UnreliableRun(const Plan& plan)
      : plan_(plan), net_(std::make_unique<CaseNet>(plan, std::string())) {
    for (const auto& rules : plan.faults) {
      for (const std::string& rule : rules) {
        perfect_ = false;
        for (const std::string_view word : {"duplicate", "reorder", "delay"}) {
          if (rule.find(word) != std::string::npos) ordered_ = false;
        }
      }
    }
  }

  UnreliableOutcome run() {
    lay_out();
    connect();
    turn_until_done();
    if (failure_.empty()) check_all_arrived();
    if (failure_.empty()) check_memory();
    if (failure_.empty()) take_down();
    outcome_.failure = failure_.empty() ? net_->failure() : failure_;
    return outcome_;
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (failure_.empty()) failure_ = fmt::format(format, std::forward<Args>(args)...);
  }

  Arena& arena_of(const Side& side) const { return *arenas_[side.nic]; }
  static bool is_datagram(const Flow& flow) {
    return flow.connection->service == wire::Service::unreliable_datagram;
  }

  void lay_out() {
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      arenas_.push_back(std::make_unique<Arena>(plan_.seed * 31 + i));
    }
    flows_.resize(plan_.connections.size() * 2);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Flow& flow = flows_[i];
      flow.connection = &plan_.connections[i / 2];
      flow.sender = &flow.connection->sides[i % 2];
      flow.receiver = &flow.connection->sides[1 - i % 2];
    }
    for (const Operation& operation : plan_.operations) {
      Flow& flow = flows_[operation.flow()];
      Task task;
      task.operation = &operation;
      task.local = arena_of(*flow.sender).take_scattered(operation.length, operation.pieces);
      if (operation.is_write()) task.remote = arena_of(*flow.receiver).take(operation.length);
      flow.tasks.push_back(std::move(task));
    }
    for (Flow& flow : flows_) take_receives(flow);
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      arenas_[i]->commit(net_->nic(i), net_->domain(i));
    }
    for (Flow& flow : flows_) {
      for (Task& task : flow.tasks) {
        task.before = arena_of(*flow.receiver).actual({task.remote});
      }
    }
  }

  // Duplicates may consume receives too: twice as many as there are messages.
  void take_receives(Flow& flow) {
    std::uint32_t longest = 0;
    std::size_t wanted = 0;
    std::uint32_t pieces = 1;
    for (const Task& task : flow.tasks) {
      if (!task.operation->consumes_receive()) continue;
      wanted += 2;
      longest = std::max(longest, task.operation->length);
      pieces = task.operation->receive_pieces;
    }
    if (is_datagram(flow)) longest += kGrhRoom;
    for (std::size_t i = 0; i < wanted; ++i) {
      flow.receives.push_back(arena_of(*flow.receiver).take_scattered(longest, pieces));
    }
  }

  void connect() {
    for (std::size_t i = 0; i < plan_.connections.size(); ++i) {
      const Connection& connection = plan_.connections[i];
      const Ends ends = net_->create_pair(connection);
      const auto& qpns = ends.senders;
      if (!net_->failure().empty()) return;
      flows_[2 * i].sender_qpn = flows_[2 * i + 1].receiver_qpn = qpns[0];
      flows_[2 * i].receiver_qpn = flows_[2 * i + 1].sender_qpn = qpns[1];
      for (std::size_t side : {0, 1}) {
        Flow& flow = flows_[2 * i + side];
        post_receives(flow);
        if (!is_datagram(flow)) continue;
        const auto handle = net_->nic(flow.sender->nic)
                                .create_address_handle(net_->domain(flow.sender->nic),
                                                       net_->address(connection, side));
        if (!handle) return fail("address handle: {}", nic::to_string(handle.error()));
        flow.address_handle = *handle;
      }
      net_->connect_pair(connection, ends);
    }
  }

  void turn_until_done() {
    if (!net_->failure().empty()) return fail("{}", net_->failure());
    for (std::uint64_t steps = 0; failure_.empty(); ++steps) {
      if (steps > kMaxSteps) return fail("still busy after {} turns", kMaxSteps);
      for (Flow& flow : flows_) {
        post_receives(flow);
        post_requests(flow);
      }
      const bool stepped = net_->net().step();
      poll();
      if (stepped || !failure_.empty()) continue;
      if (std::all_of(flows_.begin(), flows_.end(),
                      [](const Flow& flow) { return flow.posted == flow.tasks.size(); })) {
        return settle();
      }
      return fail("nothing moves any more");
    }
  }

  void post_receives(Flow& flow) {
    while (flow.receives_posted < flow.receives.size()) {
      Arena& there = arena_of(*flow.receiver);
      const auto sges = there.elements(flow.receives[flow.receives_posted], there.local());
      transport::ReceiveRequest request;
      request.id = flow.receives_posted;
      request.sges = sges;
      const auto error = net_->nic(flow.receiver->nic).post_receive(flow.receiver_qpn, request);
      if (error == transport::PostError::queue_full) return;
      if (error) return fail("a receive was refused: {}", transport::to_string(*error));
      ++flow.receives_posted;
    }
  }

  void post_requests(Flow& flow) {
    Arena& here = arena_of(*flow.sender);
    Arena& there = arena_of(*flow.receiver);
    for (std::uint32_t n = 0; n < flow.sender->post_burst && flow.posted < flow.tasks.size(); ++n) {
      const Task& task = flow.tasks[flow.posted];
      const auto sges = here.elements(task.local, here.source());
      transport::SendRequest request;
      request.id = flow.posted;
      request.operation = task.operation->operation;
      request.signaled = task.operation->signaled;
      request.solicited = task.operation->solicited;
      request.immediate = task.operation->immediate;
      request.sges = sges;
      request.address_handle = flow.address_handle;
      request.remote_qpn = flow.receiver_qpn;
      request.remote_queue_key = 0x11111111;
      if (task.operation->is_write()) {
        request.remote_address = there.writable().address + task.remote.offset;
        request.remote_key = there.writable().keys.remote;
      }
      const auto error = net_->nic(flow.sender->nic).post_send(flow.sender_qpn, request);
      if (error == transport::PostError::queue_full) return;
      if (error)
        return fail("request #{} was refused: {}", task.operation->id,
                    transport::to_string(*error));
      ++flow.posted;
      ++outcome_.sent;
    }
  }

  void poll() {
    for (std::uint32_t nic = 0; nic < plan_.nics; ++nic) {
      Completion completion;
      while (failure_.empty() && net_->send_completions(nic).poll({&completion, 1}) == 1) {
        on_sent(flow_of(nic, completion.qpn, true), completion);
      }
      while (failure_.empty() && net_->receive_completions(nic).poll({&completion, 1}) == 1) {
        on_received(flow_of(nic, completion.qpn, false), completion);
      }
    }
  }

  void on_sent(Flow* flow, const Completion& completion) {
    if (flow == nullptr) return fail("a send completion for queue pair {:#x}", completion.qpn);
    if (completion.status != CompletionStatus::success) {
      return fail("a request ended in: {}", transport::to_string(completion.status));
    }
    while (flow->accounted < flow->posted && !flow->tasks[flow->accounted].operation->signaled) {
      ++flow->accounted;
    }
    if (flow->accounted >= flow->posted || completion.id != flow->accounted) {
      return fail("request {} completed out of turn", completion.id);
    }
    ++flow->accounted;
  }

  void on_received(Flow* flow, const Completion& completion) {
    if (flow == nullptr) return fail("a receive completion for queue pair {:#x}", completion.qpn);
    if (completion.status != CompletionStatus::success) {
      return fail("a receive ended in: {}", transport::to_string(completion.status));
    }
    if (completion.id != flow->receives_completed ||
        flow->receives_completed == flow->receives_posted) {
      return fail("receive {} completed out of turn", completion.id);
    }
    std::vector<std::byte> bytes =
        arena_of(*flow->receiver).actual(flow->receives[flow->receives_completed]);
    ++flow->receives_completed;
    ++outcome_.received;
    if (is_datagram(*flow)) {
      check_datagram(*flow, completion, bytes);
      if (!failure_.empty()) return;
      bytes.erase(bytes.begin(), bytes.begin() + kGrhRoom);
      bytes.resize(completion.byte_length - kGrhRoom);
    } else if (completion.operation == CompletionOperation::receive) {
      bytes.resize(completion.byte_length);
    }
    // In order, at most once: only what lies beyond the last delivered is a candidate.
    const std::size_t from = ordered_ && flow->last_delivered ? *flow->last_delivered + 1 : 0;
    for (std::size_t i = from; i < flow->posted; ++i) {
      if (!is_message(*flow, flow->tasks[i], completion, bytes)) continue;
      flow->last_delivered = i;
      return;
    }
    fail("a receive of {} bytes at queue pair {:#x} is no message that was to come",
         completion.byte_length, completion.qpn);
  }

  void check_datagram(const Flow& flow, const Completion& completion,
                      const std::vector<std::byte>& bytes) {
    if (completion.byte_length < kGrhRoom || completion.byte_length > bytes.size()) {
      return fail("a datagram of {} bytes", completion.byte_length);
    }
    if (!completion.has_grh) return fail("a datagram without its 40 bytes");
    if (completion.source_qpn != flow.sender_qpn) {
      return fail("a datagram from queue pair {:#x}", completion.source_qpn);
    }
    const bool ipv4 = flow.connection->version == wire::RoceVersion::v2 && !flow.connection->ipv6;
    const auto first = static_cast<unsigned>(bytes[ipv4 ? 20 : 0]);
    if (first >> 4 != (ipv4 ? 4u : 6u)) fail("a datagram whose header begins {:02x}", first);
  }

  bool is_message(const Flow& flow, const Task& task, const Completion& completion,
                  const std::vector<std::byte>& bytes) const {
    const Operation& operation = *task.operation;
    if (!operation.consumes_receive() || completion.has_immediate != operation.has_immediate() ||
        (operation.has_immediate() && completion.immediate != operation.immediate) ||
        completion.solicited != operation.solicited) {
      return false;
    }
    const std::vector<std::byte> sent = arena_of(*flow.sender).actual(task.local);
    if (operation.is_send()) {
      return completion.operation == CompletionOperation::receive && bytes == sent;
    }
    return completion.operation == CompletionOperation::receive_rdma_with_immediate &&
           completion.byte_length == sent.size() &&
           arena_of(*flow.receiver).actual({task.remote}) == sent;
  }

  void settle() {
    for (Flow& flow : flows_) {
      const auto* qp = net_->nic(flow.sender->nic).find_queue_pair(flow.sender_qpn);
      if (qp->send_queue_depth() != 0) return fail("a request is left");
      for (; flow.accounted < flow.posted; ++flow.accounted) {
        if (flow.tasks[flow.accounted].operation->signaled) return fail("a completion is missing");
      }
    }
    if (net_->net().next_deadline() != wire::kNever) fail("a timer is left");
  }

  void check_all_arrived() {
    if (!perfect_ || net_->overflows() != 0) return;
    for (const Flow& flow : flows_) {
      const std::size_t wanted = flow.receives.size() / 2;
      if (wanted > flow.receiver->receive_depth) continue;  // may have met an empty queue
      if (flow.receives_completed != wanted) {
        return fail("{} of {} messages arrived over a perfect wire", flow.receives_completed,
                    wanted);
      }
    }
  }

  void check_memory() {
    for (Flow& flow : flows_) {
      Arena& there = arena_of(*flow.receiver);
      for (const Places& places : flow.receives) there.forget(places);
      for (const Task& task : flow.tasks) {
        if (task.operation->is_write()) check_written(flow, task);
      }
    }
    for (std::uint32_t i = 0; i < plan_.nics && failure_.empty(); ++i) {
      const std::string wrong = arenas_[i]->difference();
      if (!wrong.empty()) return fail("memory of NIC {}: {}", i, wrong);
    }
  }

  // Each packet of a WRITE has been laid down whole, or not at all.
  void check_written(const Flow& flow, const Task& task) {
    Arena& there = arena_of(*flow.receiver);
    const std::vector<std::byte> sent = arena_of(*flow.sender).actual(task.local);
    const std::vector<std::byte> now = there.actual({task.remote});
    for (std::size_t at = 0; at < sent.size(); at += flow.connection->path_mtu) {
      const auto from = static_cast<std::ptrdiff_t>(at);
      const auto to = static_cast<std::ptrdiff_t>(
          std::min<std::size_t>(at + flow.connection->path_mtu, sent.size()));
      const bool is_new = std::equal(now.begin() + from, now.begin() + to, sent.begin() + from);
      const bool is_old =
          std::equal(now.begin() + from, now.begin() + to, task.before.begin() + from);
      if (!is_new && !is_old) return fail("the target of #{} is spoilt", task.operation->id);
    }
    there.expect({task.remote}, now);
  }

  void take_down() {
    for (const Flow& flow : flows_) {
      if (net_->nic(flow.sender->nic).destroy_queue_pair(flow.sender_qpn)) {
        return fail("a queue pair cannot be destroyed");
      }
      if (flow.address_handle != 0 &&
          net_->nic(flow.sender->nic).destroy_address_handle(flow.address_handle)) {
        return fail("an address handle cannot be destroyed");
      }
    }
    for (std::uint32_t i = 0; i < plan_.nics; ++i) arenas_[i]->withdraw(net_->nic(i));
    const std::string wrong = net_->take_down();
    if (!wrong.empty()) fail("{}", wrong);
  }

  Flow* flow_of(std::uint32_t nic, std::uint32_t qpn, bool sender) {
    for (Flow& flow : flows_) {
      const Side& side = sender ? *flow.sender : *flow.receiver;
      if (side.nic == nic && (sender ? flow.sender_qpn : flow.receiver_qpn) == qpn) return &flow;
    }
    return nullptr;
  }

  const Plan& plan_;
  std::unique_ptr<CaseNet> net_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Flow> flows_;
  bool perfect_ = true;
  bool ordered_ = true;
  std::string failure_;
  UnreliableOutcome outcome_;
};

}  // namespace

UnreliableOutcome run_unreliable(const Plan& plan) {
  return UnreliableRun(plan).run();
}

}  // namespace softrnic::property
