// SPDX-License-Identifier: BSD-3-Clause
// The table of connections, written into the page already: sorted, filtered and chosen from here.

class ConnectionTable {
  constructor(choose) {
    this.choose = choose;
    this.table = by_id("connection-table");
    this.body = this.table.tBodies[0];
    this.rows = [...this.body.rows];
    this.order = this.rows.slice();
    this.make_sortable();
    this.make_filter();
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (!row || event.target.closest("a")) return;
      if (getSelection().type !== "Range") choose(Number(row.dataset.connection));
    });
    this.body.addEventListener("keydown", (event) => this.on_key(event));
  }

  make_sortable() {
    [...this.table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = html("button", { type: "button", onclick: () => this.sort(column) });
      button.append(...cell.childNodes);
      cell.append(button);
    });
  }

  make_filter() {
    this.filter = html("input", { type: "search", id: "connection-filter", autocomplete: "off",
                                  spellcheck: "false", placeholder: "address, QP, service, state",
                                  oninput: () => this.show(),
                                  onkeydown: (event) => {
                                    if (event.key !== "Escape" || !this.filter.value) return;
                                    this.filter.value = "";
                                    this.show();
                                  } });
    this.faulty = html("input", { type: "checkbox", id: "connection-faulty",
                                  onchange: () => this.show() });
    this.count = html("span", { class: "quiet", role: "status" });
    by_id("connection-filters").replaceChildren(
      html("label", null, "Filter", this.filter),
      html("label", null, this.faulty, "only with faults"), this.count);
    by_id("connection-filters").hidden = false;
    this.show();
  }

  // Every word must be somewhere in the row.
  show() {
    const wanted = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of this.rows) {
      const text = row.textContent.toLowerCase();
      const fits = wanted.every((word) => text.includes(word))
        && (!this.faulty.checked || row.dataset.faults !== "0");
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    this.count.textContent = shown === this.rows.length ? plural(shown, "connection")
      : `${group(shown)} of ${plural(this.rows.length, "connection")}`;
  }

  sort(column) {
    const headings = [...this.table.tHead.rows[0].cells];
    const heading = headings[column];
    const numeric = heading.classList.contains("n");
    // Figures are looked at largest first, names from A on.
    const before = heading.getAttribute("aria-sort");
    const falling = before ? before === "ascending" : numeric && column > 0;
    for (const other of headings) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      return numeric ? Number(cell.dataset.value ?? cell.textContent) : cell.textContent;
    };
    const keyed = this.rows.map((row) => [value(row), row]);
    const compare = numeric ? (a, b) => a - b
      : new Intl.Collator("en", { numeric: true }).compare;
    keyed.sort(([a], [b]) => falling ? compare(b, a) : compare(a, b));
    this.order = keyed.map(([, row]) => row);
    this.body.append(...this.order);
  }

  // Up and down go from link to link, so that Tab needs only one stop for each.
  on_key(event) {
    const row = event.target.closest("tr");
    if (!row) return;
    const visible = this.order.filter((other) => !other.hidden);
    const here = visible.indexOf(row);
    const goal = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0,
                   End: visible.length - 1 }[event.key];
    if (goal === undefined) return;
    const next = visible[Math.min(Math.max(goal, 0), visible.length - 1)];
    event.preventDefault();
    next.querySelector("a").focus();
  }

  mark(id) {
    for (const row of this.rows) {
      const link = row.querySelector("a");
      if (Number(row.dataset.connection) === id) {
        row.setAttribute("aria-current", "true");
        link.tabIndex = 0;
      } else {
        row.removeAttribute("aria-current");
        link.tabIndex = -1;
      }
    }
  }

  focus(id) {
    const row = this.rows.find((other) => Number(other.dataset.connection) === id);
    if (row && !row.hidden) row.querySelector("a").focus();
  }
}
