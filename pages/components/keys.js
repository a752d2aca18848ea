// Streamlit runs this again whenever the page is drawn anew; the listeners are added once.
if (!window.hedgerowKeys) {
  window.hedgerowKeys = true;
  const isTextBox = (node) =>
    node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName));
  const typingPanel = () => document.querySelector('[class*="st-key-type-here"]');

  // A held key repeats about thirty times a second; only its first press means something.
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.repeat && !isTextBox(event.target)) {
        event.stopImmediatePropagation();
        event.preventDefault();
      }
    },
    true,
  );

  // Esc closes the panel that was opened for typing, or at least leaves the text box.
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (isTextBox(event.target)) event.target.blur();
    typingPanel()?.querySelector('[class*="st-key-cancel"] button')?.click();
  });

  // A panel that opens for typing gets the cursor; Streamlit has no way to ask for it.
  const giveCursor = () => {
    const panel = typingPanel();
    const box = panel?.querySelector("textarea");
    if (!box || panel.dataset.hadCursor) return;
    panel.dataset.hadCursor = "yes";
    box.focus();
    box.setSelectionRange(box.value.length, box.value.length);
  };
  new MutationObserver(giveCursor).observe(document.body, { childList: true, subtree: true });
}
