// SPDX-License-Identifier: BSD-3-Clause
// The marks of the time-sequence graph: what each is called and how it is drawn. Each has a shape
// of its own, so that none is told from another by colour alone.

const kMarks = {
  request: { name: "Request", one: "request" },
  response: { name: "Response", one: "response" },
  ack: { name: "ACK line", one: "ACK" },
  credit: { name: "Credit limit", one: "credit limit" },
  retransmission: { name: "Retransmission", one: "retransmission", notable: true },
  lost: { name: "Lost", one: "loss", many: "losses", notable: true },
  gap: { name: "Gap", one: "gap", notable: true },
  late: { name: "Out of order", one: "packet out of order", many: "packets out of order",
          notable: true },
  bad_icrc: { name: "Wrong ICRC", one: "wrong ICRC", many: "wrong ICRCs", notable: true },
  nak: { name: "NAK", one: "NAK", notable: true },
  rnr: { name: "RNR NAK", one: "RNR NAK", notable: true },
  refused: { name: "Refused", one: "refusal", notable: true },
  duplicate: { name: "Duplicate", one: "duplicate", notable: true },
  ecn: { name: "ECN mark", one: "ECN mark", notable: true },
  cnp: { name: "CNP", one: "CNP", notable: true },
};

const mark_info = (kind) => kMarks[kind] || { name: sentence_case(words(kind)), one: words(kind),
                                              notable: true };

// The outline of a mark at (x, y), as [class, path data] pairs.
const kShapes = {
  nak: (x, y) => [["m-nak", `M${x - 6} ${y - 5}h12l-6 10z`]],
  rnr: (x, y) => [["m-rnr", `M${x - 5} ${y - 6}h10l-10 12h10z`]],
  refused: (x, y) => [
    ["m-refused", `M${x - 3} ${y - 7}h6l4 4v6l-4 4h-6l-4 -4v-6z`],
    ["m-refused-bar", `M${x - 4} ${y}h8`]],
  lost: (x, y) => [["m-lost", `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`]],
  ecn: (x, y) => [["m-ecn", `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0`]],
  cnp: (x, y) => [["m-cnp", `M${x - 6} ${y + 5}h12l-6 -11z`]],
  duplicate: (x, y) => [["m-duplicate", `M${x - 2} ${y - 5}v10m4 -10v10`]],
  gap: (x, y) => [["m-lost", `M${x - 6} ${y + 4}h3m6 0h3M${x - 3} ${y}v8m6 -8v8`]],
  late: (x, y) => [["m-duplicate", `M${x + 5} ${y - 4}h-9m3 -4l-4 4l4 4`]],
  bad_icrc: (x, y) => [["m-refused", `M${x - 6} ${y - 6}h12v12h-12z`],
                       ["m-refused-bar", `M${x - 3} ${y - 3}l6 6`]],
  retransmission: (x, y) => [["m-retransmitted-mark", `M${x} ${y - 6}l6 6l-6 6l-6 -6z`]],
};

function shape_of(kind, x, y) {
  return (kShapes[kind] || kShapes.duplicate)(x, y);
}

// The small picture of a mark in the legend.
function legend_picture(kind) {
  const lines = {
    request: [["m-request", "M9 2v12"]],
    response: [["m-response", "M6.5 2.5h5v11h-5z"]],
    ack: [["m-ack", "M1 12h6v-4h5v-5h5"]],
    credit: [["m-credit", "M1 12h8v-7h8"]],
    retransmission: [["m-retransmitted", "M9 1v14"], ...shape_of("retransmission", 9, 8)],
    nak: shape_of("nak", 9, 8),
  };
  return svg("svg", { width: 18, height: 16, viewBox: "0 0 18 16", "aria-hidden": "true" },
    (lines[kind] || shape_of(kind, 9, 8)).map(([name, d]) => svg("path", { class: name, d })));
}
