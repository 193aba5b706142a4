// SPDX-License-Identifier: BSD-3-Clause
// softrnic's end of a dialogue with a verbs device: see speaker.hpp and ../dialogue.py.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "command_line.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "out_of_band.hpp"
#include "speaker.hpp"

namespace softrnic::interop {

namespace {

struct Options {
  tools::DeviceOptions device;
  SpeakerOptions speaker;
  std::uint16_t port = 18600;
  std::vector<Step> steps;
};

bool parse(int argc, char** argv, Options& options) {
  constexpr std::size_t kMostSteps = 10000;
  SpeakerOptions& speaker = options.speaker;
  std::string service = "rc";
  std::vector<std::string> words;
  tools::CommandLine line("dialogue", "Usage: dialogue --link LINK --ip ADDR/LEN [OPTIONS] STEP...",
                          "softrnic's end of a dialogue: it waits for the other end and takes the "
                          "steps in order.",
                          "");
  line.number("port,p", "PORT", options.port, 1, 65535, "where the other end calls");
  line.text("service,s", "rc|uc", service, "kind of queue pair");
  line.number("gid-idx,g", "INDEX", speaker.gid_index, 0, 255, "which GID");
  line.number("mtu,m", "BYTES", speaker.path_mtu, 256, 4096, "path MTU");
  line.number("psn,n", "PSN", speaker.first_psn, 0, 0xffffff, "the first PSN it sends");
  line.number("access,a", "BITS", speaker.remote_access, 0, 0xffffffff,
              "what the other end may do, as ibv_access_flags");
  line.number("rnr-retry,r", "N", speaker.rnr_retry, 0, 7, "RNR retries");
  line.number("rnr-timer,t", "CODE", speaker.rnr_timer, 0, 31, "of its RNR NAKs");
  line.number("ack-timeout,l", "CODE", speaker.ack_timeout, 0, 31, "local ACK timeout");
  line.number("fill,f", "N", speaker.fill, 0, 255, "what its memory holds at first");
  line.number("retries,k", "N", speaker.retries, 0, 7, "retries for losses");
  line.flag("srq,q", speaker.shared_receive_queue, "receive through a shared receive queue");
  line.flag("advertise-credits", speaker.advertise_credits, "end-to-end credits in its ACKs");
  options.device.add_to(line);
  line.words("STEP", kMostSteps, words);
  if (!line.parse(argc, argv)) return false;
  speaker.service = tools::parse_service(service);
  for (const std::string& word : words) options.steps.emplace_back(word);
  options.device.complete();
  return true;
}

void speak(const Options& options) {
  tools::Device device(options.device);
  const tools::Socket listener = tools::listen_on(options.port);
  Speaker speaker(options.speaker, device, tools::accept_client(device.nic(), listener));
  speaker.open();
  for (const Step& step : options.steps) speaker.take(step);
  speaker.meet();
  fmt::print(stderr, "{}", device.fault_report());
  device.close_capture();
}

}  // namespace

}  // namespace softrnic::interop

int main(int argc, char** argv) {
  using namespace softrnic;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    interop::Options options;
    if (interop::parse(argc, argv, options)) interop::speak(options);
    return tools::kSuccess;
  } catch (const tools::Failure& failure) {
    fmt::print(stderr, "dialogue: {}\n", failure.what());
    return failure.exit_status();
  }
}
