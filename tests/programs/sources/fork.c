// SPDX-License-Identifier: BSD-3-Clause
// fork after ibv_fork_init: a loopback connection goes on in the parent while children come and go,
// and a child's own device is another's affair.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 8192, kRounds = 20 };

static void require(int condition, const char* what) {
  if (condition) return;
  perror(what);
  exit(3);
}

struct End {
  struct ibv_cq* cq;
  struct ibv_qp* qp;
};

static struct End make_end(struct ibv_context* context, struct ibv_pd* pd) {
  struct End end;
  end.cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  require(end.cq != NULL, "ibv_create_cq");
  struct ibv_qp_init_attr init = {
      .send_cq = end.cq,
      .recv_cq = end.cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
  end.qp = ibv_create_qp(pd, &init);
  require(end.qp != NULL, "ibv_create_qp");
  return end;
}

static void connect_end(struct ibv_qp* qp, uint32_t peer, const union ibv_gid* gid) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  require(ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "to INIT");
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = peer;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  attributes.ah_attr.grh.dgid = *gid;
  attributes.ah_attr.grh.sgid_index = 1;
  attributes.ah_attr.grh.hop_limit = 64;
  require(ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "to RTR");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  require(ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "to RTS");
}

static void await(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
  }
  require(n == 1 && wc.status == IBV_WC_SUCCESS, "ibv_poll_cq");
}

// The child of a parent with an open device may open it anew.
static void be_child(int opens) {
  if (opens) {
    struct ibv_device** list = ibv_get_device_list(NULL);
    struct ibv_context* context = list != NULL ? ibv_open_device(list[0]) : NULL;
    require(context != NULL, "the child's ibv_open_device");
    struct ibv_pd* pd = ibv_alloc_pd(context);
    require(pd != NULL && ibv_dealloc_pd(pd) == 0, "the child's ibv_alloc_pd");
    require(ibv_close_device(context) == 0, "the child's ibv_close_device");
    ibv_free_device_list(list);
  }
  exit(0);
}

int main(void) {
  require(ibv_fork_init() == 0, "ibv_fork_init");
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* context = list != NULL && list[0] != NULL ? ibv_open_device(list[0]) : NULL;
  require(context != NULL, "ibv_open_device");
  struct ibv_pd* pd = ibv_alloc_pd(context);
  char* out = malloc(kBytes);
  char* in = malloc(kBytes);
  struct ibv_mr* out_mr = ibv_reg_mr(pd, out, kBytes, 0);
  struct ibv_mr* in_mr = ibv_reg_mr(pd, in, kBytes, IBV_ACCESS_LOCAL_WRITE);
  require(out_mr != NULL && in_mr != NULL, "ibv_reg_mr");
  union ibv_gid gid;
  require(ibv_query_gid(context, 1, 1, &gid) == 0, "ibv_query_gid");
  struct End a = make_end(context, pd), b = make_end(context, pd);
  connect_end(a.qp, b.qp->qp_num, &gid);
  connect_end(b.qp, a.qp->qp_num, &gid);
  for (int round = 0; round < kRounds; ++round) {
    struct ibv_sge to = {(uintptr_t)in, kBytes, in_mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad_receive;
    require(ibv_post_recv(b.qp, &receive, &bad_receive) == 0, "ibv_post_recv");
    memset(out, round + 1, kBytes);
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) be_child(round % 2);
    struct ibv_sge from = {(uintptr_t)out, kBytes, out_mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
    require(ibv_post_send(a.qp, &send, &bad_send) == 0, "ibv_post_send");
    await(a.cq);
    await(b.cq);
    require(memcmp(in, out, kBytes) == 0, "the payload");
    int status;
    require(waitpid(child, &status, 0) == child && status == 0, "the child");
  }
  require(ibv_destroy_qp(a.qp) == 0 && ibv_destroy_qp(b.qp) == 0, "ibv_destroy_qp");
  require(ibv_destroy_cq(a.cq) == 0 && ibv_destroy_cq(b.cq) == 0, "ibv_destroy_cq");
  require(ibv_dereg_mr(out_mr) == 0 && ibv_dereg_mr(in_mr) == 0, "ibv_dereg_mr");
  require(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0, "ibv_close_device");
  ibv_free_device_list(list);
  printf("%d children, every byte right\n", kRounds);
  return 0;
}
