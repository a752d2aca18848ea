"""The longest wait of a single decision while long work writes in the same project.

    python -m bench.locks [--variants 350000] [--postgresql URL] [--only NAME ...]

For each kind of work, the bench copies one project, half of whose variants are decided, and starts
the work in it. Meanwhile, a reviewer in another process stores a decision, waits a tenth of a
second, and stores the next one. The bench prints the longest and the median wait, the number of
decisions, how long the work takes, and the ratio of the longest wait to that without other work. No
decision should wait for more than a second, and none may fail.
"""

import argparse
import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, delete, select, text, update
from sqlalchemy.engine import URL, make_url
from sqlmodel import col

import hedgerow
from bench.original_import import csv_of, new_database
from bench.projects.synthetic import make_project
from curation.decisions import people
from curation.decisions.reviewers import ensure_reviewer
from curation.diagnostics import queue_order
from curation.encoders.loading import fingerprint
from curation.encoders.registered import encoder_source
from curation.overview.project_settings import change_threshold, open_project
from curation.project.settings import DEFAULT_ENCODER
from curation.review import deciding
from curation.upkeep.copying import copy_database
from db.engine import create_engine, reading, writing
from db.models import Anchor, Diagnostic, Encoder, Status, Variant, VariantCosine
from db.settings import Settings
from hedgerow.home import home_of

LIMIT_SECONDS = 1.0
PAUSE_SECONDS = 0.1
UNMEASURED = 20_000
"""How many variants have to be measured again."""

Work = Callable[[hedgerow.Project, Engine], object]


class Waits(NamedTuple):
    """The seconds that each decision took, and the messages of those that failed."""

    seconds: list[float]
    failed: list[str]


def _release(project: hedgerow.Project, engine: Engine) -> None:
    project.release("Bench", any_distance=True)


def _rule(project: hedgerow.Project, engine: Engine) -> None:
    project.decide_by_rule("levenshtein >= 0", "accept", reviewer="Lead")


def _undo(project: hedgerow.Project, engine: Engine) -> None:
    project.undo(reviewer="Lead")


def _assign(project: hedgerow.Project, engine: Engine) -> None:
    project.assign(reviewers=2, share=0.5)


def _rule_and_assign(project: hedgerow.Project, engine: Engine) -> None:
    _rule(project, engine)
    _assign(project, engine)


def _end_assignment(project: hedgerow.Project, engine: Engine) -> None:
    project.assign(reviewers=2, share=0)


def _threshold(project: hedgerow.Project, engine: Engine) -> None:
    with writing(engine) as session:
        change_threshold(session, 30)
    while queue_order.reorder_block(engine) is not None:
        pass


def _forget_measures(project: hedgerow.Project, engine: Engine) -> None:
    with writing(engine) as session:
        source = encoder_source(session, project._home.settings, DEFAULT_ENCODER)
        session.execute(update(Encoder).values(fingerprint=fingerprint(source)))
        ids = select(col(Variant.id)).order_by(col(Variant.id)).limit(UNMEASURED)
        for table in (Diagnostic, VariantCosine):
            session.execute(delete(table).where(col(table.variant_id).in_(ids)))


def _measure(project: hedgerow.Project, engine: Engine) -> None:
    project.diagnose()


def _merge(project: hedgerow.Project, engine: Engine) -> None:
    with writing(engine) as session:
        lead, ada = (ensure_reviewer(session, name).id for name in ("Lead", "Ada"))
    people.merge(engine, person=lead, into=ada)


def _corpus(name: str, *, accept: bool = False) -> Work:
    def load(project: hedgerow.Project, engine: Engine) -> None:
        project.load_corpus(name, accept_unflagged=accept, reviewer="Lead")

    return load


def _anchors(count: int) -> Work:
    def add(project: hedgerow.Project, engine: Engine) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "anchors.csv")
            file.write_bytes(csv_of(count))
            project.anchors.add(file, column="premise", source="bench", licence="CC0-1.0")

    return add


def _variants(project: hedgerow.Project, engine: Engine) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "variants.csv")
        rows = csv_of(20_000).decode().splitlines()[1:]
        file.write_text("\n".join(["anchor,paraphrase,verbal", *rows]))
        project.variants.add(file)


def _retire(project: hedgerow.Project, engine: Engine) -> None:
    with reading(engine) as session:
        uids = session.execute(select(col(Anchor.uid)).limit(20_000)).scalars().all()
    project.anchors.retire(*uids)


def _generate(project: hedgerow.Project, engine: Engine) -> None:
    project.generate(provider="rules", source="bench", measure=False)


def _giveaways(project: hedgerow.Project, engine: Engine) -> None:
    from curation.diagnostics import giveaways  # noqa: PLC0415
    from db.runs import ensure_run  # noqa: PLC0415
    from hedgerow.running import carry_out  # noqa: PLC0415

    with writing(engine) as session:
        run = ensure_run(session, kind=giveaways.KIND, parameters={}).run.id
    carry_out(*project._home, run)


