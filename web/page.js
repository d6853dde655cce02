import "./shared_ui/omnitalk-call.js";
import "./status.js";

/** @import { OmnitalkStatus } from './status.js' */

const call = /** @type {HTMLElement & {session: unknown}} */ (document.querySelector("omnitalk-call"));
const status = /** @type {OmnitalkStatus} */ (document.querySelector("omnitalk-status"));
const main = document.querySelector("main");
const frame = /** @type {HTMLIFrameElement} */ (document.querySelector("#demo iframe"));
const demoTab = /** @type {HTMLElement} */ (document.getElementById("tab-demo"));
let demo = "";
const tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tab]")]);

/** @param {HTMLElement} chosen @param {boolean} [focus] */
function show(chosen, focus = false) {
  for (const tab of tabs) {
    const on = tab === chosen;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    const panel = document.getElementById(String(tab.getAttribute("aria-controls")));
    if (panel) panel.hidden = !on;
  }
  if (main) main.scrollTop = 0; // both panels share it, and each begins at its top
  status.active = chosen.id === "tab-status";
  // Asked for when somebody wants it: it is many times as large as the page.
  if (chosen.id === "tab-demo" && !frame.src) frame.src = demo;
  if (focus) chosen.focus();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => show(tab));
  tab.addEventListener("keydown", (event) => {
    const there = tabs.filter((each) => !each.hidden);
    const at = there.indexOf(tab);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(there[(to + there.length) % there.length], true);
  });
}

call.setAttribute("transport", new URLSearchParams(location.search).get("transport") ?? "");
call.addEventListener("config", (event) => {
  const config = /** @type {CustomEvent} */ (event).detail;
  status.config = config;
  demo = config.gradio ?? "";
  demoTab.hidden = !demo;
});

const THEMES = /** @type {const} */ (["system", "light", "dark"]);
const WORDS = {system: "Colours: as the system", light: "Colours: light", dark: "Colours: dark"};
const button = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));

/** Reads and writes what the person chose; a browser that forbids storage forgets it, and nothing else changes. */
const memory = {
  get() { try { return localStorage.getItem("omnitalk-theme"); } catch { return null; } },
  /** @param {string} theme */
  set(theme) { try { localStorage.setItem("omnitalk-theme", theme); } catch { /* forgotten when the page closes */ } },
};

/** @param {typeof THEMES[number]} theme */
function paint(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.setAttribute("aria-label", WORDS[theme]);
  button.title = WORDS[theme];
}

let theme = THEMES.find((each) => each === memory.get()) ?? "system";
paint(theme);
button.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  memory.set(theme);
  paint(theme);
});
