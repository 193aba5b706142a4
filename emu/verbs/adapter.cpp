// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/adapter.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "fabric/fault_file.hpp"
#include "fabric/fault_link.hpp"
#include "link/capture_link.hpp"
#include "nic/event_loop.hpp"
#include "verbs/async_event.hpp"
#include "verbs/device_identity.hpp"

namespace softrnic::verbs {
namespace {

using nic::real_now;
using wire::Instant;

// How many turns a doorbell is worth; the rest is for whoever polls, or the thread.
constexpr int kDoorbellTurns = 4;
// And which of them looks for what has come besides, for a program that posts and posts.
constexpr unsigned kDoorbellsToReceive = 16;
// A fault script has some hundred rules at most.
constexpr std::size_t kMostFaultBytes = 1 << 20;

std::mutex& adapters_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::weak_ptr<Adapter>& the_adapter() {
  static std::weak_ptr<Adapter> adapter;
  return adapter;
}

void before_fork() {
  adapters_mutex().lock();
  if (const auto adapter = the_adapter().lock()) adapter->before_fork();
}

void after_fork_in_parent() {
  if (const auto adapter = the_adapter().lock()) adapter->after_fork_in_parent();
  adapters_mutex().unlock();
}

void after_fork_in_child() {
  if (const auto adapter = the_adapter().lock()) adapter->after_fork_in_child();
  // The child may open the device anew, with a NIC of its own.
  the_adapter().reset();
  adapters_mutex().unlock();
}

void at_exit() {
  if (const auto adapter = Adapter::current()) adapter->at_exit();
}

void watch_process() {
  static const bool watched = [] {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    std::atexit(at_exit);
    return true;
  }();
  (void)watched;
}

std::uint64_t drawn_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32 | device()) | 1;
}

// The faults' file as rules; the error is one line.
wire::Expected<std::vector<fabric::FaultRule>, std::string> read_faults(const std::string& path) {
  std::ifstream file(path);
  if (!file) return wire::Unexpected{"SOFTRNIC_FAULTS=" + path + ": " + std::strerror(errno)};
  std::string text(kMostFaultBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() == kMostFaultBytes) {
    return wire::Unexpected{"SOFTRNIC_FAULTS=" + path + ": too long; is it a fault script?"};
  }
  auto rules = fabric::read_fault_file(text, fabric::script_form_of(path));
  if (!rules) return wire::Unexpected{"SOFTRNIC_FAULTS=" + path + ", " + rules.error()};
  return std::move(rules).value();
}

nic::NicConfig config_of(const Environment& environment, const link::Capabilities& link,
                         std::uint64_t seed) {
  nic::NicConfig config;
  config.mac = mac_of(environment, link);
  if (link.identity) {
    for (const auto& [ip, prefix_length] : link.identity->addresses) {
      config.addresses.push_back({ip, prefix_length});
    }
  }
  config.addresses.insert(config.addresses.end(), environment.addresses.begin(),
                          environment.addresses.end());
  config.limits = environment.limits;
  if (environment.mtu) {
    config.limits.path_mtu = std::min<std::uint64_t>(config.limits.path_mtu, *environment.mtu);
  }
  config.seed = seed;
  return config;
}

struct OpenLink {
  std::unique_ptr<link::Link> link;
  std::shared_ptr<link::CaptureFile> capture;
};

// The link with the capture and the faults around it that the environment asks for.
wire::Expected<OpenLink, std::string> open_link(const Environment& environment,
                                                std::uint64_t seed) {
  std::vector<fabric::FaultRule> rules;
  if (!environment.faults.empty()) {
    auto read = read_faults(environment.faults);
    if (!read) return wire::Unexpected{read.error()};
    rules = std::move(read).value();
  }
  auto opened = link::open_link(environment.link_specification());
  if (!opened) return wire::Unexpected{opened.error().message};
  OpenLink result{std::move(opened).value(), nullptr};
  const std::string name = result.link->capabilities().name;
  fabric::FaultOptions options;
  options.seed = seed;
  if (environment.capture.empty()) {
    if (!rules.empty()) {
      result.link =
          fabric::inject_faults(std::move(result.link), std::move(rules), std::move(options));
    }
    return result;
  }
  auto file = link::CaptureFile::create(environment.capture_path(getpid()));
  if (!file) return wire::Unexpected{file.error().message};
  result.capture = std::move(file).value();
  result.link = rules.empty()
                    ? link::capture(std::move(result.link), result.capture, name)
                    : std::move(fabric::inject_faults(std::move(result.link), std::move(rules),
                                                      std::move(options), result.capture, name)
                                    .link);
  return result;
}

}  // namespace

