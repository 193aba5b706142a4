// SPDX-License-Identifier: BSD-3-Clause
// Completion queue (IBTA vol. 1, 10.2.6): a bounded ring of completions, and who is told of them.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "transport/async_event.hpp"
#include "transport/completion.hpp"
#include "wire/instant.hpp"

namespace softrnic::nic {

class CompletionQueue final : public transport::CompletionSink {
 public:
  // `number` is the queue's in events; `events` must outlive it, and `clock`, which tells when a
  // completion came in, where there is one.
  explicit CompletionQueue(std::uint32_t depth, std::uint32_t number = 0,
                           transport::EventSink& events = transport::unheard_events(),
                           const wire::Instant* clock = nullptr);

  std::uint32_t number() const { return number_; }
  std::uint32_t depth() const { return static_cast<std::uint32_t>(ring_.size()); }

  // Takes up to out.size() completions, oldest first; returns how many.
  std::size_t poll(std::span<transport::Completion> out);
  std::size_t size() const { return size_; }

  // What the queue pair completed in it and nobody has taken yet is gone.
  void forget(std::uint32_t qpn);

  // Gives the queue another depth, one at least; what waits keeps its order. False, and nothing
  // changes, when more than that wait.
  bool resize(std::uint32_t depth);

  // A completion found no room and was lost. The queue stays in error, which an event says once,
  // and takes nothing more; what it holds can still be polled (10.10.3).
  bool overrun() const { return overrun_; }

  // --- notification (11.4.2.2) ---

  enum class Notify : std::uint8_t {
    no = 0,
    solicited = 1,  // a receive that the peer asked to be told of, or anything that failed
    any = 2,
  };
  // Arms the queue: the callback is called once, for the next completion of that kind that comes
  // in. Those already there bring none; true when there are any, so poll after arming. Armed for
  // any, the queue is not narrowed to solicited ones.
  bool request_notification(Notify which);
  Notify armed() const { return armed_; }
  // The callback comes during whatever completed the request, when the completion can be polled. It
  // must not call the NIC; waking somebody who waits is what it is for.
  void on_notification(std::function<void()> callback) { on_notification_ = std::move(callback); }

  bool complete(const transport::Completion& completion) override;

 private:
  void notify();

  std::uint32_t number_;
  transport::EventSink& events_;
  const wire::Instant* clock_;
  std::vector<transport::Completion> ring_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  bool overrun_ = false;
  Notify armed_ = Notify::no;
  std::function<void()> on_notification_;
};

}  // namespace softrnic::nic
