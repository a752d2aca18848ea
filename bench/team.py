"""Twenty reviewers at once on one project, against a single reviewer of the same run.

    python -m bench.team [--postgresql URL] [--decisions 4000] [--think 1.0] [--single 60]

Each reviewer is a thread with a window of the Review page (its library; nothing is drawn). It shows
a card, thinks, decides, and shows the next card of the one queue that all share. Measured is the
time from the decision to the next card. On SQLite one process serves all twenty, as one app does.
On PostgreSQL four processes serve five each, in a database that is created next to URL and dropped.

A person reads before deciding: each thinks for --think seconds on average (between half and one and
a half times as long). Then the same once more without thinking, which is what the machine gives
when nobody ever reads. The single reviewer does the same just before, in the same project and at
the same pace.

At the end the database is asked: all decisions that a window called stored are there, each variant
was decided once, nobody was refused, no card is leased once all have left, and the checks of
`hedgerow db check` find nothing wrong. Otherwise the bench ends with an error. Expected with
thinking: a median of at most 2 times the single reviewer's. Without it, nothing is expected.
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
from curation.project.opening import open_project
from curation.review.browser_window import key_actions
from curation.review.browser_window.key_actions import ReviewState
from curation.review.people.reviewers import ensure_reviewer
from curation.taxonomy.project_types import list_types
from curation.upkeep.checking import check_project
from curation.upkeep.copying import copy_database
from db.engine import create_engine, reading, writing
from db.models import Decision, Lease, Reviewer
from db.settings import Settings

LIMIT_RATIO = 2
REVIEWERS = 20
REJECTED = 0.2
"""Share of the decisions that reject."""
PATIENCE_SECONDS = 1800
"""For the slowest reviewer; after that, something else is wrong."""

_barrier: threading.Barrier


class Crew(NamedTuple):
    """Who decides at once.

    Attributes:
        processes, threads: servers, and reviewers of each.
        decisions: of each reviewer.
        think: mean seconds between a card and its decision.
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
    """What windows were told.

    Attributes:
        took: milliseconds from each decision to the next card.
        stored: action ids of the decisions that were said to be stored.
        refused: what was said where one was not.
        seconds: from the first card to the last.
    """

    took: list[float] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seconds: float = 0.0


def _review(engine: Engine, name: str, crew: Crew, done: Done) -> None:
    """One reviewer, from the first card of the queue to the last that is asked for."""
    with writing(engine) as session:
        reviewer_id = ensure_reviewer(session, name).id
    with reading(engine) as session:
        types = list_types(session)
    state = ReviewState(engine=engine, reviewer_id=reviewer_id, types=types)
    state.recount()
    _barrier.wait()
    try:
        _go_through(state, random.Random(name), crew, done)
    except Exception as error:  # told at the end, with what the others did
        done.refused.append(f"{type(error).__name__}: {error}")
    _barrier.wait()
    state.leave()


def _go_through(state: ReviewState, chance: random.Random, crew: Crew, done: Done) -> None:
    view = state.view()
    state.drawn_now()
    for _ in range(crew.decisions):
        if view.focus is None:
            done.refused.append("The queue is empty.")
            break
        shown = state.showings[view.focus.variant.id]
        time.sleep(crew.think * chance.uniform(0.5, 1.5))
        begun = time.perf_counter()
        if chance.random() < REJECTED:
            state.reject(shown, "wrong_type")
        else:
            state.accept(shown)
        view = state.view()
        state.drawn_now()
        done.took.append((time.perf_counter() - begun) * 1000)
        if state.recent and state.recent[-1] == shown.action_id:
            done.stored.append(shown.action_id)
        else:
            done.refused.append(state.message)


def _meet(barrier: Barrier) -> None:
    """What a process begins with: where all reviewers wait for each other, to begin and to end."""
    global _barrier
    _barrier = barrier


def _serve(settings: Settings, names: Sequence[str], crew: Crew) -> Done:
    """One process, with a thread for each reviewer."""
    if not crew.think:
        key_actions.MIN_SHOWN_SECONDS = 0.0  # a card takes no key as soon as it is there
    engine = open_project(settings)
    done = [Done() for _ in names]
    threads = [
        Thread(target=_review, args=(engine, name, crew, own))
        for name, own in zip(names, done, strict=True)
    ]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.dispose()
    return _together(done, seconds=time.perf_counter() - begun)


def _together(parts: Sequence[Done], *, seconds: float) -> Done:
    return Done(
        took=[each for part in parts for each in part.took],
        stored=[action for part in parts for action in part.stored],
        refused=[said for part in parts for said in part.refused],
        seconds=seconds,
    )


def decide(settings: Settings, crew: Crew, *, name: str) -> Done:
    """Have a crew decide; all begin at the same moment."""
    names = [f"{name} {number}" for number in range(crew.reviewers)]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        pool = ProcessPoolExecutor(
            crew.processes,
            mp_context=context,
            initializer=_meet,
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
    """Compare what windows were told with what the database holds.

    Raises:
        RuntimeError: a decision is missing or doubled, was refused, or left something behind.
    """
    engine = open_project(settings)
    refused = [said for part in done for said in part.refused]
    told = {action for part in done for action in part.stored}
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
    wrong = [each.sentence() for each in checked.findings if each.is_open]
    problems = {
        f"{len(refused)} decisions were refused, as by: {refused[:1]}": bool(refused),
        f"{len(told - stored)} decisions are lost, {len(stored - told)} unknown": told != stored,
        f"expected {expected} decisions on as many variants, found {counts}": set(counts)
        != {expected},
        f"{leased} cards are still leased": bool(leased),
        " ".join(wrong): bool(wrong),
    }
    if found := [problem for problem, is_there in problems.items() if is_there]:
        raise RuntimeError("; ".join(found))


def measure(url: URL | None, crew: Crew, *, single: int) -> str:
    """A fresh project, a single reviewer and then the crew; one line about both."""
    team = crew.reviewers * crew.decisions
    size = round((team + single) * 1.2)  # others have leased what is at the end of the queue
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
    aim = ""
    if crew.think:
        aim = f" (at most {LIMIT_RATIO})" + ("  misses" if ratio > LIMIT_RATIO else "")
    return (
        f"{crew.reviewers} reviewers in {servers}, {pace}: {len(together.stored):,} decisions, none"
        f" lost, doubled or locked, {len(together.stored) / together.seconds:.0f} a second; decide"
        f" and next {medians[0]:.1f} ms (p95 {tail:.1f}), a single reviewer {medians[1]:.1f} ms;"
        f" ratio {ratio:.2f}{aim}"
    )


def main() -> None:
    """Measure and print."""
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
