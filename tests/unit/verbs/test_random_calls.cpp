// SPDX-License-Identifier: BSD-3-Clause
// Random sequences of verbs calls, sound ones and senseless ones: none crashes or hangs, each says
// 0 or an error that verbs document, and in the end everything can be taken down.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

bool is_documented(int error) {
  constexpr std::array kErrors = {0,      EINVAL, ENOMEM,     EBUSY,   EFAULT,
                                  EAGAIN, ENOENT, EOPNOTSUPP, ENODATA, EPERM};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

class Caller {
 public:
  Caller(World& world, std::uint64_t seed) : w_(world), random_(seed) {}

  void call() {
    using Call = void (Caller::*)();
    static constexpr std::array<Call, 24> kCalls = {
        &Caller::make_domain,    &Caller::make_region,   &Caller::make_window,
        &Caller::make_queue,     &Caller::make_extended, &Caller::make_queue_pair,
        &Caller::make_shared,    &Caller::make_handle,   &Caller::make_xrc_domain,
        &Caller::make_parent,    &Caller::make_memory,   &Caller::re_register,
        &Caller::change_state,   &Caller::change_state,  &Caller::connect,
        &Caller::post_send,      &Caller::post_send,     &Caller::post_extended,
        &Caller::post_receive,   &Caller::poll,          &Caller::poll,
        &Caller::notify_or_size, &Caller::change_groups, &Caller::ask};
    if (below(4) == 0) return destroy();
    (this->*kCalls[below(kCalls.size())])();
  }

  // In whatever order works: what is in use goes after what uses it.
  void destroy_all() {
    for (int round = 0; round < 8; ++round) {
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        for (std::size_t left = count(kind); left > 0; --left) destroy(kind, left - 1);
      }
    }
    for (std::size_t kind = 0; kind < kKinds; ++kind) CHECK(count(kind) == 0);
  }

 private:
  static constexpr std::size_t kKinds = 10;
  static constexpr std::size_t kMost = 12;  // of a kind

  std::size_t below(std::size_t limit) { return random_() % limit; }
  // Mostly small, sometimes absurd.
  std::uint32_t number() {
    static constexpr std::array<std::uint32_t, 6> kOdd = {0,      1,          0x7fffffff,
                                                          0xffff, 0x80000000, 0xffffffff};
    return below(5) == 0 ? kOdd[below(kOdd.size())] : static_cast<std::uint32_t>(below(20));
  }
  template <class T>
  T pick(const std::vector<T>& from, T otherwise) {
    return from.empty() || below(8) == 0 ? otherwise : from[below(from.size())];
  }
  ibv_pd* domain() { return pick(domains_, w_.pd); }
  ibv_cq* queue() { return pick(queues_, w_.cq); }
  ibv_mr* region() { return pick(regions_, w_.mr); }
  ibv_sge piece() {
    const ibv_mr* mr = region();
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(mr->addr) + below(64),
                static_cast<std::uint32_t>(below(128)), mr->lkey};
    if (below(10) == 0) sge.length = number();
    if (below(10) == 0) sge.lkey ^= number();
    if (below(10) == 0) sge.addr = number();
    return sge;
  }

  void judge(int error) {
    INFO("error " << error);
    CHECK(is_documented(error));
  }
  template <class T>
  void keep(std::vector<T*>& in, T* made) {
    if (made == nullptr) {
      CHECK(errno != 0);
      return judge(errno);
    }
    in.push_back(made);
    errno = 0;
  }

  void make_domain() {
    if (domains_.size() < kMost) keep(domains_, ibv_alloc_pd(w_.context));
  }
  void make_region() {
    if (regions_.size() >= kMost) return;
    const std::size_t at = below(4096);
    const std::size_t length = below(10) == 0 ? number() : below(4096);
    void* address = below(10) == 0 ? nullptr : w_.bytes.data() + at;
    const auto access = below(4) == 0 ? number() : World::kRights;
    // What is beyond the array would be written to.
    if (address != nullptr && length > w_.bytes.size() - at) return;
    if ((access & IBV_ACCESS_ON_DEMAND) != 0) return;
    keep(regions_, ibv_reg_mr(domain(), address, length, access));
  }
  void make_window() {
    if (windows_.size() >= kMost) return;
    keep(windows_, ibv_alloc_mw(domain(), static_cast<ibv_mw_type>(below(4))));
  }
  void make_queue() {
    if (queues_.size() >= kMost) return;
    keep(queues_, ibv_create_cq(w_.context, static_cast<int>(number() % 100'000), nullptr,
                                below(2) == 0 ? w_.channel : nullptr,
                                below(10) == 0 ? static_cast<int>(number()) : 0));
  }
  void make_extended() {
    if (queues_.size() >= kMost) return;
    ibv_cq_init_attr_ex init{};
    init.cqe = number() % 1000;
    init.wc_flags = random_() & 0x1fff;
    init.comp_mask = below(4) == 0 ? number() & 1 : 0;
    init.flags = number();
    ibv_cq_ex* made = ibv_create_cq_ex(w_.context, &init);
    keep(queues_, made == nullptr ? nullptr : ibv_cq_ex_to_cq(made));
  }
  void make_queue_pair() {
    if (queue_pairs_.size() >= kMost) return;
    ibv_qp_init_attr_ex init{};
    static constexpr std::array kTypes = {IBV_QPT_RC,         IBV_QPT_RC,       IBV_QPT_UC,
                                          IBV_QPT_UD,         IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
                                          IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER};
    init.qp_type = kTypes[below(kTypes.size())];
    init.send_cq = below(20) == 0 ? nullptr : queue();
    init.recv_cq = below(20) == 0 ? nullptr : queue();
    init.srq = below(4) == 0 ? pick(shared_, static_cast<ibv_srq*>(nullptr)) : nullptr;
    init.cap = {number() % 5000, number() % 5000, number() % 40, number() % 40, number() % 2000};
    init.sq_sig_all = static_cast<int>(below(2));
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.pd = domain();
    if (init.qp_type == IBV_QPT_XRC_RECV || below(10) == 0) {
      init.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
      init.xrcd = pick(xrc_domains_, static_cast<ibv_xrcd*>(nullptr));
    }
    if (below(4) == 0) {
      init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = random_() & 0x1fff;
    }
    if (below(20) == 0) init.comp_mask |= number();
    if ((init.comp_mask & IBV_QP_INIT_ATTR_RX_HASH) != 0) return;
    keep(queue_pairs_, ibv_create_qp_ex(w_.context, &init));
  }
  void make_shared() {
    if (shared_.size() >= kMost) return;
    ibv_srq_init_attr_ex init{};
    init.attr = {number() % 5000, number() % 40, number()};
    init.pd = domain();
    init.comp_mask = IBV_SRQ_INIT_ATTR_PD;
    if (below(2) == 0) {
      init.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
      init.srq_type = static_cast<ibv_srq_type>(below(4));
      init.xrcd = pick(xrc_domains_, static_cast<ibv_xrcd*>(nullptr));
      init.cq = queue();
    }
    keep(shared_, ibv_create_srq_ex(w_.context, &init));
  }
  void make_handle() {
    if (handles_.size() >= kMost) return;
    ibv_ah_attr address = w_.own_address();
    if (below(4) == 0) address.grh.sgid_index = static_cast<std::uint8_t>(number());
    if (below(8) == 0) address.grh.dgid.raw[below(16)] = static_cast<std::uint8_t>(random_());
    if (below(8) == 0) address.port_num = static_cast<std::uint8_t>(number());
    keep(handles_, ibv_create_ah(domain(), &address));
  }
  void make_xrc_domain() {
    if (xrc_domains_.size() >= kMost) return;
    ibv_xrcd_init_attr init{};
    init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    init.fd = -1;
    init.oflags = below(4) == 0 ? 0 : O_CREAT;
    if (below(8) == 0) init.comp_mask = number();
    keep(xrc_domains_, ibv_open_xrcd(w_.context, &init));
  }
  void make_parent() {
    if (domains_.size() >= kMost) return;
    ibv_parent_domain_init_attr init{};
    init.pd = below(8) == 0 ? nullptr : domain();
    init.comp_mask = below(4) == 0 ? number() : 0;
    keep(domains_, ibv_alloc_parent_domain(w_.context, &init));
  }
  void make_memory() {
    if (memories_.size() >= kMost) return;
    ibv_alloc_dm_attr attributes{below(4) == 0 ? number() : below(40'000), number() % 16, 0};
    keep(memories_, ibv_alloc_dm(w_.context, &attributes));
    if (memories_.empty() || regions_.size() >= kMost) return;
    ibv_dm* dm = memories_[below(memories_.size())];
    std::uint32_t word = 0;
    judge(ibv_memcpy_from_dm(&word, dm, number(), sizeof(word)));
    keep(regions_, ibv_reg_dm_mr(domain(), dm, number(), below(100),
                                 below(4) == 0 ? number() : unsigned{IBV_ACCESS_ZERO_BASED}));
  }

  void re_register() {
    if (regions_.empty()) return;
    ibv_mr* mr = regions_[below(regions_.size())];
    errno = 0;
    const int result = ibv_rereg_mr(
        mr, static_cast<int>(below(9)), below(8) == 0 ? nullptr : domain(), w_.bytes.data(),
        below(4096), static_cast<int>(below(4) == 0 ? number() & ~IBV_ACCESS_ON_DEMAND : 15u));
    CHECK((result == 0) == (errno == 0));
    judge(errno);
  }

  ibv_qp* queue_pair() {
    return queue_pairs_.empty() ? nullptr : queue_pairs_[below(queue_pairs_.size())];
  }
  void change_state() {
    ibv_qp* qp = queue_pair();
    if (qp == nullptr) return;
    ibv_qp_attr attributes{};
    attributes.qp_state = static_cast<ibv_qp_state>(below(8));
    attributes.port_num = static_cast<std::uint8_t>(below(3));
    attributes.path_mtu = static_cast<ibv_mtu>(below(7));
    attributes.dest_qp_num = number();
    attributes.ah_attr = w_.own_address();
    attributes.max_rd_atomic = static_cast<std::uint8_t>(number());
    attributes.timeout = static_cast<std::uint8_t>(number());
    attributes.retry_cnt = static_cast<std::uint8_t>(number());
    judge(ibv_modify_qp(qp, &attributes,
                        below(2) == 0 ? IBV_QP_STATE : static_cast<int>(random_() & 0x3ffffff)));
    ibv_qp_init_attr init{};
    judge(ibv_query_qp(qp, &attributes, 0, &init));
  }
  void connect() {
    ibv_qp* one = queue_pair();
    ibv_qp* other = queue_pair();
    if (one == nullptr) return;
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    for (ibv_qp* qp : {one, other}) {
      judge(ibv_modify_qp(qp, &reset, IBV_QP_STATE));
      judge(World::to_init(qp));
      judge(w_.to_rtr(qp, (qp == one ? other : one)->qp_num));
      if (qp->qp_type != IBV_QPT_XRC_RECV) judge(World::to_rts(qp));
    }
  }

  ibv_mw_bind_info bind_info() {
    return {below(8) == 0 ? nullptr : region(), w_.address(below(8192)), below(256),
            below(4) == 0 ? number() : unsigned{IBV_ACCESS_REMOTE_WRITE}};
  }
  void post_send() {
    ibv_qp* qp = queue_pair();
    if (qp == nullptr) return;
    std::array<ibv_sge, 3> sges = {piece(), piece(), piece()};
    ibv_send_wr request{};
    request.wr_id = random_();
    request.sg_list = sges.data();
    request.num_sge = static_cast<int>(below(4));
    request.opcode = static_cast<ibv_wr_opcode>(below(12));
    request.send_flags = below(32) & ~std::uint32_t{IBV_SEND_INLINE};
    const bool inlined = below(4) == 0;
    if (inlined) {
      // What is sent inline is read at once, so it must be there.
      for (ibv_sge& sge : sges) sge = w_.piece(below(64), static_cast<std::uint32_t>(below(100)));
      request.send_flags |= IBV_SEND_INLINE;
    }
    if (qp->qp_type == IBV_QPT_UD) {
      request.wr.ud = {pick(handles_, static_cast<ibv_ah*>(nullptr)), number(), 0x11};
    } else if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
               request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      request.wr.atomic = {w_.address(below(8000)), 1, 2, region()->rkey};
    } else {
      request.wr.rdma = {w_.address(below(8000)), region()->rkey};
    }
    if (request.opcode == IBV_WR_BIND_MW) {
      ibv_mw* mw = pick(windows_, static_cast<ibv_mw*>(nullptr));
      request.bind_mw = {mw, mw == nullptr ? 0 : ibv_inc_rkey(mw->rkey), bind_info()};
    }
    if (qp->qp_type == IBV_QPT_XRC_SEND) request.qp_type.xrc.remote_srqn = number();
    ibv_send_wr* bad = nullptr;
    judge(ibv_post_send(qp, &request, &bad));
    if (!windows_.empty() && below(4) == 0) {
      ibv_mw_bind bind{random_(), below(2) == 0 ? unsigned{IBV_SEND_SIGNALED} : 0, bind_info()};
      judge(ibv_bind_mw(qp, windows_[below(windows_.size())], &bind));
    }
  }
  void post_extended() {
    ibv_qp* of = queue_pair();
    ibv_qp_ex* qp = of == nullptr ? nullptr : ibv_qp_to_qp_ex(of);
    if (qp == nullptr) return;
    ibv_wr_start(qp);
    for (std::size_t left = below(4); left > 0; --left) {
      qp->wr_id = random_();
      qp->wr_flags = below(2) == 0 ? unsigned{IBV_SEND_SIGNALED} : 0;
      const std::uint64_t word = random_();
      switch (below(7)) {
        case 0:
          ibv_wr_send(qp);
          break;
        case 1:
          ibv_wr_rdma_write_imm(qp, region()->rkey, w_.address(below(8000)), 5);
          break;
        case 2:
          ibv_wr_rdma_read(qp, region()->rkey, w_.address(below(8000)));
          break;
        case 3:
          ibv_wr_atomic_write(qp, region()->rkey, w_.address(8 * below(900)), &word);
          break;
        case 4:
          ibv_wr_local_inv(qp, number());
          break;
        case 5:
          ibv_wr_atomic_cmp_swp(qp, region()->rkey, w_.address(below(8000)), 1, 2);
          break;
        default:
          ibv_wr_send_inv(qp, number());
      }
      if (!handles_.empty() && below(2) == 0) ibv_wr_set_ud_addr(qp, handles_[0], number(), 0x11);
      const ibv_sge sge = piece();
      if (below(3) != 0) ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
      if (below(6) == 0) ibv_wr_set_inline_data(qp, w_.bytes.data(), below(2000));
    }
    if (below(6) == 0) return ibv_wr_abort(qp);
    judge(ibv_wr_complete(qp));
  }
  void post_receive() {
    std::array<ibv_sge, 2> sges = {piece(), piece()};
    ibv_recv_wr request{};
    request.wr_id = random_();
    request.sg_list = sges.data();
    request.num_sge = static_cast<int>(below(3));
    if (below(10) == 0) request.num_sge = -1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_qp* qp = queue_pair()) judge(ibv_post_recv(qp, &request, &bad));
    if (!shared_.empty()) {
      judge(ibv_post_srq_recv(shared_[below(shared_.size())], &request, &bad));
    }
  }

  void poll() {
    std::array<ibv_wc, 8> wcs;
    const int found = ibv_poll_cq(queue(), static_cast<int>(wcs.size()), wcs.data());
    REQUIRE(found >= 0);
    for (int i = 0; i < found; ++i) CHECK(wcs[i].status <= IBV_WC_GENERAL_ERR);
  }
  void notify_or_size() {
    ibv_cq* cq = queue();
    judge(ibv_req_notify_cq(cq, static_cast<int>(below(2))));
    if (cq != w_.cq) judge(ibv_resize_cq(cq, static_cast<int>(number())));
    if (shared_.empty()) return;
    ibv_srq* srq = shared_[below(shared_.size())];
    ibv_srq_attr attributes{number() % 5000, 0, number()};
    judge(ibv_modify_srq(srq, &attributes, static_cast<int>(below(5))));
    judge(ibv_query_srq(srq, &attributes));
  }
  void change_groups() {
    ibv_qp* qp = queue_pair();
    if (qp == nullptr) return;
    ibv_gid group{};
    group.raw[0] = below(4) == 0 ? 0xfe : 0xff;
    group.raw[1] = 0x0e;
    group.raw[15] = static_cast<std::uint8_t>(below(3));
    judge(below(2) == 0 ? ibv_attach_mcast(qp, &group, 0) : ibv_detach_mcast(qp, &group, 0));
  }
  void ask() {
    ibv_port_attr port{};
    judge(ibv_query_port(w_.context, static_cast<std::uint8_t>(number()), &port));
    ibv_gid gid{};
    errno = 0;
    const bool found = ibv_query_gid(w_.context, 1, static_cast<int>(number()), &gid) == 0;
    CHECK(found == (errno == 0));
    ibv_gid_entry entry{};
    judge(ibv_query_gid_ex(w_.context, 1, number(), &entry, below(2) == 0 ? 0 : number()));
    ibv_async_event event{};
    while (ibv_get_async_event(w_.context, &event) == 0) ibv_ack_async_event(&event);
    ibv_cq* cq = nullptr;
    void* its_context = nullptr;
    while (ibv_get_cq_event(w_.channel, &cq, &its_context) == 0) ibv_ack_cq_events(cq, 1);
    ibv_sge sge = piece();
    judge(ibv_advise_mr(domain(), static_cast<ib_uverbs_advise_mr_advice>(below(4)), 0, &sge, 1));
  }

  // Kinds in the order in which they are likely to go.
  std::size_t count(std::size_t kind) const {
    const std::array<std::size_t, kKinds> counts = {
        queue_pairs_.size(), shared_.size(), windows_.size(),     regions_.size(), handles_.size(),
        memories_.size(),    queues_.size(), xrc_domains_.size(), domains_.size(), 0};
    return counts[kind];
  }
  template <class T, class Destroy>
  void drop(std::vector<T*>& from, std::size_t index, Destroy destroy_one) {
    const int error = destroy_one(from[index]);
    judge(error);
    if (error == 0) from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
  }
  void destroy() {
    const std::size_t kind = below(kKinds);
    if (count(kind) > 0) destroy(kind, below(count(kind)));
  }
  void destroy(std::size_t kind, std::size_t index) {
    switch (kind) {
      case 0: {
        // Groups keep it.
        ibv_gid group{};
        group.raw[0] = 0xff;
        group.raw[1] = 0x0e;
        for (std::uint8_t i = 0; i < 3; ++i) {
          group.raw[15] = i;
          while (ibv_detach_mcast(queue_pairs_[index], &group, 0) == 0) {
          }
        }
        return drop(queue_pairs_, index, ibv_destroy_qp);
      }
      case 1:
        return drop(shared_, index, ibv_destroy_srq);
      case 2:
        return drop(windows_, index, [](ibv_mw* mw) { return ibv_dealloc_mw(mw); });
      case 3:
        return drop(regions_, index, ibv_dereg_mr);
      case 4:
        return drop(handles_, index, ibv_destroy_ah);
      case 5:
        return drop(memories_, index, [](ibv_dm* dm) { return ibv_free_dm(dm); });
      case 6:
        return drop(queues_, index, ibv_destroy_cq);
      case 7:
        return drop(xrc_domains_, index, [](ibv_xrcd* xrcd) { return ibv_close_xrcd(xrcd); });
      case 8:
        return drop(domains_, index, ibv_dealloc_pd);
      default:
        return;
    }
  }

  World& w_;
  std::mt19937_64 random_;
  std::vector<ibv_pd*> domains_;
  std::vector<ibv_mr*> regions_;
  std::vector<ibv_mw*> windows_;
  std::vector<ibv_cq*> queues_;
  std::vector<ibv_qp*> queue_pairs_;
  std::vector<ibv_srq*> shared_;
  std::vector<ibv_ah*> handles_;
  std::vector<ibv_xrcd*> xrc_domains_;
  std::vector<ibv_dm*> memories_;
};

TEST_CASE("random verbs calls never crash and always say a documented error", "[random]") {
  const char* given = getenv("SOFTRNIC_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}();
  const std::uint64_t sequences = given != nullptr ? 1 : 30;
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    std::printf("random verbs calls: SOFTRNIC_TEST_SEED=%llu\n",
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    INFO("SOFTRNIC_TEST_SEED=" << seed);
    World w;
    REQUIRE(fcntl(w.context->async_fd, F_SETFL, O_NONBLOCK) == 0);
    REQUIRE(fcntl(w.channel->fd, F_SETFL, O_NONBLOCK) == 0);
    Caller caller(w, seed);
    for (int i = 0; i < 1500; ++i) caller.call();
    caller.destroy_all();
  }
}

}  // namespace
}  // namespace softrnic::verbs::test
