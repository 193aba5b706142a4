// SPDX-License-Identifier: BSD-3-Clause
// What binaries built elsewhere rely on: sizes, places, and what is absent being null.
#include <cerrno>
#include <cstddef>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

// Of x86-64 and every other machine of eight-byte pointers, as rdma-core 44 has them.
TEST_CASE("structures have the sizes and places of rdma-core's", "[abi]") {
  CHECK(sizeof(ibv_device) == 664);
  CHECK(sizeof(ibv_context) == 328);
  CHECK(offsetof(ibv_context, ops) == 8);
  CHECK(offsetof(ibv_context, cmd_fd) == 264);
  CHECK(offsetof(ibv_context, async_fd) == 268);
  CHECK(offsetof(ibv_context, abi_compat) == 320);
  CHECK(sizeof(verbs_context) == 648);
  CHECK(offsetof(verbs_context, context) == 320);
  CHECK(offsetof(verbs_context, sz) + sizeof(std::size_t) == offsetof(verbs_context, context));
  CHECK(sizeof(ibv_qp) == 160);
  CHECK(sizeof(ibv_qp_ex) == 352);
  CHECK(sizeof(ibv_cq) == 128);
  CHECK(sizeof(ibv_cq_ex) == 288);
  CHECK(sizeof(ibv_wc) == 48);
  CHECK(sizeof(ibv_port_attr) == 52);
  CHECK(sizeof(ibv_device_attr) == 232);
  CHECK(sizeof(ibv_device_attr_ex) == 400);
}

TEST_CASE("inline functions find the context's operations, and none where there is none", "[abi]") {
  World w;
  CHECK(w.context->abi_compat == __VERBS_ABI_IS_EXTENDED);
  auto* extended = reinterpret_cast<verbs_context*>(reinterpret_cast<std::byte*>(w.context) -
                                                    offsetof(verbs_context, context));
  CHECK(extended->sz == sizeof(verbs_context));
  CHECK(extended->create_qp_ex != nullptr);
  CHECK(extended->ibv_create_flow == nullptr);
  CHECK(extended->create_counters == nullptr);
  CHECK(extended->create_wq == nullptr);
  errno = 0;
  CHECK(ibv_alloc_null_mr(w.pd) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  CHECK(w.context->cmd_fd >= 0);
  CHECK(w.context->async_fd >= 0);
  CHECK(w.context->device->node_type == IBV_NODE_CA);
}

TEST_CASE("vendors' libraries find no mark of theirs behind the device", "[abi]") {
  World w;
  const auto* behind = reinterpret_cast<const std::byte*>(w.context->device) + sizeof(ibv_device);
  for (std::size_t i = 0; i < 64; ++i) CHECK(behind[i] == std::byte{0});
}

TEST_CASE("plain and extended objects are one", "[abi]") {
  World w;
  ibv_qp* qp = w.create();
  CHECK(static_cast<void*>(ibv_qp_to_qp_ex(qp)) == static_cast<void*>(qp));
  ibv_cq_init_attr_ex init{};
  init.cqe = 4;
  ibv_cq_ex* cq = ibv_create_cq_ex(w.context, &init);
  REQUIRE(cq != nullptr);
  CHECK(ibv_cq_ex_to_cq(cq)->context == w.context);
  CHECK(ibv_cq_ex_to_cq(cq)->cqe >= 4);
  CHECK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
}

}  // namespace
}  // namespace softrnic::verbs::test
