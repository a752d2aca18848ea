// The keys of the review page. The server says which keys mean something now, and for which version
// of which variant. A press goes back with both, so that it can decide on nothing else.

// A key that decides counts only on a card that has been on the screen for 200 ms. The server holds
// to that too, but its clock starts before a slow line or a busy browser shows the card: a second
// press for the card before would decide on one that nobody has seen.
const MIN_SHOWN_MS = 200;
const shownSince = new Map();
const cards = () => [...document.querySelectorAll("article[data-variant]")];
let atTop = null; // the variant of the first card
const noteCards = () => {
  const first = cards()[0]?.dataset.variant ?? null;
  if (first !== atTop) cardIntoSight((atTop = first));
  const there = new Set(cards().map((card) => card.dataset.variant));
  for (const variant of shownSince.keys()) if (!there.has(variant)) shownSince.delete(variant);
  for (const variant of there) if (!shownSince.has(variant)) shownSince.set(variant, performance.now());
};
const isEarly = (card) => {
  if (!card) return false;
  const early = !(performance.now() - shownSince.get(card.dataset.variant) >= MIN_SHOWN_MS);
  cards()[0].toggleAttribute("data-early", early); // the style sheet has the message say so
  return early;
};

// What a key opens below the card, or next to it, comes into sight where the window ends above it.
// Where it closes again, and with every new card, the page goes back to the card.
const BELOW = { g: ".st-key-all-details", h: ".st-key-keys-list", i: ".st-key-desk-guide", l: ".st-key-last" };
const FILLED_AFTER = [100, 500]; // its content comes a moment after it
let toggled = null;
const toggles = (name) => {
  const place = BELOW[name];
  if (place) toggled = { place, was: Boolean(document.querySelector(place)) };
};
const followPanels = () => {
  const node = toggled && document.querySelector(toggled.place);
  if (!toggled || Boolean(node) === toggled.was) return;
  toggled = null;
  if (!node) return cardIntoSight(atTop);
  for (const wait of FILLED_AFTER) setTimeout(() => node.scrollIntoView({ block: "nearest" }), wait);
};
const isInSight = (card) => {
  const { top } = card.getBoundingClientRect();
  return top >= 0 && top < innerHeight;
};
const cardIntoSight = (variant) => {
  if (variant === null || cards().some((card) => card.dataset.variant === variant && isInSight(card))) return;
  document.querySelector('[data-testid="stMain"]').scrollTo({ top: 0 });
};

// Streamlit keeps the last of several presses that come while it is busy, so each carries those
// before it that the server has not answered. Their numbers tell it which ones it knows. One without
// an answer for three seconds is given up: whoever pressed it has seen that nothing happened.
const ANSWERED_WITHIN_MS = 3000;
let server = null; // what it said last, and how to send it a press
let presses = 0;
let unanswered = [];
const send = (key) => {
  const { variant, version } = server.data;
  const at = performance.now();
  unanswered = unanswered.filter((press) => at - press.at < ANSWERED_WITHIN_MS);
  unanswered.push({ number: ++presses, key, variant, version, at });
  server.setTriggerValue("pressed", unanswered);
};

// A key that opens something to write in makes the letters after it text, though that takes a moment
// to come: they are dropped until then (for three seconds at most), so that none of them decides.
const OPENING_MS = 3000;
let openingUntil = 0;
const opens = () => (openingUntil = performance.now() + OPENING_MS);

// As Streamlit, the key of the Latin letter or digit where the keyboard has another script on it.
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

// The search is a tool of the page; its box is a dialog's.
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

// Streamlit calls this with every new card, and what the last call gave when the page is left.
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
