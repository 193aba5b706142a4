// SPDX-License-Identifier: BSD-3-Clause
// Completion queues, plain and extended, their channels, and asynchronous events.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

bool is_readable(int descriptor) {
  pollfd wanted{descriptor, POLLIN, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

TEST_CASE("a completion queue has the depth asked for, within what the device has", "[cq]") {
  World w;
  ibv_device_attr device{};
  REQUIRE(ibv_query_device(w.context, &device) == 0);
  const auto error = [&](int depth, int vector) {
    errno = 0;
    CHECK(ibv_create_cq(w.context, depth, nullptr, nullptr, vector) == nullptr);
    return errno;
  };
  CHECK(error(0, 0) == EINVAL);
  CHECK(error(-1, 0) == EINVAL);
  CHECK(error(device.max_cqe + 1, 0) == EINVAL);
  CHECK(error(1, -1) == EINVAL);
  CHECK(error(1, w.context->num_comp_vectors) == EINVAL);
  ibv_cq* cq = ibv_create_cq(w.context, 10, nullptr, nullptr, 0);
  REQUIRE(cq != nullptr);
  CHECK(cq->cqe >= 10);
  CHECK(ibv_resize_cq(cq, 0) == EINVAL);
  CHECK(ibv_resize_cq(cq, device.max_cqe + 1) == EINVAL);
  CHECK(ibv_resize_cq(cq, 100) == 0);
  CHECK(cq->cqe >= 100);
  ibv_qp_init_attr init = w.init_of(IBV_QPT_RC);
  init.send_cq = cq;
  ibv_qp* qp = ibv_create_qp(w.pd, &init);
  REQUIRE(qp != nullptr);
  CHECK(ibv_destroy_cq(cq) == EBUSY);
  CHECK(ibv_destroy_qp(qp) == 0);
  CHECK(ibv_destroy_cq(cq) == 0);
}

TEST_CASE("an armed queue tells its channel once", "[cq]") {
  World w;
  const std::pair ends = w.pair();
  ibv_qp* const client = ends.first;
  ibv_qp* const server = ends.second;
  REQUIRE(fcntl(w.channel->fd, F_SETFL, fcntl(w.channel->fd, F_GETFL) | O_NONBLOCK) == 0);
  ibv_cq* told = nullptr;
  void* its_context = nullptr;
  CHECK(ibv_get_cq_event(w.channel, &told, &its_context) == -1);
  CHECK(errno == EAGAIN);
  CHECK(ibv_destroy_comp_channel(w.channel) == EBUSY);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(ibv_req_notify_cq(w.cq, 0) == 0);
    REQUIRE(w.write(client, 0, 8, w.mr->rkey, w.address(512)) == 0);
    REQUIRE(w.write(client, 0, 8, w.mr->rkey, w.address(512)) == 0);
    pollfd wanted{w.channel->fd, POLLIN, 0};
    REQUIRE(::poll(&wanted, 1, -1) == 1);
    REQUIRE(ibv_get_cq_event(w.channel, &told, &its_context) == 0);
    CHECK(told == w.cq);
    CHECK(its_context == &w);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
    CHECK_FALSE(is_readable(w.channel->fd));
  }
  ibv_ack_cq_events(w.cq, 3);
  // A solicited event is for a receive the peer wants seen, or for what failed.
  REQUIRE(ibv_req_notify_cq(w.cq, 1) == 0);
  REQUIRE(w.write(client, 0, 8, w.mr->rkey, w.address(512)) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK_FALSE(is_readable(w.channel->fd));
  REQUIRE(w.receive(server, 1024, 64) == 0);
  REQUIRE(w.send(client, 0, 8,
                 [](ibv_send_wr& request) { request.send_flags |= IBV_SEND_SOLICITED; }) == 0);
  pollfd wanted{w.channel->fd, POLLIN, 0};
  REQUIRE(::poll(&wanted, 1, -1) == 1);
  REQUIRE(ibv_get_cq_event(w.channel, &told, &its_context) == 0);
  ibv_ack_cq_events(told, 1);
}

TEST_CASE("an extended queue reads what it was made to read", "[cq]") {
  World w;
  ibv_cq_init_attr_ex init{};
  init.cqe = 16;
  init.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* cq = ibv_create_cq_ex(w.context, &init);
  REQUIRE(cq != nullptr);
  ibv_qp_init_attr of_qp = w.init_of(IBV_QPT_RC);
  of_qp.send_cq = of_qp.recv_cq = ibv_cq_ex_to_cq(cq);
  ibv_qp* one = ibv_create_qp(w.pd, &of_qp);
  ibv_qp* other = ibv_create_qp(w.pd, &of_qp);
  REQUIRE(one != nullptr);
  REQUIRE(other != nullptr);
  w.connect(one, other);
  ibv_poll_cq_attr attributes{};
  CHECK(ibv_start_poll(cq, &attributes) == ENOENT);
  attributes.comp_mask = 1;
  CHECK(ibv_start_poll(cq, &attributes) == EINVAL);
  attributes.comp_mask = 0;

  ibv_values_ex clock{};
  clock.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  REQUIRE(ibv_query_rt_values_ex(w.context, &clock) == 0);
  const auto before = static_cast<std::uint64_t>(clock.raw_clock.tv_sec) * 1'000'000'000 +
                      static_cast<std::uint64_t>(clock.raw_clock.tv_nsec);
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  REQUIRE(w.receive(other, 1024, 64, 21) == 0);
  REQUIRE(w.send(one, 0, 32, [](ibv_send_wr& request) {
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = 99;
  }) == 0);
  int seen = 0;
  while (seen < 2) {
    if (ibv_start_poll(cq, &attributes) != 0) continue;
    do {
      ++seen;
      CHECK(cq->status == IBV_WC_SUCCESS);
      CHECK(ibv_wc_read_completion_ts(cq) >= before);
      CHECK(ibv_wc_read_completion_wallclock_ns(cq) >=
            static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 +
                static_cast<std::uint64_t>(wall.tv_nsec));
      CHECK(ibv_wc_read_vendor_err(cq) == 0);
      CHECK(ibv_wc_read_slid(cq) == 0);
      CHECK(ibv_wc_read_sl(cq) == 0);
      CHECK(ibv_wc_read_dlid_path_bits(cq) == 0);
      if (ibv_wc_read_opcode(cq) == IBV_WC_RECV) {
        CHECK(cq->wr_id == 21);
        CHECK(ibv_wc_read_byte_len(cq) == 32);
        CHECK(ibv_wc_read_imm_data(cq) == 99);
        CHECK(ibv_wc_read_qp_num(cq) == other->qp_num);
        CHECK((ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM) != 0);
      }
    } while (ibv_next_poll(cq) == 0);
    ibv_end_poll(cq);
  }
  init.wc_flags = IBV_WC_EX_WITH_TM_INFO;
  errno = 0;
  CHECK(ibv_create_cq_ex(w.context, &init) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  CHECK(ibv_destroy_qp(one) == 0);
  CHECK(ibv_destroy_qp(other) == 0);
  CHECK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
}

TEST_CASE("a shared receive queue tells when it runs low, and its queue pairs when they are done",
          "[cq]") {
  World w;
  REQUIRE(fcntl(w.context->async_fd, F_SETFL, O_NONBLOCK) == 0);
  ibv_async_event event{};
  CHECK(ibv_get_async_event(w.context, &event) == -1);
  CHECK(errno == EAGAIN);
  ibv_srq_init_attr init{};
  init.attr = {16, 1, 0};
  ibv_srq* srq = ibv_create_srq(w.pd, &init);
  REQUIRE(srq != nullptr);
  ibv_qp_init_attr of_qp = w.init_of(IBV_QPT_RC);
  of_qp.srq = srq;
  ibv_qp* server = ibv_create_qp(w.pd, &of_qp);
  REQUIRE(server != nullptr);
  ibv_qp* client = w.create();
  w.connect(client, server);
  CHECK(ibv_destroy_srq(srq) == EBUSY);
  CHECK(w.receive(server, 0, 8) == EINVAL);  // not through the queue pair
  ibv_sge sge = w.piece(1024, 64);
  ibv_recv_wr receive{};
  receive.sg_list = &sge;
  receive.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  for (int i = 0; i < 2; ++i) REQUIRE(ibv_post_srq_recv(srq, &receive, &bad) == 0);
  ibv_srq_attr attributes{};
  attributes.srq_limit = 2;
  CHECK(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT) == 0);
  CHECK(ibv_modify_srq(srq, &attributes, 1 << 5) == EINVAL);
  attributes.srq_limit = 10'000;
  CHECK(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT) == EINVAL);
  REQUIRE(ibv_query_srq(srq, &attributes) == 0);
  CHECK(attributes.max_wr >= 16);
  CHECK(attributes.srq_limit == 2);
  REQUIRE(w.send(client, 0, 8) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  // Events of several kinds; the one wanted, acknowledged.
  const auto await = [&](ibv_event_type wanted) {
    for (;;) {
      pollfd readable{w.context->async_fd, POLLIN, 0};
      REQUIRE(::poll(&readable, 1, -1) == 1);
      REQUIRE(ibv_get_async_event(w.context, &event) == 0);
      ibv_ack_async_event(&event);
      if (event.event_type == wanted) return;
    }
  };
  await(IBV_EVENT_SRQ_LIMIT_REACHED);
  CHECK(event.element.srq == srq);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  REQUIRE(ibv_modify_qp(server, &error, IBV_QP_STATE) == 0);
  await(IBV_EVENT_QP_LAST_WQE_REACHED);
  CHECK(event.element.qp == server);
  CHECK(ibv_destroy_qp(server) == 0);
  CHECK(ibv_destroy_srq(srq) == 0);
}

}  // namespace
}  // namespace softrnic::verbs::test
