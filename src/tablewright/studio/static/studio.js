// What the studio needs in the browser beside the shell: copying.
"use strict";
addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.dataset.copied = "1";
  setTimeout(() => { delete button.dataset.copied; }, 1200);
});
