// The menus above the card. One list is open at a time, until the user chooses an entry, presses Esc
// or clicks elsewhere.
const ENTRIES = "[role=radio], .st-key-look button:not([aria-label])";
const isOpen = (opener) => opener?.getAttribute("aria-expanded") === "true";
const openList = (node) => {
  const list = node instanceof Element && node.closest('[class*="st-key-menu-"]');
  return list && isOpen(list.querySelector(".hg-open")) ? list : null;
};
const isInOpenList = (node) => Boolean(openList(node));
const closeLists = (except) => {
  for (const opener of document.querySelectorAll(".hg-open[aria-expanded=true]"))
    if (opener !== except) opener.setAttribute("aria-expanded", "false");
};
const openOrClose = (event) => {
  const opener = event.target instanceof Element ? event.target.closest(".hg-open") : null;
  closeLists(opener);
  if (!opener) return;
  const open = !isOpen(opener);
  opener.setAttribute("aria-expanded", String(open));
  const list = opener.closest('[class*="st-key-menu-"]');
  const first = list.querySelector("[role=radio][aria-checked=true], .st-key-look button:not([aria-label])");
  if (open && event.detail === 0) first?.focus(); // it was opened with the keyboard
};
const goThrough = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const list = step && openList(event.target);
  if (!list) return;
  const visible = [...list.querySelectorAll(ENTRIES)].filter((entry) => entry.checkVisibility());
  const now = visible.indexOf(document.activeElement);
  visible[(now + step + visible.length) % visible.length]?.focus();
  swallow(event);
};
const menus = (signal) => {
  window.addEventListener("click", openOrClose, { signal });
  window.addEventListener("keydown", goThrough, { capture: true, signal });
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape") return;
      const opener = document.querySelector(".hg-open[aria-expanded=true]");
      closeLists();
      opener?.focus();
    },
    { signal },
  );
  // A choice with the mouse loses the focus, so that arrows and letters go to the card again.
  window.addEventListener(
    "click",
    (event) => {
      const row = event.target instanceof Element && event.target.closest(".st-key-controls");
      if (row && event.detail > 0) setTimeout(() => document.activeElement?.blur(), 0);
    },
    { signal },
  );
};

// Store the width of the open sidebar, so that the card keeps its place when the sidebar closes.
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
