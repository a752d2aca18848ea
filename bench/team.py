"""Twenty concurrent reviewers in one project, compared with a single reviewer in the same run.

    python -m bench.team [--postgresql URL] [--decisions 4000] [--think 1.0] [--single 60]

Each reviewer is a thread with the state of a Review page, but without its display. It shows a card,
thinks, decides, and shows the next card from the queue that all reviewers share. The bench measures
the time from the decision to the next card. With SQLite, one process serves all twenty reviewers,
as one app does. With PostgreSQL, four processes serve five reviewers each, in a temporary database
next to URL.

People read before they decide, so each reviewer thinks for --think seconds on average (0.5 to 1.5
times as long). A second pass without thinking shows the limits of the machine. Before each pass, a
single reviewer decides in the same project at the same pace.

At the end, the bench checks the database: every decision that a page reported as stored exists,
each variant has one decision, no decision was refused, no card is still leased, and `hedgerow db
check` finds no errors. Otherwise the bench fails. With thinking, the median should be at most 2
times that of the single reviewer. Without thinking, there is no limit.
"""

import argparse
import multiprocessing
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Thread
from typing import NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.engine import URL, make_url
from sqlmodel import col

from bench.original_import import new_database
from bench.projects.synthetic import make_project
from curation.decisions.reviewers import ensure_reviewer
from curation.overview.project_settings import open_project
from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.taxonomy.project_types import list_types
from curation.upkeep.checking import check_project
from curation.upkeep.copying import copy_database
from db.engine import create_engine, reading, writing
from db.models import Decision, Lease, Reviewer
from db.settings import Settings

LIMIT_RATIO = 2
REVIEWERS = 20
REJECTED = 0.2
"""The share of decisions that reject a variant."""
PATIENCE_SECONDS = 1800
"""How long to wait for the slowest reviewer."""

_barrier: threading.Barrier


class Crew(NamedTuple):
    """Reviewers who decide at the same time.

    Attributes:
        processes, threads: the number of server processes, and of reviewers per process.
        decisions: the number of decisions per reviewer.
        think: the mean seconds between a card and its decision.
    """

    processes: int
    threads: int
    decisions: int
    think: float

    @property
    def reviewers(self) -> int:
        return self.processes * self.threads


@dataclass
class Done:
    """The results that the pages of reviewers reported.

    Attributes:
        took: the milliseconds from each decision to the next card.
        stored: the action ids of the decisions that were reported as stored.
        refused: the messages for decisions that were not stored.
        seconds: the seconds from the first card to the last.
    """

    took: list[float] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seconds: float = 0.0


def _review(engine: Engine, name: str, crew: Crew, done: Done) -> None:
    """Decide as one reviewer until the crew's number of decisions is reached."""
    with writing(engine) as session:
        reviewer_id = ensure_reviewer(session, name).id
    with reading(engine) as session:
        types = list_types(session)
    state = ReviewState(engine=engine, reviewer_id=reviewer_id, types=types)
    state.recount()
    _barrier.wait()
    try:
        _go_through(state, random.Random(name), crew, done)
    except Exception as error:  # reported at the end, with the results of the others
        done.refused.append(f"{type(error).__name__}: {error}")
    _barrier.wait()
    state.leave()


def _go_through(state: ReviewState, rng: random.Random, crew: Crew, done: Done) -> None:
    view = state.view()
    state.drawn_now()
    for _ in range(crew.decisions):
        if view.focus is None:
            done.refused.append("The queue is empty.")
            break
        shown = state.showings[view.focus.variant.id]
        time.sleep(crew.think * rng.uniform(0.5, 1.5))
        start = time.perf_counter()
        if rng.random() < REJECTED:
            state.reject(shown, "wrong_type")
        else:
            state.accept(shown)
        view = state.view()
        state.drawn_now()
        done.took.append((time.perf_counter() - start) * 1000)
        if state.recent and state.recent[-1] == shown.action_id:
            done.stored.append(shown.action_id)
        else:
            done.refused.append(state.message)


def _set_barrier(barrier: Barrier) -> None:
    """Set the barrier of a new process, at which reviewers wait to start and to leave together."""
    global _barrier
    _barrier = barrier


