"""The server's time for every page, in a large project and in one a tenth of its size.

    python -m bench.pages [--large 350000] [--rounds 5] [--folder DIR] [--only overview …]

The bench runs every file of pages/ as the server does, with a signed-in user but no browser, and
alternates between the projects. Cold is the first view after the start of the server and a decision
on a variant; warm is the next view. It prints medians in milliseconds. A page should take at most
300 ms in the large project, or at most 1.5 times the small project's time. --folder keeps the
projects for later runs. --cpu measures this program's CPU time instead, for busy machines.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import streamlit as st
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from bench.projects.furnished import PEOPLE, decide_one, make_furnished
from curation.overview.project_settings import open_project
from db.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
LIMIT_MS, LIMIT_RATIO = 300, 1.5
PARTS = ("generate?step=Results", "generate?step=Prompts")
"""Parts of pages that are measured in addition to the pages as they open."""

TIMEOUT = 300.0


class Visits:
    """Visits to the pages of a project."""

    def __init__(self, home: Path, variants: int) -> None:
        self.home = home
        self.engine = _opened(home, variants)
        self.changes = 0

    def page(self, name: str, clock: Callable[[], float]) -> tuple[float, float]:
        """The milliseconds of a cold and of a warm view."""
        os.environ["HEDGEROW_HOME"] = str(self.home)
        os.environ["HEDGEROW_REVIEWER"] = PEOPLE[0]
        st.cache_resource.clear()  # otherwise the page keeps the other project's engine
        st.cache_data.clear()
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
        _run(app)
        name, _, address = name.partition("?")
        if name != "overview":
            app.switch_page(f"pages/{name}.py")
        for key, _, value in (part.partition("=") for part in address.split("&") if part):
            app.query_params[key] = value
        _run(app)
        st.cache_data.clear()
        decide_one(self.engine, number=self.changes)
        self.changes += 1
        taken = []
        for _ in range(2):
            start = clock()
            _run(app)
            taken.append((clock() - start) * 1000)
        return taken[0], taken[1]


def _run(app: AppTest) -> None:
    app.run()
    if app.exception or app.error:
        raise RuntimeError([element.value for element in (*app.exception, *app.error)])


def _opened(home: Path, variants: int) -> Engine:
    if (home / "hedgerow.db").exists():
        return open_project(Settings(home=home, database_url=""))
    return make_furnished(home, variants=variants)


def measure(
    folder: Path, names: Sequence[str], *, large: int, rounds: int, clock: Callable[[], float]
) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Page → project → milliseconds (cold, warm) of every round except the first."""
    visits = {
        name: Visits(folder / name, variants)
        for name, variants in (("large", large), ("small", large // 10))
    }
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name in names:
        found[name] = defaultdict(list)
        for round_ in range(rounds + 1):
            for project, session in visits.items():
                times = session.page(name, clock)
                if round_:  # the first round imports modules
                    found[name][project].append(times)
    return found


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=350_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    names = options.only or [*sorted(path.stem for path in (ROOT / "pages").glob("*.py")), *PARTS]
    clock = time.process_time if options.cpu else time.perf_counter
    scratch = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory()
    with scratch as folder:
        found = measure(
            Path(folder), names, large=options.large, rounds=options.rounds, clock=clock
        )
    print(f"{'page':24}{'':6}{'large':>8}{'small':>8}{'ratio':>7}")
    for name, projects in found.items():
        for view, which in enumerate(("cold", "warm")):
            large, small = (
                statistics.median(times[view] for times in projects[project])
                for project in ("large", "small")
            )
            missed = large > LIMIT_MS and large / small > LIMIT_RATIO
            verdict = "  over the limit" if missed else ""
            print(f"{name:24}{which:6}{large:8.0f}{small:8.0f}{large / small:7.2f}{verdict}")


if __name__ == "__main__":
    main()
