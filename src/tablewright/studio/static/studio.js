// What the studio needs in the browser beside the shell: copying.
"use strict";
addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.dataset.copied = "1";
  setTimeout(() => { delete button.dataset.copied; }, 1200);
});

// Which row of the grid is open; rows are one piece of HTML, so that the browser marks them.
window.st = {
  // On a phone the views are a bar that scrolls: the one that is open is in sight.
  showView: () => setTimeout(() => {
    document.querySelector(".st-side-view[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, 50),
  // What has a label inside of an element that has just been drawn.
  focus: (id, label) => setTimeout(() => {
    for (const each of getHtmlElement(id)?.querySelectorAll("[aria-label]") ?? []) {
      if (each.getAttribute("aria-label") === label && !each.disabled) { each.focus(); break; }
    }
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
// A click anywhere in a row opens it, but for the box that chooses it and text that is being selected.
addEventListener("click", (event) => {
  const row = event.target.closest?.(".st-table tbody tr");
  if (!row || event.target.closest("a, input") || String(getSelection())) return;
  row.querySelector(".st-row-link")?.click();
});
