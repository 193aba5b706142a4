// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs: what is refused and why, and that each kind of request arrives.
#include <arpa/inet.h>
#include <fcntl.h>

#include <cerrno>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

TEST_CASE("a queue pair is refused for what is missing or too much", "[queue pair]") {
  World w;
  ibv_device_attr device{};
  REQUIRE(ibv_query_device(w.context, &device) == 0);
  const auto error = [&](auto edit) {
    ibv_qp_init_attr init = w.init_of(IBV_QPT_RC);
    edit(init);
    errno = 0;
    CHECK(ibv_create_qp(w.pd, &init) == nullptr);
    return errno;
  };
  CHECK(error([](auto& init) { init.send_cq = nullptr; }) == EINVAL);
  CHECK(error([](auto& init) { init.recv_cq = nullptr; }) == EINVAL);
  CHECK(error([&](auto& init) {
          init.cap.max_send_wr = static_cast<std::uint32_t>(device.max_qp_wr) + 1;
        }) == EINVAL);
  CHECK(error([&](auto& init) {
          init.cap.max_recv_sge = static_cast<std::uint32_t>(device.max_sge) + 1;
        }) == EINVAL);
  CHECK(error([](auto& init) { init.cap.max_inline_data = 1u << 20; }) == EINVAL);
  CHECK(error([](auto& init) { init.qp_type = IBV_QPT_RAW_PACKET; }) == EOPNOTSUPP);
  CHECK(error([](auto& init) { init.qp_type = static_cast<ibv_qp_type>(99); }) == EOPNOTSUPP);

  ibv_qp_init_attr_ex extended{};
  extended.qp_type = IBV_QPT_UD;
  extended.send_cq = extended.recv_cq = w.cq;
  extended.cap = {4, 4, 1, 1, 0};
  extended.pd = w.pd;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  extended.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
  CHECK(ibv_create_qp_ex(w.context, &extended) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  CHECK(ibv_create_qp_ex(w.context, &extended) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  extended.comp_mask = 0;
  CHECK(ibv_create_qp_ex(w.context, &extended) == nullptr);
  CHECK(errno == EINVAL);
}

TEST_CASE("states change one by one, with the attributes each needs", "[queue pair]") {
  World w;
  ibv_qp* qp = w.create();
  CHECK(w.to_rtr(qp, qp->qp_num) == EINVAL);
  CHECK(World::to_rts(qp) == EINVAL);
  CHECK(w.receive(qp, 0, 16) == EINVAL);
  CHECK(w.send(qp, 0, 16) == EINVAL);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  CHECK(ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == EINVAL);
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  attributes.port_num = 2;
  CHECK(ibv_modify_qp(qp, &attributes, kMask) == EINVAL);
  attributes.port_num = 1;
  attributes.pkey_index = 1;
  CHECK(ibv_modify_qp(qp, &attributes, kMask) == EINVAL);
  attributes.pkey_index = 0;
  CHECK(ibv_modify_qp(qp, &attributes, kMask | IBV_QP_DEST_QPN) == EINVAL);
  CHECK(ibv_modify_qp(qp, &attributes, kMask) == 0);
  CHECK(qp->state == IBV_QPS_INIT);
  CHECK(w.receive(qp, 0, 16) == 0);
  CHECK(w.send(qp, 0, 16) == EINVAL);
  CHECK(w.to_rtr(qp, qp->qp_num) == 0);
  CHECK(World::to_rts(qp) == 0);

  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init) == 0);
  CHECK(attributes.qp_state == IBV_QPS_RTS);
  CHECK(attributes.dest_qp_num == qp->qp_num);
  CHECK(attributes.path_mtu == IBV_MTU_1024);
  CHECK(init.send_cq == w.cq);
  CHECK(init.cap.max_send_wr >= 16);

  attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  REQUIRE(ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == 0);
  CHECK(w.completion().status == IBV_WC_WR_FLUSH_ERR);
  CHECK(w.receive(qp, 0, 16) == 0);
  // A reset takes along what nobody took.
  attributes.qp_state = IBV_QPS_RESET;
  REQUIRE(ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == 0);
  ibv_wc wc{};
  CHECK(ibv_poll_cq(w.cq, 1, &wc) == 0);
}

