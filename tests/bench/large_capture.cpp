// SPDX-License-Identifier: BSD-3-Clause
// Makes a capture as large as one likes: two NICs talk on a segment in memory under a virtual
// clock, and what crosses the wire is written until the file is full.
//
//     large_capture FILE MIB [CONNECTIONS [LOSS_PERCENT [SEED]]]
//
// Every connection does SENDs, WRITEs, READs and atomics of random lengths. LOSS_PERCENT of the
// frames are lost, half of them before the capture sees them and half behind it. The same
// arguments give the same file.
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fabric/fault_link.hpp"
#include "fabric/fault_rule.hpp"
#include "link/capture_link.hpp"
#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace {

using namespace softrnic;
using transport::QueuePairState;
using transport::SendOperation;

constexpr std::uint64_t kAddress = 0x10000000;
constexpr std::size_t kMemory = 1 << 18;
constexpr std::size_t kOutstanding = 256;  // messages of all connections together
constexpr std::uint32_t kAccess = transport::kLocalWrite | transport::kRemoteWrite |
                                  transport::kRemoteRead | transport::kRemoteAtomic;
constexpr std::uint8_t kTimeout = 12;  // 17 ms

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "large_capture: %s\n", why.c_str());
  std::exit(2);
}
void require(bool ok, const char* what) {
  if (!ok) fail(std::string(what) + " failed");
}

struct Order {
  std::string path;
  std::uint64_t bytes = 0;
  std::size_t connections = 1;
  double loss_percent = 0;
  std::uint64_t seed = 1;
};

class Host {
 public:
  Host(link::MemoryWire& wire, unsigned number, const Order& order,
       const std::shared_ptr<link::CaptureFile>& file, std::uint32_t interface)
      : memory_(kMemory) {
    nic::NicConfig config;
    config.seed = order.seed + number;
    config.limits.queue_pairs = 1u << 22;
    config.addresses = {
        *nic::InterfaceAddress::from_string("10.0.0." + std::to_string(number) + "/24")};
    ip_ = config.addresses.front().address;
    auto port = link::capture(wire.attach("port" + std::to_string(number)), file, interface,
                              link::Direction::outbound);
    nic_ = std::make_unique<nic::Nic>(config, with_losses(std::move(port), order, number));
    nic::RegionAttributes region;
    region.domain = domain_ = nic_->allocate_domain();
    region.base = memory_.data();
    region.length = memory_.size();
    region.virtual_address = kAddress;
    region.access = kAccess;
    keys_ = nic_->memory().add(region).value();
    // A completion that finds no room ends its connection.
    completions_ = &nic_->create_completion_queue(8 * kOutstanding);
  }

  void add_queue_pair() {
    nic::QueuePairInit init;
    init.type = transport::QueuePairType::rc;
    init.domain = domain_;
    init.send_completions = init.receive_completions = completions_;
    init.capacity = {4, 4, 1, 1, 0};
    qpns_.push_back((*nic_->create_queue_pair(init))->qpn());
  }

  void connect(std::size_t i, const Host& peer, std::uint32_t psn, std::uint32_t peer_psn) {
    transport::QueuePairAttributes attributes;
    attributes.remote_access = kAccess & transport::kRemoteAccess;
    attributes.destination_qpn = peer.qpns_[i];
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
    attributes.path_mtu = 1024;
    attributes.send_psn = wire::Psn(psn);
    attributes.receive_psn = wire::Psn(peer_psn);
    attributes.timeout = kTimeout;
    nic::AddressAttributes address;
    address.destination = peer.ip_;
    address.gid_index = gid_index();
    for (const QueuePairState state :
         {QueuePairState::init, QueuePairState::ready_to_receive, QueuePairState::ready_to_send}) {
      require(!nic_->modify(qpns_[i], state, attributes, &address), "connecting");
    }
  }

  void know(const Host& peer) { nic_->add_neighbor(peer.ip_, peer.nic_->mac()); }

  // False where the queue pair has no room.
  bool post(std::size_t i, SendOperation operation, std::uint32_t length, Host& peer) {
    if (operation == SendOperation::send) {
      const std::array sges{transport::Sge{kAddress, kMemory, peer.keys_.local}};
      if (peer.nic_->post_receive(peer.qpns_[i], {.id = 0, .sges = sges})) return false;
    }
    const bool atomic = operation == SendOperation::fetch_add;
    const std::array sges{transport::Sge{kAddress, atomic ? 8 : length, keys_.local}};
    transport::SendRequest request;
    request.operation = operation;
    request.sges = sges;
    request.remote_address = kAddress;
    request.remote_key = peer.keys_.remote;
    request.swap_add = 1;
    return !nic_->post_send(qpns_[i], request);
  }

