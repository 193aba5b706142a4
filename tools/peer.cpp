// SPDX-License-Identifier: BSD-3-Clause
// softrnic peer: a NIC whose behaviour the user controls, for whoever brings up the other side.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "capture/whole_file.hpp"
#include "command_line.hpp"
#include "counters_report.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "limited_resources.hpp"
#include "nic/event_loop.hpp"
#include "out_of_band.hpp"
#include "payload_pattern.hpp"
#include "peer_queue_pair.hpp"
#include "subcommands.hpp"
#include "vanished_link.hpp"

namespace softrnic::tools {

namespace {

using Json = nlohmann::ordered_json;

// Queue pairs of clients that came over TCP; the oldest goes when one more comes.
constexpr std::size_t kMostClients = 256;
// A client is served alone, so a silent one must not keep the next from its turn.
constexpr wire::Duration kClientTime = std::chrono::seconds(5);
// Receive buffers of all queue pairs together; the kernel backs what is used of them.
constexpr std::uint64_t kMostReceiveMemory = std::uint64_t{64} << 30;
constexpr std::uint32_t kFirstQpn = 2;  // 0 and 1 are for management (IBTA vol. 1, 3.5.1)
constexpr std::uint32_t kLastQpn = 0xfffffe;

struct Options {
  DeviceOptions device;
  PeerQueuePairOptions queue_pair;
  std::string service_name = "rc";
  std::optional<std::uint32_t> gid_index;
  std::uint64_t region_size = 1 << 20;
  std::uint64_t region_address = 0x100000000;
  std::optional<std::uint32_t> region_key;
  std::string access = "read,write,atomic";
  std::uint32_t region_access = 0;  // the same as OR of transport::Access
  std::string load_path;
  std::string save_path;
  std::string messages_path;
  std::uint32_t queue_pairs = 1;
  std::optional<std::uint32_t> remote_qpn;
  std::uint32_t remote_psn = 0;
  std::optional<wire::Gid> remote_gid;
  std::uint16_t listen_port = 0;
  double seconds = 0;
  bool no_echo = false;
  bool json = false;

  bool listens() const { return listen_port != 0; }
  bool reads_input() const {
    return !listens() && !remote_qpn && queue_pair.service != wire::Service::unreliable_datagram;
  }
};

std::uint32_t parse_access(const std::string& text) {
  if (text == "none") return 0;
  std::uint32_t access = 0;
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word == "read") {
      access |= transport::kRemoteRead;
    } else if (word == "write") {
      access |= transport::kRemoteWrite;
    } else if (word == "atomic") {
      access |= transport::kRemoteAtomic;
    } else if (word == "flush") {
      access |= transport::kFlushGlobal | transport::kFlushPersistent;
    } else {
      fail_usage("--access {}: '{}' is none of read, write, atomic, flush; or give none, alone",
                 text, word);
    }
  }
  if (access == 0) fail_usage("--access '{}': give some of read,write,atomic,flush, or none", text);
  return access;
}

std::uint32_t parse_24_bits(const char* option, const std::string& text) {
  const auto number = parse_number(text);
  if (!number || *number > 0xffffff) fail_usage("{} {}: must be from 0 to 0xffffff", option, text);
  return static_cast<std::uint32_t>(*number);
}

std::uint32_t parse_own_qpn(const std::string& text) {
  const auto number = parse_number(text);
  if (!number || *number < kFirstQpn || *number > kLastQpn) {
    fail_usage("--qpn {}: must be from {} to {:#x}", text, kFirstQpn, kLastQpn);
  }
  return static_cast<std::uint32_t>(*number);
}

// "10.0.0.1", "fd00::1" or 32 hexadecimal digits.
std::optional<wire::Gid> parse_gid(const std::string& text) {
  if (const auto gid = gid_of_digits(text)) return gid;
  return wire::Gid::from_string(text);
}