TEST_CASE("requests that cannot be are refused, and the list is known up to there",
          "[queue pair]") {
  World w;
  ibv_qp* const client = w.pair().first;
  ibv_sge sges[3] = {w.piece(0, 8), w.piece(8, 8), w.piece(16, 8)};
  ibv_send_wr good{};
  good.sg_list = sges;
  good.num_sge = 1;
  good.opcode = IBV_WR_RDMA_WRITE;
  good.wr.rdma = {w.address(512), w.mr->rkey};
  ibv_send_wr bad_one = good;
  good.next = &bad_one;
  bad_one.wr_id = 9;
  bad_one.send_flags = IBV_SEND_SIGNALED;
  const auto error = [&](auto edit) {
    ibv_send_wr edited = bad_one;
    edit(edited);
    good.next = &edited;
    ibv_send_wr* bad = nullptr;
    const int result = ibv_post_send(client, &good, &bad);
    CHECK((result == 0 || bad == &edited));
    return result;
  };
  CHECK(error([](auto& wr) { wr.num_sge = 3; }) == EINVAL);
  CHECK(error([](auto& wr) { wr.num_sge = -1; }) == EINVAL);
  CHECK(error([](auto& wr) { wr.opcode = IBV_WR_TSO; }) == EINVAL);
  CHECK(error([](auto& wr) { wr.opcode = IBV_WR_DRIVER1; }) == EINVAL);
  CHECK(error([&](auto& wr) {
          wr.send_flags |= IBV_SEND_INLINE;
          sges[0].length = 65;
        }) == EINVAL);
  sges[0].length = 8;
  CHECK(error([](auto&) {}) == 0);
  CHECK(w.completion().wr_id == 9);
  // Full: sixteen fit.
  good.next = nullptr;
  ibv_qp* idle = w.create();
  REQUIRE(World::to_init(idle) == 0);
  for (int i = 0; i < 16; ++i) REQUIRE(w.receive(idle, 0, 8) == 0);
  CHECK(w.receive(idle, 0, 8) == ENOMEM);
}

TEST_CASE("each operation of a reliable connection arrives", "[queue pair]") {
  World w;
  const std::pair ends = w.pair();
  ibv_qp* const client = ends.first;
  ibv_qp* const server = ends.second;
  std::strcpy(w.bytes.data(), "what is sent");
  REQUIRE(w.receive(server, 1024, 64, 5) == 0);
  REQUIRE(w.send(client, 0, 13, [](ibv_send_wr& request) {
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = htonl(77);
    request.send_flags |= IBV_SEND_INLINE;
  }) == 0);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = w.completion();
    REQUIRE(wc.status == IBV_WC_SUCCESS);
    if (wc.opcode != IBV_WC_RECV) continue;
    CHECK(wc.wr_id == 5);
    CHECK(wc.byte_len == 13);
    CHECK(wc.qp_num == server->qp_num);
    CHECK((wc.wc_flags & IBV_WC_WITH_IMM) != 0);
    CHECK(ntohl(wc.imm_data) == 77);
  }
  CHECK(std::string(&w.bytes[1024]) == "what is sent");

  const std::uint64_t there = w.address(2048);
  const auto word = [&](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, &w.bytes[at], sizeof(value));
    return value;
  };
  const auto atomic = [&](ibv_wr_opcode opcode, std::uint64_t add, std::uint64_t swap) {
    REQUIRE(w.send(client, 3072, 8, [&](ibv_send_wr& request) {
      request.opcode = opcode;
      request.wr.atomic = {there, add, swap, w.mr->rkey};
    }) == 0);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
    return word(3072);
  };
  CHECK(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 5, 0) == 0);
  CHECK(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 4, 9) == 5);
  CHECK(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 5, 9) == 5);
  CHECK(word(2048) == 9);
  REQUIRE(w.send(client, 3080, 8, [&](ibv_send_wr& request) {
    request.opcode = IBV_WR_RDMA_READ;
    request.wr.rdma = {there, w.mr->rkey};
  }) == 0);
  CHECK(w.completion().opcode == IBV_WC_RDMA_READ);
  CHECK(word(3080) == 9);
  // Misaligned, and with a wrong key: the peer says so.
  REQUIRE(w.send(client, 3072, 8, [&](ibv_send_wr& request) {
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic = {there + 4, 1, 0, w.mr->rkey};
  }) == 0);
  CHECK(w.completion().status == IBV_WC_REM_INV_REQ_ERR);
}

