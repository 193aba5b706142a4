// SPDX-License-Identifier: BSD-3-Clause
// Scales and their ticks.

// A round number at or above `size`: 1, 2 or 5 times a power of ten.
function round_step(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].find((factor) => factor * power >= size * 0.999999) * power;
}

function ticks(from, to, wanted, least_step = 0) {
  if (!(to > from)) return { step: 1, at: [from] };
  const step = Math.max(round_step((to - from) / Math.max(wanted, 1)), least_step);
  const at = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; ++n) at.push(n * step);
  return { step, at };
}

// Labels of times share their unit, that of the latest.
function time_label(ns, step, latest) {
  const size = Math.max(Math.abs(latest), step);
  const [name, unit] = kTimeUnits.find(([, each]) => size >= each) || kTimeUnits[3];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  return `${(ns / unit).toFixed(Math.min(digits, 9))} ${name}`;
}

class LinearScale {
  constructor(from, to, begin, end) {
    Object.assign(this, { from, to, begin, end, slope: (end - begin) / ((to - from) || 1) });
  }
  at(value) { return this.begin + (value - this.from) * this.slope; }
  back(pixel) { return this.from + (pixel - this.begin) / this.slope; }
}

class LogScale {
  constructor(from, to, begin, end) {
    this.linear = new LinearScale(Math.log10(from), Math.log10(to), begin, end);
  }
  at(value) { return this.linear.at(Math.log10(value)); }
  back(pixel) { return 10 ** this.linear.back(pixel); }
}

// The horizontal time axis with its grid, as parts of an svg.
function time_axis(scale, top, bottom) {
  const wanted = Math.max(2, Math.floor((scale.end - scale.begin) / 110));
  const { step, at } = ticks(scale.from, scale.to, wanted);
  const latest = Math.max(Math.abs(scale.from), Math.abs(scale.to));
  return at.map((ns) => {
    const x = scale.at(ns);
    const near_edge = x > scale.end - 30 ? "end" : x < scale.begin + 14 ? "start" : "middle";
    return [svg("path", { class: "grid", d: `M${x} ${top}V${bottom}` }),
            svg_text(x, bottom + 17, time_label(ns, step, latest), { "text-anchor": near_edge })];
  }).flat();
}
