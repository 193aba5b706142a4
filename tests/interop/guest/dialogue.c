// SPDX-License-Identifier: BSD-3-Clause
// One end of a dialogue (see ../dialogue.py) on top of libibverbs: one queue pair, and the steps
// that the command line names, in order. Its other end is ../dialogue/ on softrnic, which takes the
// same steps and prints the same lines.
//
//   dialogue -g GID-INDEX -p PORT [-s rc|uc] [-m MTU] [-n FIRST-PSN] [-a ACCESS] [-r RNR-RETRY]
//            [-t RNR-TIMER] [-l ACK-TIMEOUT] [-f FILL] [-q] [-k RETRIES] HOST STEP...
//
// A step is a word, options behind commas: write,len=100,at=0,to=4096,key=all
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kMemory = 1 << 18,
  kDepth = 64,
  kSges = 4,
  kInline = 64,
  kPatience = 25,
  kFlushRights = 0x300,
  kBlock = 8192
};

// Keys that the ends tell each other: regions over the same memory, and windows.
enum { kAll, kReadOnly, kWriteOnly, kLocal, kOtherDomain, kWindow1, kWindow2, kKeys };
static const char* const kKeyNames[kKeys] = {"all", "ro", "wo", "local", "pd", "mw1", "mw2"};

struct options {
  int gid_index, psn, rnr_retry, rnr_timer, ack_timeout, shared_receives, retries;
  enum ibv_mtu mtu;
  enum ibv_qp_type type;
  unsigned access, fill;
  const char *port, *host;
};

struct side {
  unsigned qpn, psn;
  unsigned long long address;
  union ibv_gid gid;
  unsigned keys[kKeys];
};

static struct ibv_context* device;
static struct ibv_pd *domain, *other_domain;
static struct ibv_cq* completions;
static struct ibv_qp* queue_pair;
static struct ibv_srq* shared_receives;  // with -q
static struct ibv_mr* regions[kKeys];
static struct ibv_mw* windows[kKeys];
static unsigned char* memory;
static struct side mine, theirs;
static int peer = -1;
static unsigned long long refusals_before;  // at the last meeting
static unsigned long posted;

static void die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "dialogue: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  exit(1);
}

static void require(int good, const char* what) {
  if (!good) die("%s: %s", what, strerror(errno));
}

static int key_of(const char* name) {
  for (int key = 0; key < kKeys; ++key) {
    if (!strcmp(kKeyNames[key], name)) return key;
  }
  die("there is no key '%s'", name);
  return 0;
}

// --- steps ---

// The text behind NAME= among a step's options; null when it is not there.
static const char* option(const char* step, const char* name) {
  static char text[64];
  const size_t length = strlen(name);
  for (const char* at = strchr(step, ','); at; at = strchr(at, ',')) {
    ++at;
    if (strncmp(at, name, length)) continue;
    if (at[length] == ',' || !at[length]) return "";
    if (at[length] != '=') continue;
    const size_t size = strcspn(at + length + 1, ",");
    if (size >= sizeof text) die("step %s: option %s is too long", step, name);
    memcpy(text, at + length + 1, size);
    text[size] = 0;
    return text;
  }
  return NULL;
}

