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

  // What decides (accept, skip, reject) counts only on a card that has been on the screen for 200 ms.
  // The server holds to that too, but its clock begins before a slow line or a busy browser shows
  // the card: a second press for the card before would decide on one that nobody has seen.
  const MIN_SHOWN_MS = 200;
  const shownSince = new Map();
  const cards = () => [...document.querySelectorAll("article[data-variant]")];
  const noteCards = () => {
    const there = new Set(cards().map((card) => card.dataset.variant));
    for (const variant of shownSince.keys()) if (!there.has(variant)) shownSince.delete(variant);
    for (const variant of there) if (!shownSince.has(variant)) shownSince.set(variant, performance.now());
  };
  const passOver = (event, card) => {
    if (!card) return;
    const early = !(performance.now() - shownSince.get(card.dataset.variant) >= MIN_SHOWN_MS);
    cards()[0].toggleAttribute("data-early", early); // the style sheet has the message say so
    if (!early) return;
    event.stopImmediatePropagation();
    event.preventDefault();
  };
  window.addEventListener(
    "keydown",
    (event) => {
      if (!/^[asf1-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!isTextBox(event.target) && !typingPanel()) passOver(event, cards()[0]);
    },
    true,
  );
  const DECIDING = ["a-", "s-", "reasons", "row-accept-"].map((key) => `[class*="st-key-${key}"] button`).join();
  window.addEventListener(
    "click",
    (event) => {
      const button = event.target instanceof Element && event.target.closest(DECIDING);
      const row = button && button.closest('[class*="st-key-one-line-"]');
      if (button) passOver(event, row?.querySelector("article") ?? cards()[0]);
    },
    true,
  );

  // A key that opens an editor makes the letters after it text, though the editor takes a moment to
  // come: they are dropped until then (for three seconds at most), so that none of them decides.
  const searchTool = () => document.querySelector(".st-key-search-key button:not(:disabled)");
  const opensEditor = (key) => {
    if (key === "/") return Boolean(searchTool());
    const withNote = key === "0" || (document.querySelector(".st-key-reasons-note") && /^[1-8]$/.test(key));
    if (!withNote && !/^[enw]$/.test(key)) return false;
    return Boolean(document.querySelector(`[class*="st-key-${key}-"] button:not(:disabled)`));
  };
  let openingUntil = 0;
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTextBox(event.target) || typingPanel()) {
        openingUntil = 0;
      } else if (Date.now() < openingUntil) {
        event.stopImmediatePropagation();
        event.preventDefault();
      } else if (opensEditor(event.key)) {
        openingUntil = Date.now() + 3000;
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
    else if (document.querySelector(".st-key-reasons-note")) press('[class*="st-key-x-"]');
  });

  // The slash goes to the search: the page's box, or the tool that opens one. Streamlit's own
  // shortcuts take letters and digits only.
  window.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTextBox(event.target) || typingPanel()) return;
    const box = document.querySelector(".st-key-search input");
    if (!box && !searchTool()) return;
    event.preventDefault();
    if (box) box.focus();
    else searchTool().click();
  });

  // U, Q, O and V choose the next queue, type, order or view, with Shift the one before.
  const choices = { u: "queue", q: "type", o: "order", v: "view" };
  window.addEventListener("keydown", (event) => {
    const row = choices[event.key.toLowerCase()];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTextBox(event.target) || typingPanel()) return;
    const buttons = [...document.querySelectorAll(`.st-key-controls .st-key-${row} [role=radio]`)];
    const now = buttons.findIndex((button) => button.dataset.selected === "true");
    if (now < 0) return;
    const step = event.shiftKey ? -1 : 1;
    buttons[(now + step + buttons.length) % buttons.length].click();
  });

  // What is chosen in the row opens a list of the others: one at a time, until something in it is
  // chosen, or Esc or a click elsewhere closes it.
  const closeLists = (except) => {
    for (const opener of document.querySelectorAll(".hg-open[aria-expanded=true]"))
      if (opener !== except) opener.setAttribute("aria-expanded", "false");
  };
  window.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const opener = target?.closest(".hg-open");
    closeLists(opener);
    if (!opener) return;
    const open = opener.getAttribute("aria-expanded") !== "true";
    opener.setAttribute("aria-expanded", String(open));
    const list = opener.closest('[class*="st-key-menu-"]');
    const first = list.querySelector("[role=radio][data-selected=true], .st-key-look button:not([aria-label])");
    if (open && event.detail === 0) first?.focus(); // opened with the keyboard
  });
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const opener = document.querySelector(".hg-open[aria-expanded=true]");
    closeLists();
    opener?.focus();
  });

  // Up and down go through an open list.
  window.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const list = step && event.target instanceof Element && event.target.closest('[class*="st-key-menu-"]');
      if (list?.querySelector(".hg-open")?.getAttribute("aria-expanded") !== "true") return;
      const entries = [...list.querySelectorAll("[role=radio], .st-key-look button:not([aria-label])")];
      const visible = entries.filter((entry) => entry.checkVisibility());
      const now = visible.indexOf(document.activeElement);
      visible[(now + step + visible.length) % visible.length]?.focus();
      event.stopImmediatePropagation();
      event.preventDefault();
    },
    true,
  );

  // A choice made with the mouse keeps no focus, so that arrows and letters go to the card again.
  window.addEventListener("click", (event) => {
    const row = event.target instanceof Element && event.target.closest(".st-key-controls");
    if (row && event.detail > 0) setTimeout(() => document.activeElement?.blur(), 0);
  });

  // How wide the sidebar is while it is there, so that the card keeps its place when it goes.
  const noteSidebar = new ResizeObserver(([entry]) => {
    if (entry.target.dataset.collapsed !== "false") return;
    document.documentElement.style.setProperty("--hg-sidebar", `${entry.target.offsetWidth}px`);
  });
  let sidebar = null;
  const followSidebar = () => {
    const now = document.querySelector('[data-testid="stSidebar"]');
    if (now === sidebar) return;
    noteSidebar.disconnect();
    sidebar = now;
    if (sidebar) noteSidebar.observe(sidebar);
  };

  // P, or a click on "Copy link", puts the card's permalink on the clipboard. Where the browser
  // refuses that (a page without https), the old way is taken.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  };
  const copyLink = async (button) => {
    if (!button) return;
    await copy(new URL(button.dataset.link, location.href).href);
    const said = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = said), 1500);
  };
  window.addEventListener("click", (event) => {
    if (event.target instanceof Element) copyLink(event.target.closest(".hg-copy"));
  });
  window.addEventListener("keydown", (event) => {
    if (event.key !== "p" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!isTextBox(event.target) && !typingPanel()) copyLink(document.querySelector(".hg-copy"));
  });

  // What is being written is kept in this tab until it is saved or discarded: closing the editor,
  // another queue, another page or a reload do not lose it. Each panel has one large box, by whose
  // label its drafts are known.
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
  window.addEventListener("input", (event) => {
    const box = draftBox(event.target);
    const key = box && draftKey(box);
    if (key) sessionStorage.setItem(key, box.value);
  });
  // They are forgotten once they are stored: then the panel that was told to save is gone, and the
  // card is still there (after a way to another page it is not).
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
  window.addEventListener(
    "click",
    (event) => {
      const button = event.target instanceof Element && event.target.closest("button");
      if (!button || !typingPanel()?.contains(button)) return;
      if (/^primary/.test(button.getAttribute("kind"))) save();
      else saving = null;
      const drafts = button.closest('[class*="st-key-discard-"]') && draftsOfPanel();
      if (drafts) forgetDrafts(drafts);
    },
    true,
  );
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape") saving = null;
      const withKey = event.isTrusted && (event.ctrlKey || event.metaKey);
      if (event.key === "Enter" && withKey && draftBox(event.target)) save();
    },
    true,
  );

  // Ctrl+Enter saves from every field of an editor, Enter from those of one line, as in a form. What
  // the field holds goes to the server first: Streamlit does that on the same keys.
  const saveButton = () => typingPanel()?.querySelector('[class*="st-key-save-"] button');
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || !event.isTrusted || event.isComposing) return;
      const panel = typingPanel();
      if (!panel?.contains(event.target) && event.target !== document.body) return;
      const withKey = event.ctrlKey || event.metaKey;
      if (!withKey && !isOneLine(event.target)) return;
      const isText = event.target instanceof HTMLTextAreaElement || isOneLine(event.target);
      const button = saveButton() ?? (isText ? null : panel.querySelector('button[kind="primaryFormSubmit"]'));
      if (!button) return; // a form, which has these keys itself
      if (!isText) {
        event.stopImmediatePropagation(); // a list would choose what is marked in it
        event.preventDefault();
      }
      pauses.forEach(clearTimeout);
      setTimeout(() => button.click(), 0);
    },
    true,
  );

  // While one writes in an editor with checks, the text goes to the server at every pause.
  const PAUSE_MS = 700;
  const pauses = new Map();
  window.addEventListener("input", (event) => {
    const box = draftBox(event.target);
    if (!box || !saveButton()) return;
    clearTimeout(pauses.get(box));
    const hand = () => {
      pauses.delete(box);
      if (box.isConnected) box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
    };
    pauses.set(box, setTimeout(hand, PAUSE_MS));
  });

  // A panel that opens for typing gets the cursor (Streamlit has no way to ask for it), and what
  // was written there before: some moments later, since a new box is first given its stored text,
  // and on a busy machine late.
  const RESTORE_AFTER = [100, 500, 1500, 4000];
  const restore = (box, atEnd) => {
    const draft = draftBox(box) && sessionStorage.getItem(draftKey(box) ?? "");
    const lost = draft && draft !== box.value;
    if (lost) {
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), "value").set.call(box, draft);
      box.dispatchEvent(new Event("input", { bubbles: true }));
      const leave = () => box.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
      if (box !== document.activeElement) setTimeout(leave, 0); // hands it to the server
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
  // What J asked for comes into sight where the window ends above it, and so do an open editor and
  // what the checks say in it.
  const intoSight = (node) => {
    if (!node || node.dataset.seen) return;
    node.dataset.seen = "yes";
    setTimeout(() => node.scrollIntoView({ block: "nearest" }), 100);
  };
  const show = () => {
    intoSight(document.querySelector(".st-key-opinions"));
    intoSight(typingPanel()); // with its buttons
    intoSight(document.querySelector('[class*="st-key-checks-"]'));
  };
  // A cue that is asked for gets the cursor, once.
  const askForCue = () => {
    const field = document.querySelector('[class*="st-key-asked-cue"]');
    const box = field?.querySelector("input");
    if (!box || field.dataset.hadCursor) return;
    field.dataset.hadCursor = "yes";
    field.closest('[class*="st-key-type-here"]').dataset.hadCursor = "yes";
    openingUntil = 0;
    box.focus();
  };
  const open = () => {
    noteCards();
    followSidebar();
    show();
    forget();
    askForCue();
    const panel = typingPanel();
    if (!panel) return;
    restoreDrafts(panel);
    // A panel comes in pieces, and a line of the editor may come before the text it is about.
    const isEditor = panel.matches('[class*="st-key-type-here-text"]');
    const box = panel.querySelector(isEditor ? "textarea" : "textarea, input[type=text]");
    if (!box || panel.dataset.hadCursor) return;
    panel.dataset.hadCursor = "yes";
    openingUntil = 0;
    box.focus();
    setTimeout(() => restore(box, true), RESTORE_AFTER[0]);
  };
  new MutationObserver(open).observe(document.body, { childList: true, subtree: true });
  open();
}
