// SPDX-License-Identifier: BSD-3-Clause
// XRC between two NICs, as frames on a wire: one connection reaches the shared receive queues of
// several users.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "nic_world.hpp"
#include "observed_link.hpp"
#include "wire/packet_view.hpp"

namespace softrnic::nic::test {
namespace {

using transport::AsyncEvent;
using transport::CompletionOperation;
using transport::CompletionStatus;
using transport::QueuePairState;
using transport::QueuePairType;
using transport::SendOperation;
using transport::SharedReceiveQueue;
using transport::XrcDomain;
using wire::RoceVersion;

constexpr std::size_t kBuffer = 16384;
constexpr std::uint32_t kPathMtu = 256;

// A user of the target's NIC: a domain, memory, and a shared receive queue that completes here.
struct User {
  User(Nic& its_nic, XrcDomain& xrc_domain, std::uint32_t seed)
      : nic(its_nic), domain(nic.allocate_domain()), buffer(random_bytes(kBuffer, seed)) {
    RegionAttributes region;
    region.domain = domain;
    region.base = buffer.data();
    region.length = buffer.size();
    region.access = transport::kLocalWrite | transport::kRemoteWrite | transport::kRemoteRead |
                    transport::kRemoteAtomic;
    keys = nic.memory().add(region).value();
    completions = &nic.create_completion_queue(64);
    SharedReceiveQueueInit init;
    init.domain = domain;
    init.capacity = {64, 1};
    init.xrc_domain = &xrc_domain;
    init.completions = completions;
    queue = nic.create_shared_receive_queue(init).value();
  }
  std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uintptr_t>(buffer.data() + offset);
  }
  void post(std::uint64_t id, std::size_t offset, std::uint32_t length) {
    const transport::Sge sge{address(offset), length, keys.local};
    REQUIRE_FALSE(queue->post({id, {&sge, 1}}).has_value());
  }
  std::vector<transport::Completion> poll() {
    std::vector<transport::Completion> out(completions->size());
    out.resize(completions->poll(out));
    return out;
  }

  Nic& nic;
  transport::ProtectionDomain domain;
  Bytes buffer;
  MemoryKeys keys;
  CompletionQueue* completions = nullptr;
  SharedReceiveQueue* queue = nullptr;
};

// An initiator on one NIC, a target on another with two users.
struct Extended {
  explicit Extended(RoceVersion version = RoceVersion::v2, bool ipv6 = false)
      : near(world.add(NicWorld::config(1),
                       std::make_unique<softrnic::test::ObservedLink>(world.attach(), cable))),
        far(world.add(2)),
        xrc_domain(far.create_xrc_domain()),
        users{User(far, xrc_domain, 11), User(far, xrc_domain, 12)} {
    initiator.nic = &near;
    initiator.domain = near.allocate_domain();
    initiator.completions = &near.create_completion_queue(256);
    initiator.buffer = random_bytes(kBuffer, 5);
    RegionAttributes region;
    region.domain = initiator.domain;
    region.base = initiator.buffer.data();
    region.length = initiator.buffer.size();
    region.access = transport::kLocalWrite;
    initiator.keys = near.memory().add(region).value();
    QueuePairInit init;
    init.type = QueuePairType::xrc_initiator;
    init.domain = initiator.domain;
    init.send_completions = initiator.completions;
    init.capacity = {64, 0, 1, 0};
    initiator.queue_pair = near.create_queue_pair(init).value();

    QueuePairInit target_init;
    target_init.type = QueuePairType::xrc_target;
    target_init.xrc_domain = &xrc_domain;
    target.nic = &far;
    target.queue_pair = far.create_queue_pair(target_init).value();
    const wire::Gid near_gid = gid(ipv6 ? "fd00::1" : "10.0.0.1");
    const wire::Gid far_gid = gid(ipv6 ? "fd00::2" : "10.0.0.2");
    connect(initiator, near_gid, target, far_gid, version, kPathMtu);
  }

  void ask(SendOperation operation, std::uint64_t id, const User& user, std::size_t offset,
           std::size_t length, const std::function<void(transport::SendRequest&)>& edit = {}) {
    transport::SendRequest request;
    request.id = id;
    request.operation = operation;
    request.remote_srq = user.queue->number();
    request.remote_address = user.address(offset);
    request.remote_key = user.keys.remote;
    if (edit) edit(request);
    initiator.send(request, offset, length);
  }
  bool same(const User& user, std::size_t offset, std::size_t length) const {
    return std::memcmp(user.buffer.data() + offset, initiator.buffer.data() + offset, length) == 0;
  }

  std::shared_ptr<softrnic::test::LinkAccount> cable =
      std::make_shared<softrnic::test::LinkAccount>();
  NicWorld world;
  Nic& near;
  Nic& far;
  XrcDomain& xrc_domain;
  std::array<User, 2> users;
  Endpoint initiator;
  Endpoint target;
};

}  // namespace