static unsigned long long number(const char* step, const char* name, unsigned long long otherwise) {
  const char* text = option(step, name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

static int is(const char* step, const char* name) {
  const size_t length = strlen(name);
  return !strncmp(step, name, length) && (step[length] == ',' || !step[length]);
}

// --- setting up ---

// `flush`: rights to FLUSH, which the header of libibverbs 44 does not name yet (bits 8 and 9).
static void register_memory(unsigned fill, unsigned flush) {
  const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | (int)flush;
  const int access[] = {all, IBV_ACCESS_REMOTE_READ,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_LOCAL_WRITE,
                        all & ~IBV_ACCESS_MW_BIND};
  memory = aligned_alloc(4096, kMemory);
  require(memory != NULL, "no memory");
  for (unsigned i = 0; i < kMemory; ++i)
    memory[i] = (unsigned char)((i * 31 + (i >> 8) + fill) & 255);
  for (int key = kAll; key <= kOtherDomain; ++key) {
    regions[key] =
        ibv_reg_mr(key == kOtherDomain ? other_domain : domain, memory, kMemory, access[key]);
    require(regions[key] != NULL, "ibv_reg_mr");
    mine.keys[key] = regions[key]->rkey;
  }
  windows[kWindow1] = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
  windows[kWindow2] = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
  for (int key = kWindow1; key <= kWindow2; ++key) {
    require(windows[key] != NULL, "ibv_alloc_mw");
    mine.keys[key] = windows[key]->rkey;
  }
}

static void make_queue_pair(const struct options* options) {
  completions = ibv_create_cq(device, 4 * kDepth, NULL, NULL, 0);
  require(completions != NULL, "ibv_create_cq");
  if (options->shared_receives) {
    struct ibv_srq_init_attr attributes = {.attr = {.max_wr = kDepth, .max_sge = kSges}};
    shared_receives = ibv_create_srq(domain, &attributes);
    require(shared_receives != NULL, "ibv_create_srq");
  }
  struct ibv_qp_init_attr init = {.send_cq = completions,
                                  .recv_cq = completions,
                                  .srq = shared_receives,
                                  .cap = {.max_send_wr = kDepth,
                                          .max_recv_wr = kDepth,
                                          .max_send_sge = kSges,
                                          .max_recv_sge = kSges,
                                          .max_inline_data = kInline},
                                  .qp_type = options->type};
  queue_pair = ibv_create_qp(domain, &init);
  require(queue_pair != NULL, "ibv_create_qp");
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = options->access};
  require(!ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "to INIT");
  mine.qpn = queue_pair->qp_num;
  mine.psn = (unsigned)options->psn;
  mine.address = (uintptr_t)memory;
  require(!ibv_query_gid(device, 1, options->gid_index, &mine.gid), "ibv_query_gid");
}

static void connect_queue_pair(const struct options* options) {
  const int reliable = options->type == IBV_QPT_RC;
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = options->mtu,
      .dest_qp_num = theirs.qpn,
      .rq_psn = theirs.psn,
      .max_dest_rd_atomic = 16,
      .min_rnr_timer = (unsigned char)options->rnr_timer,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = theirs.gid,
                          .sgid_index = (unsigned char)options->gid_index,
                          .hop_limit = 64}}};
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  require(!ibv_modify_qp(queue_pair, &attributes, mask), "to RTR");
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .timeout = (unsigned char)options->ack_timeout,
                                    .retry_cnt = (unsigned char)options->retries,
                                    .rnr_retry = (unsigned char)options->rnr_retry,
                                    .sq_psn = mine.psn,
                                    .max_rd_atomic = 16};
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  require(!ibv_modify_qp(queue_pair, &attributes, mask), "to RTS");
}

static void call(const struct options* options) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(options->host, options->port, &hints, &found)) die("no host %s", options->host);
  peer = socket(found->ai_family, SOCK_STREAM, 0);
  require(peer >= 0 && !connect(peer, found->ai_addr, found->ai_addrlen), "cannot connect");
  freeaddrinfo(found);
}

// Tells the other end all about this one and learns as much: neither goes on before both are here.
// RNR NAKs that this end's device has sent.
static unsigned long long refusals(void) {
  char path[256], text[32] = "";
  snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/send_rnr_err",
           ibv_get_device_name(device->device));
  FILE* file = fopen(path, "r");
  require(file && fgets(text, sizeof text, file), path);
  fclose(file);
  return strtoull(text, NULL, 10);
}

static void meet(void) {
  char text[512];
  refusals_before = refusals();  // the other end goes on only with what is sent below
  int size = sprintf(text, "%x %x %llx ", mine.qpn, mine.psn, mine.address);
  for (int i = 0; i < 16; ++i) size += sprintf(text + size, "%02x", mine.gid.raw[i]);
  for (int key = 0; key < kKeys; ++key) size += sprintf(text + size, " %x", mine.keys[key]);
  text[size++] = '\n';
  require(send(peer, text, (size_t)size, MSG_NOSIGNAL) == size, "the other end takes nothing");
  for (size = 0; !size || text[size - 1] != '\n'; ++size) {
    if (size == sizeof text - 1 || recv(peer, text + size, 1, 0) != 1) die("the other end is gone");
  }
  text[size] = 0;
  int used = 0;
  if (sscanf(text, "%x %x %llx %n", &theirs.qpn, &theirs.psn, &theirs.address, &used) != 3) {
    die("the other end talks nonsense: %s", text);
  }
  const char* at = text + used;
  for (int i = 0; i < 16; ++i, at += 2) sscanf(at, "%2hhx", &theirs.gid.raw[i]);
  for (int key = 0; key < kKeys; ++key) theirs.keys[key] = (unsigned)strtoul(at, (char**)&at, 16);
}

