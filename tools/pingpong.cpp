// SPDX-License-Identifier: BSD-3-Clause
// softrnic pingpong: both ends of rdma-core's ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong.
//
// Options, defaults, the exchange over TCP and the lines printed are theirs, so that either side
// can be one of those programs. On top of that every payload is checked.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "command_line.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "limited_resources.hpp"
#include "nic/event_loop.hpp"
#include "out_of_band.hpp"
#include "patience.hpp"
#include "pingpong_payload.hpp"
#include "subcommands.hpp"
#include "vanished_link.hpp"

namespace softrnic::tools {

namespace {

constexpr std::uint32_t kUdQueueKey = 0x11111111;  // as ibv_ud_pingpong has it
constexpr std::uint32_t kGrhSize = 40;             // in front of every received UD payload
constexpr std::uint32_t kDefaultConnectedSize = 4096;
constexpr std::uint32_t kDefaultDatagramSize = 2048;
constexpr std::uint32_t kDefaultPathMtu = 1024;
// UD receive buffers in turn, so that a late duplicate cannot overwrite what is being checked. (RC
// and UC drop duplicates, and the next message does not come before we answer.)
constexpr std::size_t kDatagramBuffers = 4;
// After the last message the other side may still miss our acknowledgement and send it again: stay
// until it has been quiet for several of its timeouts (code 14 is 67 ms, and up to four times it).
constexpr wire::Duration kQuiet = std::chrono::milliseconds(500);
constexpr wire::Duration kLongestLinger = std::chrono::seconds(10);

struct Options {
  DeviceOptions device;
  std::string service_name = "rc";
  wire::Service service = wire::Service::reliable_connection;
  std::uint16_t port = 18515;
  std::uint32_t size = 0;
  std::uint32_t path_mtu = 0;
  std::uint32_t rx_depth = 500;
  std::uint32_t iterations = 1000;
  std::uint8_t service_level = 0;
  std::optional<std::uint32_t> gid_index;
  bool check = false;
  double timeout = 15;
  std::uint8_t ack_timeout = 14;
  bool selective_repeat = false;
  bool credits = false;
  std::string host;  // empty: server

