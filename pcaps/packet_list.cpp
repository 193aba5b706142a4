// SPDX-License-Identifier: BSD-3-Clause
#include "packet_list.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <memory>

#include "wire/packet_view.hpp"

namespace softrnic::pcaps {

std::vector<std::string> packet_list(const std::string& capture_path) {
  std::vector<std::string> lines;
  char error[PCAP_ERRBUF_SIZE];
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(
      pcap_open_offline(capture_path.c_str(), error), [](pcap_t* p) {
        if (p != nullptr) pcap_close(p);
      });
  if (!file) return lines;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (pcap_next_ex(file.get(), &header, &data) == 1) {
    const wire::ByteView frame = std::as_bytes(std::span(data, header->caplen));
    const auto packet = wire::PacketView::parse(wire::ByteChain(frame));
    if (!packet) continue;
    const wire::OpcodeInfo& opcode = packet->opcode();
    const std::string syndrome = opcode.has(wire::kAeth)
                                     ? fmt::format("{:02x}", packet->headers().aeth.syndrome.raw())
                                     : "--";
    lines.push_back(fmt::format("{:02x} {:06x} {} {}", static_cast<unsigned>(opcode.opcode),
                                packet->bth().psn.value(), syndrome, opcode.name));
  }
  return lines;
}

}  // namespace softrnic::pcaps
