// SPDX-License-Identifier: BSD-3-Clause
// A dialogue of two NICs in virtual time, captured on the wire between them.
//
// The same operations give the same dialogue but for what the options say: hosts, queue pair
// numbers, and how the responder misbehaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/capture_writer.hpp"
#include "fabric/fault_link.hpp"
#include "observed_link.hpp"
#include "replay/dialogue.hpp"
#include "unit/capture/scratch_file.hpp"
#include "unit/nic/nic_world.hpp"

namespace softrnic::replay::test {

using nic::test::Endpoint;
using transport::SendOperation;

struct PlayOptions {
  std::uint8_t requester = 1;  // 10.0.0.1
  std::uint8_t responder = 2;
  std::uint32_t idle_queue_pairs = 0;  // made before, so that numbers differ
  std::uint32_t path_mtu = 256;
  std::vector<std::string> faults_at_responder;  // beyond the point of capture
  std::vector<std::string> faults_at_requester;
};

class Play {
 public:
  explicit Play(const PlayOptions& options = {}) : options_(options) {
    nic::Nic& asks = world_.add(world_.config(options.requester), link(options, false));
    nic::Nic& answers = world_.add(world_.config(options.responder), link(options, true));
    asks.add_neighbor(ip(options.responder), answers.mac());
    answers.add_neighbor(ip(options.requester), asks.mac());
    for (std::uint32_t i = 0; i < options.idle_queue_pairs; ++i) {
      idle_.push_back(end_at(asks));
      idle_.push_back(end_at(answers));
      idle_.push_back(end_at(answers));
    }
    requester_ = std::make_unique<Endpoint>(end_at(asks));
    responder_ = std::make_unique<Endpoint>(end_at(answers));
    nic::test::connect(*requester_, ip(options.requester), *responder_, ip(options.responder),
                       wire::RoceVersion::v2, options.path_mtu);
  }

  Endpoint& requester() { return *requester_; }
  Endpoint& responder() { return *responder_; }

  // One operation, and time for all its repetitions.
  Play& ask(SendOperation operation, std::uint32_t length, std::size_t offset = 0) {
    return post(operation, length, offset).settle();
  }

  Play& settle() {
    world_.run_for(std::chrono::seconds(8));
    return *this;
  }

  Play& post(SendOperation operation, std::uint32_t length, std::size_t offset = 0) {
    if (operation == SendOperation::send) responder_->receive(1, kReceived, kBuffer - kReceived);
    transport::SendRequest request;
    request.operation = operation;
    request.remote_address = responder_->address(kRemote);
    request.remote_key = responder_->keys.remote;
    request.swap_add = 7;
    requester_->send(request, offset, length);
    return *this;
  }

  // Six messages: SEND, WRITE of three packets, READ of three, an atomic, SEND, WRITE.
  Play& ask_all() {
    return ask(SendOperation::send, 64)
        .ask(SendOperation::rdma_write, 700)
        .ask(SendOperation::rdma_read, 700, 8192)
        .ask(SendOperation::fetch_add, 8, 8192)
        .ask(SendOperation::send, 64)
        .ask(SendOperation::rdma_write, 64);
  }

  Dialogue dialogue() const {
    const capture::test::ScratchFile file("play.pcapng");
    write(file.path());
    auto read = Dialogue::read(file.path());
    REQUIRE(read.has_value());
    return std::move(read).value();
  }

  void write(const std::string& path) const {
    auto writer =
        capture::CaptureWriter::create(path, capture::Format::pcapng, capture::LinkType::ethernet);
    REQUIRE(writer.has_value());
    for (const auto& [at, bytes] : *frames_) {
      REQUIRE(writer.value().write(at, bytes, static_cast<std::uint32_t>(bytes.size())));
    }
    REQUIRE(writer.value().commit().has_value());
  }

 private:
  using Frames = std::vector<std::pair<wire::Instant, std::vector<std::byte>>>;
  static constexpr std::size_t kBuffer = 1 << 15;
  static constexpr std::size_t kRemote = 4096;
  static constexpr std::size_t kReceived = 1 << 14;

  static wire::Gid ip(std::uint8_t number) {
    return nic::test::gid("10.0.0." + std::to_string(number));
  }

  static Endpoint end_at(nic::Nic& nic) {
    Endpoint end = nic::test::make_endpoint(nic, wire::Service::reliable_connection, kBuffer);
    const auto bytes = nic::test::random_bytes(kBuffer, 1);
    std::copy(bytes.begin(), bytes.end(), end.buffer.begin());
    return end;
  }

  std::unique_ptr<link::Link> link(const PlayOptions& options, bool responder) {
    std::unique_ptr<link::Link> link = world_.attach();
    const auto& faults = responder ? options.faults_at_responder : options.faults_at_requester;
    if (responder) {
      auto account = std::make_shared<softrnic::test::LinkAccount>();
      account->on_frame = [frames = frames_](wire::Instant now, link::Direction,
                                             const wire::ByteChain& bytes) {
        std::vector<std::byte> copy(bytes.size());
        bytes.copy_to(0, copy);
        frames->emplace_back(now, std::move(copy));
      };
      link = std::make_unique<softrnic::test::ObservedLink>(std::move(link), account);
    }
    if (faults.empty()) return link;
    std::vector<fabric::FaultRule> rules;
    for (const std::string& text : faults) {
      auto rule = fabric::FaultRule::parse(text);
      INFO(text);
      REQUIRE(rule.has_value());
      rules.push_back(std::move(rule).value());
    }
    return fabric::inject_faults(std::move(link), std::move(rules));
  }

  PlayOptions options_;
  std::shared_ptr<Frames> frames_ = std::make_shared<Frames>();
  nic::test::NicWorld world_;
  std::vector<Endpoint> idle_;
  std::unique_ptr<Endpoint> requester_;
  std::unique_ptr<Endpoint> responder_;
};

}  // namespace softrnic::replay::test
