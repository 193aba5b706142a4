// SPDX-License-Identifier: BSD-3-Clause
// A target for `softrnic replay --as requester`, on top of libibverbs: memory that it opens to the
// other end, and receives for its messages. It meets the other end as ibv_rc_pingpong's server
// does, prints its key and address before that, and serves until the file STOP exists; then it
// writes what its memory holds and which messages it took.
//
//   target GID-INDEX PORT MTU SIZE LOAD STOP MEMORY MESSAGES
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kDepth = 256, kSlot = 65536, kMessage = 52, kReads = 16 };

static void require(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
  exit(1);
}

static struct ibv_context* device;
static struct ibv_pd* domain;
static struct ibv_cq* completions;
static struct ibv_qp* queue_pair;
static struct ibv_mr *region, *receive_region;
static unsigned char *memory, *slots;

static void post_receive(unsigned slot) {
  struct ibv_sge room = {(uintptr_t)(slots + (size_t)slot * kSlot), kSlot, receive_region->lkey};
  struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &room, .num_sge = 1}, *bad;
  require(!ibv_post_recv(queue_pair, &request, &bad), "ibv_post_recv");
}

static void open_memory(size_t size, const char* load) {
  const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                  IBV_ACCESS_REMOTE_ATOMIC;
  const size_t room = (size + 4095) / 4096 * 4096;
  memory = aligned_alloc(4096, room);
  slots = aligned_alloc(4096, (size_t)kDepth * kSlot);
  require(memory && slots, "no memory");
  memset(memory, 0, room);
  FILE* file = fopen(load, "rb");
  require(file != NULL, load);
  require(fread(memory, 1, size, file) == size || feof(file), load);
  fclose(file);
  region = ibv_reg_mr(domain, memory, size, all);
  receive_region = ibv_reg_mr(domain, slots, (size_t)kDepth * kSlot, IBV_ACCESS_LOCAL_WRITE);
  require(region && receive_region, "ibv_reg_mr");
}

static void make_queue_pair(void) {
  completions = ibv_create_cq(device, 2 * kDepth, NULL, NULL, 0);
  require(completions != NULL, "ibv_create_cq");
  struct ibv_qp_init_attr init = {
      .send_cq = completions,
      .recv_cq = completions,
      .cap = {.max_send_wr = 1, .max_recv_wr = kDepth, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  queue_pair = ibv_create_qp(domain, &init);
  require(queue_pair != NULL, "ibv_create_qp");
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                   .port_num = 1,
                                   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
                                                      IBV_ACCESS_REMOTE_READ |
                                                      IBV_ACCESS_REMOTE_ATOMIC};
  require(!ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "to INIT");
  for (unsigned slot = 0; slot < kDepth; ++slot) post_receive(slot);
}

static void connect_queue_pair(int gid_index, int mtu, unsigned qpn, unsigned psn,
                               const union ibv_gid* gid, unsigned own_psn) {
  enum ibv_mtu code = IBV_MTU_256;
  for (int bytes = 256; bytes < mtu; bytes *= 2) ++code;
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = code,
      .dest_qp_num = qpn,
      .rq_psn = psn,
      .max_dest_rd_atomic = kReads,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = *gid, .sgid_index = (unsigned char)gid_index, .hop_limit = 64}}};
  require(!ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
          "to RTR");
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .timeout = 14,
                                    .retry_cnt = 7,
                                    .rnr_retry = 7,
                                    .sq_psn = own_psn,
                                    .max_rd_atomic = 1};
  require(!ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
          "to RTS");
}

static int accept_one(const char* port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(port))};
  require(!bind(listener, (struct sockaddr*)&address, sizeof address), "bind");
  require(!listen(listener, 1), "listen");
  const int client = accept(listener, NULL, NULL);
  require(client >= 0, "accept");
  close(listener);
  return client;
}

// The exchange of ibv_rc_pingpong: "LID:QPN:PSN:GID" with its NUL, each way, then "done".
static void meet(const char* port, int gid_index, int mtu) {
  const unsigned own_psn = 0x123456;
  const int client = accept_one(port);
  char text[kMessage];
  require(recv(client, text, sizeof text, MSG_WAITALL) == sizeof text, "no address came");
  unsigned lid, qpn, psn;
  int used = 0;
  union ibv_gid gid;
  require(sscanf(text, "%x:%x:%x:%n", &lid, &qpn, &psn, &used) == 3, "no address came");
  for (int i = 0; i < 16; ++i) sscanf(text + used + 2 * i, "%2hhx", &gid.raw[i]);
  connect_queue_pair(gid_index, mtu, qpn, psn, &gid, own_psn);
  require(!ibv_query_gid(device, 1, gid_index, &gid), "ibv_query_gid");
  int size = sprintf(text, "%04x:%06x:%06x:", 0, queue_pair->qp_num, own_psn);
  for (int i = 0; i < 16; ++i) size += sprintf(text + size, "%02x", gid.raw[i]);
  require(send(client, text, sizeof text, MSG_NOSIGNAL) == sizeof text, "no address taken");
  require(recv(client, text, sizeof "done", MSG_WAITALL) == sizeof "done", "no \"done\" came");
  close(client);
}

static void serve(const char* stop, const char* messages) {
  FILE* file = fopen(messages, "wb");
  require(file != NULL, messages);
  for (unsigned turns = 1; turns % 1024 || access(stop, F_OK); ++turns) {
    struct ibv_wc done;
    if (!ibv_poll_cq(completions, 1, &done)) {
      usleep(100);
      continue;
    }
    if (done.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "target: %s\n", ibv_wc_status_str(done.status));
      exit(1);
    }
    if (done.opcode == IBV_WC_RECV) fwrite(slots + done.wr_id * kSlot, 1, done.byte_len, file);
    post_receive((unsigned)done.wr_id);
  }
  require(!fclose(file), messages);
}

int main(int argc, char** argv) {
  if (argc != 9) return 2;
  const size_t size = strtoull(argv[4], NULL, 0);
  struct ibv_device** list = ibv_get_device_list(NULL);
  require(list && list[0] && (device = ibv_open_device(list[0])), "no device");
  require((domain = ibv_alloc_pd(device)) != NULL, "ibv_alloc_pd");
  open_memory(size, argv[5]);
  make_queue_pair();
  printf("region %#x %#llx\n", region->rkey, (unsigned long long)(uintptr_t)memory);
  fflush(stdout);
  meet(argv[2], atoi(argv[1]), atoi(argv[3]));
  serve(argv[6], argv[8]);
  FILE* file = fopen(argv[7], "wb");
  require(file && fwrite(memory, 1, size, file) == size && !fclose(file), argv[7]);
  return 0;
}
