// Editors: panels whose key begins with "type-here". This tab keeps their text until it is saved or
// discarded, also when the panel closes, the page changes or reloads. Each panel has one large text box,
// whose label identifies its drafts.
const isOneLine = (node) => node instanceof HTMLInputElement && node.getAttribute("role") !== "combobox";
const draftBox = (node) => {
  const panel = typingPanel();
  if (!panel?.contains(node) || panel.matches(".st-key-type-here-search")) return null;
  return node instanceof HTMLTextAreaElement || (isOneLine(node) && node.type === "text") ? node : null;
};
const draftsOfPanel = () => {
  const variant = document.querySelector("article.hg-card")?.dataset.variant;
  const label = typingPanel()?.querySelector("textarea")?.getAttribute("aria-label");
  return variant && label && `hedgerow:${variant}:${label}:`;
};
const draftKey = (box) => {
  const drafts = draftsOfPanel();
  return drafts && drafts + box.getAttribute("aria-label");
};
const forgetDrafts = (drafts) => {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(drafts)) sessionStorage.removeItem(key);
};
const keepDraft = (event) => {
  const box = draftBox(event.target);
  const key = box && draftKey(box);
  if (key) sessionStorage.setItem(key, box.value);
};

// Delete drafts after saving: the panel that was saving is gone, and the card is still there (it would
// not be after a change of the page).
const SAVED_WITHIN_MS = 10_000;
let saving = null;
const save = () => {
  const drafts = draftsOfPanel();
  if (drafts) saving = { drafts, until: Date.now() + SAVED_WITHIN_MS };
};
const forget = () => {
  if (!saving || typingPanel() || !document.querySelector("article.hg-card")) return;
  if (Date.now() < saving.until) forgetDrafts(saving.drafts);
  saving = null;
};
const SAVE = '[class*="st-key-save-"]';
const noteButton = (event) => {
  const button = event.target instanceof Element && event.target.closest("button");
  if (!button || !typingPanel()?.contains(button)) return;
  if (button.closest(SAVE)) save();
  else saving = null;
  const drafts = button.closest('[class*="st-key-discard-"]') && draftsOfPanel();
  if (drafts) forgetDrafts(drafts);
};
const noteKey = (event) => {
  if (event.key === "Escape") saving = null;
  const withKey = event.isTrusted && (event.ctrlKey || event.metaKey);
  if (event.key === "Enter" && withKey && draftBox(event.target)) save();
};

// Ctrl+Enter saves from every field of an editor, and Enter from single-line fields, as in a form. The
// field's text goes to the server first: Streamlit sends it on the same keys.
const saveButton = () => typingPanel()?.querySelector(`${SAVE} button`);
const saveByKey = (event) => {
  if (event.key !== "Enter" || !event.isTrusted || event.isComposing) return;
  const panel = typingPanel();
  if (!panel?.contains(event.target) && event.target !== document.body) return;
  const withKey = event.ctrlKey || event.metaKey;
  if (!withKey && !isOneLine(event.target)) return;
  const isText = event.target instanceof HTMLTextAreaElement || isOneLine(event.target);
  const button = saveButton();
  if (!button) return;
  if (!isText) swallow(event); // a list would choose its highlighted entry
  pauses.forEach(clearTimeout);
  setTimeout(() => button.click(), 0);
};

// During typing, the text goes to the server at every pause, to be checked and stored.
const PAUSE_MS = 700;
const pauses = new Map();
const handOverAtPause = (event) => {
  const box = draftBox(event.target);
  if (!box || !saveButton()) return;
  clearTimeout(pauses.get(box));
  const hand = () => {
    pauses.delete(box);
    if (box.isConnected) box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  };
  pauses.set(box, setTimeout(hand, PAUSE_MS));
};

// While an editor is open, letters are text, even before it has the cursor.
const keepFromStreamlit = (event) => {
  const panel = isLetter(event) && !isTextBox(event.target) ? typingPanel() : null;
  if (panel && !panel.contains(event.target)) event.stopImmediatePropagation();
};

// Esc closes the panel below the card.
const press = (selector) => document.querySelector(selector + " button")?.click();
const closeByKey = (event) => {
  if (event.key !== "Escape") return;
  if (isTextBox(event.target)) event.target.blur();
  if (typingPanel()) press('[class*="st-key-cancel"]');
  else if (document.querySelector(".st-key-retype")) press('[class*="st-key-t-"]');
  else if (document.querySelector(".st-key-reasons-note")) press('[class*="st-key-x-"]');
};

// A panel for typing gets the cursor, which Streamlit cannot request, and its earlier text. This
// happens after a delay, because Streamlit first fills a new text box, late on a busy machine.
const RESTORE_AFTER = [100, 500, 1500, 4000];
const restore = (box, atEnd) => {
  const draft = draftBox(box) && sessionStorage.getItem(draftKey(box) ?? "");
  const lost = draft && draft !== box.value;
  if (lost) {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), "value").set.call(box, draft);
    box.dispatchEvent(new Event("input", { bubbles: true }));
    const leave = () => box.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
    if (box !== document.activeElement) setTimeout(leave, 0); // sends it to the server
  }
  if (atEnd || (lost && box === document.activeElement)) box.setSelectionRange(box.value.length, box.value.length);
};
const restoreDrafts = (panel) => {
  for (const box of panel.querySelectorAll("textarea, input[type=text]")) {
    if (box.dataset.hadDraft || !draftBox(box) || !draftKey(box)) continue;
    box.dataset.hadDraft = "yes";
    for (const wait of RESTORE_AFTER) setTimeout(() => restore(box, false), wait);
  }
};
// Scroll to opinions, to an open editor and to the results of its checks if they are outside the window.
const intoSight = (node) => {
  if (!node || node.dataset.seen) return;
  node.dataset.seen = "yes";
  setTimeout(() => node.scrollIntoView({ block: "nearest" }), 100);
};
// The field for a missing cue gets the cursor, once.
const askForCue = () => {
  const field = document.querySelector('[class*="st-key-asked-cue"]');
  const box = field?.querySelector("input");
  if (!box || field.dataset.hadCursor) return;
  field.dataset.hadCursor = "yes";
  field.closest('[class*="st-key-type-here"]').dataset.hadCursor = "yes";
  box.focus();
};
const giveCursor = (panel) => {
  // A panel arrives in pieces, and a line of the editor may arrive before its text.
  const isEditor = panel.matches('[class*="st-key-type-here-text"]');
  const box = panel.querySelector(isEditor ? "textarea" : "textarea, input[type=text]");
  if (!box || panel.dataset.hadCursor) return;
  panel.dataset.hadCursor = "yes";
  box.focus();
  setTimeout(() => restore(box, true), RESTORE_AFTER[0]);
};

const followEditors = (signal) => {
  const capture = { capture: true, signal };
  window.addEventListener("keydown", keepFromStreamlit, capture);
  window.addEventListener("keydown", noteKey, capture);
  window.addEventListener("keydown", saveByKey, capture);
  window.addEventListener("click", noteButton, capture);
  window.addEventListener("keydown", closeByKey, { signal });
  window.addEventListener("input", keepDraft, { signal });
  window.addEventListener("input", handOverAtPause, { signal });
  const follow = () => {
    intoSight(document.querySelector(".st-key-opinions"));
    intoSight(typingPanel()); // with its buttons
    intoSight(document.querySelector('[class*="st-key-checks-"]'));
    forget();
    askForCue();
    const panel = typingPanel();
    if (!panel) return;
    restoreDrafts(panel);
    giveCursor(panel);
  };
  const observer = new MutationObserver(follow);
  observer.observe(document.body, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());
  follow();
};
