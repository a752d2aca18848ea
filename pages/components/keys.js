// Streamlit runs this again whenever the page is drawn anew; the listeners are added once.
if (!window.hedgerowKeys) {
  window.hedgerowKeys = true;
  const isTextBox = (node) =>
    node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName));
  const typingPanel = () => document.querySelector('[class*="st-key-type-here"]');
  const press = (selector) => document.querySelector(selector + " button")?.click();

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

  // While an editor is open, letters are text, also those typed before it has the cursor.
  window.addEventListener(
    "keydown",
    (event) => {
      const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      const panel = isLetter && !isTextBox(event.target) ? typingPanel() : null;
      if (panel && !panel.contains(event.target)) event.stopImmediatePropagation();
    },
    true,
  );

  // Esc closes what is open below the card.
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (isTextBox(event.target)) event.target.blur();
    if (typingPanel()) press('[class*="st-key-cancel"]');
    else if (document.querySelector(".st-key-retype")) press('[class*="st-key-t-"]');
  });

  // What is being written is kept in this tab until it is saved: closing the editor, another queue,
  // another page or a reload do not lose it.
  const draftKey = (box) => {
    const variant = document.querySelector("article.hg-card")?.dataset.variant;
    return variant && `hedgerow:${variant}:${box.getAttribute("aria-label")}`;
  };
  const draftBox = (node) => (node instanceof HTMLTextAreaElement && typingPanel()?.contains(node) ? node : null);
  window.addEventListener("input", (event) => {
    const box = draftBox(event.target);
    const key = box && draftKey(box);
    if (key) sessionStorage.setItem(key, box.value);
  });
  const forget = () => {
    const box = typingPanel()?.querySelector("textarea");
    const key = box && draftKey(box);
    if (key) sessionStorage.removeItem(key);
  };
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && draftBox(event.target)) forget();
    },
    true,
  );
  window.addEventListener(
    "click",
    (event) => {
      const button = event.target instanceof Element && event.target.closest("button");
      if (button?.getAttribute("kind") === "primaryFormSubmit") forget();
    },
    true,
  );

  // A panel that opens for typing gets the cursor (Streamlit has no way to ask for it), and what
  // was written there before: a moment later, since a new box is first given its stored text.
  const restore = (box) => {
    const draft = draftBox(box) && sessionStorage.getItem(draftKey(box) ?? "");
    if (draft && draft !== box.value) {
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, draft);
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
    box.setSelectionRange(box.value.length, box.value.length);
  };
  const open = () => {
    const panel = typingPanel();
    const box = panel?.querySelector("textarea, input[type=text]");
    if (!box || panel.dataset.hadCursor) return;
    panel.dataset.hadCursor = "yes";
    box.focus();
    setTimeout(() => restore(box), 100);
  };
  new MutationObserver(open).observe(document.body, { childList: true, subtree: true });
  open();
}
