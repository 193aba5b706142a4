// SPDX-License-Identifier: BSD-3-Clause
// One queue pair of softrnic peer: takes what is sent to it and sends it back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "buffer.hpp"
#include "nic/nic.hpp"
#include "out_of_band.hpp"

namespace softrnic::tools {

struct PeerQueuePairOptions {
  wire::Service service = wire::Service::reliable_connection;
  std::uint32_t path_mtu = 1024;
  std::uint32_t gid_index = 0;
  std::uint32_t receives = 64;         // kept posted
  std::uint32_t message_size = 65536;  // longest SEND it takes
  std::uint32_t queue_key = 0x11111111;
  std::uint8_t min_rnr_timer = 12;
  bool echo = true;
  bool selective_repeat = false;  // offered; on when the other side offers it too
  bool credits = false;
  std::optional<std::uint32_t> qpn;
  std::optional<std::uint32_t> psn;
  // Told of each SEND that it takes.
  std::function<void(std::span<const std::byte>)> on_message{};
};

class PeerQueuePair {
 public:
  // In INIT, with its receives posted; a UD one is ready at once. `psn`: its first PSN.
  PeerQueuePair(nic::Nic& nic, transport::ProtectionDomain domain,
                const PeerQueuePairOptions& options, std::uint32_t psn);
  ~PeerQueuePair();
  PeerQueuePair(const PeerQueuePair&) = delete;
  PeerQueuePair& operator=(const PeerQueuePair&) = delete;

  const EndpointAddress& local() const { return local_; }
  const std::optional<EndpointAddress>& remote() const { return remote_; }
  void connect(const EndpointAddress& remote);

  // Takes completions: sends messages back, posts receives anew. What went wrong, once.
  std::optional<std::string> turn();

  std::uint64_t messages() const { return messages_; }
  std::uint64_t echoed() const { return echoed_; }

 private:
  PeerQueuePair(nic::Nic& nic, transport::ProtectionDomain domain,
                const PeerQueuePairOptions& options);
  std::span<std::byte> buffer(std::uint64_t index);
  transport::Sge sge(std::uint64_t index, std::size_t offset, std::uint32_t length);
  void post_receive(std::uint64_t index);
  void take_message(const transport::Completion& completion);
  void send_back(const transport::Completion& completion);
  std::uint32_t handle_for(std::span<const std::byte> grh);
  bool datagram() const { return options_.service == wire::Service::unreliable_datagram; }

  nic::Nic& nic_;
  transport::ProtectionDomain domain_;
  PeerQueuePairOptions options_;
  std::size_t slot_size_;
  Buffer memory_;
  nic::MemoryKeys keys_;
  nic::CompletionQueue* completions_ = nullptr;
  EndpointAddress local_;
  std::optional<EndpointAddress> remote_;
  std::map<wire::Gid, std::uint32_t> handles_;  // UD: whom it answered before
  std::uint64_t messages_ = 0;
  std::uint64_t echoed_ = 0;
  bool broken_ = false;
};

}  // namespace softrnic::tools
