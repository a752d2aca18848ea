"""Importing anchors from a CSV file, compared with a plain SQL insert of the same rows.

    python -m bench.anchor_import [--anchors 50000] [--turns 5] [--triples 248000]

The bench prints the median seconds of each step of the import (parse, check and compare, insert and
commit) and of the plain insert, and their ratio. It alternates between the two, on identical
databases with the anchors of the starter corpus. The plain insert passes complete rows for both
tables, including ids, to the driver's executemany in one transaction. The import should take at
most 3 times as long.

``--triples`` imports this many untyped triples as variants instead (in the format of HedgeTriple,
four negations and two hedges per anchor, shuffled). The bench prints the CPU seconds for reading
them from JSON Lines and from Parquet, compared with loading the same file into memory with ``json``
and pyarrow, the CPU seconds for comparing and for storing them, and the peak memory.
"""

import argparse
import csv
import io
import json
import random
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from curation.corpora.corpus import STARTER
from curation.importing.anchor_preview import FileRow, RowStatus, preview
from curation.importing.anchor_rows import About
from curation.importing.anchor_storing import add_anchors
from curation.importing.column_roles import guess_roles, types_by_name
from curation.importing.labels import read_file
from curation.importing.staged import Staged
from curation.importing.staging import stage
from curation.importing.variant_choices import Choices
from curation.importing.variant_plan import AT_ONCE
from curation.importing.variant_preview import preview as preview_variants
from curation.importing.variant_storing import Import, store_families
from curation.splits import split_of
from curation.tables.files import parts_of_path
from curation.tables.table import open_table
from curation.taxonomy.project_types import all_types, seed_taxonomy
from db.engine import collector_paused, create_engine, reading, writing
from db.migrate import upgrade
from db.models import Run, RunState, Source