void add_options(CommandLine& line, Options& options) {
  constexpr std::uint64_t kMostRegion = std::uint64_t{1} << 40;
  constexpr std::uint32_t kMostMessage = 1u << 30;
  constexpr std::uint32_t kMostQueuePairs = 4096;
  PeerQueuePairOptions& queue_pair = options.queue_pair;
  line.text("service", "rc|uc|ud", options.service_name, "kind of its queue pairs (default rc)");
  line.size("region", "SIZE", options.region_size, 1, kMostRegion,
            "size of the memory it exposes, such as 4096, 64k, 1M (default 1M)");
  line.option("key", "RKEY", "remote key of that memory (default: drawn from the seed)",
              [&](const std::string& text) {
                const auto key = parse_number(text);
                if (!key || *key == 0 || *key > 0xffffffff) {
                  fail_usage("--key {}: must be from 1 to 0xffffffff", text);
                }
                options.region_key = static_cast<std::uint32_t>(*key);
              });
  line.number("address", "ADDR", options.region_address, 0,
              std::numeric_limits<std::uint64_t>::max() - kMostRegion,
              "address by which others name its first byte (default 0x100000000)");
  line.text("access", "LIST", options.access,
            "what others may do there: any of read,write,atomic,flush, or none (default the first "
            "three)");
  line.text("load", "FILE", options.load_path, "fill the memory from this file");
  line.text("save", "FILE", options.save_path, "write the memory to this file at the end");
  line.text("save-messages", "FILE", options.messages_path,
            "write the payload of every SEND it takes to this file, one after another");
  line.number("qps", "N", options.queue_pairs, 1, kMostQueuePairs, "queue pairs (default 1)");
  line.option("qpn", "QPN", "number of the (first) queue pair (default: the NIC's choice)",
              [&](const std::string& text) { queue_pair.qpn = parse_own_qpn(text); });
  line.option("psn", "PSN", "first PSN it sends (default: drawn from the seed)",
              [&](const std::string& text) { queue_pair.psn = parse_24_bits("--psn", text); });
  line.option("mtu,m", "BYTES", "path MTU (default 1024; ud: the link's)",
              [&](const std::string& text) { queue_pair.path_mtu = parse_path_mtu(text); });
  line.option(
      "gid-idx,g", "INDEX", "which GID to use (default: the first RoCE v2 one, IPv4 first)",
      [&](const std::string& text) { options.gid_index = parse_24_bits("--gid-idx", text); });
  line.number("qkey", "QKEY", queue_pair.queue_key, 0, 0xffffffff,
              "UD: its queue key (default 0x11111111)");
  line.number("rx-depth,r", "N", queue_pair.receives, 0, 16384,
              "receives to keep posted (default 64; 0: every SEND gets an RNR NAK)");
  line.size("message-size", "SIZE", queue_pair.message_size, 1, kMostMessage,
            "longest SEND it takes (default 64k)");
  line.number("rnr-timer", "CODE", queue_pair.min_rnr_timer, 0, 31,
              "wait it asks for in RNR NAKs, as a code (default 12: 0.64 ms)");
  line.flag("selective-repeat", queue_pair.selective_repeat,
            "rc: repeat only what was lost; over TCP when a client offers it, else at once");
  line.flag("credits", queue_pair.credits, "rc: tell the other side how many receives are posted");
  line.flag("no-echo", options.no_echo, "take SENDs and do not send them back");
  line.seconds("for", options.seconds, "end after so long (default: at Ctrl-C)");
  line.flag("json", options.json, "print JSON, one object a line");
  line.heading("The other side (rc, uc): one of these ways, or lines on standard input");
  line.option("remote-qpn", "QPN", "its queue pair number", [&](const std::string& text) {
    options.remote_qpn = parse_24_bits("--remote-qpn", text);
  });
  line.option(
      "remote-psn", "PSN", "the first PSN it sends (default 0)",
      [&](const std::string& text) { options.remote_psn = parse_24_bits("--remote-psn", text); });
  line.option("remote-gid", "GID", "its GID: an IP address, or 32 hexadecimal digits",
              [&](const std::string& text) {
                options.remote_gid = parse_gid(text);
                if (!options.remote_gid) fail_usage("--remote-gid {}: not a GID", text);
              });
  line.number("listen,p", "PORT", options.listen_port, 1, 65535,
              "serve ibv_*_pingpong (or softrnic pingpong) clients on this TCP port, each with a "
              "queue pair of its own");
}

