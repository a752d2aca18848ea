"""The server's time for every list, filter, count and search, in projects of two sizes.

    python -m bench.lists [--large 350000] [--rounds 5] [--folder DIR] [--only audit …] [--cpu]
        [--postgresql URL]

The small project is a tenth of the large one. In both, people have disagreed on about one variant
in fifty, settled some of these conflicts, written notes, and measured a model on a calibration
sample. The bench alternates between the projects and runs the queries of pages and commands. For
measurements in parentheses, a page shows the previous result until a background thread is done.

It prints medians in milliseconds. The limits are those of bench.pages: at most 300 ms in the large
project, or at most 1.5 times the small project's time. --only selects measurements whose names
start with one of these texts. --folder keeps the projects. --cpu measures this program's CPU time
instead, as in bench.pages; with PostgreSQL, this excludes the work of the server. --postgresql
copies both projects into temporary databases on the server of URL.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.orm import Session
from sqlmodel import col

from bench.original_import import new_database
from bench.pages import LIMIT_MS, LIMIT_RATIO
from bench.projects.disputed import make_disputed
from bench.projects.reviewed import PEOPLE
from curation.anchors import lookup
from curation.anchors.search import SearchKind, find
from curation.decisions.coefficients import with_alpha, with_kappa
from curation.decisions.reviewers import people
from curation.diagnostics import distributions, variant_table
from curation.diagnostics.acceptance import Dimension, outcomes, reject_reasons
from curation.diagnostics.cue_use import cue_counts
from curation.diagnostics.measures import Flag
from curation.diagnostics.model_verdicts import agreement
from curation.diagnostics.opinions import judges
from curation.overview.funnel import funnel
from curation.overview.project_settings import open_project
from curation.review import adjudication, discussing
from curation.review import audit as audit
from curation.review.adjudication import ConflictOrder
from curation.review.agreement.figures import By, differing, figures, figures_by
from curation.review.agreement.overlap import overlap
from curation.review.agreement.records import ids_of, records
from curation.review.audit import Filters, Kind
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.key_actions import ReviewState
from curation.review.calibration.figures import calibration
from curation.review.drafts import Place
from curation.review.queue import Order, Queue
from curation.taxonomy.project_types import list_types
from curation.upkeep.copying import copy_database
from db.columns import now
from db.engine import create_engine, reading
from db.models import Decision
from db.settings import Settings

Work = Callable[[Engine], object]

SHOWN = 50
"""Rows on one page of a list."""


def _query(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Work:
    """Call a function of the library in its own session, as a page does."""

    def work(engine: Engine) -> object:
        with reading(engine) as session:
            found = function(session, *args, **kwargs)
            return list(found) if isinstance(found, Iterator) else found

    return work


def _window(kind: type[ReviewState], engine: Engine) -> ReviewState:
    with reading(engine) as session:
        types, ada = list_types(session), _person(session)
    return kind(engine=engine, reviewer_id=ada, types=types)


def _person(session: Session, name: str = PEOPLE[0]) -> int:
    return next(one.id for one in people(session) if one.name == name)


def _card(queue: Queue, order: Order, engine: Engine) -> object:
    """Open the Review page: the counts and the first card."""
    state = _window(ReviewState, engine)
    state.recount()
    state.go_to(Place(queue, None, None, order, by_family=False))
    view = state.view()
    state.leave()
    return view


def _conflict(order: ConflictOrder, engine: Engine) -> object:
    """Open the Adjudicate page: the counts, and the first conflict with every verdict."""
    state = _window(AdjudicationState, engine)
    assert isinstance(state, AdjudicationState)
    state.recount()
    state.choose(type_id=None, source_id=None, order=order)
    view = state.view()
    assert view.focus is not None
    verdicts = state.verdicts(view.focus.variant.id)
    state.leave()
    return verdicts


def _audit(engine: Engine, *, start_in_the_middle: bool = False, **wanted: Any) -> object:
    with reading(engine) as session:
        if wanted.pop("by_ada", False):
            wanted["reviewer_id"] = _person(session)
        start: audit.Place = audit.START
        if start_in_the_middle:
            newest = session.execute(select(func.max(col(Decision.id)))).scalar()
            start = {"decisions": (newest or 0) // 2}
        return audit.page(session, Filters(**wanted), start=start, limit=SHOWN)


def _figures(engine: Engine) -> object:
    """Compute agreement as the Team page shows it, without caches."""
    with_alpha.cache_clear()
    with_kappa.cache_clear()
    with reading(engine) as session:
        found = overlap(session).narrowed(independent=True)
        records(session, ids_of(differing(found))[:SHOWN])
    figures(found)
    return [figures_by(found, by) for by in By]


def _models(engine: Engine) -> object:
    """Compute the agreement of every model with people."""
    with reading(engine) as session:
        return [agreement(session, judge.id) for judge in judges(session)]


def _works() -> Mapping[str, Work]:
    """The measurements by name."""
    found: dict[str, Work] = {}
    for queue in Queue:
        for order in Order:
            found[f"review {queue.value}, {order.value}"] = partial(_card, queue, order)
    for conflicts in ConflictOrder:
        found[f"adjudicate {conflicts.value}"] = partial(_conflict, conflicts)
        found[f"conflicts listed, {conflicts.value}"] = _query(
            adjudication.conflicts, order=conflicts
        )
    found["adjudicate settled"] = _query(adjudication.settled, limit=SHOWN)
    found["adjudicate settled, a type"] = _query(
        adjudication.settled, type_id="affixal", limit=SHOWN
    )
    found["adjudicate to discuss"] = _query(discussing.open_marks, limit=SHOWN + 1)
    found["audit"] = _audit
    found["audit, old page"] = partial(_audit, start_in_the_middle=True)
    for kind in Kind:
        found[f"audit {kind.value}"] = partial(_audit, kind=kind)
        found[f"audit {kind.value}, person"] = partial(_audit, kind=kind, by_ada=True)
    day = timedelta(days=1)
    filters: dict[str, dict[str, Any]] = {
        "person": {"by_ada": True},
        "type": {"type_id": "affixal"},
        "person and type": {"by_ada": True, "type_id": "affixal"},
        "source": {"source_id": 1},
        "period": {"since": now() - day, "until": now() + day},
        "empty period": {"since": now() - 30 * day, "until": now() - 29 * day},
        "text": {"text": "item 42"},
        "frequent text": {"text": "item"},
        "no such text": {"text": "xyzzyq"},
    }
    found |= {f"audit by {name}": partial(_audit, **wanted) for name, wanted in filters.items()}
    found["(agreement of people)"] = _figures
    found["(agreement of models)"] = _models
    found["(calibration)"] = _query(calibration)
    texts = ("item 42)", "not", "xyzzyq", "Remark 4", "e")
    for search in SearchKind:
        for text in texts:
            name = f"search {search.value}, “{text}”"
            found[name] = _query(find, text, search, limit=20)
    anchors = {
        "": lookup.AnchorFilter(),
        " by text": lookup.AnchorFilter(text="item 42"),
        " by genre": lookup.AnchorFilter(genre="caption"),
        " by source": lookup.AnchorFilter(source="synthetic"),
        " without variants": lookup.AnchorFilter(without_variants=True),
        " retired": lookup.AnchorFilter(retired=True),
    }
    for name, wanted_anchors in anchors.items():
        for where, number in (("first page", 1), ("last page", 10**6)):
            found[f"anchors{name}, {where}"] = _query(
                lookup.page_of_anchors, wanted_anchors, number=number, size=SHOWN
            )
    found["anchors, choices"] = _query(lookup.filter_choices)
    measures = {
        "hardest": variant_table.VariantFilter(),
        "most suspicious": variant_table.VariantFilter(first=variant_table.First.SUSPICIOUS),
        "distance": variant_table.VariantFilter(levenshtein=(15, 30)),
        "flag": variant_table.VariantFilter(flag=next(iter(Flag))),
    }
    for name, wanted_variants in measures.items():
        found[f"(variants by {name})"] = _query(variant_table.find, wanted_variants, limit=SHOWN)
    found["people"] = _query(people)
    counts: dict[str, Work] = {
        "funnel": _query(funnel),
        "levenshtein": _query(distributions.levenshtein_counts),
        "cosines": _query(distributions.cosine_counts),
        "flags": _query(distributions.flag_counts),
        "pairs": _query(distributions.pair_counts),
        "cues": _query(cue_counts),
    }
    counts |= {f"reasons by {one.value}": _query(reject_reasons, one) for one in Dimension}
    counts |= {f"outcomes by {one.value}": _query(outcomes, one) for one in Dimension}
    return found | {f"({name})": work for name, work in counts.items()}


def _opened(home: Path, variants: int) -> Engine:
    if (home / "hedgerow.db").exists():
        return open_project(Settings(home=home, database_url=""))
    return make_disputed(home, variants=variants)


@contextmanager
def projects(folder: Path, *, large: int, server: URL | None) -> Iterator[dict[str, Engine]]:
    """The large and the small project, on SQLite or in new databases on the server."""
    with ExitStack() as stack:
        found = {}
        for name, variants in (("large", large), ("small", large // 10)):
            engine = _opened(folder / name, variants)
            if server is not None:
                copy = create_engine(stack.enter_context(new_database(server)))
                copy_database(engine, copy, report=lambda *_: None)
                stack.callback(copy.dispose)
                engine = copy
            found[name] = engine
        yield found


def measure(
    engines: Mapping[str, Engine],
    names: list[str],
    *,
    rounds: int,
    clock: Callable[[], float],
) -> Iterator[tuple[str, dict[str, float]]]:
    """Measure each name in turn, and yield it with the median milliseconds by project."""
    for name, work in _works().items():
        if names and not name.startswith(tuple(names)):
            continue
        times: dict[str, list[float]] = defaultdict(list)
        for number in range(rounds + 1):
            for project, engine in engines.items():
                start = clock()
                work(engine)
                if number:  # the first round reads from the disk and builds statements
                    times[project].append((clock() - start) * 1000)
        yield name, {project: statistics.median(taken) for project, taken in times.items()}


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=350_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--postgresql", type=make_url)
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    gc.freeze()  # as in the app, whose garbage collector does not scan what imports have created
    scratch = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory()
    with (
        scratch as folder,
        projects(Path(folder), large=options.large, server=options.postgresql) as engines,
    ):
        print(f"{'':40}{'large':>8}{'small':>8}{'ratio':>7}")
        found = measure(engines, options.only, rounds=options.rounds, clock=clock)
        for name, medians in found:
            large, small = medians["large"], medians["small"]
            missed = large > LIMIT_MS and large / small > LIMIT_RATIO
            verdict = "  over the limit" if missed else ""
            print(f"{name:40}{large:8.0f}{small:8.0f}{large / small:7.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