  // How many of its own requests are done.
  std::size_t poll() {
    std::array<transport::Completion, 64> done;
    const std::size_t n = completions_->poll(done);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < n; ++i) {
      require(done[i].status == transport::CompletionStatus::success, "an operation");
      sent += done[i].operation != transport::CompletionOperation::receive;
    }
    return sent;
  }

  nic::Nic& nic() { return *nic_; }

 private:
  static std::unique_ptr<link::Link> with_losses(std::unique_ptr<link::Link> port,
                                                 const Order& order, unsigned number) {
    if (order.loss_percent <= 0) return port;
    const std::string percent = std::to_string(order.loss_percent / 2) + "%";
    std::vector<fabric::FaultRule> rules;
    for (const std::string way : {"tx", "rx"}) {
      auto rule = fabric::FaultRule::parse(way + " drop " + percent);
      if (!rule) fail("no such loss");
      rules.push_back(*rule);
    }
    fabric::FaultOptions options;
    options.seed = order.seed + number;
    return fabric::inject_faults(std::move(port), std::move(rules), options);
  }

  std::uint32_t gid_index() const {
    const auto entries = nic_->gids().entries();
    std::uint32_t index = 0;
    while (entries[index].gid != ip_ || entries[index].version != wire::RoceVersion::v2) ++index;
    return index;
  }

  std::vector<std::byte> memory_;
  std::unique_ptr<nic::Nic> nic_;
  transport::ProtectionDomain domain_{};
  nic::MemoryKeys keys_;
  nic::CompletionQueue* completions_ = nullptr;
  wire::Gid ip_;
  std::vector<std::uint32_t> qpns_;
};

std::uint64_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

class Talk {
 public:
  Talk(const Order& order, const std::shared_ptr<link::CaptureFile>& file)
      : order_(order),
        random_(order.seed),
        alice_(wire_, 1, order, file, 0),
        bob_(wire_, 2, order, file, 0) {
    alice_.know(bob_);
    bob_.know(alice_);
    for (std::size_t i = 0; i < order.connections; ++i) {
      alice_.add_queue_pair();
      bob_.add_queue_pair();
      const auto psn = static_cast<std::uint32_t>(random_() & wire::Psn::kMask);
      const auto peer_psn = static_cast<std::uint32_t>(random_() & wire::Psn::kMask);
      alice_.connect(i, bob_, psn, peer_psn);
      bob_.connect(i, alice_, peer_psn, psn);
    }
  }

  void run() {
    constexpr std::uint64_t kLookEvery = 32;
    for (std::uint64_t step = 0;; ++step) {
      if (step % kLookEvery == 0 && size_of(order_.path) >= order_.bytes) return;
      while (outstanding_ < kOutstanding) post();
      turn();
    }
  }

 private:
  static constexpr SendOperation kOperations[] = {SendOperation::send, SendOperation::rdma_write,
                                                  SendOperation::rdma_read,
                                                  SendOperation::fetch_add};

  void post() {
    // One connection after the other, so that each is in the file.
    const std::size_t connection = next_++ % order_.connections;
    const SendOperation operation = kOperations[random_() % 4];
    // As often up to 64 bytes as up to 16 KiB.
    const std::uint32_t most = 64u << (random_() % 9);
    const auto length = static_cast<std::uint32_t>(1 + random_() % most);
    const bool from_alice = random_() % 4 != 0;
    Host& from = from_alice ? alice_ : bob_;
    Host& to = from_alice ? bob_ : alice_;
    if (from.post(connection, operation, length, to)) {
      ++outstanding_;
    } else {
      turn();
    }
  }

  void turn() {
    const bool busy = alice_.nic().turn(now_) | bob_.nic().turn(now_);
    outstanding_ -= alice_.poll() + bob_.poll();
    const auto next = std::min(alice_.nic().next_deadline(), bob_.nic().next_deadline());
    now_ += std::chrono::microseconds(10);
    if (!busy && next > now_ && next != wire::kNever) now_ = next;
  }

  Order order_;
  std::mt19937_64 random_;
  link::MemoryWire wire_{9000, 4096};
  Host alice_;
  Host bob_;
  std::size_t next_ = 0;
  std::size_t outstanding_ = 0;
  wire::Instant now_{std::chrono::seconds(1'700'000'000)};
};

Order read_order(int argc, char** argv) {
  if (argc < 3 || argc > 6)
    fail("usage: large_capture FILE MIB [CONNECTIONS [LOSS_PERCENT [SEED]]]");
  Order order;
  order.path = argv[1];
  order.bytes = std::strtoull(argv[2], nullptr, 10) << 20;
  if (argc > 3) order.connections = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) order.loss_percent = std::strtod(argv[4], nullptr);
  if (argc > 5) order.seed = std::strtoull(argv[5], nullptr, 10);
  if (order.bytes == 0) fail("MIB is a number above 0");
  if (order.connections == 0 || order.connections > 1'000'000) {
    fail("CONNECTIONS is a number from 1 to 1000000");
  }
  if (order.loss_percent < 0 || order.loss_percent > 20) fail("LOSS_PERCENT is at most 20");
  return order;
}

}  // namespace

int main(int argc, char** argv) {
  const Order order = read_order(argc, argv);
  auto file = link::CaptureFile::create(order.path);
  if (!file) fail(file.error().message);
  (*file)->add_interface("wire");
  Talk(order, *file).run();
  if (!(*file)->close()) fail("the disk is full");
  std::printf("%s: %.1f MiB, %zu connections, seed %llu\n", order.path.c_str(),
              static_cast<double>(size_of(order.path)) / (1 << 20), order.connections,
              static_cast<unsigned long long>(order.seed));
  return 0;
}
