// SPDX-License-Identifier: BSD-3-Clause
#include "replay_side_options.hpp"

#include "command_line.hpp"
#include "failure.hpp"
#include "out_of_band.hpp"
#include "replay_live.hpp"

namespace softrnic::tools {

namespace {

std::uint32_t parse_24_bits(const char* option, const std::string& text) {
  const auto number = parse_number(text);
  if (!number || *number > 0xffffff) fail_usage("{} {}: must be from 0 to 0xffffff", option, text);
  return static_cast<std::uint32_t>(*number);
}

std::uint32_t parse_key(const char* option, const std::string& text, std::string_view key) {
  const auto number = parse_number(key);
  if (!number || *number > 0xffffffff) {
    fail_usage("{} {}: a key is a number from 0 to 0xffffffff", option, text);
  }
  return static_cast<std::uint32_t>(*number);
}

// "HOST" or "HOST:PORT"; an IPv6 address with a port stands in brackets.
void parse_peer(const std::string& text, ReplaySideOptions& options) {
  options.peer_host = text;
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  const bool bare_ipv6 = bracket == std::string::npos && text.find(':') != colon;
  if (colon != std::string::npos && !bare_ipv6 &&
      (bracket == std::string::npos || colon > bracket)) {
    const auto port = parse_number(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) {
      fail_usage("--peer {}: a TCP port is a number from 1 to 65535", text);
    }
    options.port = static_cast<std::uint16_t>(*port);
    options.peer_host = text.substr(0, colon);
  }
  std::string& host = options.peer_host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty()) fail_usage("--peer {}: give a host, such as 10.0.0.9 or 10.0.0.9:18515", text);
}

// "0x1234=0x5678@0x10000" or "0x1234@0x7f00=0x5678@0x10000".
KeyMapping parse_mapping(const std::string& text) {
  const auto complain = [&] {
    fail_usage("--map {}: give KEY=KEY@ADDRESS or KEY@ADDRESS=KEY@ADDRESS, the captured one first",
               text);
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) complain();
  const std::string captured = text.substr(0, equals);
  const std::string live = text.substr(equals + 1);
  KeyMapping mapping;
  const std::size_t at = captured.find('@');
  mapping.key = parse_key("--map", text, std::string_view(captured).substr(0, at));
  if (at != std::string::npos) {
    mapping.address = parse_number(captured.substr(at + 1));
    if (!mapping.address) complain();
  }
  const std::size_t live_at = live.find('@');
  if (live_at == std::string::npos) complain();
  mapping.live.key = parse_key("--map", text, std::string_view(live).substr(0, live_at));
  const auto address = parse_number(live.substr(live_at + 1));
  if (!address) complain();
  mapping.live.address = *address;
  return mapping;
}

}  // namespace