TEST_CASE("one XRC connection carries every operation to the queues of several users") {
  for (const RoceVersion version : {RoceVersion::v1, RoceVersion::v2}) {
    for (const bool ipv6 : {false, true}) {
      Extended pair(version, ipv6);
      User& one = pair.users[0];
      User& two = pair.users[1];
      one.post(1, 0, 4096);
      two.post(2, 0, 4096);
      one.post(3, 4096, 0);
      pair.ask(SendOperation::send, 1, one, 0, 1000);
      pair.ask(SendOperation::send_with_immediate, 2, two, 0, 10,
               [](auto& r) { r.immediate = 0x1234; });
      pair.ask(SendOperation::rdma_write_with_immediate, 3, one, 8192, 700,
               [](auto& r) { r.immediate = 0x5678; });
      pair.ask(SendOperation::rdma_write, 4, two, 8192, 300);
      pair.world.settle();
      const auto first = one.poll();
      REQUIRE(first.size() == 2);
      CHECK(first[0].id == 1);
      CHECK(first[0].qpn == pair.target.qpn());
      CHECK(first[1].operation == CompletionOperation::receive_rdma_with_immediate);
      CHECK(first[1].immediate == 0x5678);
      const auto second = two.poll();
      REQUIRE(second.size() == 1);
      CHECK(second[0].immediate == 0x1234);
      CHECK(pair.same(one, 0, 1000));
      CHECK(pair.same(two, 0, 10));
      CHECK(pair.same(one, 8192, 700));
      CHECK(pair.same(two, 8192, 300));

      std::uint64_t counter = 0;
      std::memcpy(&counter, two.buffer.data() + 1024, sizeof counter);
      pair.ask(SendOperation::rdma_read, 5, two, 2048, 900);
      pair.ask(SendOperation::fetch_add, 6, two, 1024, 8, [](auto& r) { r.swap_add = 3; });
      pair.world.settle();
      CHECK(pair.same(two, 2048, 900));
      std::uint64_t after = 0;
      std::memcpy(&after, two.buffer.data() + 1024, sizeof after);
      CHECK(after == counter + 3);
      CHECK(std::memcmp(&counter, pair.initiator.buffer.data() + 1024, sizeof counter) == 0);
      const auto sent = pair.initiator.poll();
      REQUIRE(sent.size() == 6);
      for (const auto& completion : sent) CHECK(completion.status == CompletionStatus::success);
    }
  }
}

TEST_CASE("XRC frames say on the wire what they are") {
  Extended pair;
  struct Seen {
    link::Direction direction;
    wire::TransportHeaders headers;
    std::size_t payload;
  };
  std::vector<Seen> seen;
  pair.cable->on_frame = [&](wire::Instant, link::Direction direction, const wire::ByteChain& f) {
    const auto view = wire::PacketView::parse(f);
    if (!view) return;  // ARP
    CHECK(view->icrc_ok());
    seen.push_back({direction, view->headers(), view->payload().size()});
  };
  pair.users[1].post(1, 0, 4096);
  pair.ask(SendOperation::send, 1, pair.users[1], 0, 300);
  pair.ask(SendOperation::rdma_read, 2, pair.users[0], 0, 5);
  pair.world.settle();

  const std::uint32_t one = pair.users[0].queue->number();
  const std::uint32_t two = pair.users[1].queue->number();
  struct Expected {
    wire::Opcode opcode;
    std::uint32_t queue;
    std::size_t payload;
  };
  using enum wire::Opcode;
  const std::vector<Expected> requests{
      {xrc_send_first, two, 256}, {xrc_send_last, two, 44}, {xrc_read_request, one, 0}};
  const std::vector<Expected> answers{{xrc_acknowledge, 0, 0}, {xrc_read_response_only, 0, 5}};
  for (const auto& [direction, expected] :
       {std::pair{link::Direction::outbound, requests}, {link::Direction::inbound, answers}}) {
    std::vector<Seen> these;
    std::copy_if(seen.begin(), seen.end(), std::back_inserter(these),
                 [d = direction](const Seen& s) { return s.direction == d; });
    REQUIRE(these.size() == expected.size());
    for (std::size_t i = 0; i < these.size(); ++i) {
      CHECK(these[i].headers.bth.opcode == expected[i].opcode);
      CHECK(these[i].headers.xrceth.shared_receive_queue == expected[i].queue);
      CHECK(these[i].payload == expected[i].payload);
    }
  }
}

TEST_CASE("one user's keys do not open another's memory, by whatever queue") {
  Extended pair;
  pair.ask(SendOperation::rdma_write, 1, pair.users[0], 0, 8,
           [&](auto& r) { r.remote_srq = pair.users[1].queue->number(); });
  pair.world.settle();
  const auto sent = pair.initiator.poll();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].status == CompletionStatus::remote_access_error);
  CHECK(pair.far.find_queue_pair(pair.target.qpn())->state() == QueuePairState::error);
}