MOMENT = "2026-01-01 00:00:00.000000"
ANCHOR = (
    "INSERT INTO anchor (id, uid, revision, source_id, genre, language, split, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
WORDING = (
    "INSERT INTO anchor_revision (anchor_id, revision, text, text_uid, created_at)"
    " VALUES (?, ?, ?, ?, ?)"
)


def starter_anchors() -> list[dict[str, Any]]:
    """The families of the starter corpus."""
    lines = (STARTER.folder / "families.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def csv_of(count: int) -> bytes:
    """A CSV file with this many distinct anchors. One in fifty is negated."""
    families = starter_anchors()
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["id", "text", "genre"])
    for number in range(count):
        family = families[number % len(families)]
        text = family["verbal"] if number % 50 == 0 else family["anchor"]
        text = text if isinstance(text, str) else text["text"]
        writer.writerow([number, f"On day {number} {text[:1].lower()}{text[1:]}", family["genre"]])
    return file.getvalue().encode()


def prepare(folder: Path) -> Path:
    """A database with the anchors of the starter corpus, which the import itself creates."""
    path = folder / "prepared.db"
    engine = create_engine(URL.create("sqlite", database=str(path)))
    upgrade(engine)
    text = "\n".join(family["anchor"] for family in starter_anchors())
    with reading(engine) as session:
        shown = preview(session, read_file(text.encode(), name="starter.txt"), column="text")
    add_anchors(engine, shown, shown.with_status(*RowStatus), about=About(source="starter"))
    engine.dispose()
    return path


def copy_of(prepared: Path) -> Engine:
    """An engine for a new copy, with its first connection already open."""
    path = prepared.with_name("copy.db")
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copy(prepared, path)
    engine = create_engine(URL.create("sqlite", database=str(path)))
    with engine.connect():
        return engine


def run_import(engine: Engine, data: bytes) -> tuple[dict[str, float], list[FileRow]]:
    """The seconds of each step that ``hedgerow anchors add`` takes, and the added rows."""
    times = [time.perf_counter()]
    table = read_file(data, name="anchors.csv")
    times.append(time.perf_counter())
    with reading(engine) as session:
        shown = preview(session, table, column="text", attributes={"genre": "genre"})
    rows = shown.chosen(suspicious=True)
    times.append(time.perf_counter())
    add_anchors(engine, shown, rows, about=About(source="bench"))
    times.append(time.perf_counter())
    steps = ("parse", "check and compare", "insert and commit")
    took = {name: times[i + 1] - times[i] for i, name in enumerate(steps)}
    return took | {"import": times[-1] - times[0]}, rows


def run_plain(engine: Engine, rows: list[FileRow]) -> float:
    """The seconds of the plain insert of the same rows."""
    with writing(engine) as session:
        source = Source(name="bench")
        session.add(source)
        session.flush()
        first = 1 + session.connection().exec_driver_sql("SELECT max(id) FROM anchor").scalar_one()
    numbered = list(enumerate(rows, first))
    anchors = [
        (n, r.uid, 1, source.id, r.own.genre, "en", split_of(r.uid), MOMENT) for n, r in numbered
    ]
    wordings = [(n, 1, r.text, r.uid, MOMENT) for n, r in numbered]
    start = time.perf_counter()
    with collector_paused(), writing(engine) as session:
        session.connection().exec_driver_sql(ANCHOR, anchors)
        session.connection().exec_driver_sql(WORDING, wordings)
    return time.perf_counter() - start


def measure(*, count: int, turns: int) -> dict[str, list[float]]:
    """Step → seconds of every turn except the first, which warms up."""
    found: dict[str, list[float]] = {}
    data = csv_of(count)
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(Path(folder))
        for turn in range(turns + 1):
            engine = copy_of(prepared)
            took, rows = run_import(engine, data)
            engine.dispose()
            engine = copy_of(prepared)
            took["plain insert"] = run_plain(engine, rows)
            engine.dispose()
            assert len(rows) == count
            for name, seconds in took.items():
                if turn:
                    found.setdefault(name, []).append(seconds)
    return found


def triples(count: int) -> list[dict[str, str]]:
    """This many triples from the starter corpus. A number makes each anchor distinct."""
    families = starter_anchors()
    rows: list[dict[str, str]] = []
    for number in range(count // 8):
        family, day = families[number % len(families)], f"On day {number // len(families)} "
        texts = {
            key: day + (value if isinstance(value, str) else value["text"])
            for key, value in family.items()
            if key in ("anchor", "word", "phrase", "verbal", "absolute", "affixal", "lexical")
        }
        rows += [
            {"anchor": texts["anchor"], "positive": texts[hedge], "negative": texts[negation]}
            for hedge in ("word", "phrase")
            for negation in ("verbal", "absolute", "affixal", "lexical")
        ]
    random.Random(0).shuffle(rows)
    return rows


def read_triples(path: Path) -> Staged:
    """Read the file as ``hedgerow variants add`` does."""
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(URL.create("sqlite", database=str(Path(folder) / "types.db")))
        upgrade(engine)
        with writing(engine) as session:
            seed_taxonomy(session)
            types = all_types(session)
        engine.dispose()
    parts = parts_of_path(path)
    table = open_table(parts)
    roles = guess_roles(table.columns, types_by_name(types.values()))
    return stage(table, parts, roles=roles, types=types)


def store_triples(staged: Staged, folder: Path) -> dict[str, float]:
    """The CPU seconds for comparing a file with an empty project, and for storing it."""
    engine = create_engine(URL.create("sqlite", database=str(folder / "triples.db")))
    upgrade(engine)
    choices = Choices(About(source="bench"), accept=True)
    with writing(engine) as session:
        seed_taxonomy(session)
        run = Run(kind="bench", parameters={}, state=RunState.DONE)
        session.add(run)
        session.flush()
        into = Import(run.id, "bench", "", "00000000-0000-0000-0000-000000000000")
    times = [time.process_time()]
    with reading(engine) as session:
        preview_variants(session, staged, choices)
    times.append(time.process_time())
    for families in staged.families(AT_ONCE):
        with collector_paused(), writing(engine) as session:
            store_families(session, families, choices, into)
    times.append(time.process_time())
    engine.dispose()
    return {"compare": times[1] - times[0], "store, accepted": times[2] - times[1]}


def measure_triples(count: int) -> None:
    """Measure the import of triples, and print the results."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows = triples(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, parquet = folder / "triples.jsonl", folder / "triples.parquet"
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        pq.write_table(pa.Table.from_pylist(rows), parquet)
        plain = {
            lines: lambda: [json.loads(line) for line in lines.open(encoding="utf-8")],
            parquet: lambda: pq.read_table(parquet).to_pylist(),
        }
        for path, load in plain.items():
            start = time.process_time()
            load()
            baseline = time.process_time() - start
            start = time.process_time()
            staged = read_triples(path)
            took = time.process_time() - start
            print(
                f"read {path.suffix:9} {took:6.2f} s   {len(rows) / took:9,.0f} triples/s   "
                f"{took / baseline:.1f} times the plain read"
            )
        for step, seconds in store_triples(staged, folder).items():
            print(f"{step:15} {seconds:6.2f} s   {len(rows) / seconds:9,.0f} triples/s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory     {peak:6.0f} MB (including the plain reads and the rows)")


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--triples", type=int, default=0)
    options = parser.parse_args()
    if options.triples:
        measure_triples(options.triples)
        return
    found = measure(count=options.anchors, turns=options.turns)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        print(f"{name:18} {seconds:6.3f} s   {options.anchors / seconds:9,.0f} anchors/s")
    ratios = [a / b for a, b in zip(found["import"], found["plain insert"], strict=True)]
    print(f"import / plain     {statistics.median(ratios):.2f} (at most 3)")


if __name__ == "__main__":
    main()
