// SPDX-License-Identifier: BSD-3-Clause
// What the tests ask the page; it is no part of the page and is evaluated in it by the tests.
(() => {
  const channels = (color) => {
    const found = /rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:,? ?\/? ?([\d.]+))?\)/.exec(color);
    return found ? [found[1], found[2], found[3], found[4] === undefined ? 1 : found[4]].map(Number)
      : null;
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((channel) => {
      const c = channel / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // WCAG 2.2, 1.4.3.
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color && color[3] === 1) return color;
    }
    return channels(getComputedStyle(document.body).backgroundColor);
  };
  const is_shown = (element) => element.checkVisibility({ visibilityProperty: true })
    && !element.closest(".unseen, .skip");
  const named = (element) => element.tagName.toLowerCase()
    + (element.className.baseVal ?? element.className ? "." + (element.className.baseVal
       ?? element.className).trim().replaceAll(" ", ".") : "");

  const has_text = (element) => [...element.childNodes].some(
    (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());

  window.reading = {
    // Elements whose text stands out less than 4.5 to 1, marks less than 3 to 1.
    faint() {
      const found = new Map();
      for (const element of document.querySelectorAll("body *")) {
        if (!has_text(element) || !is_shown(element) || element.tagName === "SCRIPT") continue;
        const style = getComputedStyle(element);
        const ink = channels(element.closest("svg") ? style.fill : style.color);
        const ratio = contrast(ink, ground(element));
        if (ratio < 4.5) found.set(`${named(element)} text ${ratio.toFixed(2)}`, true);
      }
      const marks = "[class^='m-'], .bar, .arrow, .lifeline, .edge-0, .edge-1, .percentile";
      for (const element of document.querySelectorAll(marks)) {
        if (!is_shown(element) || named(element).includes("-bar")) continue;
        const style = getComputedStyle(element);
        const inks = [style.stroke, style.fill].map(channels).filter(Boolean);
        const ratio = Math.max(...inks.map((ink) => contrast(ink, ground(element))));
        if (ratio < 3) found.set(`${named(element)} ${ratio.toFixed(2)}`, true);
      }
      return [...found.keys()];
    },
    // Elements that can be used but have no name to be called by.
    nameless() {
      return [...document.querySelectorAll("button, a, input, [tabindex='0'], svg[role='img']")]
        .filter((element) => is_shown(element) && !element.labels?.length
          && !(element.getAttribute("aria-label") || element.textContent).trim()).map(named);
    },
    // What reaches over the page's right edge without a region that scrolls.
    overhang() {
      const width = document.documentElement.clientWidth;
      return [...document.querySelectorAll("body *")].filter((element) => is_shown(element)
        && !element.closest(".scroll, svg *") && element.getBoundingClientRect().right > width + 1)
        .map(named).slice(0, 5);
    },
    doubled_ids() {
      const seen = new Set();
      return [...document.querySelectorAll("[id]")].map(({ id }) => id)
        .filter((id) => seen.size === seen.add(id).size);
    },
    rows() {
      return [...document.querySelectorAll("#connection-table tbody tr")].filter((row) => !row.hidden)
        .map((row) => [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent));
    },
    focus() {
      const element = document.activeElement;
      const card = element.closest("section, header, .skip");
      const box = element.getBoundingClientRect();
      return { what: named(element), where: card ? card.id || named(card) : "",
               text: (element.getAttribute("aria-label") || element.textContent).trim().slice(0, 60),
               ring: getComputedStyle(element).outlineStyle !== "none",
               seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight };
    },
    view() {
      const { from, to, frame } = document.querySelector("#sequence-plot .stage").dataset;
      return { from: Number(from), to: Number(to), frame: frame || "" };
    },
    text: (id) => document.getElementById(id).textContent,
    marks: () => Object.fromEntries([...document.querySelectorAll("#sequence-legend button")].map(
      (button) => [button.childNodes[1].textContent, Number(button.lastChild.textContent.replaceAll(",", ""))])),
  };
})();
