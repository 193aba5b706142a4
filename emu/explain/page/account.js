// SPDX-License-Identifier: BSD-3-Clause
// The account of one connection, with its plots.

const qpn_text = (qpn) =>
  typeof qpn === "number" && qpn < kPsnModulus ? hexadecimal(qpn, 6) : "unknown";

// "10.0.0.1 QP 0x000011": what the page calls an end.
function end_name(connection, side) {
  const end = (connection.ends || [])[side] || {};
  return `${end.address || "unknown"} QP ${qpn_text(end.qpn)}`;
}

function terms_of(connection) {
  const service = String(connection.service || "").toUpperCase();
  const terms = [`${service} over RoCE ${connection.version || ""}`
                 + (connection.ip ? ` (IPv${connection.ip})` : "")];
  if (typeof connection.vlan === "number") terms.push(`VLAN ${connection.vlan}`);
  const mtu = Math.max(0, ...(connection.directions || []).map(({ path_mtu }) => path_mtu || 0));
  if (mtu) terms.push(`path MTU ${mtu}`);
  terms.push({ seen: "its beginning was seen", cm: "set up by CM",
               late: "begun before the capture" }[connection.established]
             || connection.established);
  terms.push({ open: "open at the end", disconnected: "disconnected", refused: "ended by a refusal",
               exhausted: "ended: retries exhausted" }[connection.ended] || connection.ended);
  return terms.filter(Boolean).join(" · ");
}

class Account {
  constructor(connection, view_of_all) {
    this.connection = connection;
    this.view = new TimeView(connection.begins_ns || 0, Math.max(connection.ends_ns || 0,
                             connection.begins_ns || 0));
    this.watch_all = view_of_all;
    this.draw_head();
    this.draw_sequence();
    this.draw_throughput();
    this.draw_ladder();
    this.draw_latency();
    by_id("losses-body").replaceChildren(...loss_parts(connection));
  }

  draw_head() {
    const { connection } = this;
    by_id("account-title").textContent =
      `Connection ${connection.id}: ${end_name(connection, 0)} ↔ ${end_name(connection, 1)}`;
    by_id("account-terms").textContent = terms_of(connection);
    const fault = connection.first_fault;
    const place = by_id("account-fault");
    place.hidden = !fault;
    if (fault) {
      place.className = `callout ${fault.severity === "error" ? "error" : "warning"}`;
      place.replaceChildren(html("strong", null, "First fault:"),
        html("a", { href: `#connection-${connection.id}`, onclick: (event) => {
          event.preventDefault();
          this.go_to_moment(fault.t_ns, fault.t_ns, fault.frame);
        } }, `frame ${fault.frame}`), ` ${sentence_case(fault.sentence || words(fault.kind))}`);
    }
    const sides = (connection.directions || []).map((direction, side) => [
      `From ${end_name(connection, side)}`, bytes(direction.payload_bytes || 0),
      [plural(direction.packets || 0, "packet"), plural(direction.messages || 0, "message"),
       direction.retransmitted_packets
         ? `${group(direction.retransmitted_packets)} sent again` : "",
       direction.lost ? `${group(direction.lost)} lost` : "",
       direction.duplicates ? plural(direction.duplicates, "duplicate") : ""]
        .filter(Boolean).join(", ")]);
    const span = (connection.ends_ns || 0) - (connection.begins_ns || 0);
    const goodput = (connection.directions || []).map(({ goodput_bytes }) => goodput_bytes || 0);
    by_id("account-tiles").replaceChildren(...tiles_of([
      ["Lasts", duration(span), `from ${moment(connection.begins_ns || 0)}`], ...sides,
      ["Goodput, mean", span > 0 ? rate(Math.max(...goodput, 0) * 8e9 / span) : "–",
       "of the busier direction, each byte once"]]));
  }

  draw_sequence() {
    const { connection, view } = this;
    this.points = new SequencePoints(connection);
    const present = this.points.all.length > 0;
    by_id("sequence").hidden = !present;
    this.graph = null;
    if (!present) return;
    this.graph = new SequenceGraph(by_id("sequence-plot"), this.points, view,
                                   by_id("sequence-readout"));
    const { graph } = this;
    by_id("sequence-readout").textContent = this.points.thinned
      ? `${group(this.points.all.length)} points stand for `
        + `${plural(this.points.packets, "packet")}; marks are kept before plain packets.`
      : "Point at a packet, or step through them with the arrow keys.";
    const tool = (label, name, act) =>
      html("button", { type: "button", class: "tool", "aria-label": name, title: name,
                       onclick: act }, label);
    by_id("sequence-tools").replaceChildren(
      tool("←", "Earlier", () => view.pan(-0.25)), tool("→", "Later", () => view.pan(0.25)),
      tool("+", "Zoom in", () => view.zoom(0.5)), tool("−", "Zoom out", () => view.zoom(2)),
      tool("All", "Show all", () => graph.reset()),
      tool("Next mark", "Next mark", () => graph.go_to(
        this.points.next_notable(graph.cursor ? graph.cursor.index : -1, 1))));
    by_id("sequence-legend").replaceChildren(...Object.keys(kMarks)
      .filter((kind) => this.points.counts[kind]).map((kind) => {
        const button = html("button", {
          type: "button", class: "legend-item", "aria-pressed": "true",
          onclick: () => {
            button.setAttribute("aria-pressed", String(graph.hidden.has(kind)));
            graph.toggle(kind);
          } }, legend_picture(kind), mark_info(kind).name,
          html("span", { class: "count" }, group(this.points.counts[kind])));
        return html("li", null, button);
      }));
    const note = () => Object.assign(graph.stage.element.dataset,
                                     { from: view.from, to: view.to });
    view.watch(note);
    note();
    this.draw_marks();
  }

