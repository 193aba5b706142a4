// SPDX-License-Identifier: BSD-3-Clause
// Elements of the page. Text goes in as text, never as markup: a name of a capture stays a name.

const kSvgNamespace = "http://www.w3.org/2000/svg";

const by_id = (id) => document.getElementById(id);

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity)
    .filter((child) => child !== null && child !== undefined));
  return element;
}

const html = (name, properties, ...children) =>
  fill(document.createElement(name), properties, children);
const svg = (name, properties, ...children) =>
  fill(document.createElementNS(kSvgNamespace, name), properties, children);

const svg_text = (x, y, text, properties) => svg("text", { x, y, ...properties }, text);

// A button that is on or off.
const switch_button = (label, pressed, onclick) =>
  html("button", { type: "button", class: "tool", "aria-pressed": String(pressed), onclick },
       label);

// For screen readers: what the keyboard brought under the cursor.
function speak(text) {
  by_id("spoken").textContent = text;
}

const wants_stillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// A table of text; `numeric` are the columns to be set flush right.
function table_of(headings, rows, numeric = []) {
  const side = (column) => numeric.includes(column) ? "n" : null;
  return html("table", null,
    html("thead", null, html("tr", null,
      headings.map((text, column) => html("th", { scope: "col", class: side(column) }, text)))),
    html("tbody", null, rows.map((row) => html("tr", null,
      row.map((cell, column) => html("td", { class: side(column) }, cell))))));
}

// A list of named values.
const pairs_of = (pairs) => html("dl", { class: "pairs" },
  pairs.map(([name, value]) => [html("dt", null, name), html("dd", null, value)]));

const tiles_of = (tiles) => tiles.map(([name, value, more]) =>
  html("dl", { class: "tile" }, html("dt", null, name),
    html("dd", null, value, more ? html("small", null, more) : null)));
