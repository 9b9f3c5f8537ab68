"use strict";
(() => {
  const nav = document.querySelector("nav"), tip = document.getElementById("tip"), chosen = {};
  const show = () => {
    for (const one of document.querySelectorAll("[data-learner]")) {
      one.hidden = Object.entries(chosen).some(
        ([kind, name]) => name && one.dataset[kind] && one.dataset[kind] !== name);
    }
    for (const button of nav.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String((chosen[button.name] || "") === button.value));
    }
  };
  nav.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    chosen[button.name] = button.value;
    show();
  });
  const tell = (event) => {
    const cell = event.target.closest ? event.target.closest(".cell[aria-label]") : null;
    tip.textContent = cell ? cell.getAttribute("aria-label") : "";
    tip.hidden = !cell;
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tell);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
    const cell = event.target.closest(".cell[aria-label]");
    if (!cell || !event.key.startsWith("Arrow")) return;
    const each = [...cell.closest("svg").querySelectorAll(".cell")];
    const across = each.findIndex((one) => one.getBoundingClientRect().top > each[0].getBoundingClientRect().top);
    const width = across < 0 ? each.length : across;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: width, ArrowUp: -width }[event.key];
    let at = each.indexOf(cell) + step;
    while (each[at] && !each[at].hasAttribute("aria-label")) at += step;
    if (each[at]) { cell.tabIndex = -1; each[at].tabIndex = 0; each[at].focus(); }
    event.preventDefault();
  });
  nav.hidden = false;
  show();
})();
