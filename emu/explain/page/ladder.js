// SPDX-License-Identifier: BSD-3-Clause
// The message ladder: what one side said to the other, in order, one rung a packet. What was lost
// ends in a cross on its way, what was refused in an octagon; time runs down, in steps.

const kLadder = { rung: 34, top: 46, bottom: 14, pause: 26 };
const kOutcomeWords = { lost: "lost", refused: "refused", retransmitted: "sent again",
                        duplicate: "duplicate" };

class Ladder {
  constructor(place, connection, ladder, readout, watch) {
    Object.assign(this, { connection, ladder, readout, watch, cursor: null });
    this.entries = ladder.entries || [];
    this.lay_out();
    this.stage = new Stage(place, this.label(), this);
    this.stage.element.addEventListener("click", (event) => {
      const index = this.entry_at(this.stage.position(event)[1]);
      if (index >= 0) this.choose(index, false);
    });
  }

  label() {
    return `Message ladder, ${this.ladder.title}: ${plural(this.entries.length, "packet")} between `
      + `${end_name(this.connection, 0)} and ${end_name(this.connection, 1)}. `
      + "Up and down go from packet to packet, Enter shows it in the time-sequence graph.";
  }

  // A pause much longer than what is usual here gets a line of its own.
  lay_out() {
    const steps = this.entries.slice(1).map((entry, index) => entry.t - this.entries[index].t);
    const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] || 0;
    let y = kLadder.top;
    this.rows = this.entries.map((entry, index) => {
      const step = index ? steps[index - 1] : 0;
      const pause = step > Math.max(usual * 10, 1000) ? step : 0;
      if (pause) y += kLadder.pause;
      const row = { y, pause };
      y += kLadder.rung;
      return row;
    });
    this.height = y + kLadder.bottom;
  }

  draw(width) {
    const narrow = width < 560;
    const time_room = narrow ? 74 : 120;
    this.lines = [time_room + 12, width - (narrow ? 16 : 90)];
    const root = svg("svg", { width, height: this.height, role: "img", "aria-label": this.label(),
                              viewBox: `0 0 ${width} ${this.height}` });
    const ends = this.lines.map((x, side) => [
      svg("path", { class: "lifeline", d: `M${x} ${kLadder.top - 12}V${this.height - 4}` }),
      svg_text(side ? Math.min(x + 84, width - 2) : x, kLadder.top - 22,
               end_name(this.connection, side),
               { class: "strong", "text-anchor": side ? "end" : narrow ? "middle" : "start" })]);
    root.append(...this.entries.map((entry, index) => this.draw_rung(entry, index, width, narrow)),
                ...ends.flat());
    return root;
  }

  draw_rung(entry, index, width, narrow) {
    const { y, pause } = this.rows[index];
    const classes = ["rung"];
    if (index === this.cursor) classes.push("chosen");
    if (entry.frame && entry.frame === this.ladder.around_frame) classes.push("around");
    const [start, end] = entry.from === 0 ? this.lines : [this.lines[1], this.lines[0]];
    const sign = Math.sign(end - start);
    const outcome = entry.outcome || "arrived";
    const style = outcome === "lost" || outcome === "refused" || this.is_nak(entry) ? "bad"
      : outcome === "retransmitted" ? "retransmitted" : outcome === "duplicate" ? "duplicate"
      : this.is_answer(entry) ? "answer" : "";
    const from_y = y + 17, to_y = y + 27;
    const share = outcome === "lost" ? 0.62 : 1;
    const tip_x = start + (end - start) * share - sign * (share < 1 ? 0 : 3);
    const tip_y = from_y + (to_y - from_y) * share;
    const parts = [
      svg("rect", { class: "hit", x: 0, y: y + 1, width, height: kLadder.rung - 2, rx: 4 }),
      svg("path", { class: `arrow ${style}`,
                    d: `M${start + sign * 2} ${from_y}L${tip_x} ${tip_y}` })];
    if (outcome === "lost") {
      parts.push(...shape_of("lost", tip_x, tip_y)
        .map(([name, d]) => svg("path", { class: name, d })));
    } else if (outcome === "refused") {
      parts.push(...shape_of("refused", tip_x - sign * 4, tip_y)
        .map(([name, d]) => svg("path", { class: name, d })));
    } else {
      parts.push(svg("path", { class: `arrow-head ${style}`,
        d: `M${tip_x} ${tip_y}l${-sign * 10} -5.5l${-sign * 1} 10z` }));
    }
    const room = this.lines[1] - this.lines[0] - 24;
    const label = fitted(this.words(entry), room / 6.5);
    parts.push(svg_text((this.lines[0] + this.lines[1]) / 2, y + 13, label,
                        { class: "rung-label halo", "text-anchor": "middle" }),
               svg_text(this.lines[0] - 10, from_y + 6, this.time(entry, narrow),
                        { "text-anchor": "end" }));
    if (pause) {
      parts.push(svg_text((this.lines[0] + this.lines[1]) / 2, y - 8, `${duration(pause)} later`,
                          { class: "pause halo", "text-anchor": "middle" }));
    }
    return svg("g", { class: classes.join(" ") }, parts);
  }

  is_answer(entry) { return /acknowledge|response|^ack|cnp/i.test(entry.opcode || ""); }
  is_nak(entry) { return /NAK/.test(entry.answer); }

  time(entry, narrow) {
    const first = this.entries[0].t;
    const span = this.entries[this.entries.length - 1].t - first;
    return moment(entry.t, narrow ? Math.max(span / 1000, 10) : Math.max(span / 1e5, 1));
  }

  words(entry) {
    const parts = [entry.opcode, `PSN ${entry.psn}`];
    if (entry.answer) parts.push(entry.answer);
    if (entry.bytes > 0) parts.push(bytes(entry.bytes));
    if (entry.outcome in kOutcomeWords) parts.push(kOutcomeWords[entry.outcome].toUpperCase());
    return parts.join(" · ");
  }

  text(entry) {
    return [entry.frame ? `Frame ${entry.frame}` : "No frame", moment(entry.t),
            [entry.from, 1 - entry.from].map((side) => end_name(this.connection, side))
              .join(" → "),
            this.words(entry), entry.text ? sentence_case(entry.text) : ""]
      .filter(Boolean).join(" · ");
  }

  choose(index, aloud) {
    this.cursor = index;
    const entry = index === null ? null : this.entries[index];
    this.readout.textContent = entry ? this.text(entry) : "";
    this.stage.element.dataset.frame = entry ? entry.frame : "";
    if (aloud && entry) speak(this.text(entry));
    this.stage.request_redraw();
  }

  // Keeps the chosen rung in sight; the ladder may be taller than the window.
  scroll_to(index) {
    const box = this.stage.element.getBoundingClientRect();
    const y = box.top + this.rows[index].y;
    if (y < 60) scrollBy(0, y - 120);
    else if (y > innerHeight - 100) scrollBy(0, y - innerHeight + 160);
  }

  entry_at(y) {
    return this.rows.findIndex((row) => y >= row.y && y < row.y + kLadder.rung);
  }
  on_hover(x, y) {
    const index = this.entry_at(y);
    if (index >= 0 && index !== this.cursor) this.choose(index, false);
  }
  on_leave() {}

  on_key(event) {
    if (this.entries.length === 0) return false;
    const go = (index) => {
      const kept = Math.min(Math.max(index, 0), this.entries.length - 1);
      this.choose(kept, true);
      this.scroll_to(kept);
      return true;
    };
    switch (event.key) {
      case "ArrowDown": case "ArrowRight": return go(this.cursor === null ? 0 : this.cursor + 1);
      case "ArrowUp": case "ArrowLeft": return go(this.cursor === null ? 0 : this.cursor - 1);
      case "Home": return go(0);
      case "End": return go(this.entries.length - 1);
      case "Enter":
        if (this.cursor !== null) this.watch(this.entries[this.cursor]);
        return this.cursor !== null;
      case "Escape":
        if (this.cursor !== null) this.choose(null, false); else this.stage.element.blur();
        return true;
      default: return false;
    }
  }
}

const fitted = (text, letters) =>
  text.length <= letters ? text : `${text.slice(0, Math.max(Math.floor(letters) - 1, 1))}…`;
