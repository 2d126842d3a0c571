"use strict";
// Requests of htmx carry the session's token.
document.addEventListener("htmx:configRequest", (event) => {
  const token = document.querySelector('meta[name="csrf-token"]');
  if (token) event.detail.headers["X-CSRF-Token"] = token.content;
});
// A form is sent once until its page is shown again; a button that is pressed twice would start two searches.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return; // htmx sends its forms itself
  // Buttons are disabled after the browser has read the form, which leaves a disabled one out.
  setTimeout(() => {
    for (const button of form.querySelectorAll("button:not([disabled])")) {
      button.disabled = true;
      button.dataset.sent = "";
    }
  });
});
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button[data-sent]")) {
    button.disabled = false;
    delete button.dataset.sent;
  }
});
// A file can be dropped anywhere on its field.
for (const area of document.querySelectorAll("[data-drop]")) {
  const input = area.querySelector('input[type="file"]');
  for (const kind of ["dragover", "dragleave", "drop"]) {
    area.addEventListener(kind, (event) => {
      event.preventDefault();
      area.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) {
        input.files = event.dataTransfer.files;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
  }
}
// Attributes `data-fill` and `data-value` set widths, which a strict policy does not allow as inline styles.
const size = (root) => {
  for (const element of root.querySelectorAll("[data-width]")) element.style.width = `${element.dataset.width}%`;
};
size(document);
document.addEventListener("htmx:afterSwap", (event) => size(event.detail.target.ownerDocument));
