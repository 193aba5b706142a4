// SPDX-License-Identifier: BSD-3-Clause
// Dark, light, or as the system has it.

function begin_theme() {
  const group = by_id("theme");
  const names = { auto: "As the system", light: "Light", dark: "Dark" };
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("softrnic-theme") || "auto";
  } catch { /* Storage may be forbidden to a file: then the choice lasts as long as the page. */ }
  const choose = (name) => {
    document.documentElement.dataset.theme = name;
    for (const button of group.children) {
      button.setAttribute("aria-pressed", String(button.dataset.name === name));
    }
    try { localStorage.setItem("softrnic-theme", name); } catch { /* as above */ }
  };
  for (const [name, label] of Object.entries(names)) {
    const button = switch_button(label, false, () => choose(name));
    button.dataset.name = name;
    group.append(button);
  }
  choose(chosen in names ? chosen : "auto");
  group.hidden = false;
}