// --- requests ---

// len= bytes from at= on, in sges= pieces (default one) under the local key lkey= (default all;
// bad: none).
static int pieces(const char* step, unsigned long long length, struct ibv_sge* list) {
  const unsigned long long at = number(step, "at", 0);
  const int wanted = (int)number(step, "sges", length == 0 ? 0 : 1);
  const char* name = option(step, "lkey");
  const unsigned key = !name                  ? regions[kAll]->lkey
                       : !strcmp(name, "bad") ? regions[kAll]->lkey ^ 0x5500
                                              : regions[key_of(name)]->lkey;
  unsigned long long done = 0;
  for (int i = 0; i < wanted; ++i) {
    const unsigned long long share =
        i + 1 == wanted ? length - done : length / (unsigned long long)wanted;
    list[i] = (struct ibv_sge){(uintptr_t)memory + at + done, (unsigned)share, key};
    done += share;
  }
  return wanted;
}

static void post_receive(const char* step) {
  struct ibv_sge list[kSges];
  struct ibv_recv_wr request = {.wr_id = ++posted, .sg_list = list}, *bad;
  request.num_sge = pieces(step, number(step, "len", 0), list);
  require(!(shared_receives ? ibv_post_srq_recv(shared_receives, &request, &bad)
                            : ibv_post_recv(queue_pair, &request, &bad)),
          step);
}

static unsigned remote_key(const char* step) {
  const char* name = option(step, "key");
  if (!name) return theirs.keys[kAll];
  return !strcmp(name, "bad") ? theirs.keys[kAll] ^ 0x5500 : theirs.keys[key_of(name)];
}

