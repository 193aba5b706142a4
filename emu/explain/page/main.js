// SPDX-License-Identifier: BSD-3-Clause
// Begins the page: reads the explanation that is embedded in it and listens to its links.

const kExplanation = JSON.parse(by_id("explanation").textContent);

let account = null;
let table = null;

const connection_of = (id) => (kExplanation.connections || []).find((one) => one.id === id);

function show_connection(id, focus) {
  const connection = connection_of(id);
  if (!connection) return false;
  if (!account || account.connection !== connection) {
    if (account) account.close();
    by_id("detail").hidden = false;
    account = new Account(kExplanation, connection);
    if (table) table.mark(id);
  }
  if (focus) {
    by_id("account-title").focus({ preventScroll: true });
    by_id("account").scrollIntoView({ block: "start" });
  }
  return true;
}

function show_moment(rank) {
  const moments = kExplanation.worst_moments || [];
  if (!moments[rank - 1]) return false;
  const chosen = moment_of(moments[rank - 1]);
  if (!show_connection(chosen.connection, false)) return false;
  document.querySelectorAll(".moments li").forEach((item) =>
    item.classList.toggle("chosen", item.id === `worst-${rank}`));
  account.go_to_moment(chosen.t, chosen.until, chosen.frame);
  return true;
}

function show_first_fault() {
  const fault = first_fault_of(kExplanation);
  if (!fault || !show_connection(fault.connection, false)) return false;
  account.go_to_moment(fault.at_ns, fault.at_ns, fault.frame);
  return true;
}

// "#connection-3", "#moment-2", "#first-fault": the page's links are addresses that can be shared.
function follow(address) {
  const [, what, number] = /^#(connection|moment)-(\d+)$/.exec(address) || [];
  if (what === "connection") return show_connection(Number(number), true);
  if (what === "moment") return show_moment(Number(number));
  return address === "#first-fault" && show_first_fault();
}

function begin() {
  document.documentElement.classList.add("scripted");
  begin_theme();
  if (by_id("connection-table")) table = new ConnectionTable((id) => show_connection(id, true));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const address = link.getAttribute("href");
    if (!follow(address)) return;
    event.preventDefault();
    history.replaceState(null, "", address);
  });
  addEventListener("hashchange", () => follow(location.hash));
  if (location.hash) {
    // After the browser has been where the address leads it by itself.
    addEventListener("load", () => requestAnimationFrame(() => follow(location.hash)));
  }
  const connections = kExplanation.connections || [];
  const fault = first_fault_of(kExplanation);
  const first = (fault && connection_of(fault.connection)) || connections[0];
  if (first) show_connection(first.id, false);
}

begin();
