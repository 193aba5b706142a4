// SPDX-License-Identifier: BSD-3-Clause
// softrnic ping: ICMP echo from the emulated NIC, printed as ping(8) prints it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "nic/event_loop.hpp"
#include "payload_pattern.hpp"
#include "subcommands.hpp"
#include "vanished_link.hpp"

namespace softrnic::tools {

namespace {

constexpr std::uint32_t kIcmpHeader = 8;

struct Options {
  DeviceOptions device;
  std::uint32_t count = 0;  // 0: until Ctrl-C
  double interval = 1;
  double wait = 2;
  std::uint32_t size = 56;
  bool json = false;
  wire::Gid target;
};

bool parse_options(int argc, char** argv, Options& options) {
  constexpr std::uint32_t kMostData = 65'000;
  CommandLine line(
      "ping", "Usage: softrnic ping --link LINK --ip ADDR/LEN [OPTIONS] ADDR",
      "Sends ICMP (or ICMPv6) echo requests from the emulated NIC. Exit status 1 when\n"
      "nothing came back.",
      "  softrnic ping --link tap:rnic0 --ip 10.77.0.9/24 -c 3 10.77.0.1\n");
  std::vector<std::string> words;
  line.number("count,c", "N", options.count, 1, 0xffff, "how many to send (default: until Ctrl-C)");
  line.seconds("interval,i", options.interval, "time between two of them (default 1)");
  line.number("size,s", "BYTES", options.size, 0, kMostData, "bytes of data in each (default 56)");
  line.seconds("wait,W", options.wait, "how long to wait for the last answers (default 2)");
  line.flag("json", options.json, "print one JSON object at the end instead of text");
  options.device.add_to(line);
  line.words("ADDR", 1, words);
  if (!line.parse(argc, argv)) return false;
  if (words.empty()) fail_usage("the address to ping is missing; see softrnic ping --help");
  const auto target = wire::Gid::from_string(words.front());
  if (!target || target->is_zero() || target->is_multicast()) {
    fail_usage("{}: not the address of one host; give one such as 10.77.0.1 or fd00:77::1",
               words.front());
  }
  options.target = *target;
  options.device.complete();
  return true;
}

struct Answer {
  std::uint16_t sequence = 0;
  double milliseconds = 0;
  bool duplicate = false;
};

class Ping {
 public:
  Ping(const Options& options, Device& device);
  void run();
  void print_summary() const;
  void print_json(Device& device) const;
  bool answered() const { return received_ != 0; }

 private:
  void send(wire::Instant now);
  void take_reply(wire::Instant now, const wire::Gid& source, std::uint16_t identifier,
                  std::uint16_t sequence, wire::ByteView data);
  bool all_sent() const { return options_.count != 0 && sent_at_.size() == options_.count; }
  double loss_percent() const;