static const struct {
  const char* name;
  enum ibv_wr_opcode opcode;
} kOperations[] = {{"send", IBV_WR_SEND},
                   {"send_imm", IBV_WR_SEND_WITH_IMM},
                   {"send_inv", IBV_WR_SEND_WITH_INV},
                   {"write", IBV_WR_RDMA_WRITE},
                   {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
                   {"read", IBV_WR_RDMA_READ},
                   {"cswap", IBV_WR_ATOMIC_CMP_AND_SWP},
                   {"fadd", IBV_WR_ATOMIC_FETCH_AND_ADD},
                   {"inv", IBV_WR_LOCAL_INV},
                   {"atomic_write", IBV_WR_ATOMIC_WRITE}};

static unsigned send_flags(const char* step) {
  unsigned flags = option(step, "quiet") ? 0 : IBV_SEND_SIGNALED;
  if (option(step, "solicited")) flags |= IBV_SEND_SOLICITED;
  if (option(step, "fence")) flags |= IBV_SEND_FENCE;
  if (option(step, "inline")) flags |= IBV_SEND_INLINE;
  return flags;
}

static int is_atomic(enum ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void post_send(const char* step, enum ibv_wr_opcode opcode) {
  struct ibv_sge list[kSges];
  struct ibv_send_wr request = {.wr_id = ++posted,
                                .opcode = opcode,
                                .send_flags = send_flags(step),
                                .sg_list = list},
                     *bad;
  request.num_sge = pieces(step, number(step, "len", is_atomic(opcode) ? 8 : 0), list);
  const unsigned long long to = theirs.address + number(step, "to", 0);
  if (is_atomic(opcode)) {
    request.wr.atomic.remote_addr = to;
    request.wr.atomic.rkey = remote_key(step);
    request.wr.atomic.compare_add =
        number(step, opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? "compare" : "add", 0);
    request.wr.atomic.swap = number(step, "swap", 0);
  } else {
    request.wr.rdma.remote_addr = to;
    request.wr.rdma.rkey = remote_key(step);
  }
  if (opcode == IBV_WR_SEND_WITH_INV) {
    request.invalidate_rkey = remote_key(step);
  } else if (opcode == IBV_WR_LOCAL_INV) {
    request.num_sge = 0;
    request.invalidate_rkey = mine.keys[key_of(option(step, "key"))];
  } else {
    request.imm_data = htonl((unsigned)number(step, "imm", 0));
  }
  require(!ibv_post_send(queue_pair, &request, &bad), step);
}

// bind,key=mw1|mw2,at=,len=,read,write,atomic: the window's new key is told at the next meeting.
static void bind_window(const char* step) {
  const int key = key_of(option(step, "key"));
  const struct ibv_mw_bind_info info = {
      .mr = regions[kAll],
      .addr = (uintptr_t)memory + number(step, "at", 0),
      .length = number(step, "len", 0),
      .mw_access_flags = (option(step, "read") ? IBV_ACCESS_REMOTE_READ : 0u) |
                         (option(step, "write") ? IBV_ACCESS_REMOTE_WRITE : 0u) |
                         (option(step, "atomic") ? IBV_ACCESS_REMOTE_ATOMIC : 0u)};
  ++posted;
  if (key == kWindow1) {
    struct ibv_mw_bind bind = {.wr_id = posted, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    require(!ibv_bind_mw(queue_pair, windows[key], &bind), step);
    mine.keys[key] = windows[key]->rkey;
    return;
  }
  struct ibv_send_wr request = {.wr_id = posted,
                                .opcode = IBV_WR_BIND_MW,
                                .send_flags = IBV_SEND_SIGNALED},
                     *bad;
  request.bind_mw.mw = windows[key];
  request.bind_mw.rkey = ibv_inc_rkey(mine.keys[key]);
  request.bind_mw.bind_info = info;
  require(!ibv_post_send(queue_pair, &request, &bad), step);
  mine.keys[key] = request.bind_mw.rkey;
}

// --- what came of it ---

static const char* name_of(enum ibv_wc_opcode opcode) {
  switch (opcode) {
    case IBV_WC_SEND:
      return "send";
    case IBV_WC_RDMA_WRITE:
      return "write";
    case IBV_WC_RDMA_READ:
      return "read";
    case IBV_WC_COMP_SWAP:
      return "cswap";
    case IBV_WC_FETCH_ADD:
      return "fadd";
    case IBV_WC_BIND_MW:
      return "bind";
    case IBV_WC_LOCAL_INV:
      return "inv";
    case IBV_WC_ATOMIC_WRITE:
      return "atomic_write";
    case IBV_WC_RECV:
      return "recv";
    case IBV_WC_RECV_RDMA_WITH_IMM:
      return "recv_imm";
    default:
      return "unknown";
  }
}

static void print_completion(const struct ibv_wc* completion) {
  printf("done %lu %s", (unsigned long)completion->wr_id, ibv_wc_status_str(completion->status));
  if (completion->status == IBV_WC_SUCCESS) {
    printf(" %s", name_of(completion->opcode));
    // Of the flags only those of receives mean anything: rxe sets them on sends too.
    if (completion->opcode & IBV_WC_RECV) {
      printf(" %u", completion->byte_len);
      if (completion->wc_flags & IBV_WC_WITH_IMM) printf(" imm %#x", ntohl(completion->imm_data));
      if (completion->wc_flags & IBV_WC_WITH_INV) {
        int key = 0;
        while (key < kKeys && mine.keys[key] != completion->invalidated_rkey) ++key;
        printf(" invalidates %s", key < kKeys ? kKeyNames[key] : "an unknown key");
      }
    }
  }
  printf("\n");
}

// done,N: waits for N completions and prints each.
static void await_completions(const char* step) {
  const time_t deadline = time(NULL) + kPatience;
  for (long left = strtol(step + strlen("done,"), NULL, 0); left > 0;) {
    struct ibv_wc completion;
    const int found = ibv_poll_cq(completions, 1, &completion);
    require(found >= 0, "ibv_poll_cq");
    if (found) {
      print_completion(&completion);
      --left;
    } else if (time(NULL) > deadline) {
      printf("%ld completions missing\n", left);
      return;
    }
  }
}

// Until this end has answered a request since the last meeting by an RNR NAK.
static void await_refusal(void) {
  const time_t deadline = time(NULL) + kPatience;
  while (refusals() == refusals_before) {
    if (time(NULL) > deadline) die("no RNR NAK was sent");
    usleep(1000);
  }
}

// IEEE 802.3's, bit by bit.
static unsigned crc32(const unsigned char* bytes, unsigned long long size) {
  unsigned crc = ~0u;
  for (unsigned long long i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// Block by block, so that what differs can be found.
static void show_memory(void) {
  printf("memory");
  for (unsigned at = 0; at < kMemory; at += kBlock) printf(" %08x", crc32(memory + at, kBlock));
  printf("\n");
}

static void show_state(void) {
  static const char* const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  require(!ibv_query_qp(queue_pair, &attributes, IBV_QP_STATE, &init), "ibv_query_qp");
  printf("state %s\n", names[attributes.qp_state]);
}

static void take(const char* step) {
  for (size_t i = 0; i < sizeof kOperations / sizeof *kOperations; ++i) {
    if (is(step, kOperations[i].name)) {
      post_send(step, kOperations[i].opcode);
      return;
    }
  }
  if (is(step, "recv")) {
    post_receive(step);
  } else if (is(step, "bind")) {
    bind_window(step);
  } else if (is(step, "done")) {
    await_completions(step);
  } else if (is(step, "meet")) {
    meet();
  } else if (is(step, "refuse")) {
    await_refusal();
  } else if (is(step, "memory")) {
    show_memory();
  } else if (is(step, "state")) {
    show_state();
  } else {
    die("there is no step '%s'", step);
  }
}

static enum ibv_mtu mtu_of(int bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (128 << code) < bytes) ++code;
  return (enum ibv_mtu)code;
}

static struct options parse(int count, char** words) {
  struct options options = {
      .gid_index = 1,
      .psn = 0,
      .rnr_retry = 7,
      .rnr_timer = 12,
      .ack_timeout = 14,
      .retries = 7,
      .mtu = IBV_MTU_1024,
      .type = IBV_QPT_RC,
      .access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
      .port = "18600"};
  for (int letter; (letter = getopt(count, words, "+g:p:s:m:n:a:r:t:l:f:qk:")) != -1;) {
    const int value = optarg ? (int)strtol(optarg, NULL, 0) : 0;
    switch (letter) {
      case 'g':
        options.gid_index = value;
        break;
      case 'p':
        options.port = optarg;
        break;
      case 's':
        options.type = strcmp(optarg, "uc") ? IBV_QPT_RC : IBV_QPT_UC;
        break;
      case 'm':
        options.mtu = mtu_of(value);
        break;
      case 'n':
        options.psn = value;
        break;
      case 'a':
        options.access = (unsigned)value;
        break;
      case 'r':
        options.rnr_retry = value;
        break;
      case 't':
        options.rnr_timer = value;
        break;
      case 'l':
        options.ack_timeout = value;
        break;
      case 'f':
        options.fill = (unsigned)value;
        break;
      case 'k':
        options.retries = value;
        break;
      case 'q':
        options.shared_receives = 1;
        break;
      default:
        exit(2);
    }
  }
  if (optind >= count) die("name the other end's host");
  options.host = words[optind++];
  return options;
}

int main(int count, char** words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const struct options options = parse(count, words);
  struct ibv_device** devices = ibv_get_device_list(NULL);
  require(devices && devices[0], "no RDMA device");
  device = ibv_open_device(devices[0]);
  require(device != NULL, "ibv_open_device");
  domain = ibv_alloc_pd(device);
  other_domain = ibv_alloc_pd(device);
  require(domain && other_domain, "ibv_alloc_pd");
  register_memory(options.fill, options.access & kFlushRights);
  make_queue_pair(&options);
  call(&options);
  meet();
  connect_queue_pair(&options);
  meet();
  for (int i = optind; i < count; ++i) take(words[i]);
  meet();
  // Before the queue pair goes, which rxe would otherwise wait for, as for a window's last user.
  for (int key = kWindow1; key <= kWindow2; ++key) ibv_dealloc_mw(windows[key]);
  return 0;
}
