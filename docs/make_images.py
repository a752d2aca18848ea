"""Take the screenshots for the README and the guides: `make images`.

Loads the starter corpus into a temporary project, trains on it with the default preset (about ten
minutes on two cores), opens the app in Chromium and takes screenshots. Name a FOLDER to keep the
project and take new screenshots in seconds. Only the picture 'train' needs a training run: choose
others with --picture.

    python docs/make_images.py [FOLDER] [--picture NAME …] [--train-option max_steps=60 …]
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

IMAGES = Path(__file__).parent / "images"
HEDGEROW = str(Path(sys.executable).with_name("hedgerow"))
REVIEWER = "Ada"
SIZE: ViewportSize = {"width": 1440, "height": 900}
COLOURS = 256
"""Colours of a stored picture: enough for flat surfaces and smooth letters."""

PATIENCE_MS = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="the project (default: a temporary one)"
    )
    parser.add_argument("--train-option", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--picture", action="append", choices=PICTURES, help="a picture to take (default: all)"
    )
    wanted = parser.parse_args()
    names = wanted.picture or list(PICTURES)
    if wanted.folder:
        wanted.folder.mkdir(parents=True, exist_ok=True)
        make(wanted.folder.resolve(), names, wanted.train_option)
        return
    with tempfile.TemporaryDirectory(prefix="hedgerow-images-") as folder:
        make(Path(folder), names, wanted.train_option)


def make(home: Path, names: list[str], train_options: list[str]) -> None:
    """Prepare the project and take the pictures with these names."""
    created = hedgerow(home, "init")
    is_trained = any(run["kind"] == "train" and run["state"] == "done" for run in runs(home))
    if not is_trained:
        hedgerow(home, "diagnose")
    if "train" in names and not is_trained:
        hedgerow(home, "train", *(f"--set={option}" for option in train_options))
    print(f"The project is in {home} ({created['database']}).")
    with served(home) as address, opened(address) as page:
        for name in names:
            PICTURES[name](page, address)
            picture(page, IMAGES / f"{name}.png")


def hedgerow(home: Path, *command: str) -> dict[str, Any]:
    """Run a command on the project."""
    environment = os.environ | {"HEDGEROW_HOME": str(home)}
    done = subprocess.run(
        [HEDGEROW, *command, "--json"], env=environment, stdout=subprocess.PIPE, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def runs(home: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hedgerow(home, "status")["runs"]
    return found


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Run the app on the project and yield its address."""
    process = subprocess.Popen(
        [HEDGEROW, "app"],
        env=os.environ | {"HEDGEROW_HOME": str(home)},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        else:
            sys.exit("The app ended before it printed its address.")
        yield found[0]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextmanager
def opened(address: str) -> Iterator[Page]:
    """A light window of Chromium, signed in."""
    chromium = os.environ.get("HEDGEROW_TEST_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        sys.exit("Expected a Chromium; install one, or name it with HEDGEROW_TEST_CHROMIUM.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page.goto(f"{address}/review")
        page.get_by_label("Your name").fill(REVIEWER)
        page.get_by_role("button", name="Start reviewing").click()
        expect(page.locator("article.hg-card").first).to_be_visible()
        yield page
        browser.close()


def review(page: Page, address: str) -> None:
    page.goto(f"{address}/review?type=Affixal+negation")
    expect(page.locator(".hg-variant").first).to_be_visible()


def train(page: Page, address: str) -> None:
    page.goto(f"{address}/train?step=Results")
    heading = page.get_by_role("heading", name="Figure 1")
    expect(heading).to_be_visible()
    heading.evaluate("heading => heading.scrollIntoView()")


def diagnostics(page: Page, address: str) -> None:
    page.goto(f"{address}/diagnostics?show=Pairs")
    expect(page.locator("[data-testid=stVegaLiteChart]").first).to_be_visible()


def overview(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-testid=stVegaLiteChart]").first).to_be_visible()


PICTURES: dict[str, Callable[[Page, str], None]] = {
    "overview": overview,
    "review": review,
    "train": train,
    "diagnostics": diagnostics,
}


def picture(page: Page, path: Path) -> None:
    """Take a screenshot once the page is complete, in few colours so that the file stays small."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.mouse.move(0, 0)
    page.wait_for_timeout(1500)  # charts take some frames to appear
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
