// SPDX-License-Identifier: BSD-3-Clause
// Domains, regions, windows and device memory, as programs make and break them.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "verbs_world.hpp"

namespace softrnic::verbs::test {
namespace {

TEST_CASE("a protection domain goes when nothing is in it", "[memory]") {
  World w;
  ibv_pd* pd = ibv_alloc_pd(w.context);
  REQUIRE(pd != nullptr);
  CHECK(pd->context == w.context);
  CHECK(pd->handle != w.pd->handle);
  ibv_mr* mr = ibv_reg_mr(pd, w.bytes.data(), 16, 0);
  REQUIRE(mr != nullptr);
  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  REQUIRE(ibv_dereg_mr(mr) == 0);
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  REQUIRE(mw != nullptr);
  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  REQUIRE(ibv_dealloc_mw(mw) == 0);
  CHECK(ibv_dealloc_pd(pd) == 0);
}

TEST_CASE("a parent domain is its domain to all that is made in it", "[memory]") {
  World w;
  ibv_td_init_attr of_td{};
  ibv_td* td = ibv_alloc_td(w.context, &of_td);
  REQUIRE(td != nullptr);
  ibv_parent_domain_init_attr init{};
  init.pd = w.pd;
  init.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(w.context, &init);
  REQUIRE(parent != nullptr);
  CHECK(ibv_dealloc_td(td) == EBUSY);
  CHECK(ibv_dealloc_pd(w.pd) == EBUSY);
  ibv_qp_init_attr of_qp = w.init_of(IBV_QPT_RC);
  ibv_qp* one = ibv_create_qp(parent, &of_qp);
  ibv_qp* other = ibv_create_qp(w.pd, &of_qp);
  REQUIRE(one != nullptr);
  REQUIRE(other != nullptr);
  w.connect(one, other);
  REQUIRE(w.receive(other, 0, 64) == 0);
  REQUIRE(w.send(one, 64, 64) == 0);  // with a region of the domain itself
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK(ibv_destroy_qp(one) == 0);
  CHECK(ibv_destroy_qp(other) == 0);

  // A parent of a parent, and memory of the program's own, are refused.
  init.pd = parent;
  errno = 0;
  CHECK(ibv_alloc_parent_domain(w.context, &init) == nullptr);
  CHECK(errno == EINVAL);
  init.pd = w.pd;
  init.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  CHECK(ibv_alloc_parent_domain(w.context, &init) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  CHECK(ibv_dealloc_pd(parent) == 0);
  CHECK(ibv_dealloc_td(td) == 0);
}

TEST_CASE("a region is refused as a driver refuses it", "[memory]") {
  World w;
  const auto error = [&](void* address, std::size_t length, unsigned access) {
    errno = 0;
    CHECK(ibv_reg_mr(w.pd, address, length, access) == nullptr);
    return errno;
  };
  CHECK(error(w.bytes.data(), 16, IBV_ACCESS_REMOTE_WRITE) == EINVAL);
  CHECK(error(w.bytes.data(), 16, IBV_ACCESS_REMOTE_ATOMIC) == EINVAL);
  CHECK(error(w.bytes.data(), 16, 1u << 15) == EINVAL);
  // Wraps round, is not there, or may not be written to.
  CHECK(error(w.bytes.data(), ~std::size_t{0}, 0) == EFAULT);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* gone = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(gone != MAP_FAILED);
  CHECK(error(gone, 16, 0) == EFAULT);
  REQUIRE(mprotect(gone, page, PROT_READ) == 0);
  CHECK(error(gone, 16, IBV_ACCESS_LOCAL_WRITE) == EFAULT);
  ibv_mr* readable = ibv_reg_mr(w.pd, gone, 16, unsigned{IBV_ACCESS_REMOTE_READ});
  CHECK(readable != nullptr);
  if (readable != nullptr) CHECK(ibv_dereg_mr(readable) == 0);
  munmap(gone, page);
}

TEST_CASE("re-registration keeps keys unless the place changes", "[memory]") {
  World w;
  ibv_mr* mr = ibv_reg_mr(w.pd, w.bytes.data(), 64, 0);
  REQUIRE(mr != nullptr);
  const std::uint32_t key = mr->rkey;
  CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE) ==
        0);
  CHECK(mr->rkey == key);
  CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, w.bytes.data() + 64, 32, 0) ==
        0);
  CHECK(mr->rkey != key);
  CHECK(mr->addr == w.bytes.data() + 64);
  CHECK(mr->length == 32);
  const auto refused = [&](int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
    errno = 0;
    const int result = ibv_rereg_mr(mr, flags, pd, address, length, access);
    CHECK(mr->length == 32);
    return result == IBV_REREG_MR_ERR_INPUT && errno == EINVAL;
  };
  CHECK(refused(0, nullptr, nullptr, 0, 0));
  CHECK(refused(8, nullptr, nullptr, 0, 0));
  CHECK(refused(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0));
  CHECK(refused(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 16, 0));
  CHECK(refused(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE));
  CHECK(ibv_dereg_mr(mr) == 0);
}

