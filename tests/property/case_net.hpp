// SPDX-License-Identifier: BSD-3-Clause
// The NICs, links and queue pairs of a plan, with an account of every fault and frame.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/fault_link.hpp"
#include "observed_link.hpp"
#include "property/plan.hpp"
#include "virtual_net.hpp"

namespace softrnic::property {

// A connection's ends: by which queue pair each side sends and by which it receives, which is the
// same one but for XRC, and the shared receive queue it has, if any.
struct Ends {
  std::array<std::uint32_t, 2> senders{};
  std::array<std::uint32_t, 2> receivers{};
  std::array<transport::SharedReceiveQueue*, 2> shared{};

  bool names(std::uint32_t qpn) const {
    return qpn == senders[0] || qpn == senders[1] || qpn == receivers[0] || qpn == receivers[1];
  }
};

class CaseNet {
 public:
  // `capture`: a file for all frames, as they are on the segment; none when empty.
  CaseNet(const Plan& plan, const std::string& capture);

  // Why it could not be made; empty when it could.
  const std::string& failure() const { return failure_; }

  test::VirtualNet& net() { return *net_; }
  nic::Nic& nic(std::uint32_t index) { return (*net_)[index]; }
  transport::ProtectionDomain domain(std::uint32_t nic) const { return users_[nic].domain; }
  nic::CompletionQueue& send_completions(std::uint32_t nic) { return *users_[nic].sends; }
  nic::CompletionQueue& receive_completions(std::uint32_t nic) { return *users_[nic].receives; }
  std::uint32_t receive_depth(std::uint32_t nic, std::uint32_t qpn);

  // A connection's queue pairs, in INIT, and then in RTS.
  Ends create_pair(const Connection& connection);
  void connect_pair(const Connection& connection, const Ends& ends);
  nic::AddressAttributes address(const Connection& connection, std::size_t side);

  // Cuts a NIC off its segment.
  void cut(std::uint32_t nic);

  // Why "retry exceeded" now is not what the standard asks for on this connection; empty when
  // the faults explain it: each of its retry_count + 1 tries needs one of its own (IBTA vol. 1,
  // 9.9.2.1.1), or the peer has been out of reach for retry_count to 4 * (retry_count + 1)
  // timeouts.
  std::string doubt_exhaustion(std::size_t connection) const;

  std::uint64_t faults() const { return disturbances_.size(); }
  std::uint64_t packets() const { return packets_; }
  // Frames lost because a port's ring was full.
  std::uint64_t overflows() const;

  // Frees everything; returns what was not as it should be.
  std::string take_down();

 private:
  struct User {
    transport::ProtectionDomain domain{};
    nic::CompletionQueue* sends = nullptr;
    nic::CompletionQueue* receives = nullptr;
    transport::XrcDomain* xrc_domain = nullptr;
  };
  struct Disturbance {
    wire::Instant at{};
    std::uint32_t qpn = 0;
  };

  std::string doubt_cut(const Connection& connection) const;
  transport::SharedReceiveQueue* create_shared(const Connection& connection, const Side& side);
  std::uint32_t create(const Side& side, transport::QueuePairType type,
                       transport::SharedReceiveQueue* shared);
  void connect(const Connection& connection, std::size_t side, std::uint32_t qpn,
               std::uint32_t peer, transport::QueuePairState to);
  void add_nic(std::uint32_t index, const std::string& capture);

  const Plan& plan_;
  std::string failure_;
  std::unique_ptr<test::VirtualNet> net_;
  std::shared_ptr<link::CaptureFile> capture_;
  std::vector<std::shared_ptr<test::LinkAccount>> accounts_;
  std::vector<User> users_;
  std::vector<Disturbance> disturbances_;
  std::vector<Ends> ends_;  // per connection
  std::uint64_t packets_ = 0;
  std::optional<wire::Instant> cut_at_;
};

}  // namespace softrnic::property
