// SPDX-License-Identifier: BSD-3-Clause
// The time-sequence graph, in the manner of tcptrace: PSNs over time, one panel for the requests
// of each side. A request is a bar from its PSN to the next; the ACK line runs below what is in
// flight.

const kSequence = { left: 84, right: 14, top: 30, gap: 46, bottom: 30, heights: [400, 240] };

class SequenceGraph {
  constructor(place, points, view, readout) {
    Object.assign(this, { points, view, readout, cursor: null, box: null });
    this.hidden = new Set();
    this.psn_range = [null, null];  // chosen by a box; null: as the visible packets need
    this.panels = [];
    this.time_scale = new LinearScale(view.from, view.to, kSequence.left, 1000);
    this.stage = new Stage(place, this.label(), this);
    move_by_pointer(this.stage, this);
    view.watch(() => this.stage.request_redraw());
  }

  label() {
    return `Time-sequence graph: ${this.points.summary()}. Left and right go packet by packet, `
      + "up and down from mark to mark, plus and minus zoom, 0 shows all, Escape lets go.";
  }

  draw(width) {
    const { points, view } = this;
    const spaces = points.spaces.length ? points.spaces : [0];
    this.time_scale = new LinearScale(view.from, view.to, kSequence.left, width - kSequence.right);
    const narrow = width < 560;
    const each = spaces.length > 1 ? kSequence.heights[1] : kSequence.heights[0];
    const height_of_panel = narrow ? Math.min(each, 280) : each;
    let top = kSequence.top;
    this.panels = spaces.map((space) => {
      const panel = { space, top, bottom: top + height_of_panel };
      top = panel.bottom + kSequence.gap;
      return panel;
    });
    const height = top - kSequence.gap + kSequence.bottom;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                              "aria-label": `Time-sequence graph: ${points.summary()}` });
    root.append(svg("defs", null, this.panels.map((panel, index) =>
      svg("clipPath", { id: `sequence-clip-${index}` },
        svg("rect", { x: kSequence.left, y: panel.top - 12, height: panel.bottom - panel.top + 24,
                      width: Math.max(width - kSequence.left - kSequence.right, 1) })))));
    this.panels.forEach((panel, index) => root.append(...this.draw_panel(panel, index)));
    root.append(...this.draw_cursor(), ...this.draw_box());
    return root;
  }

  // The PSNs to show: all that is visible, with some air.
  range_of(space) {
    if (this.psn_range[space]) return this.psn_range[space];
    let low = Infinity, high = -Infinity;
    this.each_visible((point) => {
      if (point.space !== space || this.hidden.has(point.kind)) return;
      low = Math.min(low, point.psn);
      high = Math.max(high, point.psn + point.span);
    });
    if (low > high) [low, high] = [0, 1];
    const air = Math.max((high - low) * 0.06, 0.5);
    return [low - air, high + air];
  }

  each_visible(act) {
    const { all } = this.points;
    for (let index = this.points.first_from(this.view.from); index < all.length; ++index) {
      if (all[index].t > this.view.to) return;
      act(all[index]);
    }
  }

  draw_panel(panel, index) {
    const { points, time_scale } = this;
    const [low, high] = this.range_of(panel.space);
    panel.scale = new LinearScale(low, high, panel.bottom, panel.top);
    const title = `PSN of requests from ${end_name(points.connection, panel.space)}`;
    const clipped = svg("g", { "clip-path": `url(#sequence-clip-${index})` },
      moment_shade(this.view, time_scale, panel.top, panel.bottom), this.draw_points(panel));
    return [
      ...time_axis(time_scale, panel.top, panel.bottom), ...this.psn_axis(panel),
      svg("rect", { class: "frame", x: time_scale.begin, y: panel.top,
                    width: Math.max(time_scale.end - time_scale.begin, 0),
                    height: panel.bottom - panel.top }),
      svg_text(4, panel.top - 13, title, { class: "strong" }), clipped];
  }

  psn_axis(panel) {
    const { scale } = panel;
    const base = this.points.base[panel.space] || 0;
    const { at } = ticks(base + scale.from, base + scale.to, 6, 1);
    return at.map((psn) => {
      const y = scale.at(psn - base);
      return [svg("path", { class: "grid",
                            d: `M${this.time_scale.begin} ${y}H${this.time_scale.end}` }),
              svg_text(kSequence.left - 8, y + 4, this.points.absolute(panel.space, psn - base),
                       { "text-anchor": "end" })];
    }).flat();
  }

  draw_points(panel) {
    const paths = new Map();  // class -> path data; one element a class, however many packets
    const add = (name, d) => paths.set(name, (paths.get(name) || "") + d);
    const labelled = [];
    this.draw_line(panel, "ack", add);
    this.draw_line(panel, "credit", add);
    this.each_visible((point) => {
      if (point.space !== panel.space || this.hidden.has(point.kind)) return;
      const x = round_pixel(this.time_scale.at(point.t));
      const below = panel.scale.at(point.psn), above = panel.scale.at(point.psn + point.span);
      const [y0, y1] = [round_pixel(below), round_pixel(Math.min(above, below - 3))];
      const middle = round_pixel((y0 + y1) / 2);
      switch (point.kind) {
        case "request": return add("m-request", `M${x} ${y0}V${y1}`);
        case "response": return add("m-response", `M${x - 2} ${y0}h4V${y1}h-4z`);
        case "ack": return add("m-ack-tick", `M${x - 4} ${y1}h8`);
        case "credit": return undefined;
        case "retransmission": add("m-retransmitted", `M${x} ${y0}V${y1}`); break;
        case "nak": case "rnr": case "refused": case "cnp": break;
        default: add("m-request", `M${x} ${y0}V${y1}`);
      }
      for (const [name, d] of shape_of(point.kind, x, middle)) add(name, d);
      labelled.push([point, x, middle]);
      return undefined;
    });
    // What is filled comes last, on top of bars and lines.
    const order = ["m-request", "m-response", "m-credit", "m-ack", "m-ack-tick", "m-duplicate",
                   "m-retransmitted", "m-retransmitted-mark", "m-ecn", "m-cnp", "m-rnr", "m-nak",
                   "m-refused", "m-refused-bar", "m-lost"];
    const drawn = order.filter((name) => paths.has(name))
      .map((name) => svg("path", { class: name, d: paths.get(name) }));
    return [...this.draw_labels(labelled), ...drawn];
  }

  // A stair that only rises: below the ACK line all is acknowledged, by ACK, NAK or response.
  draw_line(panel, kind, add) {
    if (this.hidden.has(kind)) return;
    const raises = kind === "credit"
      ? { credit: 1 } : { ack: 1, nak: 0, rnr: 0, refused: 0, response: 1 };
    let level = -Infinity, d = "";
    for (const point of this.points.all) {
      if (point.space !== panel.space || !(point.kind in raises)) continue;
      if (point.t > this.view.to && d) break;
      const value = point.psn + (raises[point.kind] ? point.span : 0);
      if (value <= level) continue;
      const x = round_pixel(Math.max(this.time_scale.at(point.t), this.time_scale.begin - 20));
      const y = round_pixel(panel.scale.at(value));
      d = point.t < this.view.from || !d ? `M${x} ${y}` : `${d}H${x}V${y}`;
      level = value;
    }
    if (d) add(`m-${kind}`, `${d}H${this.time_scale.end}`);
  }

  // Names beside the marks, while they are few.
  draw_labels(labelled) {
    if (labelled.length > 40) return [];
    const taken = labelled.map(([, x, y]) => [x - 5, y - 5, x + 5, y + 5]);
    return labelled.map(([point, x, y], index) => {
      // Of a run of the same only the first.
      if (index > 0 && labelled[index - 1][0].kind === point.kind) return null;
      const text = mark_info(point.kind).name;
      const width = text.length * 6.6;
      const beside = "nak rnr cnp".includes(point.kind) ? -4 : 9;  // not on the ACK line
      const places = [[x + 10, y + beside], [x - 10 - width, y - 4], [x - width / 2, y - 18],
                      [x - width / 2, y + 18]];
      const box_at = ([left, middle]) => [left, middle - 7, left + width, middle + 7];
      const is_free = (place) => {
        const box = box_at(place);
        return box[0] > this.time_scale.begin && box[2] < this.time_scale.end
          && !taken.some((other) => box[0] < other[2] && other[0] < box[2]
                                    && box[1] < other[3] && other[1] < box[3]);
      };
      const place = places.find(is_free);
      if (!place) return null;
      taken.push(box_at(place));
      return svg_text(place[0], place[1] + 4, text, { class: "halo" });
    }).filter(Boolean);
  }

  place_of(point) {
    const panel = this.panels.find(({ space }) => space === point.space);
    if (!panel || !panel.scale) return null;
    return [this.time_scale.at(point.t), panel.scale.at(point.psn + point.span / 2), panel];
  }

  draw_cursor() {
    const place = this.cursor && this.place_of(this.cursor);
    if (!place) return [];
    const [x, y, panel] = place;
    if (x < this.time_scale.begin || x > this.time_scale.end) return [];
    const inside = Math.min(Math.max(y, panel.top), panel.bottom);
    return [svg("path", { class: "cursor-line", d: `M${x} ${panel.top}V${panel.bottom}` }),
            svg("circle", { class: "cursor-ring", cx: x, cy: inside, r: 10 })];
  }

  draw_box() {
    if (!this.box) return [];
    const [[x0, y0], [x1, y1]] = this.box;
    return [svg("rect", { class: "box", x: Math.min(x0, x1), y: Math.min(y0, y1),
                          width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) })];
  }

  show_box(begin, end) {
    this.box = [begin, end];
    this.stage.request_redraw();
  }

  on_box(begin, end) {
    this.box = null;
    const panel = this.panels.find(({ top, bottom }) =>
      begin[1] > top - 20 && begin[1] < bottom + 20);
    const [x0, x1] = [begin[0], end[0]].sort((a, b) => a - b);
    const [y0, y1] = [begin[1], end[1]].sort((a, b) => a - b);
    if (x1 - x0 < 4) return this.stage.request_redraw();
    if (panel && y1 - y0 > 8) {
      this.psn_range[panel.space] = [panel.scale.back(y1), panel.scale.back(y0)];
    }
    return this.view.set(this.time_scale.back(x0), this.time_scale.back(x1));
  }

  nearest(x, y) {
    let best = null, least = 45 ** 2;
    this.each_visible((point) => {
      if (this.hidden.has(point.kind)) return;
      const place = this.place_of(point);
      if (!place) return;
      const half = Math.abs(place[2].scale.slope) * point.span / 2;
      const dy = Math.max(Math.abs(y - place[1]) - half, 0);
      // A mark goes before the bar it stands on.
      const away = (x - place[0]) ** 2 + dy ** 2 - (mark_info(point.kind).notable ? 30 : 0);
      if (away < least) [best, least] = [point, away];
    });
    return best;
  }

  on_hover(x, y) {
    const point = this.nearest(x, y);
    if (point && point !== this.cursor) this.choose(point, false);
  }
  on_click(x, y) { this.on_hover(x, y); }
  on_leave() {}

  choose(point, aloud) {
    this.cursor = point;
    this.stage.element.dataset.frame = point ? point.frame : "";
    if (!point) {
      this.readout.textContent = "";
    } else {
      const [frame, ...parts] = this.points.parts(point);
      this.readout.replaceChildren(html("strong", null, frame), " · ", parts.join(" · "),
        ...(point.text ? [html("br"), sentence_case(point.text)] : []));
      if (aloud) speak(this.points.sentence(point));
    }
    this.stage.request_redraw();
  }

  go_to(point) {
    if (!point) return;
    this.view.reveal(point.t);
    this.choose(point, true);
  }

  // The packet of a frame, a mark before a plain one.
  point_of(frame, t) {
    const same = this.points.all.filter((point) => frame && point.frame === frame);
    return same.find(({ kind }) => mark_info(kind).notable) || same[0]
      || this.points.all[Math.min(this.points.first_from(t), this.points.all.length - 1)];
  }

  reset() {
    this.psn_range = [null, null];
    this.view.reset();
  }

  on_key(event) {
    const { all } = this.points;
    if (all.length === 0) return false;
    if (event.key === "0") { this.reset(); return true; }
    if (move_by_key(event, this.view, this.cursor ? this.cursor.t : undefined)) return true;
    const seen = (index, step) => {
      while (all[index] && this.hidden.has(all[index].kind)) index += step;
      return all[index];
    };
    const here = this.cursor ? this.cursor.index : null;
    const entry = Math.min(this.points.first_from(this.view.from), all.length - 1);
    switch (event.key) {
      case "ArrowRight": this.go_to(seen(here === null ? entry : here + 1, 1)); return true;
      case "ArrowLeft":
        this.go_to(here === null ? seen(entry, 1) : seen(here - 1, -1)); return true;
      case "ArrowDown": case "PageDown":
        this.go_to(this.points.next_notable(here === null ? -1 : here, 1)); return true;
      case "ArrowUp": case "PageUp":
        this.go_to(this.points.next_notable(here === null ? all.length : here, -1)); return true;
      case "Home": this.go_to(seen(0, 1)); return true;
      case "End": this.go_to(seen(all.length - 1, -1)); return true;
      case "Escape":
        if (this.cursor) this.choose(null, false); else this.stage.element.blur();
        return true;
      default: return false;
    }
  }

  toggle(kind) {
    if (this.hidden.has(kind)) this.hidden.delete(kind); else this.hidden.add(kind);
    this.stage.request_redraw();
  }
}

const round_pixel = (value) => Math.round(value * 10) / 10;
