// SPDX-License-Identifier: BSD-3-Clause
#include "speaker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "interruption.hpp"
#include "nic/event_loop.hpp"
#include "wire/crc32.hpp"

namespace softrnic::interop {

namespace {

using tools::fail;
using tools::fail_usage;
using transport::SendOperation;

constexpr std::size_t kMemory = 1 << 18;
constexpr std::size_t kBlock = 8192;
constexpr std::uint32_t kDepth = 64;
constexpr std::uint32_t kSges = 4;
constexpr std::uint32_t kInline = 64;
constexpr std::uint8_t kReadsAtOnce = 16;
constexpr wire::Duration kPatience = std::chrono::seconds(25);
constexpr std::uint32_t kKeyFault = 0x5500;  // makes a key into one that nobody has
constexpr std::array<std::string_view, 7> kKeyNames = {"all", "ro",  "wo", "local",
                                                       "pd",  "mw1", "mw2"};

struct OperationName {
  std::string_view name;
  SendOperation operation;
};
constexpr OperationName kOperations[] = {
    {"send", SendOperation::send},
    {"send_imm", SendOperation::send_with_immediate},
    {"send_inv", SendOperation::send_with_invalidate},
    {"write", SendOperation::rdma_write},
    {"write_imm", SendOperation::rdma_write_with_immediate},
    {"read", SendOperation::rdma_read},
    {"cswap", SendOperation::compare_swap},
    {"fadd", SendOperation::fetch_add},
    {"inv", SendOperation::local_invalidate},
    {"atomic_write", SendOperation::atomic_write},
    {"flush", SendOperation::flush},
};

std::string_view name_of(transport::CompletionOperation operation) {
  using enum transport::CompletionOperation;
  switch (operation) {
    case send:
      return "send";
    case rdma_write:
      return "write";
    case rdma_read:
      return "read";
    case compare_swap:
      return "cswap";
    case fetch_add:
      return "fadd";
    case receive:
      return "recv";
    case receive_rdma_with_immediate:
      return "recv_imm";
    case local_invalidate:
      return "inv";
    case bind_window:
      return "bind";
    case atomic_write:
      return "atomic_write";
    case flush:
      return "flush";
    default:
      return "unknown";
  }
}

bool is_receive(transport::CompletionOperation operation) {
  return operation == transport::CompletionOperation::receive ||
         operation == transport::CompletionOperation::receive_rdma_with_immediate;
}

bool is_atomic(SendOperation operation) {
  return operation == SendOperation::compare_swap || operation == SendOperation::fetch_add;
}

template <class Error>
void require(const std::optional<Error>& error, std::string_view what) {
  if (error) fail("{}: {}", what, to_string(*error));
}

bool readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Speaker::Speaker(const SpeakerOptions& options, tools::Device& device, tools::Socket other_end)
    : options_(options),
      nic_(device.nic()),
      other_end_(std::move(other_end)),
      domain_(nic_.allocate_domain()),
      other_domain_(nic_.allocate_domain()),
      memory_(kMemory) {
  register_memory();
  create_queue_pair();
}

void Speaker::register_memory() {
  using namespace transport;
  const std::uint32_t every = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic |
                              kBindWindow |
                              (options_.remote_access & (kFlushGlobal | kFlushPersistent));
  const std::uint32_t rights[] = {every, kRemoteRead, kLocalWrite | kRemoteWrite, kLocalWrite,
                                  every & ~kBindWindow};
  for (std::size_t i = 0; i < kMemory; ++i) {
    memory_.data()[i] = static_cast<std::byte>(i * 31 + (i >> 8) + options_.fill);
  }
  for (std::size_t key = 0; key < std::size(rights); ++key) {
    const auto keys = nic_.memory().add({.domain = key == index_of("pd") ? other_domain_ : domain_,
                                         .base = memory_.data(),
                                         .length = memory_.size(),
                                         .access = rights[key],
                                         .virtual_address = {},
                                         .key = {}});
    if (!keys) fail("no region: {}", nic::to_string(keys.error()));
    mine_.keys[key] = keys->remote;
  }
  for (const auto& [name, type] :
       {std::pair{"mw1", nic::WindowType::type_1}, std::pair{"mw2", nic::WindowType::type_2b}}) {
    const auto key = nic_.memory().allocate_window(domain_, type);
    if (!key) fail("no window: {}", nic::to_string(key.error()));
    mine_.keys[index_of(name)] = *key;
  }
}

void Speaker::create_queue_pair() {
  completions_ = &nic_.create_completion_queue(4 * kDepth);
  nic::QueuePairInit init;
  init.type = transport::type_of(options_.service);
  init.domain = domain_;
  init.send_completions = completions_;
  init.receive_completions = completions_;
  init.capacity = {kDepth, kDepth, kSges, kSges, kInline};
  if (options_.shared_receive_queue) {
    const auto queue = nic_.create_shared_receive_queue(
        {.domain = domain_, .capacity = {.requests = kDepth, .sges = kSges}});
    if (!queue) fail("no shared receive queue: {}", nic::to_string(queue.error()));
    init.shared_receive_queue = receives_ = *queue;
  }
  const auto queue_pair = nic_.create_queue_pair(init);
  if (!queue_pair) fail("no queue pair: {}", nic::to_string(queue_pair.error()));
  mine_.qpn = (*queue_pair)->qpn();
  mine_.psn = options_.first_psn;
  mine_.address = reinterpret_cast<std::uintptr_t>(memory_.data());
  mine_.gid = nic_.gids().find(options_.gid_index)->gid;
  transport::QueuePairAttributes attributes;
  attributes.remote_access = options_.remote_access;
  require(nic_.modify(mine_.qpn, transport::QueuePairState::init, attributes), "to INIT");
}

void Speaker::open() {
  meet();
  connect();
  meet();
}

void Speaker::connect() {
  nic::AddressAttributes address;
  address.gid_index = options_.gid_index;
  address.destination = theirs_.gid;
  transport::QueuePairAttributes attributes;
  attributes.remote_access = options_.remote_access;
  attributes.path_mtu = options_.path_mtu;
  attributes.destination_qpn = theirs_.qpn;
  attributes.receive_psn = wire::Psn(theirs_.psn);
  attributes.send_psn = wire::Psn(mine_.psn);
  attributes.max_dest_rd_atomic = kReadsAtOnce;
  attributes.max_rd_atomic = kReadsAtOnce;
  attributes.min_rnr_timer = options_.rnr_timer;
  attributes.retry_count = options_.retries;
  attributes.rnr_retry = options_.rnr_retry;
  attributes.timeout = options_.ack_timeout;
  attributes.advertise_credits = options_.advertise_credits;
  using transport::QueuePairState;
  require(nic_.modify(mine_.qpn, QueuePairState::ready_to_receive, attributes, &address), "to RTR");
  require(nic_.modify(mine_.qpn, QueuePairState::ready_to_send, attributes, &address), "to RTS");
}

// --- the other end ---

std::size_t Speaker::index_of(const std::string& name) {
  for (std::size_t key = 0; key < kKeyNames.size(); ++key) {
    if (kKeyNames[key] == name) return key;
  }
  fail_usage("there is no key '{}'", name);
}

std::string Speaker::to_line(const Introduction& introduction) {
  std::string line = fmt::format("{:x} {:x} {:x} {}", introduction.qpn, introduction.psn,
                                 introduction.address, tools::gid_digits(introduction.gid));
  for (const std::uint32_t key : introduction.keys) line += fmt::format(" {:x}", key);
  return line;
}

Speaker::Introduction Speaker::parse_line(const std::string& line) {
  Introduction introduction;
  std::string gid_text;
  std::istringstream words(line);
  words >> std::hex >> introduction.qpn >> introduction.psn >> introduction.address >> gid_text;
  for (std::uint32_t& key : introduction.keys) words >> key;
  const auto gid = tools::gid_of_digits(gid_text);
  if (!words || !gid) fail("the other end talks nonsense: {}", line);
  introduction.gid = *gid;
  return introduction;
}

void Speaker::meet() {
  refusals_before_ = nic_.counters().send_rnr_err;
  const std::string line = to_line(mine_) + '\n';
  const ssize_t sent = ::send(other_end_.get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) fail("the other end takes nothing");
  theirs_ = parse_line(read_line());
}

std::string Speaker::read_line() {
  std::string line;
  while (true) {
    nic::EventLoop loop(nic_);
    const tools::Interruption interruption(loop);
    loop.watch(other_end_.get());
    // The other end may wait for its completions, and then for this one.
    if (!loop.run_until([&] { return readable(other_end_.get()); },
                        nic::real_now() + 2 * kPatience)) {
      fail("the other end says nothing");
    }
    char letter = 0;
    const ssize_t size = ::recv(other_end_.get(), &letter, 1, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size != 1) fail("the other end is gone");
    if (letter == '\n') return line;
    line += letter;
  }
}

// --- requests ---

std::vector<transport::Sge> Speaker::pieces(const Step& step, std::uint64_t length) const {
  const std::string name = step.value("lkey", "all");
  const std::uint32_t key = name == "bad" ? mine_.keys[0] ^ kKeyFault : mine_.keys[index_of(name)];
  const std::uint64_t wanted = step.number("sges", length == 0 ? 0 : 1);
  std::uint64_t at = mine_.address + step.number("at");
  std::vector<transport::Sge> list;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const std::uint64_t share = i + 1 == wanted ? length - (length / wanted) * i : length / wanted;
    list.push_back({at, static_cast<std::uint32_t>(share), key});
    at += share;
  }
  return list;
}

std::uint32_t Speaker::remote_key(const Step& step) const {
  const std::string name = step.value("key", "all");
  return name == "bad" ? theirs_.keys[0] ^ kKeyFault : theirs_.keys[index_of(name)];
}

void Speaker::post_receive(const Step& step) {
  const auto list = pieces(step, step.number("len"));
  const transport::ReceiveRequest request{++posted_, list};
  require(receives_ != nullptr ? receives_->post(request) : nic_.post_receive(mine_.qpn, request),
          step.text());
}

void Speaker::post(const Step& step, const transport::SendRequest& request) {
  require(nic_.post_send(mine_.qpn, request), step.text());
}

void Speaker::post_send(const Step& step, SendOperation operation) {
  const std::uint64_t length = step.number("len", is_atomic(operation) ? 8 : 0);
  const auto list = pieces(step, operation == SendOperation::flush ? 0 : length);
  transport::SendRequest request;
  request.id = ++posted_;
  request.operation = operation;
  request.signaled = !step.has("quiet");
  request.solicited = step.has("solicited");
  request.fence = step.has("fence");
  request.remote_address = theirs_.address + step.number("to");
  request.remote_key = remote_key(step);
  request.immediate = static_cast<std::uint32_t>(step.number("imm"));
  request.compare = step.number("compare");
  request.swap_add = step.number(operation == SendOperation::compare_swap ? "swap" : "add");
  request.invalidate_key = remote_key(step);
  if (operation == SendOperation::local_invalidate) {
    request.invalidate_key = mine_.keys[index_of(step.value("key"))];
  } else if (operation == SendOperation::flush) {
    request.flush_length = length;
    request.placement = transport::kGlobalVisibility;
  } else if (step.has("inline")) {
    request.inline_data = memory_.span().subspan(step.number("at"), length);
  } else {
    request.sges = list;
  }
  post(step, request);
}

// The window's new key is told at the next meeting.
void Speaker::bind_window(const Step& step) {
  std::uint32_t& key = mine_.keys[index_of(step.value("key"))];
  const transport::WindowBinding binding{
      .window_key = key,
      .new_key = (key & ~0xffu) | ((key + 1) & 0xff),
      .region_key = mine_.keys[0],
      .access = (step.has("read") ? transport::kRemoteRead : 0u) |
                (step.has("write") ? transport::kRemoteWrite : 0u) |
                (step.has("atomic") ? transport::kRemoteAtomic : 0u),
      .address = mine_.address + step.number("at"),
      .length = step.number("len")};
  key = binding.new_key;
  transport::SendRequest request;
  request.id = ++posted_;
  request.operation = SendOperation::bind_window;
  request.binding = &binding;
  post(step, request);
}

// --- what came of it ---

void Speaker::print(const transport::Completion& completion) const {
  std::string line =
      fmt::format("done {} {}", completion.id, transport::to_string(completion.status));
  if (completion.status == transport::CompletionStatus::success) {
    line += fmt::format(" {}", name_of(completion.operation));
    if (is_receive(completion.operation)) line += fmt::format(" {}", completion.byte_length);
    if (completion.has_immediate) line += fmt::format(" imm {:#x}", completion.immediate);
    if (completion.has_invalidate) {
      std::size_t key = 0;
      while (key < kKeys && mine_.keys[key] != completion.invalidated_key) ++key;
      line += fmt::format(" invalidates {}", key < kKeys ? kKeyNames[key] : "an unknown key");
    }
  }
  fmt::print("{}\n", line);
}

void Speaker::await_completions(std::uint64_t count) {
  nic::EventLoop loop(nic_);
  const tools::Interruption interruption(loop);
  loop.run_until(
      [&] {
        transport::Completion completion;
        while (count > 0 && completions_->poll({&completion, 1}) == 1) {
          print(completion);
          --count;
        }
        return count == 0;
      },
      nic::real_now() + kPatience);
  if (count > 0) fmt::print("{} completions missing\n", count);
}

void Speaker::await_refusal() {
  nic::EventLoop loop(nic_);
  const tools::Interruption interruption(loop);
  const bool refused =
      loop.run_until([&] { return nic_.counters().send_rnr_err != refusals_before_; },
                     nic::real_now() + kPatience);
  if (!refused) fail("no RNR NAK was sent");
}

void Speaker::show_memory() const {
  // Block by block, so that what differs can be found.
  std::string line = "memory";
  for (std::size_t at = 0; at < kMemory; at += kBlock) {
    line += fmt::format(" {:08x}", wire::crc32(0, memory_.span().subspan(at, kBlock)));
  }
  fmt::print("{}\n", line);
}

void Speaker::show_state() {
  fmt::print("state {}\n", transport::to_string(nic_.find_queue_pair(mine_.qpn)->state()));
}

void Speaker::take(const Step& step) {
  for (const OperationName& known : kOperations) {
    if (step.word() == known.name) {
      post_send(step, known.operation);
      return;
    }
  }
  if (step.word() == "recv") {
    post_receive(step);
  } else if (step.word() == "bind") {
    bind_window(step);
  } else if (step.word() == "done") {
    await_completions(step.count());
  } else if (step.word() == "meet") {
    meet();
  } else if (step.word() == "refuse") {
    await_refusal();
  } else if (step.word() == "memory") {
    show_memory();
  } else if (step.word() == "state") {
    show_state();
  } else {
    fail_usage("there is no step '{}'", step.text());
  }
}

}  // namespace softrnic::interop
