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
               late: "begun before the capture" }[connection.established]);
  terms.push({ open: "open at the end", disconnected: "disconnected", refused: "ended by a refusal",
               exhausted: "ended: retries exhausted" }[connection.ended] || connection.ended);
  return terms.filter(Boolean).join(" · ");
}

class Account {
  constructor(explanation, connection) {
    this.connection = connection;
    this.losses = losses_of(explanation, connection);
    this.moments = (explanation.worst_moments || []).map(moment_of);
    this.ladders = ladders_of(connection, this.losses, this.moments);
    this.view = new TimeView(connection.begins_ns || 0, Math.max(connection.ends_ns || 0,
                             connection.begins_ns || 0));
    this.draw_head();
    this.draw_sequence();
    this.draw_throughput();
    this.draw_ladder();
    this.draw_latency();
    by_id("losses-body").replaceChildren(...loss_parts(connection));
    this.draw_losses();
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
        this.frame_link(fault.frame, fault.at_ns || 0),
        ` ${sentence_case(fault.sentence || words(fault.kind))}`);
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
    this.points = new SequencePoints(connection, this.losses, this.moments);
    const present = this.points.all.length > 0;
    by_id("sequence").hidden = !present;
    this.graph = null;
    if (!present) return;
    this.graph = new SequenceGraph(by_id("sequence-plot"), this.points, view,
                                   by_id("sequence-readout"));
    const { graph } = this;
    by_id("sequence-readout").textContent = this.points.left_out
      ? `${group(this.points.all.length)} points stand for `
        + `${plural(this.points.all.length + this.points.left_out, "packet")}; `
        + "marks are kept before plain packets."
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
      this.frame_link(point.frame, point.t),
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
    const { ladders } = this;
    by_id("ladder").hidden = ladders.length === 0;
    const buttons = ladders.map((ladder, index) =>
      switch_button(ladder.title, false,
                    () => this.show_ladder(index)));
    by_id("ladder-choices").replaceChildren(...(buttons.length > 1 ? buttons : []));
    if (ladders.length) this.show_ladder(0);
  }

  show_ladder(index) {
    [...by_id("ladder-choices").children].forEach((button, other) =>
      button.setAttribute("aria-pressed", String(other === index)));
    if (this.ladder) this.ladder.stage.close();
    by_id("ladder-readout").textContent =
      "Up and down step through the packets; Enter shows one in the time-sequence graph.";
    this.ladder = new Ladder(by_id("ladder-plot"), this.connection, this.ladders[index],
      by_id("ladder-readout"), (entry) => this.go_to_moment(entry.t, entry.t, entry.frame));
  }

  draw_latency() {
    const { connection } = this;
    const operations = connection.operations || [];
    const plotted = operations.filter((operation) => bars_of_latency(operation).length > 0);
    by_id("latency").hidden = operations.length === 0;
    by_id("latency-table").replaceChildren(latency_table(connection));
    const show = (index) => {
      buttons.forEach((button, other) =>
        button.setAttribute("aria-pressed", String(other === index)));
      if (this.histogram) this.histogram.stage.close();
      by_id("latency-readout").textContent = "Left and right step through the bars.";
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

  // A link that moves the plots to a frame.
  frame_link(frame, t) {
    return html("a", { href: `#frame-${frame}`, onclick: (event) => {
      event.preventDefault();
      this.go_to_moment(t, t, frame);
    } }, `frame ${frame}`);
  }

  // How each loss went: lost, noticed, sent again.
  draw_losses() {
    const most = 200;
    const { losses } = this;
    const details = by_id("losses-list");
    details.hidden = losses.length === 0;
    details.open = losses.length > 0 && losses.length <= 10;
    details.firstElementChild.textContent = losses.length > most
      ? `The first ${most} losses, one by one`
      : `${plural(losses.length, "loss", "losses")}, one by one`;
    const link = (frame, t) => frame ? this.frame_link(frame, t) : "–";
    const rows = losses.slice(0, most).map((loss) => {
      const noticed = (loss.lost_at_ns || 0) + (loss.noticed_after_ns || 0);
      return [moment(loss.lost_at_ns || 0), String(loss.psn || 0), group(loss.packets || 0),
        link(loss.lost_frame, loss.lost_at_ns || 0), link(loss.shown_frame, loss.lost_at_ns || 0),
        words(loss.cause || ""), link(loss.cause_frame, noticed),
        link(loss.again_frame, noticed + (loss.reacted_after_ns || 0)),
        group(loss.packets_again || 0), group(loss.rounds || 0),
        loss.gave_up ? "gave up" : duration(loss.time_lost_ns || 0)];
    });
    details.lastElementChild.replaceChildren(table_of(
      ["lost at", "PSN", "packets", "in", "gap seen in", "noticed by", "in", "sent again in",
       "packets again", "rounds", "time lost"], rows, [0, 1, 2, 8, 9, 10]));
  }

  // Moves the plots to a moment, marks it, and brings its ladder up.
  go_to_moment(from = 0, to = from, frame = 0) {
    this.view.moment = [from, to];
    const ladder = this.ladders.findIndex(({ entries, around_frame }) =>
      around_frame === frame || entries.some((entry) => entry.frame === frame));
    const exact = this.ladders.findIndex(({ around_frame }) => around_frame === frame);
    if (exact >= 0 || ladder >= 0) this.show_ladder(exact >= 0 ? exact : ladder);
    if (!this.graph) {
      by_id("account-title").focus({ preventScroll: true });
      by_id("account").scrollIntoView({ block: "start" });
      return;
    }
    this.graph.psn_range = [null, null];
    this.graph.choose(this.graph.point_of(frame, from) || null, true);
    this.view.fly_to(...this.surroundings(from, to));
    this.graph.stage.element.focus({ preventScroll: true });
    by_id("sequence").scrollIntoView({ block: "start" });
  }

  // A moment and as much around it as lets one see what led there: some packets, if they are near.
  surroundings(from, to) {
    const { all } = this.points;
    const whole = this.view.whole[1] - this.view.whole[0];
    const least = Math.max((to - from) * 0.3, whole / 60, 500), most = Math.max(least, whole / 3);
    const before = all[Math.max(this.points.first_from(from) - 8, 0)].t;
    const after = all[Math.min(this.points.first_from(to) + 8, all.length - 1)].t;
    const margin = (away) => Math.min(Math.max(away * 1.1, least), most);
    return [from - margin(from - before), to + margin(after - to)];
  }

  close() {
    for (const plot of [this.graph, this.throughput, this.ladder, this.histogram]) {
      if (plot) plot.stage.close();
    }
  }
}