void ReplaySideOptions::add_to(CommandLine& line) {
  line.heading(std::string(kPeerHeading));
  line.option("peer", "HOST[:PORT]",
              "requester: meet it over TCP, as ibv_rc_pingpong's client and `softrnic peer "
              "--listen` do (port 18515)",
              [this](const std::string& text) { parse_peer(text, *this); });
  line.number("listen,p", "PORT", port, 1, 65535,
              "responder: meet it on this TCP port, as ibv_rc_pingpong's server does (default "
              "18515)");
  line.option("peer-qpn", "QPN", "instead of meeting it: its queue pair number",
              [this](const std::string& text) { peer_qpn = parse_24_bits("--peer-qpn", text); });
  line.option("peer-psn", "PSN", "the first PSN it sends (default 0)",
              [this](const std::string& text) { peer_psn = parse_24_bits("--peer-psn", text); });
  line.option("peer-gid", "GID", "its GID: an IP address, or 32 hexadecimal digits",
              [this](const std::string& text) {
                peer_gid = gid_of_digits(text);
                if (!peer_gid) peer_gid = wire::Gid::from_string(text);
                if (!peer_gid) fail_usage("--peer-gid {}: not a GID", text);
              });
  line.option("peer-mac", "MAC", "its MAC address (default: asked for by ARP)",
              [this](const std::string& text) {
                peer_mac = wire::MacAddress::from_string(text);
                if (!peer_mac) fail_usage("--peer-mac {}: not a MAC address", text);
              });
  line.option("peer-key", "RKEY", "key of its memory; all captured keys are mapped into it",
              [this](const std::string& text) { peer_key = parse_key("--peer-key", text, text); });
  line.number("peer-address", "ADDR", peer_address, 0, ~std::uint64_t{0},
              "address of the first byte of that memory (default 0)");
  line.repeated("map", "KEY[@ADDR]=KEY@ADDR",
                "where one captured key is at the peer; may be given several times",
                [this](const std::string& text) { mappings.push_back(parse_mapping(text)); });
  line.flag("captured-keys", captured_keys, "the peer opens the captured keys and addresses");
  line.heading(std::string(kOurEndHeading));
  line.option("gid-idx,g", "INDEX",
              "which GID to use (default: the first of the capture's version)",
              [this](const std::string& text) { gid_index = parse_24_bits("--gid-idx", text); });
  line.option("qpn", "QPN", "number of our queue pair (default: the NIC's choice)",
              [this](const std::string& text) {
                qpn = parse_24_bits("--qpn", text);
                // 0 and 1 are for management (IBTA vol. 1, 3.5.1).
                if (*qpn < 2 || *qpn == 0xffffff) {
                  fail_usage("--qpn {}: must be from 2 to 0xfffffe", text);
                }
              });
  line.option("psn", "PSN", "the first PSN we send (default: drawn from the seed)",
              [this](const std::string& text) { psn = parse_24_bits("--psn", text); });
  line.option("mtu,m", "BYTES", "path MTU (default: the capture's)",
              [this](const std::string& text) { path_mtu = parse_path_mtu(text); });
  line.number("ack-timeout", "CODE", ack_timeout, 0, 31,
              "local ACK timeout, 4.096 us x 2^CODE (default 14: 67 ms; 0: never)");
  line.number("retries", "N", retry_count, 0, 7, "repetitions before giving up (default 7)");
  line.number("rnr-retries", "N", rnr_retry, 0, 7,
              "the same after RNR NAKs (default 7: without end)");
  line.heading(std::string(kCloselyHeading));
  line.flag("primed", primed,
            "the peer's memory holds what --memory wrote: every READ's answer is compared");
  line.flag("keep-refused", keeps_refused,
            "ask for what the captured peer refused with its captured key and address");
  line.flag("invalidate", invalidates,
            "let SENDs with invalidate be such; else they go as plain SENDs, for the peer's memory "
            "is one region");
  line.flag("faithful", faithful,
            "responder: refuse what the captured one refused, RNR NAKs and access errors");
  line.flag("no-diff", no_diff, "do not compare the captured and the live dialogue in the end");
  line.seconds("patience", patience,
               "requester: how long to wait for messages of the peer that the capture has (default "
               "1)");
  line.seconds("timeout", timeout,
               "give up when nothing has come for so long (default 15; 0: never)");
  line.text("memory", "FILE", memory_path,
            "write what the captured peer's memory held, for `softrnic peer --load`");
  line.text("expect-memory", "FILE", expect_memory_path,
            "write what the peer's memory must hold afterwards (compare with peer --save)");
  line.text("expect-messages", "FILE", expect_messages_path,
            "write the messages it must have taken (compare with peer --save-messages)");
}

void ReplaySideOptions::complete(const LiveReplayOptions& all) const {
  const bool responder = all.mode_name == "responder";
  if (peer_qpn.has_value() != peer_gid.has_value()) {
    fail_usage("--peer-qpn and --peer-gid belong together");
  }
  if (peer_qpn && !peer_host.empty()) fail_usage("--peer and --peer-qpn exclude each other");
  if (all.in_memory() && (peer_qpn || !peer_host.empty())) {
    fail_usage("--to memory has its own peer: leave out --peer and --peer-qpn");
  }
  if (responder && !peer_host.empty()) {
    fail_usage("--peer {}: a responder waits for its client; give --listen PORT", peer_host);
  }
  if (!responder && faithful && !all.in_memory()) {
    fail_usage("--faithful: only with --as responder, or --to memory");
  }
  if (!responder && !all.device.link.empty() && !all.in_memory() && !peer_qpn &&
      peer_host.empty()) {
    fail_usage(
        "--as requester: name the peer with --peer HOST, or with --peer-qpn, --peer-psn and "
        "--peer-gid");
  }
  if (captured_keys && (peer_key || !mappings.empty())) {
    fail_usage("--captured-keys and --peer-key or --map exclude each other");
  }
}

}  // namespace softrnic::tools