// What is right by itself and not together.
void check_together(const Options& options) {
  const PeerQueuePairOptions& queue_pair = options.queue_pair;
  if (options.remote_qpn.has_value() != options.remote_gid.has_value()) {
    fail_usage("--remote-qpn and --remote-gid belong together");
  }
  if (options.remote_qpn && options.listens()) {
    fail_usage("--listen and --remote-qpn exclude each other");
  }
  if (queue_pair.service == wire::Service::unreliable_datagram && options.remote_qpn) {
    fail_usage("--remote-qpn and --remote-gid: UD needs no other side; leave them out");
  }
  if (queue_pair.service != wire::Service::reliable_connection) {
    if (queue_pair.selective_repeat) fail_usage("--selective-repeat: only with --service rc");
    if (queue_pair.credits) fail_usage("--credits: only with --service rc");
  }
  if (queue_pair.qpn && options.queue_pairs - 1 > kLastQpn - *queue_pair.qpn) {
    fail_usage("--qpn {:#x} with --qps {}: the last one would be above {:#x}; give a smaller --qpn",
               *queue_pair.qpn, options.queue_pairs, kLastQpn);
  }
  const std::uint64_t wanted = std::uint64_t{queue_pair.message_size} * queue_pair.receives;
  if (wanted > kMostReceiveMemory / options.queue_pairs) {
    fail_usage(
        "--message-size {} times --rx-depth {}{}: more than {} GiB of receive buffers; "
        "give less of either",
        queue_pair.message_size, queue_pair.receives,
        options.queue_pairs > 1 ? fmt::format(" times --qps {}", options.queue_pairs) : "",
        kMostReceiveMemory >> 30);
  }
}

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "peer", "Usage: softrnic peer --link LINK --ip ADDR/LEN [OPTIONS]",
      "A NIC that answers: it exposes memory to READ, WRITE and atomics, sends every SEND back,\n"
      "and injures its traffic as the fault rules say. It prints its queue pairs, key and "
      "address,\n"
      "and learns of the other side by options, over TCP, or from lines on standard input, each\n"
      "{\"qpn\": 17, \"psn\": 0, \"gid\": \"10.77.0.1\"} or '17 0 10.77.0.1', one per queue pair.",
      "  softrnic peer --link tap:rnic0 --ip 10.77.0.9/24 --region 64k --key 0x1234\n"
      "  softrnic peer --link packet:eth1 --ip 10.0.0.9/24 --listen 18515 --fault 'rx drop 3rd "
      "SEND'\n"
      "  softrnic peer --link tap:rnic0 --ip fd00::9/64 --remote-qpn 17 --remote-gid fd00::1 "
      "--json\n");
  options.queue_pair.path_mtu = 0;
  add_options(line, options);
  options.device.add_to(line);
  if (!line.parse(argc, argv)) return false;
  options.queue_pair.service = parse_service(options.service_name);
  options.region_access = parse_access(options.access);
  options.queue_pair.echo = !options.no_echo;
  check_together(options);
  options.device.complete();
  return true;
}

// What cannot be written at the end is better known before the run. What the file holds stays.
void check_save_path(const std::string& path) {
  if (path.empty()) return;
  const std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!file) fail("--save {}: {}; name a file you may write", path, std::strerror(errno));
}

// One line of standard input: JSON, the text of the TCP exchange, or "QPN PSN GID".
// `selective_repeat`: the user has it that the other side knows it.
EndpointAddress parse_remote(const std::string& line, bool selective_repeat) {
  if (const auto address = parse_message(line)) return *address;
  std::optional<std::uint64_t> qpn;
  std::optional<std::uint64_t> psn;
  std::optional<wire::Gid> gid;
  const Json json = Json::parse(line, nullptr, false);
  const auto number = [](const Json& value) {
    return value.is_string()            ? parse_number(value.get<std::string>())
           : value.is_number_unsigned() ? std::optional<std::uint64_t>(value.get<std::uint64_t>())
                                        : std::nullopt;
  };
  if (json.is_object()) {
    if (json.contains("qpn")) qpn = number(json["qpn"]);
    psn = json.contains("psn") ? number(json["psn"]) : 0;
    if (json.contains("gid") && json["gid"].is_string()) {
      gid = parse_gid(json["gid"].get<std::string>());
    }
  } else {
    std::istringstream words(line);
    std::string qpn_text;
    std::string psn_text;
    std::string gid_text;
    words >> qpn_text >> psn_text >> gid_text;
    qpn = parse_number(qpn_text);
    psn = parse_number(psn_text);
    gid = parse_gid(gid_text);
  }
  if (!qpn || *qpn > 0xffffff || !psn || *psn > 0xffffff || !gid) {
    fail("'{}' on standard input names no other side: give QPN PSN GID, such as 17 0 10.77.0.1",
         line);
  }
  return {0, static_cast<std::uint32_t>(*qpn), static_cast<std::uint32_t>(*psn), *gid,
          selective_repeat};
}