TEST_CASE("XRC recovers from loss and from queues that are empty for a while") {
  Extended pair;
  User& one = pair.users[0];
  User& two = pair.users[1];
  constexpr std::uint64_t kMessages = 60;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    User& user = i % 3 == 0 ? two : one;
    if (i % 2 == 0) user.post(i, 0, 4096);  // half of them too late
    pair.ask(SendOperation::send, i, user, 0, 100 + 37 * i);
  }
  for (int i = 0; i < 10; ++i) {  // what is on the cable is lost, again and again
    pair.cable->cut = !pair.cable->cut;
    pair.world.run_for(std::chrono::milliseconds(3));
  }
  CHECK_FALSE(pair.cable->cut);
  for (std::uint64_t i = 1; i < kMessages; i += 2) (i % 3 == 0 ? two : one).post(i, 0, 4096);
  pair.world.run_for(std::chrono::seconds(60));
  CHECK(one.poll().size() == kMessages * 2 / 3);
  CHECK(two.poll().size() == kMessages / 3);
  const auto sent = pair.initiator.poll();
  REQUIRE(sent.size() == kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    CHECK(sent[i].id == i);
    CHECK(sent[i].status == CompletionStatus::success);
  }
}

TEST_CASE("XRC resources are refused for what is wrong with them, and kept while they are used") {
  NicWorld world;
  Nic& nic = world.add(1);
  Nic& other = world.add(2);
  const auto domain = nic.allocate_domain();
  CompletionQueue& completions = nic.create_completion_queue(8);
  XrcDomain& xrc_domain = nic.create_xrc_domain();
  XrcDomain& foreign = other.create_xrc_domain();

  SharedReceiveQueueInit init;
  init.domain = domain;
  init.xrc_domain = &xrc_domain;
  CHECK(nic.create_shared_receive_queue(init).error() == ResourceError::bad_completion_queue);
  init.completions = &completions;
  init.xrc_domain = &foreign;
  CHECK(nic.create_shared_receive_queue(init).error() == ResourceError::bad_xrc_domain);
  init.xrc_domain = nullptr;
  CHECK(nic.create_shared_receive_queue(init).error() == ResourceError::bad_completion_queue);
  init.xrc_domain = &xrc_domain;
  SharedReceiveQueue& queue = *nic.create_shared_receive_queue(init).value();

  QueuePairInit target;
  target.type = QueuePairType::xrc_target;
  CHECK(nic.create_queue_pair(target).error() == ResourceError::bad_xrc_domain);
  target.xrc_domain = &foreign;
  CHECK(nic.create_queue_pair(target).error() == ResourceError::bad_xrc_domain);
  target.xrc_domain = &xrc_domain;
  target.shared_receive_queue = &queue;
  CHECK(nic.create_queue_pair(target).error() == ResourceError::bad_shared_receive_queue);
  target.shared_receive_queue = nullptr;
  transport::QueuePair* qp = nic.create_queue_pair(target).value();

  QueuePairInit initiator;
  initiator.type = QueuePairType::xrc_initiator;
  CHECK(nic.create_queue_pair(initiator).error() == ResourceError::bad_domain);
  initiator.domain = domain;
  CHECK(nic.create_queue_pair(initiator).error() == ResourceError::bad_completion_queue);
  initiator.send_completions = &completions;
  REQUIRE(nic.create_queue_pair(initiator).has_value());

  // A queue of an XRC domain serves its targets alone.
  QueuePairInit rc;
  rc.domain = domain;
  rc.send_completions = rc.receive_completions = &completions;
  rc.shared_receive_queue = &queue;
  CHECK(nic.create_queue_pair(rc).error() == ResourceError::bad_shared_receive_queue);

  CHECK(other.destroy_xrc_domain(xrc_domain) == ResourceError::bad_xrc_domain);
  CHECK(nic.destroy_xrc_domain(xrc_domain) == ResourceError::busy);
  CHECK(nic.destroy_completion_queue(completions) == ResourceError::busy);
  REQUIRE_FALSE(nic.destroy_queue_pair(qp->qpn()).has_value());
  CHECK(nic.destroy_xrc_domain(xrc_domain) == ResourceError::busy);
  REQUIRE_FALSE(nic.destroy_shared_receive_queue(queue).has_value());
  CHECK_FALSE(nic.destroy_xrc_domain(xrc_domain).has_value());
}

TEST_CASE("a user may leave in the midst of a message, and the others go on") {
  Extended pair;
  User& one = pair.users[0];
  one.post(1, 0, 8192);
  pair.ask(SendOperation::send, 1, one, 0, 8192);
  for (int turn = 0; turn < 3; ++turn) {
    pair.near.turn(pair.world.now());
    if (turn == 0) continue;
    pair.far.turn(pair.world.now());
  }
  REQUIRE_FALSE(pair.far.destroy_shared_receive_queue(*one.queue).has_value());
  REQUIRE_FALSE(pair.far.destroy_completion_queue(*one.completions).has_value());
  pair.world.run_for(std::chrono::seconds(1));
  REQUIRE(pair.initiator.poll().size() == 1);
  CHECK(pair.users[1].poll().empty());
  CHECK_FALSE(pair.far.destroy_queue_pair(pair.target.qpn()).has_value());
}

}  // namespace softrnic::nic::test
