"""Take the screenshots for the README and the guides: `make images`.

Loads the starter corpus into a temporary project, trains on it with the default preset (about ten
minutes on two cores), opens the app in Chromium and takes screenshots. Name a FOLDER to keep the
project and take new screenshots in seconds. Only the pictures 'train' and 'tradeoff' need a
training run: choose others with --picture. Two made-up people review some variants before the
picture 'team' is taken.

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
from playwright.sync_api import Locator, Page, ViewportSize, expect, sync_playwright

from hedgerow import open as open_project

IMAGES = Path(__file__).parent / "images"
HEDGEROW = str(Path(sys.executable).with_name("hedgerow"))
REVIEWER, SECOND_REVIEWER = "Ada", "Ben"
BOTH = (REVIEWER, SECOND_REVIEWER)
REVIEWED_TYPES = ("affixal", "lexical", "word", "phrase")
ACCEPTED_EACH = 8
"""Variants of each type that both people accept."""

REJECTED = {
    "388945c568e252a2": ("meaning_changed", BOTH),
    "05d24697988b599d": ("meaning_changed", BOTH),
    "053ace19efbdc01f": ("meaning_changed", BOTH),
    "0cf4305d19653f9d": ("wrong_scope", BOTH),
    "12d993ba116e1bc8": ("wrong_scope", BOTH),
    "0edb91ab71596e17": ("not_a_hedge", BOTH),
    "23a88df80969e46d": ("not_a_hedge", BOTH),
    "336279ed60061e81": ("ungrammatical", (REVIEWER,)),
    "00246b90bdfb8d30": ("wrong_type", (SECOND_REVIEWER,)),
    "0733dc490e191994": ("not_a_hedge", (SECOND_REVIEWER,)),
}
"""Other variants, by uid: the reason to reject them and who does; the other person accepts them."""

PASTED = """The harbour is deep enough for tankers.
The bridge is safe for lorries.
The bridge is safe for lorries.
The museum is not open on Mondays.
Is the ferry on time?
The new vaccine is effective in children."""
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
    parser.add_argument("--to", type=Path, default=IMAGES, help="the folder for the pictures")
    wanted = parser.parse_args()
    names = wanted.picture or list(PICTURES)
    if wanted.folder:
        wanted.folder.mkdir(parents=True, exist_ok=True)
        make(wanted.folder.resolve(), names, wanted.train_option, wanted.to)
        return
    with tempfile.TemporaryDirectory(prefix="hedgerow-images-") as folder:
        make(Path(folder), names, wanted.train_option, wanted.to)


def make(home: Path, names: list[str], train_options: list[str], images: Path) -> None:
    """Prepare the project and store the pictures with these names in a folder."""
    created = hedgerow(home, "init")
    status = hedgerow(home, "status")
    done = {run["kind"]: run["run"] for run in reversed(status["runs"]) if run["state"] == "done"}
    if "diagnose" not in done:
        hedgerow(home, "diagnose")
    if not status["releases"]:
        hedgerow(home, "release", "create", "--name=first")
    if NEED_TRAINING & set(names) and "train" not in done:
        options = (f"--set={option}" for option in train_options)
        done["train"] = hedgerow(home, "train", *options)["run"]
    if "tradeoff" in names:
        hedgerow(home, "tradeoff", str(done["train"]))
    if "benchmarks" in names and "benchmark" not in done:
        models = ("--model", "all-MiniLM-L6-v2", "--model", "hedgerow-minilm")
        hedgerow(home, "benchmark", "hedgerow", *models)
    print(f"The project is in {home} ({created['database']}).")
    with served(home) as address, opened(address) as page:
        for name in names:
            if name == "team":
                review_by_two(home)
            PICTURES[name](page, address)
            picture(page, images / f"{name}.png")


def hedgerow(home: Path, *command: str) -> dict[str, Any]:
    """Run a command on the project."""
    environment = os.environ | {"HEDGEROW_HOME": str(home)}
    done = subprocess.run(
        [HEDGEROW, *command, "--json"], env=environment, stdout=subprocess.PIPE, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def review_by_two(home: Path) -> None:
    """Have two people decide on the same variants and disagree on some of them."""
    with open_project(home) as project:
        if not project.shared_verdicts().empty:
            return
        for type_id in REVIEWED_TYPES:
            uids = sorted(project.variants(type=type_id, status="pending")["uid"])
            for uid in [uid for uid in uids if uid not in REJECTED][:ACCEPTED_EACH]:
                for person in BOTH:
                    project.accept(uid, reviewer=person)
        for uid, (reason, people) in REJECTED.items():
            for person in BOTH:
                if person in people:
                    project.reject(uid, reason=reason, reviewer=person)
                else:
                    project.accept(uid, reviewer=person)


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


def overview(page: Page, address: str) -> None:
    page.goto(address)
    expect(chart(page)).to_be_visible()


def anchors(page: Page, address: str) -> None:
    page.goto(f"{address}/anchors?part=Add")
    page.get_by_text("Pasted text", exact=True).click()
    page.get_by_role("textbox").first.fill(PASTED)
    page.keyboard.press("Control+Enter")
    page.get_by_role("textbox", name="Source").fill("My sentences")
    page.keyboard.press("Enter")
    expect(chart(page)).to_be_visible()
    scroll_to(page.get_by_text("Read as"))


def generate(page: Page, address: str) -> None:
    page.goto(f"{address}/generate?step=Prompts")
    expect(page.get_by_text("Example, as sent to the model")).to_be_visible()


def review(page: Page, address: str) -> None:
    page.goto(f"{address}/review?type=Affixal+negation")
    expect(page.locator(".hg-variant").first).to_be_visible()


def diagnostics(page: Page, address: str) -> None:
    page.goto(f"{address}/diagnostics?show=Pairs")
    expect(chart(page)).to_be_visible()


def taxonomy(page: Page, address: str) -> None:
    page.goto(f"{address}/taxonomy")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()


def release(page: Page, address: str) -> None:
    page.goto(f"{address}/release")
    expect(page.get_by_role("heading", name="Releases")).to_be_visible()


def train(page: Page, address: str) -> None:
    page.goto(f"{address}/train?step=Results")
    scroll_to(page.get_by_role("heading", name="Figure 1"))


def tradeoff(page: Page, address: str) -> None:
    page.goto(f"{address}/train?step=Results")
    scroll_to(page.get_by_role("heading", name="Trade-off between negation"))


def compare(page: Page, address: str) -> None:
    page.goto(f"{address}/compare")
    expect(chart(page)).to_be_visible()


def benchmarks(page: Page, address: str) -> None:
    page.goto(f"{address}/benchmarks?step=Scores")
    expect(page.get_by_role("heading", name="Do two models differ?")).to_be_visible()


def team(page: Page, address: str) -> None:
    page.goto(f"{address}/team?show=Agreement")
    expect(page.get_by_text("Disagreements", exact=True)).to_be_visible()


PICTURES: dict[str, Callable[[Page, str], None]] = {
    "overview": overview,
    "anchors": anchors,
    "generate": generate,
    "review": review,
    "diagnostics": diagnostics,
    "taxonomy": taxonomy,
    "release": release,
    "train": train,
    "tradeoff": tradeoff,
    "compare": compare,
    "benchmarks": benchmarks,
    "team": team,
}


NEED_TRAINING = {"train", "tradeoff"}


def chart(page: Page) -> Locator:
    return page.get_by_test_id("stVegaLiteChart").first


def scroll_to(place: Locator) -> None:
    """Bring a place to the top of the window once the page is complete."""
    expect(place).to_be_visible()
    wait_until_complete(place.page)
    place.evaluate("place => place.scrollIntoView()")


def wait_until_complete(page: Page) -> None:
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.wait_for_timeout(1500)  # charts take some frames to appear


def picture(page: Page, path: Path) -> None:
    """Take a screenshot once the page is complete, in few colours so that the file stays small."""
    page.mouse.move(0, 0)
    wait_until_complete(page)
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