// Lines of standard input as they come, without ever waiting.
class InputLines {
 public:
  bool open() const { return open_; }

  void read_some() {
    pollfd entry{STDIN_FILENO, POLLIN, 0};
    while (open_ && ::poll(&entry, 1, 0) > 0) {
      char bytes[4096];
      const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        open_ = false;
        if (!text_.empty()) text_ += '\n';
      } else {
        text_.append(bytes, static_cast<std::size_t>(n));
      }
    }
  }

  // The next whole line that is not blank.
  std::optional<std::string> next() {
    while (true) {
      const std::size_t end = text_.find('\n');
      if (end == std::string::npos) return {};
      std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line.find_first_not_of(" \t\r") != std::string::npos) return line;
    }
  }

 private:
  bool open_ = true;
  std::string text_;
};

class Peer {
 public:
  Peer(const Options& options, Device& device);

  void announce() const;
  void run();
  void finish();

 private:
  void make_region();
  void open_message_file();
  void close_message_file();
  void check_path_mtu();
  PeerQueuePair& add_queue_pair();
  void connect(PeerQueuePair& queue_pair, const EndpointAddress& remote);
  void serve_clients();
  void serve_client(const Socket& client);
  void take_input();
  bool turn();
  void turn_queue_pairs();
  bool wants_input() const { return options_.reads_input() && input_.open(); }
  void print_event(const Json& event, const std::string& text) const;
  Json describe_region() const;

  Options options_;
  Device& device_;
  nic::Nic& nic_;
  transport::ProtectionDomain domain_;
  Buffer region_;
  nic::MemoryKeys keys_;
  std::deque<std::unique_ptr<PeerQueuePair>> queue_pairs_;
  std::size_t made_ = 0;        // queue pairs, ever
  std::uint64_t messages_ = 0;  // of queue pairs that are gone
  std::optional<capture::WholeFile> message_file_;
  Socket listener_;
  InputLines input_;
  bool input_was_open_ = true;
};

Peer::Peer(const Options& options, Device& device)
    : options_(options), device_(device), nic_(device.nic()), domain_(make_domain(nic_)) {
  options_.queue_pair.gid_index = choose_gid(nic_.gids(), options_.gid_index);
  check_path_mtu();
  make_region();
  open_message_file();
  if (options_.listens()) {
    listener_ = listen_on(options_.listen_port);
    return;
  }
  for (std::uint32_t i = 0; i < options_.queue_pairs; ++i) add_queue_pair();
}

void Peer::check_path_mtu() {
  std::uint32_t& path_mtu = options_.queue_pair.path_mtu;
  if (path_mtu == 0) {
    path_mtu = options_.queue_pair.service == wire::Service::unreliable_datagram
                   ? nic_.active_mtu()
                   : std::min(1024u, nic_.active_mtu());
  }
  device_.require_path_mtu(path_mtu);
}

void Peer::make_region() {
  region_ = Buffer(options_.region_size);
  if (!options_.load_path.empty()) {
    std::ifstream file(options_.load_path, std::ios::binary);
    if (!file) fail("--load {}: {}", options_.load_path, std::strerror(errno));
    file.read(reinterpret_cast<char*>(region_.data()),
              static_cast<std::streamsize>(region_.size()));
    // A directory can be opened, and not read.
    if (file.bad()) fail("--load {}: cannot be read; name a file", options_.load_path);
  }
  keys_ = register_memory(nic_,
                          {.domain = domain_,
                           .base = region_.data(),
                           .length = region_.size(),
                           .access = options_.region_access | transport::kLocalWrite,
                           .virtual_address = options_.region_address,
                           .key = options_.region_key},
                          "the region");
}

