"""Agreement figures and the team's pages, in a large project and in one a tenth of its size.

    python -m bench.agreement [--large 350000] [--rounds 5] [--folder DIR] [--cpu]

In both projects, two people have decided on a tenth of the variants and settled some of their
conflicts. The bench alternates between the projects and measures:

    baseline   one plain GROUP BY for the latest decision of every reviewer on every variant
    pass       the single query that aggregates the verdicts of several people
    figures    overall and by type, pair, cue and source, with all intervals, without caches
    records    the first hundred variants behind a figure, with their verdicts
    page       the page Team with all its figures: the first view after a decision (cold), and the
               next view (warm)
    audit, adjudicate, disputed, settled, judges
               the same for Team > Audit, for Adjudicate in both orders and its settled conflicts,
               and for Generate > Judges

It prints medians in milliseconds. The limits are those of bench.pages: at most 300 ms in the large
project, or at most 1.5 times the small project's time. The pass should take at most 2.5 times as
long as the baseline. --folder keeps the projects, and --cpu measures this program's CPU time
instead, as in bench.pages.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st
from sqlalchemy import Engine, func, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from bench.pages import LIMIT_MS, LIMIT_RATIO, ROOT, TIMEOUT
from bench.projects.disputed import make_disputed
from bench.projects.furnished import decide_one
from bench.projects.reviewed import PEOPLE
from curation.decisions.coefficients import with_alpha, with_kappa
from curation.overview.project_settings import open_project
from curation.review.agreement.figures import By, differing, figures, figures_by
from curation.review.agreement.overlap import Overlap, overlap
from curation.review.agreement.records import ids_of, records
from db.engine import reading
from db.models import Decision
from db.settings import Settings

PASS_LIMIT = 2.5
"""The highest ratio of the pass to the baseline."""

SHOWN = 100

PAGES = {
    "page": "team",
    "audit": "team?show=Audit",
    "adjudicate": "adjudicate",
    "disputed": "adjudicate?conflict-order=Most disputed",
    "settled": "adjudicate?part=Settled",
    "judges": "generate?step=Judges",
}
COUNTED = {"team", "generate?step=Judges"}
"""Pages that show their figures only after a background thread has counted."""

Times = dict[str, dict[str, list[float]]]
"""Measurement → project → milliseconds of every round."""


def _opened(home: Path, variants: int) -> Engine:
    if (home / "hedgerow.db").exists():
        return open_project(Settings(home=home, database_url=""))
    return make_disputed(home, variants=variants)


def _latest(engine: Engine) -> int:
    each = select(func.max(col(Decision.id)).label("id")).group_by(
        col(Decision.variant_id), col(Decision.reviewer_id)
    )
    with reading(engine) as session:
        return session.execute(select(func.max(each.subquery().c.id))).scalar_one()


def _aggregate(engine: Engine) -> Overlap:
    with reading(engine) as session:
        return overlap(session)


def _all_figures(found: Overlap) -> None:
    with_alpha.cache_clear()
    with_kappa.cache_clear()
    counted = found.narrowed(independent=True)
    figures(counted)
    for by in By:
        figures_by(counted, by)


def _list(engine: Engine, found: Overlap) -> None:
    with reading(engine) as session:
        records(session, ids_of(differing(found))[:SHOWN])


class _Visitor:
    """A person who has a page of a project open.

    Args:
        address: the page's file and its query parameters, as in ``team?show=Audit``.
    """

    def __init__(self, home: Path, address: str) -> None:
        os.environ["HEDGEROW_HOME"] = str(home)
        os.environ["HEDGEROW_REVIEWER"] = PEOPLE[0]
        st.cache_resource.clear()  # otherwise the page keeps the other project's engine
        st.cache_data.clear()
        self._app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
        page, _, query = address.partition("?")
        self._app.switch_page(f"pages/{page}.py")
        for key, value in parse_qsl(query):
            self._app.query_params[key] = value
        self.view()
        end = time.monotonic() + TIMEOUT
        while address in COUNTED and not self._app.dataframe:  # a thread is counting
            if time.monotonic() > end:
                raise RuntimeError(f"{address} shows no figures after {TIMEOUT:.0f} seconds.")
            time.sleep(0.1)
            self.view()

    def view(self) -> None:
        """Run the page."""
        self._app.run()
        if self._app.exception or self._app.error:
            raise RuntimeError([found.value for found in (*self._app.exception, *self._app.error)])

    def leave(self) -> None:
        """Leave the page, which releases the lease on its card."""
        self._app.switch_page("pages/settings.py")
        self.view()


def measure(folder: Path, *, large: int, rounds: int, clock: Callable[[], float]) -> Times:
    """The milliseconds of every round except the first."""
    sizes = {"large": large, "small": large // 10}
    engines = {name: _opened(folder / name, size) for name, size in sizes.items()}
    found: Times = defaultdict(lambda: defaultdict(list))
    changes = count()

    def timed(name: str, project: str, work: Callable[[], Any]) -> Any:
        start = clock()
        result = work()
        found[name][project].append((clock() - start) * 1000)
        return result

    for _ in range(rounds + 1):
        for project, engine in engines.items():
            timed("baseline", project, partial(_latest, engine))
            shared = timed("pass", project, partial(_aggregate, engine))
            timed("figures", project, partial(_all_figures, shared))
            timed("records", project, partial(_list, engine, shared))
            for name, address in PAGES.items():
                visitor = _Visitor(folder / project, address)
                decide_one(engine, number=next(changes))
                timed(f"{name}, cold", project, visitor.view)
                timed(f"{name}, warm", project, visitor.view)
                visitor.leave()
    return {
        name: {project: times[1:] for project, times in projects.items()}
        for name, projects in found.items()
    }


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=350_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    scratch = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory()
    with scratch as folder:
        found = measure(Path(folder), large=options.large, rounds=options.rounds, clock=clock)
    print(f"{'':12}{'large':>8}{'small':>8}{'ratio':>7}")
    medians = {
        name: {project: statistics.median(times) for project, times in projects.items()}
        for name, projects in found.items()
    }
    for name, projects in medians.items():
        large, small = projects["large"], projects["small"]
        verdict = "  over the limit" if large > LIMIT_MS and large / small > LIMIT_RATIO else ""
        print(f"{name:12}{large:8.0f}{small:8.0f}{large / small:7.2f}{verdict}")
    ratio = medians["pass"]["large"] / medians["baseline"]["large"]
    print(f"pass / baseline {ratio:.2f} (at most {PASS_LIMIT:g})")


if __name__ == "__main__":
    main()
