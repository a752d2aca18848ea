"""From the start of the process to the first page painted, against an empty Streamlit app.

    python -m bench.startup [--rounds 7]

The app is `hedgerow app` over a project with the starter corpus, everything measured; painted is
its first page when the next steps, the funnel's chart and the table below it are there. The
baseline is a one-line Streamlit app, painted when its title is there. Both are started in turn,
each time in a new process and a new browser context. Prints medians in milliseconds and their
ratio. Expected: at most 1.5.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser
from sqlalchemy import insert, select
from sqlmodel import col

from bench.browsing import chromium, free_port, serving
from curation.encoder_rows import register_encoder
from curation.encoders import DEFAULT_ENCODER
from curation.project import open_project
from curation.starter_corpus import load_starter_corpus
from db.engine import writing
from db.models import Variant, VariantCosine
from db.settings import Settings

EMPTY = Path(__file__).with_name("empty_page.py")
LIMIT = 1.5
PAINTED = {
    "empty": ["h1"],
    "hedgerow": [
        ".st-key-next-steps",
        '[data-testid="stVegaLiteChart"] .marks',
        '[data-testid="stDataFrame"] canvas',
    ],
}


def make_home(home: Path) -> None:
    """The starter corpus, with a cosine for every variant: nothing is left to measure."""
    home.mkdir()
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        load_starter_corpus(session)
        encoder = register_encoder(session, name=DEFAULT_ENCODER, hash_="made up")
        rows = [
            {"encoder_id": encoder.id, "variant_id": variant_id, "cosine": 0.8}
            for variant_id in session.execute(select(col(Variant.id))).scalars()
        ]
        session.execute(insert(VariantCosine), rows)
    engine.dispose()


def start(browser: Browser, name: str, folder: Path) -> float:
    """Milliseconds from the start of the process until the page is painted."""
    port = free_port()
    commands = {
        "hedgerow": [str(Path(sys.executable).with_name("hedgerow")), "app", "--port", str(port)],
        "empty": [
            *(sys.executable, "-m", "streamlit", "run", str(EMPTY), "--server.port", str(port)),
            *("--server.address", "127.0.0.1", "--server.headless", "true"),
            *("--server.fileWatcherType", "none", "--browser.gatherUsageStats", "false"),
        ],
    }
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    begun = time.perf_counter()
    environment = {"HEDGEROW_HOME": str(folder)}
    with serving(commands[name], port=port, folder=folder, environment=environment) as address:
        page.goto(address, wait_until="commit")
        for selector in PAINTED[name]:
            page.wait_for_selector(selector, timeout=120_000)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        taken = time.perf_counter() - begun
        context.close()
    return taken * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found: dict[str, list[float]] = {"empty": [], "hedgerow": []}
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folders = {name: Path(scratch) / name for name in found}
        folders["empty"].mkdir()
        make_home(folders["hedgerow"])
        for round_ in range(options.rounds + 1):
            for name, times in found.items():
                taken = start(browser, name, folders[name])
                if round_:  # the first one reads the programs from the disk
                    times.append(taken)
    for name, times in found.items():
        spread = f"{min(times):.0f} to {max(times):.0f}"
        print(f"{name:10} median {statistics.median(times):6.0f} ms   ({spread})")
    ratio = statistics.median(found["hedgerow"]) / statistics.median(found["empty"])
    print(f"hedgerow / empty  {ratio:.2f} (at most {LIMIT})")


if __name__ == "__main__":
    main()
