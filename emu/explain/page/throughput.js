// SPDX-License-Identifier: BSD-3-Clause
// Throughput over time: the first side's payload above the line, the other's below it.

const kThroughput = { left: 84, right: 14, top: 12, height: 190, bottom: 30 };

class ThroughputPlot {
  constructor(place, connection, view, readout) {
    Object.assign(this, { connection, view, readout, cursor: null });
    const { begins_ns = 0, bin_ns = 1, bytes: sides = [[], []] } = connection.throughput || {};
    Object.assign(this, { begins: begins_ns, bin: Math.max(bin_ns, 1), sides });
    this.count = Math.max(sides[0].length, sides[1].length);
    this.peaks = sides.map((side) => this.bits(side.reduce((a, b) => Math.max(a, b), 0)));
    this.time_scale = new LinearScale(view.from, view.to, kThroughput.left, 1000);
    this.stage = new Stage(place, this.label(), this);
    move_by_pointer(this.stage, this);
    view.watch(() => this.stage.request_redraw());
  }

  bits(count) { return count * 8e9 / this.bin; }
  label() {
    const peak = [0, 1].map((side) =>
      `${end_name(this.connection, side)} at most ${rate(this.peaks[side] || 0)}`);
    return `Throughput over time, in steps of ${duration(this.bin)}: ${peak.join(", ")}. `
      + "Left and right go from step to step, plus and minus zoom, 0 shows all.";
  }

  draw(width) {
    const { top, left, right, bottom } = kThroughput;
    const end = top + kThroughput.height;
    const height = end + bottom;
    this.time_scale = new LinearScale(this.view.from, this.view.to, left, width - right);
    const high = this.peaks[0] || 0, low = this.peaks[1] || 0;
    const most = Math.max(high, low, 1);
    // A quiet side takes no room of its own.
    this.scale = new LinearScale(low > 0 ? -Math.max(low, most / 5) * 1.08 : 0,
                                 high > 0 ? Math.max(high, most / 5) * 1.08 : 0, end, top);
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                              "aria-label": this.label() });
    root.append(svg("defs", null, svg("clipPath", { id: "throughput-clip" },
      svg("rect", { x: left, y: top - 2, width: Math.max(width - left - right, 1),
                    height: kThroughput.height + 4 }))));
    root.append(...time_axis(this.time_scale, top, end), ...this.rate_axis());
    root.append(svg("g", { "clip-path": "url(#throughput-clip)" },
      moment_shade(this.view, this.time_scale, top, end),
      this.draw_side(0, 1), this.draw_side(1, -1), this.draw_cursor(top, end)));
    root.append(svg("path", { class: "axis", d: `M${left} ${this.scale.at(0)}H${width - right}` }));
    return root;
  }

  rate_axis() {
    const { at } = ticks(this.scale.from, this.scale.to, 5);
    return at.map((bits) => {
      const y = this.scale.at(bits);
      return [svg("path", { class: "grid", d: `M${kThroughput.left} ${y}H${this.time_scale.end}` }),
              svg_text(kThroughput.left - 8, y + 4, rate(Math.abs(bits)),
                       { "text-anchor": "end" })];
    }).flat();
  }

  bin_at(t) { return Math.floor((t - this.begins) / this.bin); }

  draw_side(side, sign) {
    const counts = this.sides[side] || [];
    if (!this.peaks[side]) return [];
    const first = Math.max(this.bin_at(this.view.from) - 1, 0);
    const last = Math.min(this.bin_at(this.view.to) + 1, counts.length - 1);
    const zero = round_pixel(this.scale.at(0));
    let edge = "";
    for (let bin = first; bin <= last; ++bin) {
      const from = round_pixel(this.time_scale.at(this.begins + bin * this.bin));
      const to = round_pixel(this.time_scale.at(this.begins + (bin + 1) * this.bin));
      const y = round_pixel(this.scale.at(sign * this.bits(counts[bin])));
      edge += edge ? `V${y}H${to}` : `M${from} ${zero}V${y}H${to}`;
    }
    if (!edge) return [];
    edge += `V${zero}`;
    return [svg("path", { class: `area-${side}`, d: `${edge}Z` }),
            svg("path", { class: `edge-${side}`, d: edge })];
  }

  draw_cursor(top, bottom) {
    if (this.cursor === null) return [];
    const x = this.time_scale.at(this.begins + (this.cursor + 0.5) * this.bin);
    return [svg("path", { class: "cursor-line", d: `M${x} ${top}V${bottom}` })];
  }

  text() {
    const from = this.begins + this.cursor * this.bin;
    const [first, second] = [0, 1].map((side) => {
      const count = (this.sides[side] || [])[this.cursor] || 0;
      return `${end_name(this.connection, side)}: ${rate(this.bits(count))} (${bytes(count)})`;
    });
    return `${moment(from, this.bin / 10)} to ${moment(from + this.bin, this.bin / 10)} · `
      + `${first} · ${second}`;
  }

  choose(bin, aloud) {
    this.cursor = bin === null || this.count === 0 ? null
      : Math.min(Math.max(bin, 0), this.count - 1);
    this.readout.textContent = this.cursor === null ? "" : this.text();
    if (aloud && this.cursor !== null) speak(this.text());
    this.stage.request_redraw();
  }

  on_hover(x) {
    const bin = this.bin_at(this.time_scale.back(x));
    if (x >= this.time_scale.begin && bin >= 0 && bin < this.count) this.choose(bin, false);
  }
  on_leave() {}

  on_key(event) {
    const middle = this.begins + ((this.cursor === null ? 0 : this.cursor) + 0.5) * this.bin;
    if (move_by_key(event, this.view, this.cursor === null ? undefined : middle)) return true;
    const go = (bin) => {
      this.choose(bin, true);
      this.view.reveal(this.begins + (this.cursor + 0.5) * this.bin);
      return true;
    };
    const here = this.cursor === null ? Math.max(this.bin_at(this.view.from), 0) - 1 : this.cursor;
    switch (event.key) {
      case "ArrowRight": return go(here + 1);
      case "ArrowLeft": return go(this.cursor === null ? 0 : here - 1);
      case "Home": return go(0);
      case "End": return go(this.count - 1);
      case "Escape":
        if (this.cursor !== null) this.choose(null, false); else this.stage.element.blur();
        return true;
      default: return false;
    }
  }
}
