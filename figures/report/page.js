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
    const cell = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.textContent = cell ? cell.dataset.tip : "";
    tip.hidden = !cell;
  };
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tell);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const cell = step && event.target.closest("[data-tip]");
    if (!cell) return;
    const each = [...cell.closest("svg").querySelectorAll("[data-tip]")];
    const next = each[each.indexOf(cell) + step];
    if (next) { cell.tabIndex = -1; next.tabIndex = 0; next.focus(); event.preventDefault(); }
  });
  nav.hidden = false;
  show();
})();
