// SPDX-License-Identifier: BSD-3-Clause
// The points of a time-sequence graph: packets and marks, in order of time.

const kPsnModulus = 0x1000000;

class SequencePoints {
  constructor(connection) {
    const data = connection.sequence || {};
    this.connection = connection;
    this.base = data.psn_base || [0, 0];
    this.thinned = data.thinned === true;
    this.packets = data.packets || 0;
    const kinds = data.kinds || [];
    const opcodes = data.opcodes || [];
    this.all = (data.points || []).map(
      ([t, kind, from, space, psn, span, frame, opcode, text], index) => ({
        index, t, from, space, psn, span: Math.max(span || 1, 1), frame, text: text || "",
        kind: kinds[kind] || String(kind),
        opcode: typeof opcode === "number" ? opcodes[opcode] || "" : "",
      }));
    this.spaces = [0, 1].filter((space) => this.all.some((point) => point.space === space));
    this.notable = this.all.filter((point) => mark_info(point.kind).notable);
    this.counts = {};
    for (const { kind } of this.all) this.counts[kind] = (this.counts[kind] || 0) + 1;
  }

  absolute(space, psn) {
    return ((((this.base[space] || 0) + psn) % kPsnModulus) + kPsnModulus) % kPsnModulus;
  }

  // The first index at or after a time.
  first_from(t) {
    let low = 0, high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.all[middle].t < t) low = middle + 1; else high = middle;
    }
    return low;
  }

  // What is behind `from` that a mark of `step` (+1, -1) leads to.
  next_notable(index, step) {
    if (step > 0) return this.notable.find((point) => point.index > index);
    return this.notable.findLast((point) => point.index < index);
  }

  parts(point) {
    const { connection } = this;
    const psn = this.absolute(point.space, point.psn);
    const last = this.absolute(point.space, point.psn + point.span - 1);
    const numbers = point.span > 1 ? `PSN ${psn} to ${last}` : `PSN ${psn}`;
    return [
      point.frame ? `Frame ${point.frame}` : "No frame",
      moment(point.t),
      `${end_name(connection, point.from)} → ${end_name(connection, 1 - point.from)}`,
      `${mark_info(point.kind).name.replace(" line", "")}`
        + (point.opcode ? `: ${point.opcode}` : ""),
      numbers,
    ];
  }

  sentence(point) {
    return [...this.parts(point), point.text].filter(Boolean).join("; ");
  }

  summary() {
    const parts = Object.entries(this.counts).filter(([kind]) => kind !== "credit")
      .map(([kind, count]) => plural(count, mark_info(kind).one, mark_info(kind).many));
    return parts.length ? listed(parts) : "no packets";
  }
}
