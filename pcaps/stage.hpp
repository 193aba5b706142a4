// SPDX-License-Identifier: BSD-3-Clause
// Two NICs on one wire, alice and bob, that act out a scene before a capture.
//
// Every frame is in the file once, under the name of the NIC that sent it; frames that a fault
// takes off the wire are there too, with the fault as their comment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/capture_link.hpp"
#include "link/memory_link.hpp"
#include "nic/nic.hpp"

namespace softrnic::pcaps {

struct Setting {
  wire::Service service = wire::Service::reliable_connection;
  wire::RoceVersion version = wire::RoceVersion::v2;
  bool ipv6 = false;
  std::optional<wire::VlanTag> vlan;
  std::uint32_t path_mtu = 256;
  std::uint8_t traffic_class = 0;
  std::uint32_t alice_psn = 0x001000;
  std::uint32_t bob_psn = 0x002000;
  std::uint8_t timeout = 14;  // 67 ms
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 12;  // 0.64 ms
  bool selective_repeat = false;
  bool strangers = false;  // they have to ask for each other's MAC address first
  // Faults on what each of them sends.
  std::vector<std::string> alice_faults;
  std::vector<std::string> bob_faults;
};

class Stage {
 public:
  static constexpr std::uint32_t kMemory = 16384;

  struct Card {
    std::string_view name;
    std::unique_ptr<nic::Nic> nic;
    wire::Gid ip;
    transport::ProtectionDomain domain{};
    std::vector<std::byte> memory;
    std::uint64_t address = 0;  // by which the other names `memory`
    nic::MemoryKeys keys;
    nic::MemoryKeys read_only_keys;  // the same memory, without local write
    nic::CompletionQueue* completions = nullptr;
    std::uint32_t qpn = 0;
    std::uint32_t interface = 0;                                    // in the file
    std::uint32_t address_handle = 0;                               // UD
    transport::SharedReceiveQueue* shared_receive_queue = nullptr;  // XRC: bob's
  };

  Stage(const Setting& setting, const std::string& capture_path);

  Card& alice() { return alice_; }
  Card& bob() { return bob_; }

  // An operation on the first bytes of the poster's memory and of the other's.
  void post(Card& from, transport::SendOperation operation, std::uint32_t length,
            bool solicited = false);
  void post_atomic(Card& from, transport::SendOperation operation, std::uint64_t swap_add,
                   std::uint64_t compare);
  // The same with a key the other does not know.
  void post_with_bad_key(Card& from, transport::SendOperation operation, std::uint32_t length);
  // All that was written to the other's memory is to be seen there by everybody.
  void post_flush(Card& from, std::uint32_t length);
  // A window over the whole of a card's memory that its queue pair alone protects (type 2A): what
  // the other may name it by. Bound without a packet.
  std::uint32_t open_window(Card& at);
  void post_invalidating_send(Card& from, std::uint32_t length, std::uint32_t key);
  void post_receive(Card& at, std::uint32_t length);
  void post_receive_read_only(Card& at, std::uint32_t length);
  // To a place in the other's memory, with whatever key.
  void post_to(Card& from, transport::SendOperation operation, std::uint32_t length,
               std::uint64_t remote_address, std::uint32_t remote_key);
  // A packet made by hand, as it goes over the wire from this card to the other; neither takes
  // notice of it.
  void say(const Card& from, const wire::TransportHeaders& headers, wire::ByteView payload = {},
           std::uint8_t traffic_class = 0);
  // An echo request, and its answer.
  void ping(Card& from);

  // Lets everything that is under way come to its end.
  void run();
  // The same, but not for longer than this.
  void run_for(wire::Duration duration);
  // Nothing happens for a while.
  void pause(wire::Duration duration) { now_ += duration; }

  // False when the setting or the file is no good; close() tells why.
  bool ready() const { return failure_.empty(); }
  // Ends the capture; one sentence on what went wrong, or nothing.
  std::string close();

 private:
  void plug_in(Card& card, std::string_view name, unsigned number,
               const std::vector<std::string>& faults);
  void equip(Card& card);
  nic::QueuePairInit target_init(Card& card);
  void connect(Card& card, const Card& other, std::uint32_t psn, std::uint32_t other_psn);
  transport::SendRequest request_of(Card& from, transport::SendOperation operation) const;
  void post_request(Card& from, transport::SendRequest request, std::uint32_t length);
  Card& other(const Card& card) { return &card == &alice_ ? bob_ : alice_; }

  Setting setting_;
  wire::Instant now_;
  link::MemoryWire wire_;
  std::shared_ptr<link::CaptureFile> file_;
  std::string failure_;
  bool curtain_up_ = false;
  std::uint64_t next_id_ = 1;
  std::uint16_t next_identification_ = 0x5a00;  // IPv4, of packets made by hand
  Card alice_;                                  // these go before the wire and the file
  Card bob_;
};

}  // namespace softrnic::pcaps