TEST_CASE("a window of type 1 is bound, moved and unbound by ibv_bind_mw", "[memory]") {
  World w;
  const std::pair ends = w.pair();
  ibv_qp* const client = ends.first;
  ibv_qp* const server = ends.second;
  ibv_mw* mw = ibv_alloc_mw(w.pd, IBV_MW_TYPE_1);
  REQUIRE(mw != nullptr);
  const std::uint32_t unbound = mw->rkey;
  ibv_mw_bind bind{};
  bind.wr_id = 7;
  bind.send_flags = IBV_SEND_SIGNALED;
  // Programs name the local right as well.
  bind.bind_info = {w.mr, w.address(512), 64, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE};
  REQUIRE(ibv_bind_mw(server, mw, &bind) == 0);
  CHECK(mw->rkey != unbound);
  ibv_wc wc = w.completion();
  CHECK(wc.wr_id == 7);
  CHECK(wc.opcode == IBV_WC_BIND_MW);
  CHECK(wc.status == IBV_WC_SUCCESS);
  CHECK(ibv_dereg_mr(w.mr) == EBUSY);
  w.bytes[0] = 'x';
  REQUIRE(w.write(client, 0, 64, mw->rkey, w.address(512)) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK(w.bytes[512] == 'x');
  bind.bind_info.length = 0;
  REQUIRE(ibv_bind_mw(server, mw, &bind) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  REQUIRE(w.write(client, 0, 64, mw->rkey, w.address(512)) == 0);
  CHECK(w.completion().status == IBV_WC_REM_ACCESS_ERR);
  CHECK(ibv_dealloc_mw(mw) == 0);
}

TEST_CASE("a window of type 2 is bound by request, and may be freed while it is", "[memory]") {
  World w;
  const std::pair ends = w.pair();
  ibv_qp* const client = ends.first;
  ibv_qp* const server = ends.second;
  ibv_mw* mw = ibv_alloc_mw(w.pd, IBV_MW_TYPE_2);
  REQUIRE(mw != nullptr);
  ibv_mw_bind wrong{};
  wrong.bind_info = {w.mr, w.address(512), 64, IBV_ACCESS_REMOTE_WRITE};
  CHECK(ibv_bind_mw(server, mw, &wrong) == EINVAL);
  std::uint32_t key = mw->rkey;
  for (int round = 0; round < 3; ++round) {
    key = ibv_inc_rkey(key);
    REQUIRE(w.send(server, 0, 0, [&](ibv_send_wr& request) {
      request.opcode = IBV_WR_BIND_MW;
      request.num_sge = 0;
      request.bind_mw = {mw, key, {w.mr, w.address(512), 64, IBV_ACCESS_REMOTE_WRITE}};
    }) == 0);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
    REQUIRE(w.write(client, 0, 64, key, w.address(512)) == 0);
    CHECK(w.completion().status == IBV_WC_SUCCESS);
    if (round == 2) break;
    REQUIRE(w.send(server, 0, 0, [&](ibv_send_wr& request) {
      request.opcode = IBV_WR_LOCAL_INV;
      request.num_sge = 0;
      request.invalidate_rkey = key;
    }) == 0);
    CHECK(w.completion().opcode == IBV_WC_LOCAL_INV);
  }
  CHECK(ibv_dealloc_mw(mw) == 0);
  REQUIRE(w.write(client, 0, 64, key, w.address(512)) == 0);
  CHECK(w.completion().status == IBV_WC_REM_ACCESS_ERR);
  errno = 0;
  CHECK(ibv_alloc_mw(w.pd, static_cast<ibv_mw_type>(3)) == nullptr);
  CHECK(errno == EINVAL);
}

TEST_CASE("device memory is copied in words, registered from zero, and limited", "[memory]") {
  World w;
  ibv_device_attr_ex device{};
  REQUIRE(ibv_query_device_ex(w.context, nullptr, &device) == 0);
  REQUIRE(device.max_dm_size > 0);
  ibv_alloc_dm_attr attributes{device.max_dm_size + 1, 0, 0};
  errno = 0;
  CHECK(ibv_alloc_dm(w.context, &attributes) == nullptr);
  CHECK(errno == EINVAL);
  attributes.length = device.max_dm_size;
  ibv_dm* all = ibv_alloc_dm(w.context, &attributes);
  REQUIRE(all != nullptr);
  attributes.length = 128;
  CHECK(ibv_alloc_dm(w.context, &attributes) == nullptr);
  CHECK(errno == ENOMEM);
  REQUIRE(ibv_free_dm(all) == 0);
  attributes.log_align_req = 6;
  ibv_dm* dm = ibv_alloc_dm(w.context, &attributes);
  REQUIRE(dm != nullptr);

  const std::string text = "device memory...";
  CHECK(ibv_memcpy_to_dm(dm, 64, text.data(), text.size()) == 0);
  CHECK(ibv_memcpy_to_dm(dm, 63, text.data(), text.size()) == EINVAL);
  CHECK(ibv_memcpy_to_dm(dm, 64, text.data(), 15) == EINVAL);
  CHECK(ibv_memcpy_to_dm(dm, 116, text.data(), text.size()) == EFAULT);
  CHECK(ibv_memcpy_to_dm(dm, ~std::uint64_t{3}, text.data(), text.size()) == EFAULT);

  constexpr unsigned kAccess =
      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  CHECK(ibv_reg_dm_mr(w.pd, dm, 0, 128, IBV_ACCESS_LOCAL_WRITE) == nullptr);
  CHECK(errno == EINVAL);
  CHECK(ibv_reg_dm_mr(w.pd, dm, 4, 128, kAccess) == nullptr);
  ibv_mr* mr = ibv_reg_dm_mr(w.pd, dm, 64, 64, kAccess);
  REQUIRE(mr != nullptr);
  CHECK(ibv_free_dm(dm) == EBUSY);
  ibv_qp* const client = w.pair().first;
  REQUIRE(w.send(client, 0, 16, [&](ibv_send_wr& request) {
    request.opcode = IBV_WR_RDMA_READ;
    request.wr.rdma = {0, mr->rkey};
  }) == 0);
  CHECK(w.completion().status == IBV_WC_SUCCESS);
  CHECK(std::string(w.bytes.data(), text.size()) == text);
  CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, w.bytes.data(), 16, 0) ==
        IBV_REREG_MR_ERR_INPUT);
  CHECK(ibv_dereg_mr(mr) == 0);
  CHECK(ibv_free_dm(dm) == 0);
}

