// SPDX-License-Identifier: BSD-3-Clause
// How long an operation takes: counts over latency on a logarithmic axis, percentiles marked.

const kLatency = { left: 58, right: 18, top: 58, height: 200, bottom: 44 };
const kPercentiles = [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p999", "p99.9"]];

const kMostBars = 64;

// Bars of equal width on the logarithmic axis, each of the buckets whose middle lies in it: no
// finer than the buckets are, and no more than can be told apart.
function bars_of_latency(operation) {
  const given = operation.histogram || [];
  if (given.length === 0) return [];
  const error = (operation.latency_ns || {}).error || 1 / 128;
  const least = Math.max(given[0][0], 1);
  const most = Math.max(given[given.length - 1][0] * (1 + 2 * error), least + 1);
  const ratio = Math.max(1 + 4 * error, (most / least) ** (1 / kMostBars));
  const bars = [];
  for (const [lower, count] of given) {
    const middle = Math.max(lower, 1) * (1 + error);
    const place = Math.max(Math.floor(Math.log(middle / least) / Math.log(ratio)), 0);
    while (bars.length <= place) {
      bars.push({ lower: least * ratio ** bars.length, upper: least * ratio ** (bars.length + 1),
                  count: 0 });
    }
    bars[place].count += count;
  }
  return bars;
}

const operation_name = (operation, connection) =>
  `${String(operation.operation).replaceAll("_", " ").toUpperCase()} from `
    + end_name(connection, operation.from);

class LatencyHistogram {
  constructor(place, connection, operation, readout) {
    Object.assign(this, { connection, operation, readout, cursor: null });
    this.latency = operation.latency_ns || {};
    this.buckets = bars_of_latency(operation);
    this.total = this.buckets.reduce((sum, { count }) => sum + count, 0);
    this.stage = new Stage(place, this.label(), this);
  }

  label() {
    const marks = kPercentiles.filter(([key]) => this.latency[key] !== undefined)
      .map(([key, name]) => `${name} ${duration(this.latency[key])}`);
    return `Latency of ${operation_name(this.operation, this.connection)}: `
      + `${plural(this.latency.samples || 0, "sample")}, ${marks.join(", ")}. `
      + "Left and right go from bar to bar.";
  }

  draw(width) {
    const { left, right, top, bottom } = kLatency;
    const end = top + kLatency.height, height = end + bottom;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                              "aria-label": this.label() });
    const low = Math.min(this.latency.min || Infinity, this.buckets[0].lower);
    const high = Math.max(this.latency.max || 0, this.buckets[this.buckets.length - 1].upper);
    // At least a decade, so that equal latencies are one narrow bar and not a wall.
    const spread = Math.max(1, Math.sqrt(10 / (high / low)));
    this.scale = new LogScale(low / spread / 1.1, high * spread * 1.1, left, width - right);
    const most = Math.max(...this.buckets.map(({ count }) => count));
    this.counts = new LinearScale(0, most * 1.05, end, top);
    root.append(...this.latency_axis(top, end), ...this.count_axis(width - right));
    root.append(...this.buckets.map((bucket, index) => {
      const x = this.scale.at(bucket.lower) + 0.5;
      const y = Math.min(this.counts.at(bucket.count), end - (bucket.count ? 1.5 : 0));
      return svg("rect", { class: index === this.cursor ? "bar chosen" : "bar", x, y,
                           width: Math.max(this.scale.at(bucket.upper) - x - 0.5, 2),
                           height: end - y });
    }));
    root.append(svg("path", { class: "axis", d: `M${left} ${end}H${width - right}` }),
                ...this.percentile_marks(top, end, width - right));
    root.append(svg_text((left + width - right) / 2, height - 5, "latency",
                         { "text-anchor": "middle" }),
                svg_text(4, top - 10, "messages"));
    return root;
  }

  latency_axis(top, bottom) {
    const { from, to } = this.scale.linear;
    const parts = [];
    const room = (this.scale.linear.end - this.scale.linear.begin) / (to - from);
    for (let power = Math.floor(from); power <= Math.ceil(to); ++power) {
      for (let digit = 1; digit < 10; ++digit) {
        const value = digit * 10 ** power, x = this.scale.at(value);
        if (x < this.scale.linear.begin || x > this.scale.linear.end) continue;
        const labelled = digit === 1 || (room > 220 && (digit === 2 || digit === 5));
        parts.push(svg("path", { class: labelled ? "grid" : "axis",
                                 d: labelled ? `M${x} ${top}V${bottom}`
                                             : `M${x} ${bottom}v4` }));
        if (labelled) {
          parts.push(svg_text(x, bottom + 17, duration(value), { "text-anchor": "middle" }));
        }
      }
    }
    return parts;
  }

  count_axis(end) {
    const { at } = ticks(0, this.counts.to, 4, 1);
    return at.map((count) => {
      const y = this.counts.at(count);
      return [svg("path", { class: "grid", d: `M${kLatency.left} ${y}H${end}` }),
              svg_text(kLatency.left - 8, y + 4, group(count), { "text-anchor": "end" })];
    }).flat();
  }

  // Names stand above the plot, in as many rows as keep them apart.
  percentile_marks(top, bottom, end) {
    const rows = [];
    const names = new Map();  // of equal ones together
    for (const [key, name] of kPercentiles.filter(([key]) => this.latency[key] > 0)) {
      names.set(this.latency[key], [...(names.get(this.latency[key]) || []), name]);
    }
    return [...names].map(([latency, equal]) => {
      const x = this.scale.at(latency);
      const text = `${equal.join(" = ")}: ${duration(latency)}`;
      const width = text.length * 6.9;
      const left = Math.min(x + 4, end - width);
      let row = rows.findIndex((taken) => taken < left);
      if (row < 0) row = rows.push(0) - 1;
      rows[row] = left + width + 6;
      const y = top - 12 - Math.min(row, 2) * 16;
      return [svg("path", { class: "percentile", d: `M${x} ${y + 2}V${bottom}` }),
              svg("path", { class: "percentile-mark", d: `M${x - 4} ${bottom + 7}h8l-4 -7z` }),
              svg_text(left, y, text, { class: "strong halo" })];
    }).flat();
  }

  text() {
    const bucket = this.buckets[this.cursor];
    const share = this.total ? bucket.count / this.total * 100 : 0;
    const below = this.buckets.slice(0, this.cursor + 1).reduce((sum, { count }) => sum + count, 0);
    return `${duration(bucket.lower)} to ${duration(bucket.upper)}: `
      + `${plural(bucket.count, "message")} (${figure(share)} %); `
      + `${figure(below / this.total * 100)} % took no longer`;
  }

  choose(index, aloud) {
    this.cursor = index === null ? null : Math.min(Math.max(index, 0), this.buckets.length - 1);
    this.readout.textContent = this.cursor === null ? "" : this.text();
    if (aloud && this.cursor !== null) speak(this.text());
    this.stage.request_redraw();
  }

  on_hover(x) {
    const value = this.scale.back(x);
    const index = this.buckets.findIndex(({ lower, upper }) => value >= lower && value < upper);
    if (index >= 0) this.choose(index, false);
  }
  on_leave() {}

  on_key(event) {
    const go = (index) => { this.choose(index, true); return true; };
    switch (event.key) {
      case "ArrowRight": return go(this.cursor === null ? 0 : this.cursor + 1);
      case "ArrowLeft": return go(this.cursor === null ? 0 : this.cursor - 1);
      case "Home": return go(0);
      case "End": return go(this.buckets.length - 1);
      case "Escape":
        if (this.cursor !== null) this.choose(null, false); else this.stage.element.blur();
        return true;
      default: return false;
    }
  }
}

// The figures of the histograms, for reading and copying.
function latency_table(connection) {
  const columns = ["samples", "min", "p50", "p90", "p99", "p999", "max", "mean"];
  const titles = ["samples", "least", "p50", "p90", "p99", "p99.9", "most", "mean"];
  const rows = (connection.operations || []).map((operation) => {
    const latency = operation.latency_ns || {};
    return [operation_name(operation, connection), group(operation.messages || 0),
            bytes(operation.bytes || 0), group(operation.completed || 0),
            group(operation.refused || 0), group(operation.unanswered || 0),
            ...columns.map((name, index) => index === 0 ? group(latency.samples || 0)
                           : latency.samples ? duration(latency[name]) : "–")];
  });
  return table_of(["operation", "messages", "payload", "completed", "refused", "unanswered",
                   ...titles], rows, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
}
