"""From the start of the process to the first painted page, compared with an empty Streamlit app.

    python -m bench.startup [--rounds 7]

The app is `hedgerow app` for a project with the starter corpus and all diagnostics. The baseline is
a one-line Streamlit app. The bench alternates between them, each time with a new process and a new
browser context. It prints the median milliseconds until the page shows its title, the next steps,
and its chart and table. The baseline has only a title. The app's title should take at most 1.5
times as long as the baseline's.
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
from curation.corpora.corpus import STARTER
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.encoders.registered import register_encoder
from curation.importing.corpora import load
from curation.overview.project_settings import open_project
from db.engine import writing
from db.models import Variant, VariantCosine
from db.settings import Settings

EMPTY = Path(__file__).with_name("baselines") / "empty_page.py"
LIMIT = 1.5
PAINTED = {
    "empty": {"title": ["h1"]},
    "hedgerow": {
        "title": ["h1"],
        "next steps": [".st-key-next-steps"],
        "everything": [
            '[data-testid="stVegaLiteChart"] .marks',
            '[data-testid="stDataFrame"] canvas',
        ],
    },
}


def make_home(home: Path) -> None:
    """Create a project with the starter corpus and a cosine for every variant."""
    home.mkdir()
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        load(session, STARTER)
        encoder = register_encoder(session, name=DEFAULT_ENCODER, hash_="bench")
        rows = [
            {"encoder_id": encoder.id, "variant_id": variant_id, "cosine": 0.8}
            for variant_id in session.execute(select(col(Variant.id))).scalars()
        ]
        session.execute(insert(VariantCosine), rows)
    engine.dispose()


def start(browser: Browser, name: str, folder: Path) -> dict[str, float]:
    """The milliseconds from the start of the process until each part of the page is painted."""
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
    started = time.perf_counter()
    environment = {"HEDGEROW_HOME": str(folder)}
    with serving(commands[name], port=port, folder=folder, environment=environment) as address:
        page.goto(address, wait_until="commit")
        taken = {}
        for part, selectors in PAINTED[name].items():
            for selector in selectors:
                page.wait_for_selector(selector, timeout=120_000)
            page.evaluate("() => new Promise(requestAnimationFrame)")
            taken[part] = (time.perf_counter() - started) * 1000
        context.close()
    return taken


def main() -> None:
    """Measure, and print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {"empty": [], "hedgerow": []}
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folders = {name: Path(scratch) / name for name in found}
        folders["empty"].mkdir()
        make_home(folders["hedgerow"])
        for round_ in range(options.rounds + 1):
            for name, times in found.items():
                taken = start(browser, name, folders[name])
                if round_:  # the first round reads the programs from the disk
                    times.append(taken)
    medians = {}
    for name, parts in PAINTED.items():
        for part in parts:
            of_part = [taken[part] for taken in found[name]]
            medians[name, part] = statistics.median(of_part)
            spread = f"{min(of_part):.0f} to {max(of_part):.0f}"
            print(f"{name:10} {part:10} median {medians[name, part]:6.0f} ms   ({spread})")
    for part in PAINTED["hedgerow"]:
        ratio = medians["hedgerow", part] / medians["empty", "title"]
        limit = f" (at most {LIMIT})" if part == "title" else ""
        print(f"hedgerow {part} / empty title  {ratio:.2f}{limit}")


if __name__ == "__main__":
    main()
