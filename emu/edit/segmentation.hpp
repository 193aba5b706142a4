// SPDX-License-Identifier: BSD-3-Clause
// Messages cut anew: to another path MTU, or with some of them left out, so that PSNs, and the
// acknowledgements that name them, have to be numbered anew as well.
//
// Told packet by packet in the order of the capture. A connection is followed from its first
// request on. What is sent again is found in the messages remembered; what cannot be followed is
// said, by frame: a packet missing inside, a repetition that begins where no new packet does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/frame.hpp"
#include "edit/edit_counts.hpp"
#include "edit/frame_context.hpp"
#include "edit/frame_parts.hpp"
#include "edit/number_line.hpp"
#include "wire/expected_void.hpp"

namespace softrnic::edit {

class Segmentation {
 public:
  // `path_mtu`: 0: as it was. `thin`: every so many-th message stays.
  Segmentation(std::uint32_t path_mtu, std::uint32_t thin, EditCounts& counts)
      : path_mtu_(path_mtu), thin_(thin), counts_(counts) {}

  // The frames that take this one's place are put into `out`: none, one or several. `stream`: the
  // connection it belongs to; `known_mtu`: of the capture, 0 when not known. The error is one
  // sentence.
  wire::Expected<void, std::string> on_frame(const FrameParts& parts, const FrameContext& context,
                                             const analysis::Frame& frame, std::uint32_t stream,
                                             std::uint32_t known_mtu, std::vector<FrameParts>& out);

 private:
  // A new packet while its bytes come together.
  struct Gathered {
    Bytes bytes;
    std::uint64_t offset = 0;  // of its first byte in the message
    bool open = false;
    bool starts = false;  // the message begins with it
    bool ack_request = false;
    wire::TransportHeaders first;  // of the packet it begins in
  };
  struct Flow {
    std::uint32_t stream = 0xffffffff;
    NumberLine line;
    std::uint64_t messages = 0;
    Gathered request;
    Gathered response;
    wire::Psn acknowledged;  // the newest on the new line
    bool has_acknowledged = false;
  };
  struct Packet;
  using Result = wire::Expected<void, std::string>;

  Flow& flow_of(const FlowName& name, std::uint32_t stream, bool is_request);
  bool keeps(Flow& flow);
  Result on_request(Flow& flow, const Packet& packet);
  Result on_new_request(Flow& flow, const Packet& packet);
  Result on_continued(Flow& flow, LineSpan& span, const Packet& packet);
  Result on_read(Flow& flow, LineSpan& span, const Packet& packet);
  Result on_response(Flow& flow, const Packet& packet);
  Result on_acknowledgement(Flow& flow, const Packet& packet);
  Result feed(Gathered& gathered, LineSpan& span, const Packet& packet);
  Result cut(Gathered& gathered, LineSpan& span, const Packet& packet, bool ends);
  static Result refuse_joining(const Packet& packet);
  static void announce_mtu(FrameParts& parts, std::uint32_t path_mtu);
  void renumbered(const Packet& packet, wire::Psn psn, std::uint32_t dropped);

  std::uint32_t path_mtu_;
  std::uint32_t thin_;
  std::map<FlowName, Flow> flows_;
  EditCounts& counts_;
};

}  // namespace softrnic::edit
