// SPDX-License-Identifier: BSD-3-Clause
// Counts of losses by their cause, and of what else kept a connection waiting.

const kCauses = {
  nak: "seen by a sequence NAK", selective: "seen by a selective ACK", timeout: "seen by a timeout",
  implied: "implied by a later response", unknown: "cause not in the capture",
  never: "never mended",
};

function bars_of(rows) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return html("div", { class: "bars" }, rows.map(([name, count]) => [
    html("span", null, name),
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "bar", width: count / most * 100, height: 10 })),
    html("span", { class: count ? "n" : "n z" }, group(count))]));
}

// Syndromes 0x20 to 0x3f are RNR NAKs (IBTA vol. 1, 9.7.5.2.8): they are told with the waits.
const is_rnr = (syndrome) => /^0x[23]/.test(syndrome);

const part_of = (title, ...content) => html("div", null, html("h4", null, title), ...content);

function percentile_pairs(latency) {
  if (!latency || !latency.samples) return [];
  return [["least", duration(latency.min)], ["p50", duration(latency.p50)],
          ["p99", duration(latency.p99)], ["most", duration(latency.max)]];
}

// Whatever figures the object has: numbers, times by their names' ending, lists in one line.
function figures_of(object) {
  return Object.entries(object || {}).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [sentence_case(words(name.replace(/_ns$/, ""))),
      typeof value === "number" ? (name.endsWith("_ns") ? duration(value) : group(value))
        : Array.isArray(value) ? value.join(" / ")
        : typeof value === "object"
          ? figures_of(value).map(([key, text]) => `${key} ${text}`).join(", ")
        : String(value)]);
}

function loss_parts(connection) {
  const losses = connection.losses || {};
  const causes = losses.by_cause || {};
  const parts = [losses.packets || losses.losses
    ? part_of(`${plural(losses.packets || 0, "lost packet")}, by cause`,
              bars_of(Object.entries(kCauses).map(([key, name]) => [name, causes[key] || 0])))
    : part_of("No packet was lost")];
  const recovery = percentile_pairs(losses.recovery_ns);
  if (recovery.length) parts.push(part_of("Time until a loss was mended", pairs_of(recovery)));
  const rnr = connection.rnr || {};
  if (rnr.naks) {
    parts.push(part_of("Receiver not ready",
      pairs_of([["RNR NAKs", group(rnr.naks)], ["waited", duration(rnr.waited_ns)]])));
  }
  const naks = Object.entries(connection.naks || {}).filter(([name]) => !is_rnr(name));
  if (naks.length) {
    parts.push(part_of("NAKs",
      bars_of(naks.map(([name, count]) => [kNakNames[name] || words(name), count]))));
  }
  const marks = (connection.directions || []).map((direction, side) =>
    [end_name(connection, side), `${plural(direction.ecn_marked || 0, "packet")} marked, `
      + `${plural(direction.cnps || 0, "CNP")} sent`]);
  if ((connection.directions || []).some(({ ecn_marked, cnps }) => ecn_marked || cnps)) {
    parts.push(part_of("Congestion", pairs_of(marks)));
  }
  const credits = figures_of(connection.credits);
  if (credits.length) parts.push(part_of("End-to-end credits", pairs_of(credits)));
  const findings = Object.entries(connection.findings || {});
  if (findings.length) {
    parts.push(part_of("Findings",
      bars_of(findings.map(([name, count]) => [sentence_case(words(name)), count]))));
  }
  return parts;
}
