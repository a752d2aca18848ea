// Scripts of every page. A held key repeats about thirty times a second. Only its first press counts,
// except that arrows and similar keys continue to scroll.
const dropRepeats = (event) => {
  if (event.repeat && !isTextBox(event.target) && !/^(Arrow|Page)/.test(event.key)) swallow(event);
};

// Streamlit scrolls only a part of the page, to which the browser's scroll keys apply only if
// something in it has the focus.
const scrollByKey = (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target !== document.body) return;
  const main = document.querySelector('[data-testid="stMain"]');
  const [line, screen, all] = [40, 0.9 * main.clientHeight, main.scrollHeight];
  const space = event.shiftKey ? -screen : screen;
  const by = { ArrowDown: line, ArrowUp: -line, PageDown: screen, PageUp: -screen, " ": space, Home: -all, End: all };
  if (!(event.key in by)) return;
  event.preventDefault();
  main.scrollBy({ top: by[event.key] });
};

// The slash goes to the page's search box.
const goToSearch = (event) => {
  if (event.key !== "/" || !isLetter(event) || isTextBox(event.target) || typingPanel()) return;
  const box = document.querySelector(".st-key-search input");
  if (!box) return;
  event.preventDefault();
  box.focus();
};

// After a restart of the server or a closed laptop, a page shows cards of a session that no longer
// exists, and Streamlit redraws it only if something was running. So request the page when the
// connection is back.
let component = null;
const app = document.querySelector('[data-testid="stApp"]');
const isConnected = () => app.dataset.testConnectionState === "CONNECTED";
const followConnection = (signal) => {
  let was = isConnected();
  const observer = new MutationObserver(() => {
    const returned = isConnected() && !was;
    was = isConnected();
    if (returned) setTimeout(() => component.setTriggerValue("returned", Date.now()), 100);
  });
  observer.observe(app, { attributeFilter: ["data-test-connection-state"] });
  signal.addEventListener("abort", () => observer.disconnect());
};

let listening = null;
export default function (mounted) {
  component = mounted;
  if (!listening) {
    listening = new AbortController();
    window.addEventListener("keydown", dropRepeats, { capture: true, signal: listening.signal });
    window.addEventListener("keydown", goToSearch, { signal: listening.signal });
    window.addEventListener("keydown", scrollByKey, { signal: listening.signal });
    followConnection(listening.signal);
    followEditors(listening.signal);
  }
  return () => {
    if (component !== mounted) return;
    listening.abort();
    listening = null;
  };
}