TEST_CASE("the extended interface posts all or nothing", "[queue pair]") {
  World w;
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = init.recv_cq = w.cq;
  init.cap = {4, 4, 2, 2, 0};
  init.pd = w.pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE;
  ibv_qp* client = ibv_create_qp_ex(w.context, &init);
  REQUIRE(client != nullptr);
  w.queue_pairs.push_back(client);
  w.connect(client, w.create());
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(client);
  REQUIRE(qp != nullptr);
  const auto write = [&](std::uint64_t id, std::size_t from, std::size_t to) {
    qp->wr_id = id;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, w.mr->rkey, w.address(to));
    ibv_wr_set_sge(qp, w.mr->lkey, w.address(from), 8);
  };
  w.bytes[0] = 'a';
  ibv_wr_start(qp);
  write(1, 0, 512);
  ibv_wr_abort(qp);
  ibv_wr_start(qp);
  for (std::uint64_t id = 0; id < 5; ++id) write(id, 0, 512);
  CHECK(ibv_wr_complete(qp) == ENOMEM);
  CHECK(w.bytes[512] == 0);
  ibv_wr_start(qp);
  ibv_wr_set_sge(qp, w.mr->lkey, w.address(0), 8);  // of no request
  CHECK(ibv_wr_complete(qp) == EINVAL);
  ibv_wr_start(qp);
  write(3, 0, 512);
  qp->wr_id = 4;
  const std::uint64_t value = 0x1122334455667788;
  ibv_wr_atomic_write(qp, w.mr->rkey, w.address(1024), &value);
  REQUIRE(ibv_wr_complete(qp) == 0);
  CHECK(w.completion().wr_id == 3);
  const ibv_wc wc = w.completion();
  CHECK(wc.wr_id == 4);
  CHECK(wc.opcode == IBV_WC_ATOMIC_WRITE);
  CHECK(w.bytes[512] == 'a');
  CHECK(std::memcmp(&w.bytes[1024], &value, 8) == 0);
}

TEST_CASE("datagrams arrive with their header, by an address handle of the domain",
          "[queue pair]") {
  World w;
  ibv_qp* one = w.create(IBV_QPT_UD);
  ibv_qp* other = w.create(IBV_QPT_UD);
  for (ibv_qp* qp : {one, other}) {
    REQUIRE(World::to_init(qp) == 0);
    REQUIRE(w.to_rtr(qp, 0) == 0);
    REQUIRE(World::to_rts(qp) == 0);
  }
  ibv_ah_attr address = w.own_address();
  ibv_ah* ah = ibv_create_ah(w.pd, &address);
  REQUIRE(ah != nullptr);
  CHECK(ibv_dealloc_pd(w.pd) == EBUSY);
  std::strcpy(w.bytes.data(), "datagram");
  REQUIRE(w.receive(other, 1024, 128) == 0);
  REQUIRE(w.send(one, 0, 9, [&](ibv_send_wr& request) {
    request.wr.ud = {ah, other->qp_num, 0x11};
  }) == 0);
  ibv_wc received{};
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = w.completion();
    REQUIRE(wc.status == IBV_WC_SUCCESS);
    if (wc.opcode == IBV_WC_RECV) received = wc;
  }
  CHECK(received.byte_len == 49);
  CHECK(received.src_qp == one->qp_num);
  CHECK((received.wc_flags & IBV_WC_GRH) != 0);
  CHECK(std::string(&w.bytes[1064]) == "datagram");
  auto* grh = reinterpret_cast<ibv_grh*>(&w.bytes[1024]);
  ibv_ah* back = ibv_create_ah_from_wc(w.pd, &received, grh, 1);
  CHECK(back != nullptr);
  if (back != nullptr) CHECK(ibv_destroy_ah(back) == 0);
  CHECK(w.send(one, 0, 9, [&](ibv_send_wr& request) {
    request.wr.ud = {nullptr, 1, 0};
  }) == EINVAL);

  const auto error = [&](auto edit) {
    ibv_ah_attr wrong = address;
    edit(wrong);
    errno = 0;
    CHECK(ibv_create_ah(w.pd, &wrong) == nullptr);
    return errno;
  };
  CHECK(error([](auto& a) { a.is_global = 0; }) == EINVAL);
  CHECK(error([](auto& a) { a.port_num = 2; }) == EINVAL);
  CHECK(error([](auto& a) { a.grh.sgid_index = 200; }) == EINVAL);
  CHECK(ibv_destroy_ah(ah) == 0);
}