void Peer::open_message_file() {
  if (options_.messages_path.empty()) return;
  auto file = capture::WholeFile::create(options_.messages_path);
  if (!file) fail("--save-messages: {}", file.error());
  message_file_ = std::move(*file);
  options_.queue_pair.on_message = [this](std::span<const std::byte> message) {
    message_file_->write(message);
  };
}

void Peer::close_message_file() {
  if (!message_file_) return;
  const auto done = message_file_->commit();
  if (!done) fail("--save-messages: {}", done.error());
}

PeerQueuePair& Peer::add_queue_pair() {
  PeerQueuePairOptions queue_pair = options_.queue_pair;
  if (queue_pair.qpn) *queue_pair.qpn += static_cast<std::uint32_t>(made_);
  const std::uint32_t psn =
      queue_pair.psn ? *queue_pair.psn
                     : static_cast<std::uint32_t>(mix_key(options_.device.seed, 64 + made_)) &
                           wire::Psn::kMask;
  queue_pairs_.push_back(std::make_unique<PeerQueuePair>(nic_, domain_, queue_pair, psn));
  ++made_;
  return *queue_pairs_.back();
}

void Peer::print_event(const Json& event, const std::string& text) const {
  fmt::print("{}\n", options_.json ? event.dump() : text);
  std::fflush(stdout);
}

Json Peer::describe_region() const {
  return {{"address", options_.region_address},
          {"length", options_.region_size},
          {"rkey", keys_.remote},
          {"access", options_.access}};
}

void Peer::announce() const {
  const nic::GidEntry& gid = *nic_.gids().find(options_.queue_pair.gid_index);
  const char* version = gid.version == wire::RoceVersion::v1 ? "v1" : "v2";
  Json event{{"event", "ready"},
             {"service", options_.service_name},
             {"link", device_.link_name()},
             {"mac", nic_.mac().to_string()},
             {"seed", options_.device.seed},
             {"gid_index", options_.queue_pair.gid_index},
             {"gid", gid.gid.to_string()},
             {"gid_digits", gid_digits(gid.gid)},
             {"roce", version},
             {"path_mtu", options_.queue_pair.path_mtu},
             {"region", describe_region()}};
  std::string text = fmt::format(
      "softrnic peer: {}\n  GID {} (index {}, RoCE {}), path MTU {}\n"
      "  region: address 0x{:x}, length {}, rkey 0x{:08x}, access {}",
      device_.describe(), gid.gid.to_string(), options_.queue_pair.gid_index, version,
      options_.queue_pair.path_mtu, options_.region_address, options_.region_size, keys_.remote,
      options_.access);
  event["queue_pairs"] = Json::array();
  for (const auto& queue_pair : queue_pairs_) {
    const EndpointAddress& local = queue_pair->local();
    event["queue_pairs"].push_back({{"qpn", local.qpn}, {"psn", local.psn}});
    text += fmt::format("\n  queue pair ({}): QPN 0x{:06x}, PSN 0x{:06x}", options_.service_name,
                        local.qpn, local.psn);
  }
  if (options_.listens()) {
    event["port"] = options_.listen_port;
    text += fmt::format("\n  waiting for pingpong clients on TCP port {}", options_.listen_port);
  }
  print_event(event, text);
}

void Peer::connect(PeerQueuePair& queue_pair, const EndpointAddress& remote) {
  if (remote.gid.is_zero()) fail("the other side has no GID: start it with -g, which RoCE needs");
  queue_pair.connect(remote);
  print_event({{"event", "connected"},
               {"qpn", queue_pair.local().qpn},
               {"psn", queue_pair.local().psn},
               {"remote_qpn", remote.qpn},
               {"remote_psn", remote.psn},
               {"remote_gid", remote.gid.to_string()}},
              fmt::format("  connected: QPN 0x{:06x} to QPN 0x{:06x}, PSN 0x{:06x}, GID {}",
                          queue_pair.local().qpn, remote.qpn, remote.psn, remote.gid.to_string()));
}

