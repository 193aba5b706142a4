// SPDX-License-Identifier: BSD-3-Clause
// Threads that post and poll at once, a child of a fork, and the end of a process.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

constexpr int kThreads = 4;
constexpr int kMessages = 400;
// Of a process that did what it should; 0 is also that of one with no case to run.
constexpr int kSound = 42;

TEST_CASE("threads post to one queue pair and poll one queue, and nothing is lost", "[threads]") {
  World w;
  ibv_qp_init_attr init = w.init_of(IBV_QPT_RC);
  init.cap.max_send_wr = 64;
  ibv_qp* client = ibv_create_qp(w.pd, &init);
  REQUIRE(client != nullptr);
  w.queue_pairs.push_back(client);
  w.connect(client, w.create());
  std::atomic<int> posted{0};
  std::atomic<int> completed{0};
  std::atomic<int> failures{0};
  const auto work = [&](int number) {
    int left = kMessages;
    ibv_sge sge = w.piece(static_cast<std::size_t>(number) * 64, 64);
    ibv_send_wr request{};
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma = {w.address(4096 + static_cast<std::size_t>(number) * 64), w.mr->rkey};
    while (completed.load() < kThreads * kMessages && failures.load() == 0) {
      ibv_send_wr* bad = nullptr;
      if (left > 0) {
        const int error = ibv_post_send(client, &request, &bad);
        if (error == 0) {
          --left;
          ++posted;
        } else if (error != ENOMEM) {
          ++failures;
        }
      }
      ibv_wc wcs[4];
      const int found = ibv_poll_cq(w.cq, 4, wcs);
      for (int i = 0; i < found; ++i) failures += wcs[i].status != IBV_WC_SUCCESS;
      completed += found;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(posted == kThreads * kMessages);
  CHECK(completed == kThreads * kMessages);
}

TEST_CASE("threads poll one extended queue, and each reads what it took", "[threads]") {
  World w;
  ibv_cq_init_attr_ex init{};
  init.cqe = kMessages;  // whoever polls may be late
  init.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
  ibv_cq_ex* cq = ibv_create_cq_ex(w.context, &init);
  REQUIRE(cq != nullptr);
  ibv_qp_init_attr of_qp = w.init_of(IBV_QPT_RC);
  of_qp.recv_cq = ibv_cq_ex_to_cq(cq);
  ibv_qp* server = ibv_create_qp(w.pd, &of_qp);
  REQUIRE(server != nullptr);
  w.queue_pairs.push_back(server);
  ibv_qp* client = w.create();
  w.connect(client, server);
  std::atomic<int> received{0};
  std::atomic<int> failures{0};
  const auto work = [&] {
    while (received.load() < kMessages && failures.load() == 0) {
      ibv_poll_cq_attr attributes{};
      if (ibv_start_poll(cq, &attributes) != 0) continue;
      do {
        // Of each message the length is its number, which is its receive's too.
        failures += cq->status != IBV_WC_SUCCESS || ibv_wc_read_byte_len(cq) != cq->wr_id;
        ++received;
      } while (ibv_next_poll(cq) == 0);
      ibv_end_poll(cq);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    CHECK(w.receive(server, 4096, 1024, i % 1024) == 0);
    CHECK(w.send(client, 0, i % 1024) == 0);
    failures += w.completion().status != IBV_WC_SUCCESS;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(received == kMessages);
  CHECK(ibv_destroy_qp(server) == 0);
  w.queue_pairs.erase(w.queue_pairs.begin());
  CHECK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
}

TEST_CASE("threads make and destroy objects while others have traffic", "[threads]") {
  World w;
  ibv_qp* const client = w.pair().first;
  std::atomic<bool> done{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads - 1; ++i) {
    threads.emplace_back([&] {
      while (!done.load()) {
        ibv_pd* pd = ibv_alloc_pd(w.context);
        ibv_cq* cq = ibv_create_cq(w.context, 8, nullptr, w.channel, 0);
        ibv_mr* mr = ibv_reg_mr(pd, w.bytes.data(), 64, unsigned{IBV_ACCESS_LOCAL_WRITE});
        ibv_qp_init_attr init = w.init_of(IBV_QPT_RC);
        init.send_cq = init.recv_cq = cq;
        ibv_qp* qp = ibv_create_qp(pd, &init);
        failures += qp == nullptr || World::to_init(qp) != 0;
        failures += ibv_destroy_qp(qp) != 0;
        failures += ibv_dereg_mr(mr) != 0;
        failures += ibv_destroy_cq(cq) != 0;
        failures += ibv_dealloc_pd(pd) != 0;
      }
    });
  }
  for (int i = 0; i < kMessages; ++i) {
    CHECK(w.write(client, 0, 64, w.mr->rkey, w.address(4096)) == 0);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("events wake threads that wait, however many", "[threads]") {
  World w;
  ibv_qp* const client = w.pair().first;
  constexpr int kRounds = 50;
  std::thread waiter([&] {
    for (int seen = 0; seen < kRounds;) {
      ibv_cq* cq = nullptr;
      void* its_context = nullptr;
      if (ibv_get_cq_event(w.channel, &cq, &its_context) != 0) return;
      ibv_ack_cq_events(cq, 1);
      ibv_req_notify_cq(cq, 0);
      ibv_wc wc{};
      while (ibv_poll_cq(cq, 1, &wc) == 1) ++seen;
    }
  });
  REQUIRE(ibv_req_notify_cq(w.cq, 0) == 0);
  for (int i = 0; i < kRounds;) {
    const int error = w.write(client, 0, 64, w.mr->rkey, w.address(4096));
    if (error == 0) ++i;
    if (error != 0) std::this_thread::yield();
  }
  waiter.join();
}

TEST_CASE("the child of a fork is silent and harmless", "[fork]") {
  World w;
  CHECK(ibv_fork_init() == 0);
  CHECK(ibv_is_fork_initialized() != IBV_FORK_DISABLED);
  ibv_qp* const client = w.pair().first;
  w.bytes[0] = 1;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Whatever it does with what it inherited, nothing is sent and nothing hangs.
    w.bytes[0] = 2;
    ibv_sge sge = w.piece(0, 64);
    ibv_send_wr request{};
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma = {w.address(4096), w.mr->rkey};
    ibv_send_wr* bad = nullptr;
    ibv_wc wc{};
    for (int i = 0; i < 4; ++i) ibv_post_send(client, &request, &bad);
    for (int i = 0; i < 100; ++i) ibv_poll_cq(w.cq, 1, &wc);
    ibv_destroy_qp(client);
    ibv_close_device(w.context);
    // It may have a device of its own.
    ibv_context* own = open_device();
    ibv_pd* pd = ibv_alloc_pd(own);
    const bool sound = pd != nullptr && ibv_dealloc_pd(pd) == 0 && ibv_close_device(own) == 0;
    _exit(sound ? 0 : 1);
  }
  REQUIRE(w.write(client, 0, 64, w.mr->rkey, w.address(4096)) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(w.bytes[4096] == 1);
  REQUIRE(w.write(client, 0, 64, w.mr->rkey, w.address(4096)) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
}

// A process of its own (below), as exit() runs the handlers of all that is in the process.
TEST_CASE("open a device and end", "[.ends]") {
  ibv_context* context = open_device_here();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  std::exit(pd != nullptr && cq != nullptr ? kSound : 1);
}

TEST_CASE("poll until a signal's handler ends the process", "[.signal]") {
  ibv_context* context = open_device_here();
  ibv_cq* cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  signal(SIGVTALRM, [](int) { std::exit(kSound); });
  const itimerval soon{{}, {0, 20'000}};
  setitimer(ITIMER_VIRTUAL, &soon, nullptr);
  for (ibv_wc wc{};;) ibv_poll_cq(cq, 1, &wc);
}

TEST_CASE("a process ends though a signal's handler ends it in the middle of a call", "[fork]") {
  // Whom the handler interrupts holds the NIC most of the time, but not each time.
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(60);  // for the test's sake: what hangs is ended, with another status
      execl("/proc/self/exe", "test_verbs", "[.signal]", nullptr);
      _exit(127);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == kSound);
  }
}

TEST_CASE("a process that just ends leaves nothing on the segment", "[fork]") {
  std::string folder = (std::filesystem::temp_directory_path() / "softrnic-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("SOFTRNIC_SHM_DIR", folder.c_str(), 1);
    setenv("SOFTRNIC_LINK", "shm:ends", 1);
    execl("/proc/self/exe", "test_verbs", "[.ends]", nullptr);
    _exit(127);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kSound);
  // The last to leave takes the folder along.
  CHECK((!std::filesystem::exists(folder) || std::filesystem::is_empty(folder)));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace softrnic::verbs::test
