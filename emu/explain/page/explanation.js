// SPDX-License-Identifier: BSD-3-Clause
// The explanation as the plots need it: what `explain --json` says, put together.

// Answers that end a connection.
const kRefusals = new Set(["nak_invalid_request", "nak_remote_access", "nak_remote_operational",
                           "nak_invalid_rd", "nak_reserved"]);

const kNakNames = { "0x60": "PSN sequence error", "0x61": "invalid request",
                    "0x62": "remote access error", "0x63": "remote operational error",
                    "0x64": "invalid RD request" };

const moment_of = (event) => ({
  t: event.at_ns || 0, until: (event.at_ns || 0) + (event.time_lost_ns || 0),
  frame: event.frame, connection: event.connection, kind: event.kind,
  sentence: event.what || event.sentence || words(event.kind || ""),
});

// The first fault of the capture; of the connections shown, where the whole does not say it.
function first_fault_of(explanation) {
  if (explanation.first_fault) return explanation.first_fault;
  const faults = (explanation.connections || []).filter(({ first_fault }) => first_fault)
    .map((one) => ({ connection: one.id, ...one.first_fault }));
  return faults.reduce((first, fault) => !first || fault.frame < first.frame ? fault : first, null);
}

function losses_of(explanation, connection) {
  return (explanation.losses || []).filter((loss) => loss.connection === connection.id);
}

const kNoticed = { nak: "a NAK", selective: "a selective ACK", timeout: "a timeout", implied: "a later response",
                   never: "nothing: it is not repeated" };

function loss_sentence(loss) {
  const noticed = kNoticed[loss.cause] || "something the capture does not show";
  return `Lost; noticed by ${noticed}` + (loss.cause_frame ? ` in frame ${loss.cause_frame}` : "")
    + (loss.again_frame ? `, sent again in frame ${loss.again_frame}` : "")
    + (loss.time_lost_ns ? `, mended after ${duration(loss.time_lost_ns)}` : "");
}

function outcome_of(entry, lost_frames) {
  if (lost_frames.has(entry.frame) || entry.finding === "bad_icrc") return "lost";
  if (kRefusals.has(entry.finding)) return "refused";
  if (entry.finding === "duplicate") return "duplicate";
  return entry.repetition ? "retransmitted" : "arrived";
}

// The ladder is one list with packets left out here and there: a ladder for each stretch.
function ladders_of(connection, losses, moments) {
  const lost_frames = new Set(losses.map(({ lost_frame }) => lost_frame).filter(Boolean));
  const stretches = [];
  for (const packet of connection.ladder || []) {
    if (stretches.length === 0 || packet.left_out_before) {
      stretches.push({ left_out: packet.left_out_before || 0, entries: [] });
    }
    stretches[stretches.length - 1].entries.push({
      t: packet.t_ns || 0, from: packet.from, frame: packet.frame, opcode: packet.opcode,
      psn: packet.psn, bytes: packet.bytes || 0, answer: packet.answer || "",
      text: packet.sentence || "", outcome: outcome_of(packet, lost_frames) });
  }
  return stretches.map((stretch, index) => {
    const frames = new Set(stretch.entries.map(({ frame }) => frame));
    const moment = moments.find((one) => one.connection === connection.id && frames.has(one.frame));
    const around = moment ? moment.frame : null;
    const title = index === 0 && stretch.left_out === 0 ? "Beginning"
      : moment ? `Around frame ${moment.frame}` : `From frame ${stretch.entries[0].frame} on`;
    return { ...stretch, title, around_frame: around };
  });
}