TEST_CASE("what a context made is imported by its descriptor and handles", "[memory]") {
  ibv_context* imported = nullptr;
  ibv_pd* pd = nullptr;
  {
    World w;
    ibv_alloc_dm_attr attributes{64, 0, 0};
    ibv_dm* dm = ibv_alloc_dm(w.context, &attributes);
    REQUIRE(dm != nullptr);
    imported = ibv_import_device(dup(w.context->cmd_fd));
    REQUIRE(imported != nullptr);
    CHECK(imported != w.context);
    errno = 0;
    CHECK(ibv_import_pd(imported, 12345) == nullptr);
    CHECK(errno == EINVAL);
    pd = ibv_import_pd(imported, w.pd->handle);
    REQUIRE(pd != nullptr);
    ibv_mr* mr = ibv_import_mr(pd, w.mr->handle);
    REQUIRE(mr != nullptr);
    CHECK(mr->lkey == w.mr->lkey);
    CHECK(mr->addr == nullptr);
    ibv_dm* same = ibv_import_dm(imported, dm->handle);
    REQUIRE(same != nullptr);
    const std::uint32_t word = 0x12345678;
    std::uint32_t read = 0;
    CHECK(ibv_memcpy_to_dm(dm, 8, &word, 4) == 0);
    CHECK(ibv_memcpy_from_dm(&read, same, 8, 4) == 0);
    CHECK(read == word);
    ibv_unimport_dm(same);
    ibv_unimport_mr(mr);
    ibv_unimport_pd(pd);
    CHECK(ibv_free_dm(dm) == 0);
  }
  // Its origin was closed, and it still works.
  pd = ibv_alloc_pd(imported);
  CHECK(pd != nullptr);
  CHECK(ibv_dealloc_pd(pd) == 0);
  CHECK(ibv_close_device(imported) == 0);

  errno = 0;
  CHECK(ibv_import_device(-1) == nullptr);
  CHECK(errno == EBADF);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(ibv_import_device(ends[0]) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace softrnic::verbs::test
