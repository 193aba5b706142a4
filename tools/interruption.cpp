// SPDX-License-Identifier: BSD-3-Clause
#include "interruption.hpp"

#include <atomic>
#include <csignal>

namespace softrnic::tools {

namespace {

std::atomic<nic::EventLoop*> current_loop{nullptr};
volatile std::sig_atomic_t signal_seen = 0;

void on_signal(int) {
  signal_seen = 1;
  if (nic::EventLoop* loop = current_loop.load(std::memory_order_relaxed)) loop->interrupt();
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: a waiting system call returns
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

// The loop first, the signal second: one that comes in between is seen by one of the two.
void hand_signals_to(nic::EventLoop* loop) {
  current_loop.store(loop);
  if (loop != nullptr && signal_seen != 0) loop->interrupt();
}

}  // namespace

void survive_broken_pipes() {
  struct sigaction action {};
  // A handler, as what is ignored would stay so in a program that we become.
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void catch_interruptions() {
  static_assert(std::atomic<nic::EventLoop*>::is_always_lock_free);
  [[maybe_unused]] static const bool installed = (install_handlers(), true);
}

Interruption::Interruption(nic::EventLoop& loop) : outer_(current_loop.load()) {
  catch_interruptions();
  hand_signals_to(&loop);
}

Interruption::~Interruption() {
  hand_signals_to(outer_);
}

bool interrupted() {
  return signal_seen != 0;
}

}  // namespace softrnic::tools