  bool client() const { return !host.empty(); }
  wire::Duration patience() const {
    if (timeout == 0) return kNoLimit;
    return std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(timeout));
  }
  bool datagram() const { return service == wire::Service::unreliable_datagram; }
  bool reliable() const { return service == wire::Service::reliable_connection; }
};

void check_reliable(const Options& options) {
  if (options.reliable()) return;
  if (options.selective_repeat) fail_usage("--selective-repeat: only with --service rc");
  if (options.credits) fail_usage("--credits: only with --service rc");
}

// False when only help was wanted.
bool parse_options(int argc, char** argv, Options& options) {
  constexpr std::uint32_t kMostDepth = 16384;
  constexpr std::uint32_t kMostIterations = 1'000'000'000;
  constexpr std::uint32_t kMostSize = 1u << 30;
  CommandLine line(
      "pingpong",
      "Usage: softrnic pingpong --link LINK --ip ADDR/LEN [OPTIONS]          the server\n"
      "       softrnic pingpong --link LINK --ip ADDR/LEN [OPTIONS] HOST     the client",
      "Sends messages to and fro and checks every byte. The other side is another softrnic, or\n"
      "rdma-core's ibv_rc_pingpong, ibv_uc_pingpong or ibv_ud_pingpong on any RoCE card; they "
      "find\n"
      "each other over TCP, by way of the host's own network.",
      "  softrnic pingpong --link tap:rnic0 --ip 10.77.0.9/24              # here\n"
      "  ibv_rc_pingpong -g 1 -n 1000 HOST                                 # on the RoCE "
      "machine\n");
  bool events = false;
  std::vector<std::string> words;
  line.text("service", "rc|uc|ud", options.service_name, "which of the three (default rc)");
  line.number("port,p", "PORT", options.port, 1, 65535, "TCP port of the exchange (default 18515)");
  line.option("ib-dev,d", "LINK", "the same as --link",
              [&](const std::string& text) { options.device.link = text; });
  line.option("ib-port,i", "PORT", "port of the NIC; it has one (default 1)",
              [](const std::string& text) {
                if (text != "1") fail_usage("--ib-port {}: the NIC has one port, 1", text);
              });
  line.number("size,s", "BYTES", options.size, 1, kMostSize,
              "size of a message (default 4096; ud: 2048)");
  line.option("mtu,m", "BYTES",
              "path MTU: 256, 512, 1024, 2048 or 4096 (default 1024; ud: the link's)",
              [&](const std::string& text) { options.path_mtu = parse_path_mtu(text); });
  line.number("rx-depth,r", "N", options.rx_depth, 1, kMostDepth,
              "receives to keep posted (default 500)");
  line.number("iters,n", "N", options.iterations, 1, kMostIterations,
              "messages each way (default 1000)");
  line.number("sl,l", "SL", options.service_level, 0, 7,
              "service level: the VLAN priority, with --vlan (default 0)");
  line.flag("events,e", events,
            "accepted for likeness: softrnic always polls for a moment and then sleeps");
  line.option("gid-idx,g", "INDEX", "which GID to use (default: the first RoCE v2 one, IPv4 first)",
              [&](const std::string& text) {
                if (text == "-1") return;  // ibv_*_pingpong's "none"
                const auto index = parse_number(text);
                if (!index || *index > 0xffff) fail_usage("--gid-idx {}: not an index", text);
                options.gid_index = static_cast<std::uint32_t>(*index);
              });
  line.flag("chk,c", options.check,
            "accepted for likeness: softrnic checks every byte of every message anyway");
  line.number("ack-timeout", "CODE", options.ack_timeout, 0, 31,
              "rc: local ACK timeout, 4.096 us x 2^CODE (default 14: 67 ms; 0: never)");
  line.flag("selective-repeat", options.selective_repeat,
            "rc: repeat only what was lost, if the other side is a softrnic with the same option");
  line.flag("credits", options.credits, "rc: tell the other side how many receives are posted");
  line.seconds(
      "timeout", options.timeout,
      "give up when nothing has come for so long, over TCP or from the NIC's peer (default "
      "15; 0: never)");
  options.device.add_to(line);
  line.words("HOST", 1, words);
  if (!line.parse(argc, argv)) return false;

  options.service = parse_service(options.service_name);
  if (!words.empty()) options.host = words.front();
  if (options.size == 0) {
    options.size = options.datagram() ? kDefaultDatagramSize : kDefaultConnectedSize;
  }
  check_reliable(options);
  options.device.complete();
  return true;
}

void require(const std::optional<nic::ResourceError>& error, const char* what) {
  if (error) fail("{}: {}", what, nic::to_string(*error));
}

class PingPong {
 public:
  PingPong(const Options& options, Device& device);

  void exchange();
  // Until every message has gone and come; false when Ctrl-C came first.
  void run();
  void linger();
  void print_summary() const;

 private:
  void check_sizes();
  void create_queue_pair();
  void ready(const EndpointAddress& remote);
  void post_receive(std::size_t buffer);
  void post_send();
  void take_completions();
  void take_receive(const transport::Completion& completion);
  void take_send(const transport::Completion& completion);
  bool done() const { return received_ >= options_.iterations && sent_ >= options_.iterations; }
  std::uint64_t progress() const;
  std::string where() const;
  std::span<std::byte> receive_buffer(std::size_t i);

  const Options& options_;
  Device& device_;
  nic::Nic& nic_;
  std::uint32_t gid_index_;
  std::uint32_t path_mtu_;
  std::size_t slot_size_;  // of a receive buffer
  transport::ProtectionDomain domain_{};
  std::size_t receive_buffers_;
  Buffer memory_;  // the send buffer, then the receive buffers
  nic::MemoryKeys keys_;
  nic::CompletionQueue* completions_ = nullptr;
  std::uint32_t address_handle_ = 0;

  EndpointAddress local_;
  EndpointAddress remote_;
  std::unique_ptr<PingPongPayload> payload_;

