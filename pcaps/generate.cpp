// SPDX-License-Identifier: BSD-3-Clause
// Writes the sample captures, the list of packets in each, and the README that tells what they
// show: generate_pcaps DIRECTORY. The same bytes each time. generate_pcaps --list FILE prints the
// list for a capture that was made otherwise (pcaps/make-from-peer).
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "packet_list.hpp"
#include "scenes.hpp"

namespace {

using namespace softrnic;

constexpr std::string_view kReadme = R"(<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Sample captures

Small captures of RoCE as softrnic speaks it, each of one thing. Open them with Wireshark; where
frames were lost or spoilt on purpose, the packet comment says so (`frame.comment` finds them).
Frames that were dropped are in the file all the same, as their sender sent them.

The two NICs are alice (10.0.0.1 or fd00::1, queue pair 0x11, first PSN 0x1000) and bob (10.0.0.2
or fd00::2, queue pair 0x12, first PSN 0x2000), on one wire; each takes 10 us to answer. The path
MTU is 256, so that 700 bytes take three packets. RoCE v2 over IPv4 unless the line says otherwise.
What the NICs do not send by themselves (CM messages, CNPs, credits) was put on the wire by hand.

The captures whose names begin with `peer-` were made with the real peer instead: two Linux guests
with rdma_rxe (10.77.0.1 serves 10.77.0.2), recorded on the bridge between them by
`pcaps/make-from-peer`. They are not the same bytes each time, so `pcaps/make` leaves them alone and
writes only what softrnic says of them.

`NAME.opcodes` lists the RoCE packets of a capture: opcode, PSN, AETH syndrome. `NAME.check` and
`NAME.explain` are what `softrnic check` and `softrnic explain` say of it. All other files here, this
one too, are written by `pcaps/make`, the same bytes each time; `tests/run pcaps` checks that.

| capture | shows |
| --- | --- |
)";

// The rows of what pcaps/make-from-peer captures.
constexpr std::string_view kFromPeer =
    R"(| [peer-rping](peer-rping.pcapng) | the real peer's rping: CM connects, SENDs, READs and WRITEs, CM disconnects |
| [peer-cm-reject](peer-cm-reject.pcapng) | the real peer's rping to a port nobody listens on: a REQ, and the REJ |
| [peer-udaddy](peer-udaddy.pcapng) | the real peer's udaddy: SIDR REQ and REP, then UD SENDs both ways |
)";

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "generate_pcaps: %s\n", message.c_str());
  std::exit(1);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fail("cannot write " + path + ": name a directory you may write to");
}

std::string list_of(const std::string& capture) {
  std::string list =
      "# SPDX-License-Identifier: BSD-3-Clause\n# opcode, PSN, AETH syndrome, name\n";
  for (const std::string& line : pcaps::packet_list(capture)) list += line + "\n";
  return list;
}

void record(const pcaps::Scene& scene, const std::string& directory) {
  const std::string path = directory + "/" + scene.name;
  pcaps::Stage stage(scene.setting, path + ".pcapng");
  if (stage.ready()) scene.act(stage);
  const std::string wrong = stage.close();
  if (!wrong.empty()) fail(scene.name + ": " + wrong);

  write_file(path + ".opcodes", list_of(path + ".pcapng"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--list") {
    if (pcaps::packet_list(argv[2]).empty()) fail(std::string(argv[2]) + ": no RoCE packets");
    fmt::print("{}", list_of(argv[2]));
    return 0;
  }
  if (argc != 2) fail("name the directory to write to: generate_pcaps DIRECTORY");
  std::string readme(kReadme);
  for (const pcaps::Scene& scene : pcaps::scenes()) {
    record(scene, argv[1]);
    readme += fmt::format("| [{0}]({0}.pcapng) | {1} |\n", scene.name, scene.shows);
  }
  readme += kFromPeer;
  write_file(std::string(argv[1]) + "/README.md", readme);
  return 0;
}