def _serve(settings: Settings, names: Sequence[str], crew: Crew) -> Done:
    """Run one server process, with a thread for each reviewer."""
    if not crew.think:
        key_actions.MIN_SHOWN_SECONDS = 0.0  # a new card would ignore keys
    engine = open_project(settings)
    done = [Done() for _ in names]
    threads = [
        Thread(target=_review, args=(engine, name, crew, own))
        for name, own in zip(names, done, strict=True)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.dispose()
    return _together(done, seconds=time.perf_counter() - started)


def _together(parts: Sequence[Done], *, seconds: float) -> Done:
    return Done(
        took=[milliseconds for part in parts for milliseconds in part.took],
        stored=[action for part in parts for action in part.stored],
        refused=[message for part in parts for message in part.refused],
        seconds=seconds,
    )


def decide(settings: Settings, crew: Crew, *, name: str) -> Done:
    """Have a crew decide. All reviewers start at the same moment."""
    names = [f"{name} {number}" for number in range(crew.reviewers)]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        pool = ProcessPoolExecutor(
            crew.processes,
            mp_context=context,
            initializer=_set_barrier,
            initargs=(manager.Barrier(crew.reviewers, timeout=PATIENCE_SECONDS),),
        )
        with pool:
            parts = list(
                pool.map(
                    _serve,
                    [settings] * crew.processes,
                    [names[start :: crew.processes] for start in range(crew.processes)],
                    [crew] * crew.processes,
                )
            )
    return _together(parts, seconds=max(part.seconds for part in parts))


def verify(settings: Settings, done: Sequence[Done], *, expected: int) -> None:
    """Compare the reported results with the database.

    Raises:
        RuntimeError: a decision is missing, stored twice or refused, a card is still leased, or a
            check of the database fails.
    """
    engine = open_project(settings)
    refused = [message for part in done for message in part.refused]
    reported = {action for part in done for action in part.stored}
    with reading(engine) as session:
        by_people = (
            select(Decision)
            .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
            .where(col(Reviewer.kind) == "person")
            .subquery()
        )
        numbers = select(
            func.count(),
            func.count(by_people.c.variant_id.distinct()),
            func.count(by_people.c.action_id.distinct()),
        ).select_from(by_people)
        counts = session.execute(numbers).one()
        stored = set(session.execute(select(by_people.c.action_id)).scalars())
        leased = session.execute(select(func.count()).select_from(Lease)).scalar_one()
    checked = check_project(engine, settings, report=lambda *_: None)
    engine.dispose()
    errors = [finding.sentence() for finding in checked.findings if finding.is_open]
    lost, unknown = len(reported - stored), len(stored - reported)
    problems = {
        f"{len(refused)} decisions were refused, for example: {refused[:1]}.": bool(refused),
        f"{lost} decisions are lost and {unknown} are unknown.": reported != stored,
        f"Expected {expected} decisions on as many variants, found {counts}.": set(counts)
        != {expected},
        f"{leased} cards are still leased.": bool(leased),
        " ".join(errors): bool(errors),
    }
    if found := [problem for problem, is_open in problems.items() if is_open]:
        raise RuntimeError(" ".join(found))


def measure(url: URL | None, crew: Crew, *, single: int) -> str:
    """Create a project, have a single reviewer and then the crew decide, and report on both."""
    team = crew.reviewers * crew.decisions
    size = round((team + single) * 1.2)  # the last cards of the queue may be leased
    with tempfile.TemporaryDirectory() as folder:
        made = make_project(Path(folder), variants=size)
        settings = Settings(home=Path(folder), database_url="")
        if url is not None:
            target = create_engine(url)
            copy_database(made, target, report=lambda *_: None)
            target.dispose()
            address = url.render_as_string(hide_password=False)
            settings = Settings(home=Path(folder), database_url=address)
        made.dispose()
        alone = decide(settings, Crew(1, 1, single, crew.think), name="Single")
        together = decide(settings, crew, name="Reviewer")
        verify(settings, [alone, together], expected=team + single)
    return _report(crew, alone, together)


def _report(crew: Crew, alone: Done, together: Done) -> str:
    medians = [statistics.median(done.took) for done in (together, alone)]
    ratio = medians[0] / medians[1]
    tail = statistics.quantiles(together.took, n=20)[-1]
    servers = "one process" if crew.processes == 1 else f"{crew.processes} processes"
    pace = f"thinking {crew.think:g} s" if crew.think else "without thinking"
    limit = ""
    if crew.think:
        limit = f" (at most {LIMIT_RATIO})" + ("  over the limit" if ratio > LIMIT_RATIO else "")
    return (
        f"{crew.reviewers} reviewers in {servers}, {pace}: {len(together.stored):,} decisions, none"
        f" lost, stored twice or refused, {len(together.stored) / together.seconds:.0f} per second;"
        f" decision to next card {medians[0]:.1f} ms (p95 {tail:.1f}), single reviewer"
        f" {medians[1]:.1f} ms; ratio {ratio:.2f}{limit}"
    )


def main() -> None:
    """Measure, and print a line for each database and pace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", type=make_url)
    parser.add_argument("--decisions", type=int, default=4_000)
    parser.add_argument("--think", type=float, default=1.0)
    parser.add_argument("--single", type=int, default=60)
    options = parser.parse_args()
    servers: dict[str, tuple[URL | None, int]] = {"SQLite": (None, 1)}
    if options.postgresql is not None:
        servers["PostgreSQL"] = (options.postgresql, 4)
    for name, (server, processes) in servers.items():
        for think in (options.think, 0.0):
            threads = REVIEWERS // processes
            crew = Crew(processes, threads, options.decisions // REVIEWERS, think)
            with new_database(server) as url:
                report = measure(url if server else None, crew, single=options.single)
            print(f"{name}: {report}", flush=True)


if __name__ == "__main__":
    main()
