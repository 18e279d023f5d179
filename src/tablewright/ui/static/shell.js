// What the frame needs in the browser: addresses, keys, dragging, menus. Everything else is drawn by the server.
"use strict";
(() => {
  const root = document.documentElement;
  const cookie = (name) => document.cookie.split("; ").find((each) => each.startsWith(name + "="))?.slice(name.length + 1);
  const keep = (name, value) => { document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`; };
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const theme = () => {
    const chosen = cookie("tablewright_theme") || "auto";
    root.dataset.theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    for (const each of document.querySelectorAll("[data-theme-choice]")) {
      each.setAttribute("aria-pressed", String(each.dataset.themeChoice === chosen));
    }
  };
  theme();
  dark.addEventListener("change", theme);
  keep("tablewright_zone", Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");

  const emit = (name, detail) => { if (window.emitEvent) window.emitEvent(name, detail); };
  const here = () => location.pathname + location.search;
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

  // Addresses: a plain click on a link of ours stays on the page, and Back works.
  const go = (address, replace = false) => {
    if (address !== here()) history[replace ? "replaceState" : "pushState"]({}, "", address);
    document.body.dataset.busy = "1";
    emit("tw-go", address);
  };
  addEventListener("popstate", () => { document.body.dataset.busy = "1"; emit("tw-go", here()); });

  addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.tw-menu[open]")) {
      const isInside = menu.contains(event.target);
      if (!isInside || event.target.closest(".tw-menu-item, .tw-choice")) setTimeout(() => { menu.open = false; });
    }
    const theming = event.target.closest("[data-theme-choice]");
    if (theming) { keep("tablewright_theme", theming.dataset.themeChoice); theme(); return; }
    const speaking = event.target.closest("[data-language-choice]");
    if (speaking) { keep("tablewright_language", speaking.dataset.languageChoice); location.reload(); return; }
    if (event.target.closest("[data-help]")) { help(); return; }
    const link = event.target.closest("a[data-go]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });

  // Until a page is connected, each event waits by itself, and what was pressed may overtake what was typed before it.
  const early = [];
  addEventListener("click", (event) => {
    const button = event.target.closest?.("button[type=button]");
    if (!button || window.did_handshake !== false) return;
    event.stopImmediatePropagation();
    if (early.push(button) > 1) return;
    const timer = setInterval(() => {
      if (!window.did_handshake) return;
      clearInterval(timer);
      setTimeout(() => { for (const each of early.splice(0)) each.click(); }, 60);
    }, 20);
  }, { capture: true });

  // Keys.
  const help = () => document.querySelector("dialog.tw-help")?.showModal();
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((each) => each.offsetParent !== null);
  const step = (by) => {
    const found = rows();
    if (!found.length) return;
    const at = found.indexOf(document.activeElement.closest?.("[data-row]"));
    const next = at < 0 ? found.findIndex((each) => each.hasAttribute("aria-current")) + (by > 0 ? 1 : 0) : at + by;
    const row = found[Math.max(0, Math.min(found.length - 1, next))];
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      // What is asked in a dialog comes before what is below it.
      const form = [...document.querySelectorAll(".q-dialog--modal .tw-dialog")].pop() ?? event.target.closest("[data-form]");
      form?.querySelector("[data-submit]")?.click();
      return;
    }
    if (event.key === "Escape") {
      const menu = document.querySelector("details.tw-menu[open]");
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); return; }
      if (typing(event.target)) { event.target.blur(); return; }
      if (document.querySelector(".q-dialog, dialog[open]")) return;
      // Of several ways back, that of what is on top: the last that is seen, or one that only a phone shows.
      const ways = [...document.querySelectorAll("a[data-back]")];
      (ways.filter((each) => each.offsetParent !== null).pop() ?? ways.pop())?.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector(".q-dialog, dialog[open]")) return;
    if (event.key === "/") { document.querySelector(".tw-search input")?.focus(); event.preventDefault(); }
    else if (event.key === "?") { help(); event.preventDefault(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else {
      const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (button && button.offsetParent !== null) { button.click(); event.preventDefault(); }
    }
  });
  let isLeaving = false;
  addEventListener("submit", (event) => {
    if (event.target.action?.endsWith("/sign-out")) isLeaving = true;
    const search = event.target.closest("form.tw-search");
    if (!search) return;
    event.preventDefault();
    emit("tw-search", search.querySelector("input").value);
  });
  addEventListener("input", (event) => {
    const search = event.target.closest("form.tw-search");
    if (search) { clearTimeout(search.timer); search.timer = setTimeout(() => emit("tw-typed", event.target.value), 120); }
  });

  // Dragging: a card with data-card onto a lane with data-lane; data-onto says which lanes take it.
  // data-version is sent along: what somebody saw when they took it.
  let card = null;
  const takes = (lane) => card !== null && (card.dataset.onto || "").split(" ").includes(lane.dataset.lane);
  addEventListener("dragstart", (event) => {
    card = event.target.closest?.("[data-card]") ?? null;
    if (!card) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.card);
    requestAnimationFrame(() => card?.setAttribute("data-dragged", ""));
    for (const lane of document.querySelectorAll("[data-lane]")) {
      if (!takes(lane) && !lane.contains(card)) lane.setAttribute("data-refuses", "");
    }
  });
  const over = (lane) => {
    for (const each of document.querySelectorAll("[data-over]")) if (each !== lane) each.removeAttribute("data-over");
    lane?.setAttribute("data-over", "");
  };
  addEventListener("dragover", (event) => {
    const lane = event.target.closest?.("[data-lane]");
    if (lane && takes(lane)) { event.preventDefault(); over(lane); } else over(null);
  });
  addEventListener("drop", (event) => {
    const lane = event.target.closest?.("[data-lane]");
    if (!lane || !takes(lane)) return;
    event.preventDefault();
    emit("tw-drop", { card: card.dataset.card, lane: lane.dataset.lane, version: card.dataset.version ?? "" });
  });
  addEventListener("dragend", () => {
    card?.removeAttribute("data-dragged");
    card = null;
    over(null);
    for (const each of document.querySelectorAll("[data-refuses]")) each.removeAttribute("data-refuses");
  });

  // The rest of a list is loaded when its end comes into view.
  const ends = new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) each.target.click();
  }, { rootMargin: "300px", scrollMargin: "300px" });
  const watched = new WeakSet();
  const look = () => {
    for (const each of document.querySelectorAll("[data-more]")) if (!watched.has(each)) { watched.add(each); ends.observe(each); }
  };
  addEventListener("DOMContentLoaded", () => {
    const said = document.querySelectorAll("#popup > span");
    if (said.length === 2) { said[0].textContent = root.dataset.lost; said[1].textContent = root.dataset.lostAbout; }
    document.getElementById("popup")?.setAttribute("role", "status");
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    look();
    theme();
  });

  window.tw = {
    go,
    // Called by the server when a view is drawn: the heading is where a screen reader goes on.
    drawn: (address, title, isNew) => {
      delete document.body.dataset.busy;
      document.title = title;
      theme();
      if (address && address !== here()) history.replaceState({}, "", address);
      if (isNew) document.getElementById("tw-content")?.focus({ preventScroll: true });
    },
    push: (address) => { if (address !== here()) history.pushState({}, "", address); },
    // Not where this tab is signing out: that leads elsewhere, perhaps to the issuer.
    leave: (address) => { if (!isLeaving) location.assign(address); },
  };
})();