TEST_CASE("an XRC target receives through the queue its peer names", "[queue pair]") {
  World w;
  ibv_xrcd_init_attr of_domain{};
  of_domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  of_domain.fd = -1;
  errno = 0;
  CHECK(ibv_open_xrcd(w.context, &of_domain) == nullptr);
  CHECK(errno == EINVAL);
  of_domain.oflags = O_CREAT;
  ibv_xrcd* xrcd = ibv_open_xrcd(w.context, &of_domain);
  REQUIRE(xrcd != nullptr);
  ibv_srq_init_attr_ex of_srq{};
  of_srq.attr = {16, 1, 0};
  of_srq.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  of_srq.srq_type = IBV_SRQT_XRC;
  of_srq.pd = w.pd;
  of_srq.xrcd = xrcd;
  of_srq.cq = w.cq;
  ibv_srq* srq = ibv_create_srq_ex(w.context, &of_srq);
  REQUIRE(srq != nullptr);
  std::uint32_t number = 0;
  REQUIRE(ibv_get_srq_num(srq, &number) == 0);
  CHECK(ibv_close_xrcd(xrcd) == EBUSY);

  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = xrcd;
  ibv_qp* target = ibv_create_qp_ex(w.context, &init);
  REQUIRE(target != nullptr);
  init.qp_type = IBV_QPT_XRC_SEND;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = w.pd;
  init.send_cq = w.cq;
  init.cap = {4, 0, 1, 0, 0};
  ibv_qp* initiator = ibv_create_qp_ex(w.context, &init);
  REQUIRE(initiator != nullptr);
  const auto modify = [](ibv_qp* qp, ibv_qp_attr attributes, int mask) {
    return ibv_modify_qp(qp, &attributes, mask);
  };
  for (const auto& [qp, peer] : {std::pair{target, initiator}, std::pair{initiator, target}}) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    REQUIRE(modify(qp, a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
            0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer->qp_num;
    a.ah_attr = w.own_address();
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (qp == target) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    REQUIRE(modify(qp, a, mask) == 0);
  }
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.retry_cnt = a.rnr_retry = 2;
  a.timeout = 10;
  REQUIRE(modify(initiator, a,
                 IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  ibv_sge sge = w.piece(1024, 64);
  ibv_recv_wr receive{};
  receive.wr_id = 11;
  receive.sg_list = &sge;
  receive.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  REQUIRE(ibv_post_srq_recv(srq, &receive, &bad) == 0);
  REQUIRE(w.send(initiator, 0, 16,
                 [&](ibv_send_wr& request) { request.qp_type.xrc.remote_srqn = number; }) == 0);
  std::uint64_t ids = 0;
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = w.completion();
    CHECK(wc.status == IBV_WC_SUCCESS);
    ids += wc.wr_id;
  }
  CHECK(ids == 13);

  ibv_qp_open_attr open{};
  open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open.qp_num = target->qp_num;
  open.xrcd = xrcd;
  open.qp_type = IBV_QPT_XRC_RECV;
  ibv_qp* again = ibv_open_qp(w.context, &open);
  REQUIRE(again != nullptr);
  CHECK(again->qp_num == target->qp_num);
  open.qp_num = initiator->qp_num;
  CHECK(ibv_open_qp(w.context, &open) == nullptr);
  CHECK(errno == EINVAL);
  CHECK(ibv_destroy_qp(again) == 0);
  CHECK(ibv_destroy_qp(initiator) == 0);
  CHECK(ibv_destroy_qp(target) == 0);
  CHECK(ibv_destroy_srq(srq) == 0);
  CHECK(ibv_close_xrcd(xrcd) == 0);
}

}  // namespace
}  // namespace softrnic::verbs::test
