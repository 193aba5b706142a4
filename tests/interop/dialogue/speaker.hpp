// SPDX-License-Identifier: BSD-3-Clause
// softrnic's end of a dialogue: one queue pair, its memory, and the steps it takes. The other end
// is guest/dialogue.c, on a verbs device; both take the same steps and print the same lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "buffer.hpp"
#include "device.hpp"
#include "out_of_band.hpp"
#include "step.hpp"

namespace softrnic::interop {

// Keys that the ends tell each other: regions over the same memory, windows, and a region for fast
// registration ("fast": softrnic's alone).
enum class Key : std::uint8_t { all, ro, wo, local, pd, mw1, mw2, count };

struct SpeakerOptions {
  wire::Service service = wire::Service::reliable_connection;
  std::uint32_t gid_index = 0;
  std::uint32_t path_mtu = 1024;
  std::uint32_t first_psn = 0;
  std::uint32_t remote_access =
      transport::kRemoteWrite | transport::kRemoteRead | transport::kRemoteAtomic;
  std::uint8_t retries = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;
  std::uint8_t ack_timeout = 14;
  std::uint32_t fill = 0;
  bool shared_receive_queue = false;
  bool advertise_credits = false;  // tell the other end how many SENDs there is room for
};

class Speaker {
 public:
  Speaker(const SpeakerOptions& options, tools::Device& device, tools::Socket other_end);

  // Meets the other end and connects.
  void open();
  void take(const Step& step);
  // Tells the other end all about this one and learns as much: neither goes on before both are
  // here.
  void meet();

 private:
  static constexpr std::size_t kKeys = static_cast<std::size_t>(Key::count);
  // What an end tells the other.
  struct Introduction {
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    std::uint64_t address = 0;
    wire::Gid gid;
    std::array<std::uint32_t, kKeys> keys{};
  };
  static std::string to_line(const Introduction& introduction);
  static Introduction parse_line(const std::string& line);
  static std::size_t index_of(const std::string& name);

  void register_memory();
  void create_queue_pair();
  void connect();
  std::string read_line();

  std::vector<transport::Sge> pieces(const Step& step, std::uint64_t length) const;
  std::uint32_t remote_key(const Step& step) const;
  void post_receive(const Step& step);
  void post_send(const Step& step, transport::SendOperation operation);
  void bind_window(const Step& step);
  void post(const Step& step, const transport::SendRequest& request);

  void await_completions(std::uint64_t count);
  // Until this end has answered a request since the last meeting by an RNR NAK.
  void await_refusal();
  void show_memory() const;
  void show_state();
  void print(const transport::Completion& completion) const;

  SpeakerOptions options_;
  nic::Nic& nic_;
  tools::Socket other_end_;
  transport::ProtectionDomain domain_;
  transport::ProtectionDomain other_domain_;
  tools::Buffer memory_;
  nic::CompletionQueue* completions_ = nullptr;
  transport::SharedReceiveQueue* receives_ = nullptr;  // when it was asked for
  Introduction mine_;
  Introduction theirs_;
  std::uint64_t posted_ = 0;
  std::uint64_t refusals_before_ = 0;  // RNR NAKs sent at the last meeting
};

}  // namespace softrnic::interop