WORK: dict[str, tuple[Work | None, Work]] = {
    "nothing else": (None, lambda *_: time.sleep(10)),
    "release": (None, _release),
    "rule": (None, _rule),
    "undo of a rule": (_rule, _undo),
    "assignment": (_rule, _assign),
    "end of an assignment": (_rule_and_assign, _end_assignment),
    "threshold": (None, _threshold),
    "measuring": (_forget_measures, _measure),
    "merging reviewers": (_rule, _merge),
    "claims, accepted": (None, _corpus("claims", accept=True)),
    "undo of claims": (_corpus("claims", accept=True), _undo),
    "antonyms": (None, _corpus("antonyms")),
    "80,000 anchors": (None, _anchors(80_000)),
    "40,000 variants": (None, _variants),
    "retiring 20,000 anchors": (None, _retire),
    "generation by rules": (_anchors(2_000), _generate),
    "giveaways": (None, _giveaways),
}
"""By name: what is done before, and the work itself."""


def _review(settings: Settings, stop: Connection) -> None:
    """Store decisions until told to stop; send back the waits."""
    engine = open_project(settings)
    with writing(engine) as session:
        reviewer_id = ensure_reviewer(session, "Reviewer").id
    with reading(engine) as session:
        query = select(col(Variant.id)).where(col(Variant.status) == Status.ACCEPTED)
        ids = iter(session.execute(query.order_by(col(Variant.random_key))).scalars().all())
    stop.send("ready")
    waits = Waits([], [])
    stopped = False
    while not stopped:
        with reading(engine) as session:
            shown = deciding.shown(session.get_one(Variant, next(ids)))
        begun = time.perf_counter()
        try:
            with writing(engine) as session:
                deciding.accept(session, shown, reviewer_id=reviewer_id)
        except hedgerow.HedgerowError as error:
            waits.failed.append(str(error))
        waits.seconds.append(time.perf_counter() - begun)
        stopped = stop.poll(PAUSE_SECONDS)
    engine.dispose()
    stop.send(waits)


def measure(settings: Settings, before: Work | None, work: Work) -> tuple[Waits, float]:
    """Do the work while a reviewer decides; return the waits and the seconds of the work."""
    engine = open_project(settings)
    with hedgerow.Project(home_of(settings, create=False)) as project:
        if before is not None:
            before(project, engine)
        ours, theirs = multiprocessing.Pipe()
        reviewer = multiprocessing.get_context("spawn").Process(
            target=_review, args=(settings, theirs)
        )
        reviewer.start()
        ours.recv()
        begun = time.monotonic()
        try:
            work(project, engine)
        finally:
            seconds = time.monotonic() - begun
            ours.send("stop")
            waits: Waits = ours.recv()
            reviewer.join()
    engine.dispose()
    return waits, seconds


@contextmanager
def _copy(made: Path, server: URL | None, template: URL | None) -> Iterator[Settings]:
    """A copy of the project, on SQLite or PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, new_database(server) as url:
        if server is None or template is None:
            shutil.copytree(made, folder, dirs_exist_ok=True)
            yield Settings(home=Path(folder), database_url="", reviewer="Lead")
            return
        maintenance = create_engine(server).execution_options(isolation_level="AUTOCOMMIT")
        with maintenance.connect() as connection:
            connection.execute(text(f"DROP DATABASE {url.database}"))
            connection.execute(text(f"CREATE DATABASE {url.database} TEMPLATE {template.database}"))
        maintenance.dispose()
        address = url.render_as_string(hide_password=False)
        yield Settings(home=Path(folder), database_url=address, reviewer="Lead")


def _report(name: str, waits: Waits, seconds: float, idle: float) -> str:
    longest = max(waits.seconds)
    problem = "  over the limit" if longest > LIMIT_SECONDS or waits.failed else ""
    failed = f"; {len(waits.failed)} FAILED: {waits.failed[0]}" if waits.failed else ""
    return (
        f"{name:24} longest {longest:6.2f} s ({longest / idle:5.0f} times), median "
        f"{statistics.median(waits.seconds) * 1000:5.1f} ms, {len(waits.seconds):5} decisions in "
        f"{seconds:6.1f} s{failed}{problem}"
    )


def main() -> None:
    """Measure each kind of work, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=350_000)
    parser.add_argument("--postgresql", type=make_url)
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--folder", type=Path, help="keep the project here for the next time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, new_database(options.postgresql) as template:
        made = options.folder or Path(folder)
        if not (made / "hedgerow.db").exists():
            make_project(made, variants=options.variants, decided=0.5).dispose()
        if options.postgresql:
            source, target = (
                create_engine(u) for u in (Settings(home=made, database_url="").url, template)
            )
            copy_database(source, target, report=lambda *_: None)
            source.dispose()
            target.dispose()
        idle = 0.0
        for name in dict.fromkeys(("nothing else", *options.only)):
            with _copy(made, options.postgresql, template) as settings:
                waits, seconds = measure(settings, *WORK[name])
            idle = idle or statistics.median(waits.seconds)
            print(_report(name, waits, seconds, idle), flush=True)


if __name__ == "__main__":
    main()
