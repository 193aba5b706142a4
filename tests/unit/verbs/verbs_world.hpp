// SPDX-License-Identifier: BSD-3-Clause
// Verbs as a program calls them, on a segment of shared memory of this process alone. Its queue
// pairs speak to one another.
#pragma once

#include <infiniband/verbs.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace softrnic::verbs::test {

// The environment that the library reads once, set before.
class Segment {
 public:
  Segment() {
    std::string folder = (std::filesystem::temp_directory_path() / "softrnic-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
    setenv("SOFTRNIC_SHM_DIR", folder.c_str(), 1);
    setenv("SOFTRNIC_LINK", "shm:unit", 1);
    setenv("SOFTRNIC_SEED", "1", 1);
  }
  // After the library has closed its link; the child of a fork leaves it alone.
  ~Segment() {
    if (getpid() == owner_) std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_;
  pid_t owner_ = getpid();
};

// In the environment as it is.
inline ibv_context* open_device_here() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  REQUIRE(list != nullptr);
  REQUIRE(count == 1);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  REQUIRE(context != nullptr);
  return context;
}

inline ibv_context* open_device() {
  static const Segment segment;
  return open_device_here();
}

// A context, a protection domain, a completion queue, and a region for everything.
struct World {
  static constexpr int kDepth = 256;
  static constexpr unsigned kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                      IBV_ACCESS_MW_BIND;

  World() : context(open_device()), pd(ibv_alloc_pd(context)) {
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, kDepth, this, channel, 0);
    mr = ibv_reg_mr(pd, bytes.data(), bytes.size(), kRights);
    REQUIRE(pd != nullptr);
    REQUIRE(cq != nullptr);
    REQUIRE(mr != nullptr);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (ibv_qp* qp : queue_pairs) CHECK(ibv_destroy_qp(qp) == 0);
    CHECK(ibv_dereg_mr(mr) == 0);
    CHECK(ibv_destroy_cq(cq) == 0);
    CHECK(ibv_destroy_comp_channel(channel) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
  }

  ibv_qp_init_attr init_of(ibv_qp_type type) const {
    ibv_qp_init_attr init{};
    init.qp_type = type;
    init.send_cq = init.recv_cq = cq;
    init.cap = {16, 16, 2, 2, 64};
    return init;
  }

  ibv_qp* create(ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr init = init_of(type);
    ibv_qp* qp = ibv_create_qp(pd, &init);
    REQUIRE(qp != nullptr);
    queue_pairs.push_back(qp);
    return qp;
  }

  ibv_ah_attr own_address() const {
    ibv_ah_attr address{};
    address.is_global = 1;
    address.port_num = 1;
    address.grh.sgid_index = 1;
    address.grh.hop_limit = 1;
    REQUIRE(ibv_query_gid(context, 1, 1, &address.grh.dgid) == 0);
    return address;
  }

  static int to_init(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = 0x11;
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    const int last = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
  }
  int to_rtr(ibv_qp* qp, std::uint32_t peer) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.ah_attr = own_address();
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD) {
      mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int to_rts(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 10;
    attributes.retry_cnt = 2;
    attributes.rnr_retry = 2;
    attributes.max_rd_atomic = 4;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC) {
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(qp, &attributes, mask);
  }
  void connect(ibv_qp* one, ibv_qp* other) const {
    for (const auto& [qp, peer] : {std::pair{one, other}, std::pair{other, one}}) {
      REQUIRE(to_init(qp) == 0);
      REQUIRE(to_rtr(qp, peer->qp_num) == 0);
      REQUIRE(to_rts(qp) == 0);
    }
  }
  std::pair<ibv_qp*, ibv_qp*> pair(ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp* one = create(type);
    ibv_qp* other = create(type);
    connect(one, other);
    return {one, other};
  }

  ibv_sge piece(std::size_t offset, std::uint32_t length) const {
    return {reinterpret_cast<std::uintptr_t>(bytes.data()) + offset, length, mr->lkey};
  }
  int receive(ibv_qp* qp, std::size_t offset, std::uint32_t length, std::uint64_t id = 1) const {
    ibv_sge sge = piece(offset, length);
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &sge;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp, &request, &bad);
  }
  // `edit` completes the request: its opcode is SEND, and it is signaled.
  template <class Edit>
  int send(ibv_qp* qp, std::size_t offset, std::uint32_t length, Edit edit) const {
    ibv_sge sge = piece(offset, length);
    ibv_send_wr request{};
    request.wr_id = 2;
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    edit(request);
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(qp, &request, &bad);
    CHECK((bad == &request) == (error != 0));
    return error;
  }
  int send(ibv_qp* qp, std::size_t offset, std::uint32_t length) const {
    return send(qp, offset, length, [](ibv_send_wr&) {});
  }
  int write(ibv_qp* qp, std::size_t from, std::uint32_t length, std::uint32_t key,
            std::uint64_t to) const {
    return send(qp, from, length, [&](ibv_send_wr& request) {
      request.opcode = IBV_WR_RDMA_WRITE;
      request.wr.rdma = {to, key};
    });
  }
  std::uint64_t address(std::size_t offset) const { return piece(offset, 0).addr; }

  // The next completion, waited for.
  ibv_wc completion() const { return completion(cq); }
  static ibv_wc completion(ibv_cq* of) {
    ibv_wc wc{};
    int found = 0;
    while (found == 0) found = ibv_poll_cq(of, 1, &wc);
    REQUIRE(found == 1);
    return wc;
  }

  ibv_context* context;
  ibv_pd* pd;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  std::vector<ibv_qp*> queue_pairs;
  alignas(64) std::array<char, 8192> bytes{};
};

}  // namespace softrnic::verbs::test
