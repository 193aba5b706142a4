// SPDX-License-Identifier: BSD-3-Clause
#include "property/reliable_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "property/arena.hpp"
#include "property/case_net.hpp"

namespace softrnic::property {

namespace {

using transport::Completion;
using transport::CompletionOperation;
using transport::CompletionStatus;
using transport::QueuePairState;
using transport::SendOperation;

constexpr std::uint64_t kMaxSteps = 3'000'000;
constexpr std::uint64_t kSpareId = std::uint64_t{1} << 40;

CompletionOperation completion_operation(const Operation& operation) {
  if (operation.is_send()) return CompletionOperation::send;
  if (operation.is_write()) return CompletionOperation::rdma_write;
  if (operation.is_read()) return CompletionOperation::rdma_read;
  if (operation.is_atomic_write()) return CompletionOperation::atomic_write;
  if (operation.is_flush()) return CompletionOperation::flush;
  return operation.operation == SendOperation::compare_swap ? CompletionOperation::compare_swap
                                                            : CompletionOperation::fetch_add;
}

// An operation with the memory it uses.
struct Task {
  const Operation* operation = nullptr;
  Places local;                // what is sent, or where the answer goes
  Place remote;                // target of a WRITE, READ or atomic
  Places receive;              // where a SEND goes
  bool local_shared = false;   // another operation uses `local` too
  bool remote_shared = false;  // or `remote`
  std::uint64_t compare = 0;
  std::uint64_t original = 0;  // what an atomic should answer
  std::uint32_t revoked = 0;   // the key that a SEND invalidates
};

// What keys reach that are made to be invalidated.
std::array<std::byte, 16> revocable;

// One direction of a connection.
struct Flow {
  const Connection* connection = nullptr;
  const Side* sender = nullptr;
  const Side* receiver = nullptr;
  std::uint32_t sender_qpn = 0;
  std::uint32_t receiver_qpn = 0;
  transport::SharedReceiveQueue* shared = nullptr;  // that the receiver receives through

  std::vector<Task> tasks;
  std::size_t posted = 0;
  std::size_t accounted = 0;             // tasks known to have completed, one way or the other
  std::optional<std::size_t> broken_at;  // the first that did not succeed

  std::vector<std::size_t> receives;  // the tasks that consume a receive, in order
  std::size_t receives_posted = 0;    // including spares
  std::size_t receives_completed = 0;
  bool receives_broken = false;
  wire::Instant next_receive_at{};

  std::size_t all_receives() const { return receives.size() + receiver->spare_receives; }
  Places counter;  // of_flow
};

class ReliableRun {
 public:
  ReliableRun(const Plan& plan, const std::string& capture) : plan_(plan) {
    net_ = std::make_unique<CaseNet>(plan, capture);
  }

  Outcome run() {
    lay_out();
    connect();
    if (!net_->failure().empty()) fail("{}", net_->failure());
    if (ok()) turn_until_done();
    if (ok()) check_rest();
    if (ok()) check_memory();
    if (ok()) take_down();
    outcome_.failure = failure_.empty() ? net_->failure() : failure_;
    return outcome_;
  }

 private:
  bool ok() const { return failure_.empty(); }
  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (failure_.empty()) {
      failure_ = fmt::format("at {} ns: {}", net_->net().now().time_since_epoch().count(),
                             fmt::format(format, std::forward<Args>(args)...));
    }
  }

  // --- before ---

