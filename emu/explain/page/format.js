// SPDX-License-Identifier: BSD-3-Clause
// Figures as people read them. Times are nanoseconds.

const kTimeUnits = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

const group = (number) => (Math.round(number) + 0).toLocaleString("en-US");

const plural = (number, one, many) => `${group(number)} ${number === 1 ? one : many || one + "s"}`;

// Four figures, without zeros that say nothing.
function figure(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1000) return group(number);
  const digits = size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return String(Number(number.toFixed(digits)));
}

function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  const size = Math.abs(ns);
  const [name, unit] = kTimeUnits.find(([, each]) => size >= each) || kTimeUnits[3];
  return `${figure(ns / unit)} ${name}`;
}

function bytes(count) {
  if (count === null || count === undefined) return "–";
  const units = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
  const found = units.find(([, each]) => count >= each);
  return found ? `${figure(count / found[1])} ${found[0]}` : plural(count, "byte");
}

function rate(bits_per_second) {
  const units = [["Tbit/s", 1e12], ["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]];
  const found = units.find(([, each]) => bits_per_second >= each);
  return found ? `${figure(bits_per_second / found[1])} ${found[0]}`
               : `${figure(bits_per_second)} bit/s`;
}

// A moment of the capture, fine enough to tell it from others `grain` away: "12.345678 ms".
function moment(ns, grain = 1) {
  const size = Math.max(Math.abs(ns), grain);
  const [name, unit] = kTimeUnits.find(([, each]) => size >= each) || kTimeUnits[3];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / Math.max(grain, 1)))));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

const hexadecimal = (number, digits) => "0x" + number.toString(16).padStart(digits, "0");

// "psn_gap" to "PSN gap", "rdma_read" to "RDMA READ": for names the page has no words for.
const kCapitals = new Set(["psn", "nak", "rnr", "ack", "ecn", "cnp", "icrc", "mtu", "msn", "rd"]);
const words = (name) => String(name).split("_")
  .map((word) => kCapitals.has(word) ? word.toUpperCase() : word).join(" ");
const sentence_case = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// "1 loss, 2 NAKs and 3 CNPs"
const listed = (parts) => parts.length < 2 ? parts.join("")
  : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