wire::Expected<std::shared_ptr<Adapter>, std::string> Adapter::open(
    const Environment& environment) {
  const std::lock_guard guard(adapters_mutex());
  if (auto adapter = the_adapter().lock()) return adapter;
  watch_process();
  const std::uint64_t seed = environment.seed.value_or(drawn_seed());
  auto link = open_link(environment, seed);
  if (!link) return wire::Unexpected{link.error()};
  const nic::NicConfig config = config_of(environment, link->link->capabilities(), seed);
  auto detachable = std::make_unique<DetachableLink>(std::move(link->link));
  DetachableLink& its_link = *detachable;
  std::shared_ptr<Adapter> adapter(new Adapter(
      std::make_unique<nic::Nic>(config, std::move(detachable)), its_link, link->capture));
  the_adapter() = adapter;
  return adapter;
}

std::shared_ptr<Adapter> Adapter::current() {
  const std::lock_guard guard(adapters_mutex());
  return the_adapter().lock();
}

Adapter::Adapter(std::unique_ptr<nic::Nic> nic, DetachableLink& link,
                 std::shared_ptr<link::CaptureFile> capture)
    : nic_(std::move(nic)),
      link_(link),
      capture_(std::move(capture)),
      progress_(std::make_unique<Progress>(*nic_, mutex_, armed)) {}

Adapter::~Adapter() {
  if (!inherited_) return;
  // What is left of a parent's NIC: neither its link nor its thread is ours to end.
  (void)progress_.release();
  (void)nic_.release();
  (void)new std::shared_ptr<link::CaptureFile>(std::move(capture_));
}

void Adapter::after_fork_in_child() {
  silent_ = true;
  inherited_ = true;
  mutex_.unlock();
}

// Somebody who holds the NIC and is not coming back (an exit in a signal handler) must not keep the
// process.
bool Adapter::hold_soon() {
  for (int i = 0; !mutex_.try_lock(); ++i) {
    if (i == 100) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Adapter::at_exit() {
  if (inherited_ || !hold_soon()) return;
  silent_ = true;
  mutex_.unlock();
  // It may want the NIC before it ends.
  progress_->end();
  if (!hold_soon()) return;
  link_.detach();
  if (capture_ != nullptr) capture_->close();
  mutex_.unlock();
}

void Adapter::ring_doorbell() {
  if (silent_) return;
  const Instant now = real_now();
  const bool receives = ++doorbells_ % kDoorbellsToReceive == 0;
  receives ? nic_->turn(now) : nic_->transmit(now);
  for (int i = 1; i < kDoorbellTurns && nic_->next_deadline() == Instant::min(); ++i) {
    nic_->turn(now);
  }
  progress_->called(now, real_now());
}

void Adapter::poll() {
  if (silent_) return;
  const Instant now = real_now();
  const bool active = nic_->turn(now);
  progress_->called(now, active ? real_now() : now);
}

void Adapter::be_patient(std::uint32_t empty_polls) {
  if (empty_polls < Patience::kPollsAlone) return;
  const Instant from = real_now();
  if (!patience_.sleeps()) {
    patience_.yield();
    return progress_->waited(from, real_now());
  }
  pollfd entry{-1, POLLIN, 0};
  {
    const std::lock_guard held(mutex_);
    if (silent_ || !link_.prepare_wait()) return;
    entry.fd = link_.descriptor();
  }
  const timespec timeout{0, Patience::kLongestWait.count()};
  ppoll(&entry, 1, &timeout, nullptr);
  progress_->waited(from, real_now());
}

void Adapter::expect_wait() {
  if (!silent_) progress_->take_over(real_now());
}

}  // namespace softrnic::verbs