  void lay_out() {
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      arenas_.push_back(std::make_unique<Arena>(plan_.seed * 31 + i));
      nic_counters_.push_back({arenas_.back()->take(8, 8)});
    }
    flows_.resize(plan_.connections.size() * 2);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Flow& flow = flows_[i];
      flow.connection = &plan_.connections[i / 2];
      flow.sender = &flow.connection->sides[i % 2];
      flow.receiver = &flow.connection->sides[1 - i % 2];
      flow.counter = {arena_of(*flow.receiver).take(8, 8)};
    }
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> where;  // by operation id
    for (const Operation& operation : plan_.operations) {
      Flow& flow = flows_[operation.flow()];
      where[operation.id] = {operation.flow(), flow.tasks.size()};
      const auto found = where.find(operation.refers_to);
      const bool refers = operation.relation != Relation::fresh && found != where.end() &&
                          operation.refers_to != operation.id;
      Task* other = refers ? &flows_[found->second.first].tasks[found->second.second] : nullptr;
      flow.tasks.push_back(place(flow, operation, other));
      if (operation.consumes_receive()) flow.receives.push_back(flow.tasks.size() - 1);
    }
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      arenas_[i]->commit(net_->nic(i), net_->domain(i));
      nic_sums_.push_back(arenas_[i]->expected_word(nic_counters_[i].front()));
      nic_starts_.push_back(nic_sums_.back());
    }
    for (Flow& flow : flows_) {
      for (Task& task : flow.tasks) {
        foresee(flow, task);
        if (task.operation->invalidates()) task.revoked = make_revocable(flow.receiver->nic);
      }
    }
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      arenas_[i]->expect_word(nic_counters_[i].front(), nic_sums_[i]);
    }
  }

  // A key for a SEND to invalidate.
  std::uint32_t make_revocable(std::uint32_t nic) {
    nic::MemoryRegionTable& memory = net_->nic(nic).memory();
    const std::uint32_t key = memory.allocate(net_->domain(nic), revocable.size())->local;
    const auto fault = memory.fast_register(
        net_->domain(nic), {.key = key,
                            .access = transport::kRemoteRead,
                            .address = 0,
                            .host_address = reinterpret_cast<std::uintptr_t>(revocable.data()),
                            .length = revocable.size()});
    if (fault != transport::MemoryFault::none) fail("a fast registration was refused");
    revocable_keys_.push_back({nic, key});
    return key;
  }

  bool is_valid(std::uint32_t nic, std::uint32_t key) {
    return net_->nic(nic).memory().check_remote(net_->domain(nic), key, 0, 1,
                                                transport::kRemoteRead) ==
           transport::MemoryFault::none;
  }

  Task place(Flow& flow, const Operation& operation, Task* other) {
    Arena& here = arena_of(*flow.sender);
    Arena& there = arena_of(*flow.receiver);
    Task task;
    task.operation = &operation;
    if (other != nullptr && operation.relation == Relation::forward) {
      task.local = other->local;
      task.local_shared = other->local_shared = true;
    } else if (operation.is_atomic()) {
      task.local = {here.take(8, 8)};
    } else {
      const std::uint32_t length = operation.is_flush() ? 0 : operation.length;
      task.local = here.take_scattered(length, operation.pieces);
    }
    if (operation.is_atomic_write()) task.remote = there.take(8, 8);
    if (operation.is_flush()) task.remote = there.take(operation.length);
    if (operation.is_write() || operation.is_read()) {
      if (other != nullptr && operation.relation != Relation::forward) {
        task.remote = {other->remote.offset, operation.length};
        task.remote_shared = other->remote_shared = true;
      } else {
        task.remote = there.take(operation.length);
      }
    } else if (operation.is_atomic()) {
      task.remote = operation.counter == Counter::own       ? there.take(8, 8)
                    : operation.counter == Counter::of_flow ? flow.counter.front()
                                                            : nic_counter(*flow.receiver);
      task.remote_shared = operation.counter != Counter::own;
    }
    if (operation.consumes_receive()) {
      const std::uint32_t room = operation.is_send() ? operation.length : 0;
      task.receive = there.take_scattered(room + operation.receive_slack, operation.receive_pieces);
    }
    return task;
  }

  // Works out what the operation does to the model.
  void foresee(Flow& flow, Task& task) {
    const Operation& operation = *task.operation;
    Arena& here = arena_of(*flow.sender);
    Arena& there = arena_of(*flow.receiver);
    if (operation.is_write() || operation.is_atomic_write()) {
      there.expect({task.remote}, here.expected(task.local));
    } else if (operation.is_flush()) {
      return;
    } else if (operation.is_send()) {
      there.expect(task.receive, here.expected(task.local));
    } else if (operation.is_read()) {
      here.expect(task.local, there.expected({task.remote}));
    } else if (operation.counter == Counter::of_nic) {
      nic_sums_[flow.receiver->nic] += operation.operand;
    } else {
      task.original = there.expected_word(task.remote);
      task.compare = operation.compare_hits ? task.original : task.original + 1;
      std::uint64_t after = task.original + operation.operand;
      if (operation.operation == SendOperation::compare_swap) {
        after = operation.compare_hits ? operation.operand : task.original;
      }
      there.expect_word(task.remote, after);
      here.expect_word(task.local.front(), task.original);
    }
  }

  void connect() {
    for (std::size_t i = 0; i < plan_.connections.size(); ++i) {
      Flow& forward = flows_[2 * i];
      Flow& back = flows_[2 * i + 1];
      const Ends ends = net_->create_pair(plan_.connections[i]);
      if (!net_->failure().empty()) return;
      forward.sender_qpn = ends.senders[0];
      forward.receiver_qpn = ends.receivers[1];
      forward.shared = ends.shared[1];
      back.sender_qpn = ends.senders[1];
      back.receiver_qpn = ends.receivers[0];
      back.shared = ends.shared[0];
      // Some receives are there before the connection is.
      for (Flow* flow : {&forward, &back}) post_receives(*flow, flow->receiver->early_receives);
      net_->connect_pair(plan_.connections[i], ends);
    }
  }

  // --- the run ---

  void turn_until_done() {
    for (std::uint64_t steps = 0; ok(); ++steps) {
      if (steps > kMaxSteps) return fail("still busy after {} turns", kMaxSteps);
      if (plan_.cut_after && steps == *plan_.cut_after) net_->cut(1);
      for (Flow& flow : flows_) post(flow);
      const wire::Instant user = next_receive_time();
      const bool stepped = net_->net().step(user);
      poll();
      if (stepped) continue;
      if (user != wire::kNever) {
        net_->net().advance(std::max(wire::Duration(0), user - net_->net().now()));
        continue;
      }
      for (Flow& flow : flows_) settle(flow);
      if (!ok() || all_done()) return;
      return fail("nothing moves any more, and {}", what_is_left());
    }
  }

  void post(Flow& flow) {
    if (is_broken(flow)) return;
    if (now() >= flow.next_receive_at) {
      post_receives(flow, flow.receiver->receive_interval_us == 0 ? flow.receiver->receive_depth
                                                                  : flow.receiver->receive_burst);
      flow.next_receive_at = now() + std::chrono::microseconds(flow.receiver->receive_interval_us);
    }
    for (std::uint32_t n = 0; n < flow.sender->post_burst && flow.posted < flow.tasks.size(); ++n) {
      const auto error = post_task(flow, flow.tasks[flow.posted]);
      if (!error) {
        const Task& task = flow.tasks[flow.posted++];
        // Inline data is the user's again at once.
        if (task.operation->is_inline && !task.local_shared) {
          arena_of(*flow.sender).scribble(task.local);
        }
        continue;
      }
      if (*error != transport::PostError::queue_full) {
        return fail("request #{} was refused: {}", flow.tasks[flow.posted].operation->id,
                    transport::to_string(*error));
      }
      if (queue_pair(flow).send_queue_depth() < flow.sender->send_depth) {
        return fail("send queue full at {} of {}", queue_pair(flow).send_queue_depth(),
                    flow.sender->send_depth);
      }
      return;
    }
  }

  std::optional<transport::PostError> post_task(const Flow& flow, const Task& task) {
    const Operation& operation = *task.operation;
    const Arena& here = arena_of(*flow.sender);
    const Arena& there = arena_of(*flow.receiver);
    transport::SendRequest request;
    request.id = operation.id;
    request.operation = operation.operation;
    request.signaled = operation.signaled;
    request.solicited = operation.solicited;
    request.fence = operation.fence;
    request.immediate = operation.immediate;
    const bool fetches = operation.is_read() || operation.is_atomic();
    const auto sges = here.elements(task.local, fetches ? here.local() : here.source());
    const auto data = operation.is_inline ? here.actual(task.local) : std::vector<std::byte>{};
    request.inline_data = data;
    if (data.empty()) request.sges = sges;
    const Arena::View& view = operation.is_read()     ? there.readable()
                              : operation.is_atomic() ? there.atomic()
                              : operation.is_flush()  ? there.flushable()
                              : operation.by_window   ? there.window()
                                                      : there.writable();
    request.invalidate_key = task.revoked;
    request.flush_length = operation.length;
    request.flush_all = operation.compare_hits;
    request.placement = static_cast<std::uint8_t>(1 + operation.immediate % 3);
    if (!operation.is_send()) {
      request.remote_address = view.address + task.remote.offset;
      request.remote_key = view.keys.remote;
    }
    if (flow.connection->receiving == Receiving::extended) {
      request.remote_srq = flow.shared->number();
    }
    request.swap_add = operation.operand;
    request.compare = task.compare;
    return net_->nic(flow.sender->nic).post_send(flow.sender_qpn, request);
  }

  // The receiving side posts up to `most` receives.
  void post_receives(Flow& flow, std::uint32_t most) {
    for (; most > 0 && flow.receives_posted < flow.all_receives(); --most) {
      Arena& there = arena_of(*flow.receiver);
      const std::size_t index = flow.receives_posted;
      transport::ReceiveRequest request;
      std::vector<transport::Sge> sges;
      request.id = kSpareId + index;
      if (index < flow.receives.size()) {
        const Task& task = flow.tasks[flow.receives[index]];
        request.id = task.operation->id;
        sges = there.elements(task.receive, there.local());
      }
      request.sges = sges;
      const auto error =
          flow.shared != nullptr
              ? flow.shared->post(request)
              : net_->nic(flow.receiver->nic).post_receive(flow.receiver_qpn, request);
      if (error == transport::PostError::queue_full) return;
      if (error) return fail("a receive was refused: {}", transport::to_string(*error));
      ++flow.receives_posted;
    }
  }

  // When a flow posts receives again; never, when all have posted all.
  wire::Instant next_receive_time() const {
    wire::Instant next = wire::kNever;
    for (const Flow& flow : flows_) {
      if (is_broken(flow) || flow.receives_posted == flow.all_receives()) continue;
      // A full receive queue is looked at again when a completion has made room.
      const std::uint32_t queued = flow.shared != nullptr
                                       ? flow.shared->size()
                                       : net_->receive_depth(flow.receiver->nic, flow.receiver_qpn);
      if (queued == flow.receiver->receive_depth) continue;
      next = std::min(next, flow.next_receive_at);
    }
    return next;
  }

  void poll() {
    for (std::uint32_t nic = 0; nic < plan_.nics && ok(); ++nic) {
      Completion completion;
      while (ok() && net_->send_completions(nic).poll({&completion, 1}) == 1) {
        on_sent(flow_of(nic, completion.qpn, true), completion);
      }
      while (ok() && net_->receive_completions(nic).poll({&completion, 1}) == 1) {
        on_received(flow_of(nic, completion.qpn, false), completion);
      }
    }
  }

  void on_sent(Flow* flow, const Completion& completion) {
    if (flow == nullptr) return fail("a send completion for queue pair {:#x}", completion.qpn);
    const std::size_t index = index_of(*flow, completion.id);
    if (index >= flow->posted || index < flow->accounted) {
      return fail("completion of #{}, which was {}", completion.id,
                  index >= flow->posted ? "not posted" : "completed before");
    }
    // Unsignaled requests complete silently, but only successfully.
    for (std::size_t i = flow->accounted; i < index; ++i) {
      if (flow->broken_at || flow->tasks[i].operation->signaled) {
        return fail("#{} completed before #{}", completion.id, flow->tasks[i].operation->id);
      }
      succeed(*flow, flow->tasks[i]);
    }
    flow->accounted = index + 1;
    const Task& task = flow->tasks[index];
    if (completion.status != CompletionStatus::success) return on_error(*flow, index, completion);
    if (flow->broken_at) return fail("#{} succeeded after an error", completion.id);
    if (!task.operation->signaled) return fail("#{} is unsignaled, and completed", completion.id);
    if (completion.operation != completion_operation(*task.operation)) {
      return fail("#{} completed as {}", completion.id, static_cast<int>(completion.operation));
    }
    const bool fetches = task.operation->is_read() || task.operation->is_atomic();
    if (fetches && completion.byte_length != task.operation->length) {
      return fail("#{} fetched {} bytes", completion.id, completion.byte_length);
    }
    succeed(*flow, task);
  }

  // What must hold once the sender knows that a request has completed.
  void succeed(Flow& flow, const Task& task) {
    const Operation& operation = *task.operation;
    Arena& here = arena_of(*flow.sender);
    Arena& there = arena_of(*flow.receiver);
    if (operation.is_atomic() && operation.counter == Counter::of_nic) {
      here.expect_word(task.local.front(), here.word(task.local.front()));
      fetched_[flow.receiver->nic].push_back({here.word(task.local.front()), operation.operand});
    }
    if (operation.is_read() || operation.is_atomic()) {
      const std::string wrong = here.difference(task.local);
      if (!wrong.empty()) return fail("what #{} fetched is wrong: {}", operation.id, wrong);
    }
    if ((operation.is_write() || operation.is_atomic_write()) && !task.remote_shared) {
      const std::string wrong = there.difference({task.remote});
      if (!wrong.empty()) return fail("what #{} wrote is wrong: {}", operation.id, wrong);
    }
    // The memory is the user's again: nothing may read or write it from now on.
    if (!task.local_shared) here.scribble(task.local);
  }

  void on_error(Flow& flow, std::size_t index, const Completion& completion) {
    const bool first = !flow.broken_at;
    if (first) flow.broken_at = index;
    if (completion.status == CompletionStatus::work_request_flushed) {
      if (!first || is_broken(flow)) return;
      return fail("#{} was flushed without cause", completion.id);
    }
    if (completion.status != CompletionStatus::retry_exceeded || !first) {
      return fail("#{} ended in: {}", completion.id, transport::to_string(completion.status));
    }
    const std::string doubt = net_->doubt_exhaustion(flow_index(flow) / 2);
    if (!doubt.empty()) return fail("#{} ended in retry exceeded, but {}", completion.id, doubt);
    ++outcome_.exhausted;
    break_connection(flow_index(flow) / 2);
  }

  // One queue pair has failed; its user tells the other's, as a connection manager would.
  void break_connection(std::size_t connection) {
    for (std::size_t i : {2 * connection, 2 * connection + 1}) {
      const Flow& flow = flows_[i];
      broken_[i / 2] = true;
      end(flow.sender->nic, flow.sender_qpn);
      end(flow.receiver->nic, flow.receiver_qpn);
    }
  }

  void end(std::uint32_t nic, std::uint32_t qpn) {
    const transport::QueuePair& qp = *net_->nic(nic).find_queue_pair(qpn);
    if (qp.state() == QueuePairState::error) return;
    const auto error = net_->nic(nic).modify(qpn, QueuePairState::error, qp.attributes());
    if (error) fail("to ERR: {}", nic::to_string(*error));
  }

  void on_received(Flow* flow, const Completion& completion) {
    if (flow == nullptr) return fail("a receive completion for queue pair {:#x}", completion.qpn);
    const std::size_t index = flow->receives_completed++;
    if (index >= flow->receives_posted) return fail("a receive completed that was not posted");
    const bool spare = index >= flow->receives.size();
    const std::uint64_t id =
        spare ? kSpareId + index : flow->tasks[flow->receives[index]].operation->id;
    if (completion.id != id) return fail("receive {} completed, {} was next", completion.id, id);
    if (completion.status == CompletionStatus::work_request_flushed && is_broken(*flow)) {
      flow->receives_broken = true;
      return;
    }
    if (completion.status != CompletionStatus::success) {
      return fail("receive {} ended in: {}", id, transport::to_string(completion.status));
    }
    if (spare || flow->receives_broken) return fail("receive {} succeeded", id);
    check_receive(*flow, flow->tasks[flow->receives[index]], completion);
  }

  void check_receive(Flow& flow, const Task& task, const Completion& completion) {
    const Operation& operation = *task.operation;
    Arena& there = arena_of(*flow.receiver);
    const CompletionOperation expected = operation.is_send()
                                             ? CompletionOperation::receive
                                             : CompletionOperation::receive_rdma_with_immediate;
    if (completion.operation != expected) return fail("receive of #{}: operation", operation.id);
    if (completion.byte_length != operation.length) {
      return fail("receive of #{}: {} bytes", operation.id, completion.byte_length);
    }
    if (completion.has_immediate != operation.has_immediate() ||
        (operation.has_immediate() && completion.immediate != operation.immediate)) {
      return fail("receive of #{}: immediate {:08x}", operation.id, completion.immediate);
    }
    if (completion.has_invalidate != operation.invalidates() ||
        (operation.invalidates() && completion.invalidated_key != task.revoked)) {
      return fail("receive of #{}: invalidated {:08x}", operation.id, completion.invalidated_key);
    }
    if (operation.invalidates() && is_valid(flow.receiver->nic, task.revoked)) {
      return fail("receive of #{}: the key is still valid", operation.id);
    }
    if (completion.solicited != operation.solicited) {
      return fail("receive of #{}: solicited {}", operation.id, completion.solicited);
    }
    std::string wrong = there.difference(task.receive);
    if (wrong.empty() && operation.is_write() && !task.remote_shared) {
      wrong = there.difference({task.remote});
    }
    if (!wrong.empty()) return fail("receive of #{}: {}", operation.id, wrong);
    there.scribble(task.receive);
  }

  // The trailing unsignaled requests have completed once the send queue is empty.
  void settle(Flow& flow) {
    if (flow.posted < flow.tasks.size() || is_broken(flow)) return;
    if (queue_pair(flow).send_queue_depth() != 0) return;
    for (; flow.accounted < flow.posted && ok(); ++flow.accounted) {
      const Task& task = flow.tasks[flow.accounted];
      if (task.operation->signaled) return fail("#{} never completed", task.operation->id);
      succeed(flow, task);
    }
  }

  bool all_done() const {
    return std::all_of(flows_.begin(), flows_.end(), [this](const Flow& flow) {
      if (is_broken(flow)) return true;
      return flow.accounted == flow.tasks.size() && flow.receives_completed == flow.receives.size();
    });
  }

  std::string what_is_left() const {
    std::string text;
    for (const Flow& flow : flows_) {
      if (flow.accounted == flow.tasks.size() && flow.receives_completed == flow.receives.size()) {
        continue;
      }
      text += fmt::format("flow {}: {} of {} requests, {} of {} receives done; ", flow_index(flow),
                          flow.accounted, flow.tasks.size(), flow.receives_completed,
                          flow.receives.size());
    }
    return text + "all should be";
  }

  // --- after ---

  void check_rest() {
    if (net_->net().next_deadline() != wire::kNever) return fail("a timer is left");
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      if (net_->send_completions(i).overrun() || net_->receive_completions(i).overrun()) {
        return fail("a completion was lost");
      }
    }
    for (const Flow& flow : flows_) {
      if (queue_pair(flow).wants_transmit(now())) return fail("something wants to be sent");
      if (is_broken(flow)) {
        check_flushed(flow);
        continue;
      }
      if (queue_pair(flow).send_queue_depth() != 0) return fail("a request is left");
      const std::size_t left = flow.all_receives() - flow.receives_completed;
      const std::size_t posted = flow.receives_posted - flow.receives_completed;
      if (receives_waiting(flow) != posted || posted > left) {
        return fail("receives are left over, or missing");
      }
    }
  }

  void check_flushed(const Flow& flow) {
    // Unsignaled requests at the end may have succeeded in silence before the failure.
    for (std::size_t i = flow.accounted; i < flow.posted; ++i) {
      if (flow.broken_at || flow.tasks[i].operation->signaled) {
        return fail("#{} was not flushed", flow.tasks[i].operation->id);
      }
    }
    // A shared receive queue keeps what no message had begun to fill.
    if (flow.receives_completed + receives_waiting(flow) != flow.receives_posted) {
      return fail("{} of {} receives were flushed", flow.receives_completed, flow.receives_posted);
    }
  }

  void check_memory() {
    for (const Flow& flow : flows_) {
      if (is_broken(flow)) forget_unfinished(flow);
    }
    for (std::uint32_t i = 0; i < plan_.nics && ok(); ++i) {
      const std::string wrong = arenas_[i]->difference();
      if (!wrong.empty()) return fail("memory of NIC {}: {}", i, wrong);
      check_chain(i);
    }
  }

  // Nothing is known of what did not succeed.
  void forget_unfinished(const Flow& flow) {
    const std::size_t from = flow.broken_at.value_or(flow.accounted);
    Arena& there = arena_of(*flow.receiver);
    for (std::size_t i = from; i < flow.tasks.size(); ++i) {
      const Task& task = flow.tasks[i];
      const Operation& operation = *task.operation;
      if (operation.is_read() || operation.is_atomic()) arena_of(*flow.sender).forget(task.local);
      if (operation.is_write() || operation.is_atomic() || operation.is_atomic_write()) {
        there.forget({task.remote});
      }
      there.forget(task.receive);
      if (operation.is_atomic() && operation.counter == Counter::of_nic) {
        unsure_[flow.receiver->nic] = true;
      }
    }
    const std::size_t done = flow.receives_completed;
    for (std::size_t i = std::min(done, flow.receives.size()); i < flow.receives.size(); ++i) {
      there.forget(flow.tasks[flow.receives[i]].receive);
    }
  }

  // Additions to one counter by several flows: what they fetched must form one chain from the
  // first value to the last, or one was executed twice, or not at all.
  void check_chain(std::uint32_t nic) {
    if (unsure_[nic]) return;
    std::multimap<std::uint64_t, std::uint64_t> links;
    for (const auto& [original, operand] : fetched_[nic]) links.emplace(original, operand);
    std::uint64_t value = nic_starts_[nic];
    while (!links.empty()) {
      // Zeros first: they lead back to the same value.
      auto [first, last] = links.equal_range(value);
      if (first == last) return fail("additions at NIC {} do not form a chain", nic);
      auto chosen = first;
      for (auto it = first; it != last; ++it) {
        if (it->second == 0) chosen = it;
      }
      value += chosen->second;
      links.erase(chosen);
    }
    if (value != nic_sums_[nic]) return fail("additions at NIC {} are missing", nic);
  }

  void take_down() {
    outcome_.packets = net_->packets();
    outcome_.faults = net_->faults();
    for (std::uint32_t i = 0; i < plan_.nics; ++i) {
      const transport::Counters& counters = net_->nic(i).counters();
      outcome_.retransmitted += counters.retransmitted_pkts;
      outcome_.timeouts += counters.local_ack_timeout_err;
      outcome_.rnr_naks += counters.rnr_nak_retry_err;
    }
    for (const Flow& flow : flows_) {
      destroy(flow.sender->nic, flow.sender_qpn);
      if (flow.connection->receiving == Receiving::extended) {
        destroy(flow.receiver->nic, flow.receiver_qpn);
      }
    }
    for (std::uint32_t i = 0; i < plan_.nics; ++i) arenas_[i]->withdraw(net_->nic(i));
    for (const auto& [nic, key] : revocable_keys_) {
      if (!net_->nic(nic).memory().remove(key)) return fail("a fast region is lost");
    }
    const std::string wrong = net_->take_down();
    if (!wrong.empty()) fail("{}", wrong);
  }

  void destroy(std::uint32_t nic, std::uint32_t qpn) {
    const auto error = net_->nic(nic).destroy_queue_pair(qpn);
    if (error) fail("destroying a queue pair: {}", nic::to_string(*error));
  }

  // --- small change ---

  // Posted and not completed.
  std::size_t receives_waiting(const Flow& flow) const {
    const std::size_t own = net_->receive_depth(flow.receiver->nic, flow.receiver_qpn);
    return own + (flow.shared != nullptr ? flow.shared->size() : 0);
  }

  wire::Instant now() const { return net_->net().now(); }
  Arena& arena_of(const Side& side) const { return *arenas_[side.nic]; }
  Place nic_counter(const Side& side) const { return nic_counters_[side.nic].front(); }
  std::size_t flow_index(const Flow& flow) const {
    return static_cast<std::size_t>(&flow - flows_.data());
  }
  bool is_broken(const Flow& flow) const {
    const auto found = broken_.find(flow_index(flow) / 2);
    return found != broken_.end() && found->second;
  }
  transport::QueuePair& queue_pair(const Flow& flow) const {
    return *net_->nic(flow.sender->nic).find_queue_pair(flow.sender_qpn);
  }

  Flow* flow_of(std::uint32_t nic, std::uint32_t qpn, bool sender) {
    for (Flow& flow : flows_) {
      const Side& side = sender ? *flow.sender : *flow.receiver;
      if (side.nic == nic && (sender ? flow.sender_qpn : flow.receiver_qpn) == qpn) return &flow;
    }
    return nullptr;
  }

  std::size_t index_of(const Flow& flow, std::uint64_t id) const {
    for (std::size_t i = 0; i < flow.tasks.size(); ++i) {
      if (flow.tasks[i].operation->id == id) return i;
    }
    return flow.tasks.size();
  }

  const Plan& plan_;
  std::unique_ptr<CaseNet> net_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<Places> nic_counters_;
  std::vector<std::uint64_t> nic_starts_;
  std::vector<std::uint64_t> nic_sums_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> fetched_;
  std::map<std::uint32_t, bool> unsure_;
  std::map<std::size_t, bool> broken_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> revocable_keys_;  // NIC, key
  std::vector<Flow> flows_;
  std::string failure_;
  Outcome outcome_;
};

}  // namespace

Outcome run_reliable(const Plan& plan, const std::string& capture) {
  return ReliableRun(plan, capture).run();
}

}  // namespace softrnic::property
