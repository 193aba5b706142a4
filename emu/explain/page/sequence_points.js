// SPDX-License-Identifier: BSD-3-Clause
// The points of a time-sequence graph: packets and marks, in order of time.

const kPsnModulus = 0x1000000;

// Marks of what the responder sends; the requester sends the others.
const kAnswers = new Set(["response", "ack", "nak", "rnr", "cnp", "credit", "refused"]);

// What a mark means, where nothing more is known of this one.
const kMeanings = {
  retransmission: "The packet is sent, or asked for, once more",
  gap: "Packets before this one are missing",
  late: "It fills a gap, without having been asked for: it was overtaken on its way",
  duplicate: "The same packet again, that nobody asked for",
  nak: "The receiver does not take the packet of this PSN",
  rnr: "The receiver has no receive posted, and asks for a pause",
  ecn: "Congestion was experienced on the way",
  cnp: "The receiver asks the sender to slow down",
  bad_icrc: "The ICRC is wrong: the receiver drops the packet",
};

class SequencePoints {
  constructor(connection, losses, moments) {
    const data = connection.sequence || {};
    this.connection = connection;
    const place = {};
    (data.columns || []).forEach((name, column) => { place[name] = column; });
    const column = (point, name) => place[name] === undefined ? undefined : point[place[name]];
    const told = new Map((connection.ladder || []).map((packet) => [packet.frame, packet]));
    const worst = new Map(moments.filter((one) => one.connection === connection.id)
      .map((one) => [one.frame, one.sentence]));
    const lost = new Map(losses.map((loss) => [loss.lost_frame, loss]));
    this.base = data.psn_base || this.base_from(connection.ladder || []);
    this.left_out = data.left_out || 0;
    this.all = (data.points || []).map((point, index) => {
      const frame = column(point, "frame"), space = column(point, "requester") || 0;
      const packet = told.get(frame) || {};
      const loss = lost.get(frame);
      const refused = kRefusals.has(packet.finding);
      const kind = loss ? "lost" : refused ? "refused" : column(point, "mark");
      const from = packet.from ?? (kAnswers.has(kind) ? 1 - space : space);
      return {
        index, kind, frame, space, from, t: column(point, "t_ns"), psn: column(point, "psn"),
        span: Math.max(column(point, "psns") || 1, 1),
        opcode: column(point, "opcode") || packet.opcode || "",
        text: worst.get(frame) || (loss ? loss_sentence(loss) : packet.sentence)
          || kMeanings[kind] || "" };
    });
    this.spaces = [0, 1].filter((space) => this.all.some((point) => point.space === space));
    this.notable = this.all.filter((point) => mark_info(point.kind).notable);
    this.counts = {};
    for (const { kind } of this.all) this.counts[kind] = (this.counts[kind] || 0) + 1;
  }

  // From a packet that tells both its PSN and how far that is from the first one.
  base_from(ladder) {
    return [0, 1].map((space) => {
      const packet = ladder.find((one) => typeof one.relative_psn === "number"
        && (/Acknowledge|Response|CNP/i.test(one.opcode) ? 1 - one.from : one.from) === space);
      return packet ? packet.psn - packet.relative_psn : 0;
    });
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

  // The mark that comes next, in the direction of `step` (+1, -1).
  next_notable(index, step) {
    if (step > 0) return this.notable.find((point) => point.index > index);
    return this.notable.findLast((point) => point.index < index);
  }

  parts(point) {
    const { connection } = this;
    const psn = this.absolute(point.space, point.psn);
    const last = this.absolute(point.space, point.psn + point.span - 1);
    const name = mark_info(point.kind).name.replace(" line", "");
    return [
      point.frame ? `Frame ${point.frame}` : "No frame",
      moment(point.t),
      `${end_name(connection, point.from)} → ${end_name(connection, 1 - point.from)}`,
      point.opcode ? `${name}: ${point.opcode}` : name,
      point.span > 1 ? `PSN ${psn} to ${last}` : `PSN ${psn}`,
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
