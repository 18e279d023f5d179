// A calendar in the browser: dragging calls to other times, making them longer, choosing free times.
//
//   .tw-cal              data-taken: the word for a time that is taken
//     [data-column]      a day on the axis of minutes; data-length: minutes of the axis; data-bookable
//     [data-cell]        a day of a month
//     [data-event]       data-version, data-from, data-to (minutes), data-people; data-movable
//       [data-resize]    its lower edge
//
// What somebody does is sent to the server as the event "tw-calendar" of .tw-cal, which decides, and calls
// tw.settle(done): what was refused goes back to where it was.
"use strict";
(() => {
  const SNAP = 15;
  document.cookie = `tablewright_narrow=${innerWidth < 760 ? 1 : 0}; path=/; max-age=31536000; samesite=lax`;
  let drag = null;

  const calendar = () => document.querySelector(".tw-cal");
  const send = (detail) => calendar()?.dispatchEvent(new CustomEvent("tw-calendar", { detail }));
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const at = (x, y, selector) => document.elementsFromPoint(x, y).map((each) => each.closest(selector)).find(Boolean) ?? null;
  const minuteAt = (column, y) => {
    const box = column.getBoundingClientRect();
    return ((y - box.top) / box.height) * Number(column.dataset.length);
  };
  const snap = (minute) => Math.round(minute / SNAP) * SNAP;

  // Whether somebody of a call has another one then, of those that are shown; the server knows of the others.
  const isTaken = (column, event, from, to) => {
    const people = new Set((event?.dataset.people ?? "").split(" "));
    return [...column.querySelectorAll("[data-event][data-busy]")].some((other) =>
      other.dataset.event !== event?.dataset.event && Number(other.dataset.from) < to && from < Number(other.dataset.to) &&
      other.dataset.people.split(" ").some((each) => people.has(each)));
  };

  const draw = (column, from, to) => {
    const { ghost } = drag, box = column.getBoundingClientRect(), scale = box.height / Number(column.dataset.length);
    Object.assign(ghost.style, { left: `${box.left + 2}px`, width: `${box.width - 6}px`, top: `${box.top + from * scale}px`, height: `${Math.max(14, (to - from) * scale - 2)}px` });
    ghost.toggleAttribute("data-taken", drag.event !== null && isTaken(column, drag.event, from, to));
    const label = drag.ghost.querySelector("[data-ghost-time]");
    const clock = (minute) => {
      const hours = [...document.querySelectorAll("[data-hour]")];
      const hour = hours.filter((each) => Number(each.dataset.hour) <= minute).pop();
      if (!hour) return "";
      const rest = minute - Number(hour.dataset.hour);
      return rest >= 60 ? "24:00" : `${hour.textContent.split(":")[0].trim()}:${String(rest).padStart(2, "0")}`;
    };
    label.textContent = `${clock(from)} – ${clock(to)}` + (ghost.hasAttribute("data-taken") ? ` · ${calendar().dataset.taken}` : "");
  };

  const begin = () => {
    const ghost = document.createElement("div");
    ghost.className = `tw-cal-ghost ${drag.event ? drag.event.className : "tw-cal-event tw-cal-tone-new"}`;
    ghost.innerHTML = "<b></b><span data-ghost-time></span>";
    ghost.firstChild.textContent = drag.event?.dataset.title ?? "";
    if (drag.event) {
      const box = drag.event.getBoundingClientRect();
      drag.home = box;
      Object.assign(ghost.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
      drag.event.setAttribute("data-dragged", "");
    }
    document.body.append(ghost);
    document.body.dataset.dragging = "1";
    drag.ghost = ghost;
  };

  const follow = (x, y) => {
    const scroller = document.querySelector(".tw-cal-scroll");
    const edge = scroller?.getBoundingClientRect();
    if (edge && drag.kind !== "cell") {
      if (y < edge.top + 70) scroller.scrollTop -= 12;
      else if (y > edge.bottom - 30) scroller.scrollTop += 12;
    }
    if (drag.kind === "cell") {
      const cell = at(x, y, "[data-cell]");
      for (const each of document.querySelectorAll("[data-over]")) if (each !== cell) each.removeAttribute("data-over");
      cell?.setAttribute("data-over", "");
      drag.day = cell?.dataset.cell ?? null;
      Object.assign(drag.ghost.style, { left: `${x - 30}px`, top: `${y - 10}px` });
      return;
    }
    const column = drag.kind === "move" ? at(x, y, "[data-column]") ?? drag.column : drag.column;
    const length = Number(column.dataset.length), minute = minuteAt(column, y);
    if (drag.kind === "move") {
      drag.from = clamp(snap(minute - drag.grab), 0, length - SNAP);
      drag.to = drag.from + drag.minutes;
    } else {
      const other = snap(minute);
      drag.from = drag.kind === "size" ? drag.from : Math.min(drag.anchor, other);
      drag.to = clamp(Math.max(drag.kind === "size" ? drag.from + SNAP : drag.anchor + SNAP, other), drag.from + SNAP, length);
    }
    drag.column = column;
    draw(column, drag.from, drag.to);
  };

  addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || drag) return;
    const card = event.target.closest("[data-event]");
    const column = event.target.closest("[data-column]");
    if (card?.hasAttribute("data-movable")) {
      const from = Number(card.dataset.from), to = Number(card.dataset.to);
      drag = { event: card, x: event.clientX, y: event.clientY, from, to, minutes: Number(card.dataset.minutes), column };
      drag.kind = column === null ? "cell" : event.target.closest("[data-resize]") ? "size" : "move";
      if (column) drag.grab = minuteAt(column, event.clientY) - from;
    } else if (!card && column?.hasAttribute("data-bookable")) {
      const anchor = Math.floor(minuteAt(column, event.clientY) / SNAP) * SNAP;
      drag = { event: null, kind: "new", x: event.clientX, y: event.clientY, anchor, from: anchor, to: null, column };
    }
  });
  addEventListener("pointermove", (event) => {
    if (!drag || drag.sent) return;
    if (!drag.ghost) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 5) return;
      begin();
    }
    event.preventDefault();
    follow(event.clientX, event.clientY);
  });
  addEventListener("pointerup", (event) => {
    if (!drag || drag.sent) return;
    const done = drag;
    if (done.kind === "new") {
      // A click is a call of the usual length, dragging says how long it is.
      finish();
      if (at(event.clientX, event.clientY, "[data-column]") === done.column) {
        send({ kind: "new", day: done.column.dataset.column, minute: done.from, minutes: done.ghost ? done.to - done.from : null });
      }
      return;
    }
    if (!done.ghost) { drag = null; return; }
    // The click that follows would open the call.
    addEventListener("click", (click) => { click.preventDefault(); click.stopPropagation(); }, { capture: true, once: true });
    setTimeout(() => { if (drag === done) settle(false); }, 8000);
    const { call, version } = { call: done.event.dataset.event, version: done.event.dataset.version };
    done.sent = true;
    done.ghost.setAttribute("data-sent", "");
    if (done.kind === "cell") {
      if (done.day === null) settle(false);
      else send({ kind: "day", call, version, day: done.day });
    } else if (done.kind === "size") send({ kind: "size", call, version, minutes: done.to - done.from });
    else send({ kind: "move", call, version, day: done.column.dataset.column, minute: done.from });
  });
  const finish = () => {
    drag?.ghost?.remove();
    drag?.event?.removeAttribute("data-dragged");
    for (const each of document.querySelectorAll("[data-over]")) each.removeAttribute("data-over");
    delete document.body.dataset.dragging;
    drag = null;
  };
  const settle = (isDone) => {
    if (!drag?.ghost || isDone) { finish(); return; }
    const { ghost, home } = drag, going = drag;
    ghost.classList.add("tw-cal-back");
    Object.assign(ghost.style, { left: `${home.left}px`, top: `${home.top}px`, width: `${home.width}px`, height: `${home.height}px` });
    setTimeout(() => { if (drag === going) finish(); else ghost.remove(); }, 220);
  };
  addEventListener("pointercancel", () => { if (drag && !drag.sent) finish(); });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drag && !drag.sent) { event.stopImmediatePropagation(); settle(false); }
  }, { capture: true });
  addEventListener("dragstart", (event) => { if (event.target.closest?.("[data-event]")) event.preventDefault(); });

  // A day begins where its work begins.
  const scrolled = new WeakSet();
  const look = () => {
    const found = document.querySelector("[data-scroll-to]");
    if (!found || scrolled.has(found) || found.scrollHeight <= found.clientHeight) return;
    scrolled.add(found);
    found.scrollTop = Number(found.dataset.scrollTo);
  };
  addEventListener("DOMContentLoaded", () => {
    new MutationObserver(() => requestAnimationFrame(look)).observe(document.body, { childList: true, subtree: true });
  });
  addEventListener("load", () => setTimeout(look, 50));
  window.tw.settle = settle;
})();