  const Options& options_;
  nic::Nic& nic_;
  std::uint16_t identifier_;
  std::vector<std::byte> data_;
  std::vector<wire::Instant> sent_at_;  // by sequence number, from 1
  std::vector<bool> seen_;
  std::vector<Answer> answers_;
  std::uint32_t received_ = 0;
  std::uint32_t damaged_ = 0;
  wire::Instant began_{};
  wire::Instant ended_{};
};

Ping::Ping(const Options& options, Device& device)
    : options_(options),
      nic_(device.nic()),
      identifier_(static_cast<std::uint16_t>(mix_key(options.device.seed, 1))),
      data_(options.size) {
  const std::uint32_t ip_header = options.target.is_ipv4_mapped() ? 20 : 40;
  const std::uint32_t link_mtu = nic_.link().capabilities().mtu;
  if (ip_header + kIcmpHeader + options.size > link_mtu) {
    fail("-s {}: {} carries {} bytes of data at most", options.size, device.link_name(),
         link_mtu - ip_header - kIcmpHeader);
  }
  fill_pattern(data_, mix_key(options.device.seed, 2));
  nic_.on_echo_reply([this](wire::Instant now, const wire::Gid& source, std::uint16_t identifier,
                            std::uint16_t sequence, wire::ByteView data) {
    take_reply(now, source, identifier, sequence, data);
  });
}

void Ping::send(wire::Instant now) {
  sent_at_.push_back(now);
  seen_.push_back(false);
  const auto sequence = static_cast<std::uint16_t>(sent_at_.size());
  if (!nic_.ping(now, options_.target, identifier_, sequence, data_)) {
    fail("{}: the NIC has no address of that kind; give one with --ip",
         options_.target.to_string());
  }
}

void Ping::take_reply(wire::Instant now, const wire::Gid& source, std::uint16_t identifier,
                      std::uint16_t sequence, wire::ByteView data) {
  if (identifier != identifier_ || sequence == 0 || sequence > sent_at_.size()) return;
  const std::size_t index = sequence - 1u;
  if (data.size() != data_.size() || compare(data_, data)) {
    ++damaged_;
    return;
  }
  Answer answer;
  answer.sequence = sequence;
  answer.milliseconds = std::chrono::duration<double, std::milli>(now - sent_at_[index]).count();
  answer.duplicate = seen_[index];
  seen_[index] = true;
  received_ += answer.duplicate ? 0 : 1;
  answers_.push_back(answer);
  if (options_.json) return;
  fmt::print("{} bytes from {}: icmp_seq={} time={:.3f} ms{}\n", data.size() + kIcmpHeader,
             source.to_string(), sequence, answer.milliseconds, answer.duplicate ? " (DUP!)" : "");
  std::fflush(stdout);
}

void Ping::run() {
  const auto seconds = [](double s) {
    return std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(s));
  };
  nic::EventLoop loop(nic_);
  const Interruption interruption(loop);
  began_ = nic::real_now();
  wire::Instant next = began_;
  while (!all_sent() && sent_at_.size() < 0xffff && !loop.interrupted()) {
    send(nic::real_now());
    if (all_sent()) break;
    next += seconds(options_.interval);
    loop.run_until([] { return false; }, next);
    require_link(nic_);
  }
  loop.run_until([this] { return received_ == sent_at_.size(); },
                 nic::real_now() + seconds(options_.wait));
  require_link(nic_);
  ended_ = nic::real_now();
}

double Ping::loss_percent() const {
  return sent_at_.empty() ? 0 : 100.0 - 100.0 * received_ / static_cast<double>(sent_at_.size());
}

void Ping::print_summary() const {
  fmt::print("\n--- {} ping statistics ---\n", options_.target.to_string());
  fmt::print("{} packets transmitted, {} received, ", sent_at_.size(), received_);
  if (answers_.size() > received_) fmt::print("+{} duplicates, ", answers_.size() - received_);
  if (damaged_ != 0) fmt::print("+{} damaged, ", damaged_);
  fmt::print("{:.6g}% packet loss, time {}ms\n", loss_percent(),
             std::chrono::duration_cast<std::chrono::milliseconds>(ended_ - began_).count());
  if (answers_.empty()) {
    if (nic_.counters().tx_unresolved != 0) {
      fmt::print("{} did not answer {}: is it up, and on this link?\n", options_.target.to_string(),
                 options_.target.is_ipv4_mapped() ? "ARP" : "neighbour solicitations");
    }
    return;
  }
  double least = answers_.front().milliseconds;
  double most = least;
  double sum = 0;
  double squares = 0;
  for (const Answer& answer : answers_) {
    least = std::min(least, answer.milliseconds);
    most = std::max(most, answer.milliseconds);
    sum += answer.milliseconds;
    squares += answer.milliseconds * answer.milliseconds;
  }
  const double n = static_cast<double>(answers_.size());
  const double mean = sum / n;
  fmt::print("rtt min/avg/max/mdev = {:.3f}/{:.3f}/{:.3f}/{:.3f} ms\n", least, mean, most,
             std::sqrt(std::max(0.0, squares / n - mean * mean)));
}

void Ping::print_json(Device& device) const {
  nlohmann::ordered_json root;
  root["target"] = options_.target.to_string();
  root["link"] = device.link_name();
  root["mac"] = nic_.mac().to_string();
  root["seed"] = options_.device.seed;
  root["transmitted"] = sent_at_.size();
  root["received"] = received_;
  root["damaged"] = damaged_;
  root["loss_percent"] = loss_percent();
  root["answers"] = nlohmann::ordered_json::array();
  for (const Answer& answer : answers_) {
    root["answers"].push_back({{"sequence", answer.sequence},
                               {"milliseconds", answer.milliseconds},
                               {"duplicate", answer.duplicate}});
  }
  fmt::print("{}\n", root.dump(2));
}

}  // namespace

int run_ping(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  Device device(options.device);
  Ping ping(options, device);
  if (!options.json) {
    fmt::print("PING {} from {}: {} data bytes\n", options.target.to_string(), device.describe(),
               options.size);
    std::fflush(stdout);
  }
  ping.run();
  if (options.json) {
    ping.print_json(device);
  } else {
    ping.print_summary();
  }
  device.close_capture();
  return ping.answered() ? kSuccess : kFailure;
}

}  // namespace softrnic::tools
