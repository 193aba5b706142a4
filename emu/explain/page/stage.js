// SPDX-License-Identifier: BSD-3-Clause
// What all plots have in common: a focusable stage that is drawn again when its width changes,
// with pointer, wheel and keys handed to the plot.

class Stage {
  // plot: { draw(width) -> svg, on_key(event) -> handled, on_hover(x, y), on_leave() }
  constructor(place, label, plot) {
    this.plot = plot;
    this.element = html("div", { class: "stage", tabindex: "0", role: "application",
                                 "aria-roledescription": "plot", "aria-label": label });
    this.element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (plot.on_key(event)) event.preventDefault();
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons === 0) plot.on_hover(...this.position(event));
    });
    this.element.addEventListener("pointerleave", () => plot.on_leave());
    place.replaceChildren(this.element);
    this.sizes = new ResizeObserver(() => this.redraw());
    this.sizes.observe(this.element);
    this.redraw();
  }

  label(text) { this.element.setAttribute("aria-label", text); }
  position(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  // Once a frame at most, however often it is asked for.
  request_redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => this.redraw());
  }
  redraw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const width = Math.floor(this.element.clientWidth);
    if (width > 0) this.element.replaceChildren(this.plot.draw(width));
  }
  close() {
    this.sizes.disconnect();
    cancelAnimationFrame(this.pending);
  }
}

// Drag, wheel and view keys of a plot over time. plot: { view, time_scale, on_box?(from, to) }
function move_by_pointer(stage, plot) {
  const element = stage.element;
  let drag = null;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = stage.position(event);
    drag = { x, y, from: plot.view.from, to: plot.view.to, box: event.shiftKey && plot.on_box };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = stage.position(event);
    if (drag.box) {
      plot.show_box([drag.x, drag.y], [x, y]);
    } else if (Math.abs(x - drag.x) > 2 || drag.moved) {
      drag.moved = true;
      element.classList.add("dragged");
      const shift = (x - drag.x) / plot.time_scale.slope;
      plot.view.set(drag.from - shift, drag.to - shift);
    }
  });
  const finish = (event) => {
    if (!drag) return;
    const [x, y] = stage.position(event);
    const ended = drag;
    drag = null;
    element.classList.remove("dragged");
    if (ended.box) plot.on_box([ended.x, ended.y], [x, y]);
    else if (!ended.moved && plot.on_click) plot.on_click(x, y);
  };
  element.addEventListener("pointerup", finish);
  element.addEventListener("pointercancel", () => { drag = null; });
  element.addEventListener("dblclick", (event) =>
    plot.view.zoom(0.4, plot.time_scale.back(stage.position(event)[0])));
  element.addEventListener("wheel", (event) => {
    // An untouched plot lets the page scroll.
    if (document.activeElement !== element && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      return plot.view.pan(event.deltaX / (plot.time_scale.end - plot.time_scale.begin));
    }
    plot.view.zoom(1.0015 ** event.deltaY, plot.time_scale.back(stage.position(event)[0]));
  }, { passive: false });
}

// Keys that move the view; true when it was one.
function move_by_key(event, view, around) {
  switch (event.key) {
    case "+": case "=": view.zoom(0.5, around); return true;
    case "-": case "_": case "−": view.zoom(2, around); return true;
    case "0": view.reset(); return true;
    case "ArrowLeft": if (event.shiftKey) { view.pan(-0.25); return true; } return false;
    case "ArrowRight": if (event.shiftKey) { view.pan(0.25); return true; } return false;
    default: return false;
  }
}
