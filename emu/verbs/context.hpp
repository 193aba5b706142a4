// SPDX-License-Identifier: BSD-3-Clause
// An opened device (ibv_open_device): the adapter, what was made through it, and its asynchronous
// events. All of it goes when the context is closed, as it does with a kernel driver.
//
// The objects of this floor are the structures of <infiniband/verbs.h>, each with what is ours
// behind it, so that a pointer to one is a pointer to the other.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <unordered_set>

#include "verbs/adapter.hpp"
#include "verbs/async_event.hpp"

namespace softrnic::verbs {

struct AddressHandle;
struct DeviceMemory;
struct MemoryRegion;
struct MemoryWindow;
struct ProtectionDomain;
struct XrcDomain;

struct Context : verbs_context {
  // `origin`: whose objects it shares, for one that is imported; `descriptor`, which it closes, is
  // then the one it was imported by.
  explicit Context(std::shared_ptr<Adapter> its_adapter, Context* origin = nullptr,
                   int descriptor = -1);

  static Context& of(ibv_context* context) {
    auto* bytes = reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context);
    return *static_cast<Context*>(reinterpret_cast<verbs_context*>(bytes));
  }
  ibv_context* handle() { return &this->context; }

  // The next number for a `handle` field, by which importers name an object; with a Hold.
  std::uint32_t next_handle() { return ++root().last_handle_; }
  Context& root() { return origin == nullptr ? *this : *origin; }
  // An object of that handle of this context or one that shares with it; with a Hold.
  template <class Object>
  Object* find_shared(std::unordered_set<Object*> Context::*objects, std::uint32_t number) {
    for (Context* each : adapter->contexts) {
      if (&each->root() != &root()) continue;
      for (Object* object : each->*objects) {
        if (object->handle == number) return object;
      }
    }
    return nullptr;
  }

  std::shared_ptr<Adapter> adapter;
  AsyncEventQueue async_events;
  Context* const origin;
  std::uint32_t imports = 0;  // contexts whose origin this is
  bool closed = false;        // by the program, while such a context needs its objects

  // What lives, with a Hold.
  std::unordered_set<ProtectionDomain*> domains;
  std::unordered_set<MemoryRegion*> regions;
  std::unordered_set<MemoryWindow*> windows;
  std::unordered_set<CompletionQueue*> completion_queues;
  std::unordered_set<SharedReceiveQueue*> shared_receive_queues;
  std::unordered_set<QueuePair*> queue_pairs;
  std::unordered_set<AddressHandle*> address_handles;
  std::unordered_set<XrcDomain*> xrc_domains;
  std::unordered_set<DeviceMemory*> device_memories;

 private:
  std::uint32_t last_handle_ = 0;
};

// The functions a program reaches through the context, each in the file of its object.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
int poll_cq(ibv_cq* cq, int entries, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int dealloc_mw(ibv_mw* mw);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
              std::uint32_t count);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init);
int close_xrcd(ibv_xrcd* xrcd);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init);

}  // namespace softrnic::verbs
