// What the studio needs in the browser beside the shell: copying.
"use strict";
addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.dataset.copied = "1";
  setTimeout(() => { delete button.dataset.copied; }, 1200);
});

// "g" and a letter go to a view; "w" goes to where conditions or a query are typed.
let isGoing = 0;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (document.querySelector(".q-dialog, dialog[open]")) return;
  const take = () => { event.preventDefault(); event.stopImmediatePropagation(); };
  if (Date.now() - isGoing < 1500) {
    isGoing = 0;
    const view = document.querySelector(`[data-goto="${CSS.escape(event.key)}"]`);
    if (view) { take(); view.click(); }
  } else if (event.key === "g") { take(); isGoing = Date.now(); }
  else if (event.key === "w") {
    const typed = document.querySelector("#tw-content .st-where-input input, #tw-content .st-editor textarea, #tw-content .st-parameters input");
    if (typed) { take(); typed.focus(); }
  }
}, { capture: true });

// Which row of the grid is open; rows are one piece of HTML, so that the browser marks them.
window.st = {
  // On a phone the views are a bar that scrolls: the one that is open is in sight.
  showView: () => setTimeout(() => {
    document.querySelector(".st-side-view[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, 50),
  // What has a label inside of an element that has just been drawn, or else the first part of that.
  focus: (id, label) => setTimeout(() => {
    const labelled = [...getHtmlElement(id)?.querySelectorAll("[aria-label]") ?? []].filter((each) => !each.disabled);
    const name = (each) => each.getAttribute("aria-label");
    (labelled.find((each) => name(each) === label) ?? labelled.find((each) => name(each).startsWith(label)))?.focus();
  }, 30),
  mark: (token) => {
    for (const link of document.querySelectorAll(".st-row-link")) {
      const isOpen = token !== "" && new URL(link.href).searchParams.get("item") === token;
      for (const each of [link, link.closest("tr")]) {
        if (isOpen) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current");
      }
    }
  },
};
// The box at the head chooses all; "x" chooses the row that has the focus, and j and k go on from it.
addEventListener("change", (event) => {
  if (!event.target.dataset?.pick) return;
  const table = event.target.closest("table");
  const all = table.querySelector("thead [data-pick]"), some = [...table.querySelectorAll("tbody [data-pick]")];
  if (event.target === all) for (const each of some) each.checked = all.checked;
  else all.checked = some.every((each) => each.checked);
}, { capture: true });
addEventListener("keydown", (event) => {
  if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
  document.activeElement.closest?.(".st-row-link")?.closest("tr").querySelector("[data-pick]")?.click();
});
// A click anywhere in a row opens it, but for the box that chooses it and text that is being selected.
addEventListener("click", (event) => {
  const row = event.target.closest?.(".st-table tbody tr");
  if (!row || event.target.closest("a, input") || String(getSelection())) return;
  row.querySelector(".st-row-link")?.click();
});