void Peer::serve_client(const Socket& client) {
  if (queue_pairs_.size() == kMostClients) {
    messages_ += queue_pairs_.front()->messages();
    queue_pairs_.pop_front();
  }
  PeerQueuePair& queue_pair = add_queue_pair();
  const bool datagram = options_.queue_pair.service == wire::Service::unreliable_datagram;
  exchange_as_server(
      nic_, client, queue_pair.local(), kClientTime,
      [&](const EndpointAddress& remote) {
        if (!datagram) connect(queue_pair, remote);
      },
      [this] { turn_queue_pairs(); });
}

// A client that breaks off costs its queue pair, not the peer.
void Peer::serve_clients() {
  while (true) {
    const Socket client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return;
    const std::size_t made = made_;
    try {
      serve_client(client);
    } catch (const Failure& failure) {
      if (interrupted()) return;
      require_link(nic_);
      // The queue pair itself may be what could not be made.
      if (made_ != made && !queue_pairs_.empty()) queue_pairs_.pop_back();
      print_event({{"event", "client_failed"}, {"reason", failure.what()}},
                  fmt::format("  a client failed: {}", failure.what()));
    }
  }
}

void Peer::take_input() {
  input_.read_some();
  while (const auto line = input_.next()) {
    PeerQueuePair* free = nullptr;
    for (const auto& queue_pair : queue_pairs_) {
      if (free == nullptr && !queue_pair->remote()) free = queue_pair.get();
    }
    if (free == nullptr) fail("'{}' on standard input: every queue pair is connected", *line);
    connect(*free, parse_remote(*line, options_.queue_pair.selective_repeat));
  }
}

void Peer::turn_queue_pairs() {
  for (const auto& queue_pair : queue_pairs_) {
    const auto trouble = queue_pair->turn();
    if (!trouble) continue;
    print_event(
        {{"event", "queue_pair_error"}, {"qpn", queue_pair->local().qpn}, {"status", *trouble}},
        fmt::format("  QPN 0x{:06x} is in error: {}", queue_pair->local().qpn, *trouble));
  }
}

// True when the descriptors to watch have changed.
bool Peer::turn() {
  if (options_.listens()) serve_clients();
  if (wants_input()) take_input();
  turn_queue_pairs();
  return input_.open() != input_was_open_;
}

void Peer::run() {
  if (options_.remote_qpn) {
    connect(*queue_pairs_.front(), {0, *options_.remote_qpn, options_.remote_psn,
                                    *options_.remote_gid, options_.queue_pair.selective_repeat});
  }
  const wire::Instant end =
      options_.seconds > 0 ? nic::real_now() + std::chrono::duration_cast<wire::Duration>(
                                                   std::chrono::duration<double>(options_.seconds))
                           : wire::kNever;
  while (!interrupted() && nic::real_now() < end) {
    nic::EventLoop loop(nic_);
    const Interruption interruption(loop);
    if (options_.listens()) loop.watch(listener_.get());
    if (wants_input()) loop.watch(STDIN_FILENO);
    input_was_open_ = input_.open();
    loop.run_until([this] { return turn(); }, end);
    require_link(nic_);
  }
}

void Peer::finish() {
  std::uint64_t messages = messages_;
  for (const auto& queue_pair : queue_pairs_) messages += queue_pair->messages();
  close_message_file();
  if (!options_.save_path.empty()) {
    std::ofstream file(options_.save_path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(region_.data()),
               static_cast<std::streamsize>(region_.size()));
    file.close();
    if (!file) {
      throw Failure(kNotWritten,
                    fmt::format("--save {}: could not be written", options_.save_path));
    }
  }
  print_event(
      {{"event", "finished"}, {"messages", messages}, {"counters", counters_json(nic_.counters())}},
      fmt::format("\n{} messages taken\n{}Counters:\n{}", messages, device_.fault_report(),
                  counters_text(nic_.counters())));
}

}  // namespace

int run_peer(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  check_save_path(options.save_path);
  Device device(options.device);
  Peer peer(options, device);
  peer.announce();
  peer.run();
  peer.finish();
  device.close_capture();
  return kSuccess;
}

}  // namespace softrnic::tools
