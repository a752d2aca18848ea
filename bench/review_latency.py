"""From a key press to the next card in Chromium, compared with a bare page over the same table.

    python -m bench.review_latency [--large 300000] [--small 1000] [--presses 60]

The bench alternates between three pages: a bare Streamlit page that shows one row of the large
table, the Review page over the large table, and the Review page over the small table. It prints the
median and the 95th percentile of each in milliseconds, and the ratios. The Review page should take
at most 2 times as long as the bare page, and at most 1.2 times as long over the large table as over
the small one.
"""

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from playwright.sync_api import Page

from bench.browsing import chromium, free_port, serving
from bench.projects.synthetic import make_project

ROOT = Path(__file__).resolve().parent.parent
PAUSE_SECONDS = 0.35
"""The pause between presses, longer than the time in which a new card ignores keys."""

# From the key press to the frame after the one with another row.
_PRESS = """([selector, attribute]) => new Promise((resolve) => {
  const read = () => {
    const node = document.querySelector(selector);
    return node && (attribute ? node.getAttribute(attribute) : node.textContent);
  };
  const before = read();
  const start = performance.now();
  const watcher = new MutationObserver(() => {
    const after = read();
    if (after && after !== before) {
      watcher.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - start));
    }
  });
  watcher.observe(document.body,
                  {subtree: true, childList: true, attributes: true, characterData: true});
  document.body.dispatchEvent(
    new KeyboardEvent('keydown', {key: 'a', code: 'KeyA', bubbles: true}));
})"""


def _serving(script: Path, home: Path) -> AbstractContextManager[str]:
    """Start a Streamlit server for the project, and yield its address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none"]
    command += ["--browser.gatherUsageStats", "false", "--server.address", "127.0.0.1"]
    environment = {
        "HEDGEROW_HOME": str(home),
        "HEDGEROW_REVIEWER": "bench",
        "PYTHONPATH": str(ROOT),
    }
    return serving(command, port=port, folder=home, environment=environment)


def _press(page: Page, selector: str, attribute: str | None) -> float:
    time.sleep(PAUSE_SECONDS)
    return float(page.evaluate(_PRESS, [selector, attribute]))


def measure(*, large: int, small: int, presses: int) -> dict[str, list[float]]:
    """Page → milliseconds of every press."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, size in (("large", large), ("small", small)):
            make_project(folder / name, variants=size).dispose()
        bare = ROOT / "bench" / "baselines" / "bare_page.py"
        pages = {
            "bare": (bare, "large", "", '[data-testid="stText"]', None),
            "review, large": (ROOT / "app.py", "large", "/review", ".hg-card", "data-variant"),
            "review, small": (ROOT / "app.py", "small", "/review", ".hg-card", "data-variant"),
        }
        browser = stack.enter_context(chromium())
        open_pages: dict[str, Page] = {}
        for name, (script, home, path, selector, _) in pages.items():
            address = stack.enter_context(_serving(script, folder / home))
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address + path)
            page.wait_for_selector(selector, timeout=60_000)
            page.wait_for_load_state("networkidle")  # the page's scripts load last
            open_pages[name] = page
        found: dict[str, list[float]] = {name: [] for name in pages}
        for turn in range(presses + 3):
            for name, (_, _, _, selector, attribute) in pages.items():
                took = _press(open_pages[name], selector, attribute)
                if turn >= 3:  # the first presses fill caches
                    found[name].append(took)
        return found


def main() -> None:
    """Measure, and print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=300_000)
    parser.add_argument("--small", type=int, default=1_000)
    parser.add_argument("--presses", type=int, default=60)
    options = parser.parse_args()
    found = measure(large=options.large, small=options.small, presses=options.presses)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, times in found.items():
        tail = statistics.quantiles(times, n=20)[-1]
        print(f"{name:15} median {medians[name]:6.1f} ms   p95 {tail:6.1f} ms")
    print(f"review / bare   {medians['review, large'] / medians['bare']:.2f} (at most 2)")
    large, small = medians["review, large"], medians["review, small"]
    print(f"large / small   {large / small:.2f} (at most 1.2)")


if __name__ == "__main__":
    main()
