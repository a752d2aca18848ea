// The keys of the Review page. The server sends the active keys with the variant and its version. A
// press returns both, so that it cannot decide on anything else.

// A key that decides counts only after its card has been on the screen for 200 ms. The server checks
// this, too, but its clock starts before a slow connection or a busy browser shows the card, and a
// second press for the previous card could decide on one that nobody has seen.
const MIN_SHOWN_MS = 200;
const shownSince = new Map();
const cards = () => [...document.querySelectorAll("article[data-variant]")];
let atTop = null; // the variant of the first card
const noteCards = () => {
  const first = cards()[0]?.dataset.variant ?? null;
  if (first !== atTop) newCard(first);
  const there = new Set(cards().map((card) => card.dataset.variant));
  for (const variant of shownSince.keys()) if (!there.has(variant)) shownSince.delete(variant);
  for (const variant of there) if (!shownSince.has(variant)) shownSince.set(variant, performance.now());
};
const isEarly = (card) => {
  if (!card) return false;
  const early = !(performance.now() - shownSince.get(card.dataset.variant) >= MIN_SHOWN_MS);
  cards()[0].toggleAttribute("data-early", early); // the style sheet then shows the message
  return early;
};

// Scroll to a panel that a key opens outside the window. When it closes, and with every new card,
// scroll back to the card.
const BELOW = { g: ".st-key-all-details", h: ".st-key-keys-list", i: ".st-key-desk-guide", l: ".st-key-last" };
const FILLED_AFTER = [100, 500]; // ms; the content appears a moment after the panel
let toggled = null;
let scrolls = []; // those that wait for a panel's content
const newCard = (variant) => {
  toggled = null;
  scrolls.forEach(clearTimeout);
  cardIntoSight((atTop = variant));
};
const toggles = (name) => {
  const place = BELOW[name];
  if (place) toggled = { place, was: Boolean(document.querySelector(place)) };
};
const followPanels = () => {
  const node = toggled && document.querySelector(toggled.place);
  if (!toggled || Boolean(node) === toggled.was) return;
  toggled = null;
  if (!node) return cardIntoSight(atTop);
  scrolls = FILLED_AFTER.map((wait) => setTimeout(() => node.scrollIntoView({ block: "nearest" }), wait));
};
const isInSight = (card) => {
  const { top } = card.getBoundingClientRect();
  return top >= 0 && top < innerHeight;
};
const cardIntoSight = (variant) => {
  if (variant === null || cards().some((card) => card.dataset.variant === variant && isInSight(card))) return;
  document.querySelector('[data-testid="stMain"]').scrollTo({ top: 0 });
};

// While Streamlit is busy, it keeps only the last of several presses, so each press is sent with the
// unanswered ones before it. By their numbers, the server ignores those it knows. After three seconds
// without an answer a press is dropped, because the user has seen that nothing happened.
const ANSWERED_WITHIN_MS = 3000;
let server = null; // its latest data, and how to send it a press
let presses = 0;
let unanswered = [];
const send = (key) => {
  const { variant, version } = server.data;
  const at = performance.now();
  unanswered = unanswered.filter((press) => at - press.at < ANSWERED_WITHIN_MS);
  unanswered.push({ number: ++presses, key, variant, version, at });
  server.setTriggerValue("pressed", unanswered);
};

// After a key that opens a text field, letters are text, but the field takes a moment to appear. Until
// then (at most three seconds) letters are dropped, so that none of them decides.
const OPENING_MS = 3000;
let openingUntil = 0;
const opens = () => (openingUntil = performance.now() + OPENING_MS);

// Like Streamlit, use the key's Latin letter or digit if the keyboard has another script.
const ARROWS = { ArrowUp: "up", ArrowDown: "down" };
const nameOf = ({ key, code, shiftKey }) => {
  const name = /^[a-z0-9]$/i.test(key) ? key : (ARROWS[key] ?? /^(?:Key|Digit)(.)$/.exec(code)?.[1] ?? key);
  return (shiftKey ? "shift+" : "") + name.toLowerCase();
};

const pressed = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTextBox(event.target) || typingPanel()) {
    openingUntil = 0;
    return;
  }
  if (isLetter(event) && performance.now() < openingUntil) return swallow(event);
  const name = nameOf(event);
  if (name === "/") return search(event);
  if (name === "p") return copyLink(document.querySelector(".hg-copy"));
  const kind = server.data.keys[name];
  if (kind === undefined || isInOpenList(event.target)) return;
  event.preventDefault();
  if (event.repeat || (kind === "card" && isEarly(cards()[0]))) return;
  if (kind === "writes") opens();
  toggles(name);
  send(name);
};

// Open the search dialog with the page's own button.
const search = (event) => {
  const tool = document.querySelector(".st-key-search-key button:not(:disabled)");
  if (!tool) return;
  event.preventDefault();
  opens();
  tool.click();
};

const DECIDING = ["a-", "s-", "reasons", "row-accept-"].map((key) => `[class*="st-key-${key}"] button`).join();
const clicked = (event) => {
  const tool = event.target instanceof Element && event.target.closest('.st-key-look [class*="-key"]');
  if (tool) toggles(/st-key-(.)-key/.exec(tool.className)?.[1]);
  const button = event.target instanceof Element && event.target.closest(DECIDING);
  if (!button) return;
  const row = button.closest('[class*="st-key-one-line-"]');
  if (isEarly(row?.querySelector("article") ?? cards()[0])) swallow(event);
};

// P, or a click on "Copy link", copies the card's permalink. If the browser refuses the clipboard (on
// a page without https), use a text box instead.
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
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 1500);
};

const listen = (signal) => {
  window.addEventListener("keydown", pressed, { capture: true, signal });
  window.addEventListener("click", clicked, { capture: true, signal });
  window.addEventListener(
    "click",
    (event) => {
      if (event.target instanceof Element) copyLink(event.target.closest(".hg-copy"));
    },
    { signal },
  );
  menus(signal);
  const observer = new MutationObserver(() => {
    noteCards();
    followPanels();
    followSidebar();
    if (typingPanel()) openingUntil = 0;
  });
  observer.observe(document.body, { childList: true, subtree: true });
  signal.addEventListener("abort", () => observer.disconnect());
  noteCards();
  followSidebar();
};

// Streamlit calls this with every new card, and calls the returned function when the page is left.
let listening = null;
export default function (component) {
  if (server?.data.window !== component.data.window) unanswered = [];
  server = component;
  const hadOpened = unanswered.length;
  unanswered = unanswered.filter((press) => press.number > component.data.answered);
  if (hadOpened && !unanswered.length) openingUntil = 0;
  if (!listening) {
    listening = new AbortController();
    listen(listening.signal);
  }
  return () => {
    if (server !== component) return;
    listening.abort();
    listening = null;
  };
}