  // The marks as a table: for reading aloud, and for who likes a list better than a plot.
  draw_marks() {
    const most = 300;
    const { notable } = this.points;
    const details = by_id("sequence-marks");
    details.hidden = notable.length === 0;
    details.open = false;
    details.firstElementChild.textContent = notable.length > most
      ? `The first ${most} of ${group(notable.length)} marks as a table`
      : `The ${plural(notable.length, "mark")} as a table`;
    const rows = notable.slice(0, most).map((point) => [
      html("a", { href: `#frame-${point.frame}`, onclick: (event) => {
        event.preventDefault();
        this.go_to_moment(point.t, point.t, point.frame);
      } }, point.frame ? `frame ${point.frame}` : "no frame"),
      moment(point.t), end_name(this.connection, point.from), mark_info(point.kind).name,
      String(this.points.absolute(point.space, point.psn)), sentence_case(point.text)]);
    details.lastElementChild.replaceChildren(
      table_of(["frame", "time", "sent by", "mark", "PSN", "what"], rows, [1, 4]));
  }

  draw_throughput() {
    const { connection, view } = this;
    const sides = (connection.throughput || {}).bytes || [];
    const present = sides.some((side) => side.some((count) => count > 0));
    by_id("throughput").hidden = !present;
    this.throughput = present ? new ThroughputPlot(by_id("throughput-plot"), connection, view,
                                                   by_id("throughput-readout")) : null;
    if (!present) return;
    by_id("throughput-readout").textContent =
      `Payload in steps of ${duration(this.throughput.bin)}, retransmissions included.`;
    by_id("throughput-legend").replaceChildren(...[0, 1]
      .filter((side) => this.throughput.peaks[side] > 0).map((side) =>
        html("li", { class: "legend-item" },
          svg("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" },
            svg("path", { class: `area-${side}`, d: side ? "M1 1H21V11H1z" : "M1 13V3H21V13z" }),
            svg("path", { class: `edge-${side}`, d: side ? "M1 11H21" : "M1 3H21" })),
          `from ${end_name(connection, side)}${side ? ", downwards" : ""}`)));
  }

  draw_ladder() {
    const ladders = (this.connection.ladder || [])
      .filter(({ entries }) => entries && entries.length);
    by_id("ladder").hidden = ladders.length === 0;
    this.ladders = ladders;
    const buttons = ladders.map((ladder, index) =>
      switch_button(sentence_case(ladder.title || `Part ${index + 1}`), false,
                    () => this.show_ladder(index)));
    by_id("ladder-choices").replaceChildren(...buttons);
    if (ladders.length) this.show_ladder(0);
  }

  show_ladder(index) {
    [...by_id("ladder-choices").children].forEach((button, other) =>
      button.setAttribute("aria-pressed", String(other === index)));
    if (this.ladder) this.ladder.stage.close();
    by_id("ladder-readout").textContent = "";
    this.ladder = new Ladder(by_id("ladder-plot"), this.connection, this.ladders[index],
      by_id("ladder-readout"), (entry) => this.go_to_moment(entry.t, entry.t, entry.frame));
  }

  draw_latency() {
    const { connection } = this;
    const operations = connection.operations || [];
    const plotted = operations.filter((operation) => buckets_of(operation).length > 0);
    by_id("latency").hidden = operations.length === 0;
    by_id("latency-table").replaceChildren(latency_table(connection));
    const show = (index) => {
      buttons.forEach((button, other) =>
        button.setAttribute("aria-pressed", String(other === index)));
      if (this.histogram) this.histogram.stage.close();
      by_id("latency-readout").textContent = "";
      this.histogram = new LatencyHistogram(by_id("latency-plot"), connection, plotted[index],
                                            by_id("latency-readout"));
    };
    const buttons = plotted.map((operation, index) =>
      switch_button(operation_name(operation, connection), false, () => show(index)));
    by_id("latency-choices").replaceChildren(...(buttons.length > 1 ? buttons : []));
    by_id("latency-plot").replaceChildren();
    by_id("latency-readout").hidden = plotted.length === 0;
    if (plotted.length) show(0);
  }

  // Moves the plots to a moment, marks it, and brings its ladder up.
  go_to_moment(from, to, frame) {
    const whole = this.view.whole[1] - this.view.whole[0];
    // As much around it as lets one see what led there.
    const around = Math.max((to - from) * 0.6, whole / 60, 500);
    this.view.moment = [from, to];
    const ladder = this.ladders.findIndex(({ entries, around_frame }) =>
      around_frame === frame || entries.some((entry) => entry.frame === frame));
    const exact = this.ladders.findIndex(({ around_frame }) => around_frame === frame);
    if (exact >= 0 || ladder >= 0) this.show_ladder(exact >= 0 ? exact : ladder);
    if (!this.graph) return;
    this.graph.psn_range = [null, null];
    this.graph.choose(this.graph.point_of(frame, from) || null, true);
    this.view.fly_to(from - around, to + around);
    this.graph.stage.element.focus({ preventScroll: true });
    by_id("sequence").scrollIntoView({ block: "start" });
  }

  close() {
    for (const plot of [this.graph, this.throughput, this.ladder, this.histogram]) {
      if (plot) plot.stage.close();
    }
  }
}
