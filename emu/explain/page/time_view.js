// SPDX-License-Identifier: BSD-3-Clause
// The stretch of time that the plots show; they share it, so one moves with the other.

const kLeastSpan = 50;  // ns

class TimeView {
  constructor(begin, end) {
    const span = Math.max(end - begin, 1000);
    this.whole = [begin - span * 0.02, begin + span * 1.02];
    [this.from, this.to] = this.whole;
    this.watchers = [];
    this.moment = null;  // [from, to] of the moment that is marked
    this.flight = 0;
  }

  watch(watcher) { this.watchers.push(watcher); }
  tell() { for (const watcher of this.watchers) watcher(); }
  get span() { return this.to - this.from; }

  set(from, to) {
    cancelAnimationFrame(this.flight);
    const most = (this.whole[1] - this.whole[0]) * 1.5;
    const middle = (from + to) / 2;
    const half = Math.min(Math.max(to - from, kLeastSpan), most) / 2;
    // What there is to see stays in sight.
    const kept = Math.min(Math.max(middle, this.whole[0]), this.whole[1]);
    this.from = kept - half;
    this.to = kept + half;
    this.tell();
  }

  reset() { this.set(...this.whole); }
  pan(share) { this.set(this.from + this.span * share, this.to + this.span * share); }
  zoom(factor, around = (this.from + this.to) / 2) {
    if (this.span * factor < kLeastSpan) return;
    this.set(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  // Brings a moment into sight in a quarter of a second, or at once.
  fly_to(from, to) {
    if (wants_stillness()) return this.set(from, to);
    const start = [this.from, this.to];
    const began = performance.now();
    const step = (now) => {
      const share = Math.min(Math.max((now - began) / 250, 0), 1);
      const eased = share * share * (3 - 2 * share);
      this.set(start[0] + (from - start[0]) * eased, start[1] + (to - start[1]) * eased);
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  // Moves only as far as is needed to see `at`.
  reveal(at) {
    const margin = this.span * 0.015;
    if (at < this.from + margin) this.set(at - margin * 12, at - margin * 12 + this.span);
    else if (at > this.to - margin) this.set(at + margin * 12 - this.span, at + margin * 12);
  }
}

// The shaded stretch of the marked moment.
function moment_shade(view, scale, top, bottom) {
  if (!view.moment) return [];
  const from = Math.max(scale.at(view.moment[0]), scale.begin - 2);
  const to = Math.min(scale.at(view.moment[1]), scale.end + 2);
  if (to < scale.begin || from > scale.end) return [];
  const width = Math.max(to - from, 3);
  return [svg("rect", { class: "moment", x: from, y: top, width, height: bottom - top }),
          svg("path", { class: "moment-edge",
                        d: `M${from} ${top}V${bottom}M${from + width} ${top}V${bottom}` })];
}