  std::uint32_t posted_ = 0;      // sends given to the NIC
  std::uint32_t sent_ = 0;        // sends that completed
  std::uint32_t received_ = 0;    // messages that came and were right
  std::uint32_t duplicates_ = 0;  // UD messages that came twice
  bool last_unacknowledged_ = false;
  wire::Instant started_{};
  wire::Instant ended_{};
};

PingPong::PingPong(const Options& options, Device& device)
    : options_(options),
      device_(device),
      nic_(device.nic()),
      gid_index_(choose_gid(nic_.gids(), options.gid_index)),
      path_mtu_(options.path_mtu),
      slot_size_(options.size + (options.datagram() ? kGrhSize : 0)),
      receive_buffers_(options.datagram() ? kDatagramBuffers : 1) {
  if (path_mtu_ == 0) path_mtu_ = options.datagram() ? nic_.active_mtu() : kDefaultPathMtu;
  check_sizes();
  create_queue_pair();
}

void PingPong::check_sizes() {
  device_.require_path_mtu(path_mtu_);
  if (options_.datagram() && options_.size > path_mtu_) {
    fail("--size {}: a UD message is one packet of at most {} bytes here; give a smaller -s",
         options_.size, path_mtu_);
  }
}

std::span<std::byte> PingPong::receive_buffer(std::size_t i) {
  return memory_.span().subspan(options_.size + i * slot_size_, slot_size_);
}

void PingPong::create_queue_pair() {
  domain_ = make_domain(nic_);
  memory_ = Buffer(options_.size + receive_buffers_ * slot_size_);
  keys_ = register_memory(nic_,
                          {.domain = domain_,
                           .base = memory_.data(),
                           .length = memory_.size(),
                           .access = transport::kLocalWrite,
                           .virtual_address = {},
                           .key = {}},
                          "the message buffers");
  completions_ = make_completion_queue(nic_, options_.rx_depth + 1);

  nic::QueuePairInit init;
  init.type = transport::type_of(options_.service);
  init.domain = domain_;
  init.send_completions = completions_;
  init.receive_completions = completions_;
  init.capacity.send_requests = 1;
  init.capacity.receive_requests = options_.rx_depth;
  local_.qpn = make_queue_pair(nic_, init)->qpn();
  local_.psn = static_cast<std::uint32_t>(mix_key(options_.device.seed, local_.qpn)) & 0xffffff;
  local_.gid = nic_.gids().find(gid_index_)->gid;
  local_.offers_selective_repeat = options_.selective_repeat;

  transport::QueuePairAttributes attributes;
  attributes.queue_key = kUdQueueKey;
  require(nic_.modify(local_.qpn, transport::QueuePairState::init, attributes), "to INIT");
  for (std::uint32_t i = 0; i < options_.rx_depth; ++i) post_receive(i % receive_buffers_);
}

void PingPong::exchange() {
  if (options_.client()) {
    fmt::print("  local address:  {}\n", tools::describe(local_));
    std::fflush(stdout);
    remote_ = exchange_as_client(nic_, options_.host, options_.port, local_, options_.patience());
    ready(remote_);
  } else {
    // Listens before it says so, for whoever waits for the line.
    const Socket listener = listen_on(options_.port);
    fmt::print("  local address:  {}\n", tools::describe(local_));
    std::fflush(stdout);
    const Socket client = accept_client(nic_, listener);
    remote_ = exchange_as_server(nic_, client, local_, options_.patience(),
                                 [this](const EndpointAddress& remote) { ready(remote); });
  }
  fmt::print("  remote address: {}\n", tools::describe(remote_));
  if (options_.selective_repeat) {
    fmt::print("  selective repeat: {}\n",
               remote_.offers_selective_repeat ? "on" : "off, the other side did not offer it");
  }
  std::fflush(stdout);
  payload_ = std::make_unique<PingPongPayload>(options_.client(), options_.size,
                                               options_.iterations, local_, remote_);
}

// Attributes as ibv_*_pingpong sets them.
void PingPong::ready(const EndpointAddress& remote) {
  if (remote.gid.is_zero()) {
    fail("the other side sent no GID: start it with -g, which RoCE needs");
  }
  if (remote.gid.is_ipv4_mapped() != local_.gid.is_ipv4_mapped()) {
    fail("GID {} here, {} there: give both sides addresses of the same kind with -g",
         local_.gid.to_string(), remote.gid.to_string());
  }
  nic::AddressAttributes address;
  address.gid_index = gid_index_;
  address.destination = remote.gid;
  address.service_level = options_.service_level;

  transport::QueuePairAttributes attributes;
  attributes.queue_key = kUdQueueKey;
  attributes.path_mtu = path_mtu_;
  attributes.destination_qpn = remote.qpn;
  attributes.receive_psn = wire::Psn(remote.psn);
  attributes.send_psn = wire::Psn(local_.psn);
  attributes.max_dest_rd_atomic = responder_depth(nic_, 1);
  attributes.max_rd_atomic = initiator_depth(nic_, 1);
  attributes.min_rnr_timer = 12;
  attributes.timeout = options_.ack_timeout;
  attributes.retry_count = 7;
  attributes.rnr_retry = 7;
  attributes.selective_repeat = options_.selective_repeat && remote.offers_selective_repeat;
  attributes.advertise_credits = options_.credits;
  const nic::AddressAttributes* connected = options_.datagram() ? nullptr : &address;
  using transport::QueuePairState;
  require(nic_.modify(local_.qpn, QueuePairState::ready_to_receive, attributes, connected),
          "the queue pair cannot be made ready to receive");
  require(nic_.modify(local_.qpn, QueuePairState::ready_to_send, attributes, connected),
          "the queue pair cannot be made ready to send");
  if (!options_.datagram()) return;
  auto handle = nic_.create_address_handle(domain_, address);
  if (!handle) fail("no address handle: {}", nic::to_string(handle.error()));
  address_handle_ = *handle;
}

void PingPong::post_receive(std::size_t buffer) {
  const auto bytes = receive_buffer(buffer);
  const transport::Sge sge{reinterpret_cast<std::uintptr_t>(bytes.data()),
                           static_cast<std::uint32_t>(bytes.size()), keys_.local};
  if (const auto error = nic_.post_receive(local_.qpn, {buffer, {&sge, 1}})) {
    fail("a receive was refused: {}", transport::to_string(*error));
  }
}

void PingPong::post_send() {
  const std::span<std::byte> bytes = memory_.span().first(options_.size);
  payload_->fill(posted_++, bytes);
  const transport::Sge sge{reinterpret_cast<std::uintptr_t>(bytes.data()),
                           static_cast<std::uint32_t>(bytes.size()), keys_.local};
  transport::SendRequest request;
  request.sges = {&sge, 1};
  request.address_handle = address_handle_;
  request.remote_qpn = remote_.qpn;
  request.remote_queue_key = kUdQueueKey;
  if (const auto error = nic_.post_send(local_.qpn, request)) {
    fail("a send was refused: {}", transport::to_string(*error));
  }
}

void PingPong::take_completions() {
  transport::Completion batch[16];
  while (const std::size_t n = completions_->poll(batch)) {
    for (const transport::Completion& completion : std::span(batch).first(n)) {
      if (completion.operation == transport::CompletionOperation::receive) {
        take_receive(completion);
      } else {
        take_send(completion);
      }
    }
  }
  // The next one goes out when its turn has come and the one before is off our hands.
  const std::uint32_t turn = options_.client() ? received_ + 1 : received_;
  if (posted_ == sent_ && posted_ < std::min(turn, options_.iterations)) post_send();
}

void PingPong::take_send(const transport::Completion& completion) {
  if (completion.status == transport::CompletionStatus::success) {
    ++sent_;
    return;
  }
  // The other side leaves as soon as it has what it wants. When its last acknowledgement is lost
  // on the way, nobody is there to repeat it.
  if (completion.status == transport::CompletionStatus::retry_exceeded &&
      received_ == options_.iterations && posted_ == options_.iterations) {
    ++sent_;
    last_unacknowledged_ = true;
    return;
  }
  if (completion.status == transport::CompletionStatus::work_request_flushed && done()) return;
  fail("message {} of {} was not delivered: {}", posted_, options_.iterations,
       transport::to_string(completion.status));
}

void PingPong::take_receive(const transport::Completion& completion) {
  if (completion.status == transport::CompletionStatus::work_request_flushed) return;
  if (completion.status != transport::CompletionStatus::success) {
    fail("receiving message {}: {}", received_ + 1, transport::to_string(completion.status));
  }
  const std::size_t buffer = completion.id;
  if (completion.byte_length != slot_size_) {
    fail("message {} has {} bytes, expected {}: give both sides the same -s", received_ + 1,
         completion.byte_length - (slot_size_ - options_.size), options_.size);
  }
  const auto bytes = receive_buffer(buffer).last(options_.size);
  const auto mismatch = payload_->check(received_, bytes);
  if (!mismatch) {
    ++received_;
  } else if (options_.datagram() && payload_->is_repeated(received_, bytes)) {
    ++duplicates_;
  } else {
    fail("message {} of {} is damaged: {}", received_ + 1, options_.iterations,
         mismatch->to_string());
  }
  // So that stale bytes cannot pass for the next message.
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  post_receive(buffer);
}

// Grows with every sign that the other side is getting on.
std::uint64_t PingPong::progress() const {
  const transport::Counters& counters = nic_.counters();
  return counters.rcvd_pkts - counters.rnr_nak_retry_err + received_ + sent_;
}

std::string PingPong::where() const {
  return fmt::format("{} of {} messages sent, {} received", sent_, options_.iterations, received_);
}

void PingPong::run() {
  nic::EventLoop loop(nic_);
  const Interruption interruption(loop);
  started_ = nic::real_now();
  take_completions();
  Patience patience(options_.patience(), progress(), started_);
  const auto turned = [&] {
    take_completions();
    patience.note(progress(), nic::real_now);
    return done();
  };
  while (!loop.run_until(turned, patience.deadline())) {
    if (interrupted()) fail("interrupted: {}", where());
    require_link(nic_);
    if (nic::real_now() >= patience.deadline()) {
      fail("nothing came for {} s: {}{}", options_.timeout, where(),
           options_.reliable() ? "" : " (UC and UD do not recover what is lost)");
    }
  }
  ended_ = nic::real_now();
}

void PingPong::linger() {
  if (!options_.reliable()) return;
  nic::EventLoop loop(nic_);
  const Interruption interruption(loop);
  const wire::Instant latest = nic::real_now() + kLongestLinger;
  std::uint64_t before = nic_.counters().rcvd_pkts;
  while (nic::real_now() < latest && !interrupted()) {
    loop.run_until([] { return false; }, nic::real_now() + kQuiet);
    if (nic_.counters().rcvd_pkts == before) return;
    before = nic_.counters().rcvd_pkts;
  }
}

void PingPong::print_summary() const {
  const double seconds = std::chrono::duration<double>(ended_ - started_).count();
  const double bytes = 2.0 * options_.size * options_.iterations;
  fmt::print("{:.0f} bytes in {:.2f} seconds = {:.2f} Mbit/sec\n", bytes, seconds,
             bytes * 8 / seconds / 1e6);
  fmt::print("{} iters in {:.2f} seconds = {:.2f} usec/iter\n", options_.iterations, seconds,
             seconds * 1e6 / options_.iterations);
  fmt::print("  payload: {} messages checked, every byte right\n", received_);
  if (duplicates_ != 0) fmt::print("  {} messages came twice\n", duplicates_);
  if (last_unacknowledged_) {
    fmt::print("  the last message was not acknowledged: the other side had left\n");
  }
  fmt::print("{}", device_.fault_report());
  std::fflush(stdout);
}

}  // namespace

int run_pingpong(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  Device device(options.device);
  fmt::print("  softrnic {}: {}\n", options.service_name, device.describe());
  PingPong pingpong(options, device);
  pingpong.exchange();
  pingpong.run();
  pingpong.print_summary();
  pingpong.linger();
  device.close_capture();
  return kSuccess;
}

}  // namespace softrnic::tools
