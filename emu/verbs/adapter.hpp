// SPDX-License-Identifier: BSD-3-Clause
// The one emulated NIC of a process: what all contexts opened in it share, as programs share a
// card.
//
// The NIC itself takes one thread at a time; a Hold is that thread's turn. Whoever posts, or polls
// an empty completion queue turns the crank; a thread of the adapter's own turns it when nobody
// does (progress.hpp), so that peers are served while the program is busy elsewhere.
//
// In the child of a fork the adapter is silent: it has the parent's memory, and must not speak for
// its NIC.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "link/capture_link.hpp"
#include "nic/nic.hpp"
#include "verbs/detachable_link.hpp"
#include "verbs/environment.hpp"
#include "verbs/patience.hpp"
#include "verbs/progress.hpp"
#include "wire/expected.hpp"

namespace softrnic::verbs {

struct Context;
struct QueuePair;
struct CompletionQueue;
struct SharedReceiveQueue;

// Device and inode of a file.
using FileIdentity = std::pair<dev_t, ino_t>;

struct XrcDomainShare {
  std::optional<FileIdentity> file;
  std::uint32_t handles = 0;
};

class Adapter {
 public:
  // The adapter of this process, opened by the first who asks and closed with the last who lets go.
  // The error is one line: cause and mend.
  static wire::Expected<std::shared_ptr<Adapter>, std::string> open(const Environment& environment);
  // The one that is open; null when none is.
  static std::shared_ptr<Adapter> current();

  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // Exclusive use of the NIC while it lives. What happened to queues meanwhile is told at its end.
  class Hold {
   public:
    explicit Hold(Adapter& adapter) : adapter_(adapter) { adapter_.mutex_.lock(); }
    ~Hold() {
      if (adapter_.nic_->events().size() > 0) adapter_.tell_events();
      adapter_.mutex_.unlock();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    nic::Nic* operator->() const { return adapter_.nic_.get(); }
    nic::Nic& operator*() const { return *adapter_.nic_; }

    // After something was posted: sends what can be sent at once.
    void ring_doorbell() { adapter_.ring_doorbell(); }
    // A completion queue was found empty: turns the crank for it.
    void poll() { adapter_.poll(); }
    // Somebody is going to wait for an event instead of polling.
    void expect_wait() { adapter_.expect_wait(); }

   private:
    Adapter& adapter_;
  };

  // With a Hold, for who has none at hand.
  nic::Nic& nic() { return *nic_; }

  // After so many empty polls in a row; without a Hold.
  void be_patient(std::uint32_t empty_polls);

  // Which objects the NIC's numbers are; with a Hold.
  std::unordered_map<std::uint32_t, QueuePair*> queue_pairs;
  std::unordered_map<std::uint32_t, CompletionQueue*> completion_queues;
  std::unordered_map<std::uint32_t, SharedReceiveQueue*> shared_receive_queues;
  std::unordered_set<Context*> contexts;  // open, or with objects that another still uses
  std::size_t device_memory = 0;          // bytes of it that are given out
  // XRC domains that are open, with the handles to each and the file that names it.
  std::map<transport::XrcDomain*, XrcDomainShare> xrc_domains;
  // Completion queues that are armed: programs that may be asleep.
  std::atomic<std::uint32_t> armed{0};

  // Forks: the NIC is held meanwhile, so that the child's copy is whole. The child does not speak
  // for it.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();
  // The process ends: the link is given back and the capture is whole. What calls verbs afterwards,
  // in a destructor or in a thread that still runs, finds its objects as they were.
  void at_exit();

 private:
  Adapter(std::unique_ptr<nic::Nic> nic, DetachableLink& link,
          std::shared_ptr<link::CaptureFile> capture);

  void ring_doorbell();
  void poll();
  void expect_wait();
  void tell_events();
  // Locks the mutex, unless it cannot be had within a tenth of a second.
  bool hold_soon();

  std::mutex mutex_;
  std::unique_ptr<nic::Nic> nic_;
  DetachableLink& link_;  // the NIC's
  std::shared_ptr<link::CaptureFile> capture_;
  std::unique_ptr<Progress> progress_;
  Patience patience_;
  unsigned doorbells_ = 0;
  // Frames neither come nor go: in the child of a fork, and when the process ends.
  bool silent_ = false;
  bool inherited_ = false;  // the child of a fork
};

}  // namespace softrnic::verbs
