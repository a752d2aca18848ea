"""Anchors from a CSV file into the database, against the plain SQL insert of the same rows.

    python -m bench.anchor_import [--anchors 50000] [--turns 5]

Prints the median seconds of each step of an import (parse, look at every row, compare and check,
insert and commit), of the plain insert, and the ratio; both measured turn by turn in one run, on
equal databases that hold the starter corpus's anchors. The plain insert hands finished rows of both
tables, ids included, to the driver's executemany in one transaction. Expected: at most 3 times.
"""

import argparse
import csv
import io
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from curation.anchors.importing.formats import read_file
from curation.anchors.importing.insert import About, add_anchors
from curation.anchors.importing.preview import Fate, FileRow, preview
from curation.content_uids import split_of
from curation.corpora.corpus import STARTER
from curation.gc_pause import collector_paused
from db.engine import create_engine, reading, writing
from db.migrate import upgrade
from db.models import Source

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
    """A CSV file of this many different anchors, one in fifty of which is negated."""
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
    """A database with the starter corpus's anchors, made by the import itself."""
    path = folder / "prepared.db"
    engine = create_engine(URL.create("sqlite", database=str(path)))
    upgrade(engine)
    text = "\n".join(family["anchor"] for family in starter_anchors())
    with writing(engine) as session:
        shown = preview(session, read_file(text.encode(), name="starter.txt"), column="text")
        add_anchors(session, shown, shown.of(*Fate), about=About(source="starter"))
    engine.dispose()
    return path


def copy_of(prepared: Path) -> Engine:
    """An engine on a fresh copy, its first connection made."""
    path = prepared.with_name("copy.db")
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    shutil.copy(prepared, path)
    engine = create_engine(URL.create("sqlite", database=str(path)))
    with engine.connect():
        return engine


def run_import(engine: Engine, data: bytes) -> tuple[dict[str, float], list[FileRow]]:
    """Seconds of each step, taken as ``hedgerow anchors add`` takes them, and the rows added."""
    times = [time.perf_counter()]
    table = read_file(data, name="anchors.csv")
    times.append(time.perf_counter())
    with reading(engine) as session:
        shown = preview(session, table, column="text", genre_column="genre")
    rows = shown.chosen(include_suspicious=True)
    times.append(time.perf_counter())
    with writing(engine) as session:
        add_anchors(session, shown, rows, about=About(source="bench"))
    times.append(time.perf_counter())
    steps = ("parse", "check and compare", "insert and commit")
    took = {name: times[i + 1] - times[i] for i, name in enumerate(steps)}
    return took | {"import": times[-1] - times[0]}, rows


def run_plain(engine: Engine, rows: list[FileRow]) -> float:
    """Seconds of the plain insert of the same rows."""
    with writing(engine) as session:
        source = Source(name="bench")
        session.add(source)
        session.flush()
        first = 1 + session.connection().exec_driver_sql("SELECT max(id) FROM anchor").scalar_one()
    numbered = list(enumerate(rows, first))
    anchors = [
        (n, r.uid, 1, source.id, r.genre, "en", split_of(r.uid), MOMENT) for n, r in numbered
    ]
    wordings = [(n, 1, r.text, r.uid, MOMENT) for n, r in numbered]
    start = time.perf_counter()
    with collector_paused(), writing(engine) as session:
        session.connection().exec_driver_sql(ANCHOR, anchors)
        session.connection().exec_driver_sql(WORDING, wordings)
    return time.perf_counter() - start


def measure(*, count: int, turns: int) -> dict[str, list[float]]:
    """Seconds of every turn, by step; the first turn warms up."""
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    found = measure(count=options.anchors, turns=options.turns)
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, seconds in medians.items():
        print(f"{name:18} {seconds:6.3f} s   {options.anchors / seconds:9,.0f} anchors/s")
    ratios = [a / b for a, b in zip(found["import"], found["plain insert"], strict=True)]
    print(f"import / plain     {statistics.median(ratios):.2f} (at most 3)")


if __name__ == "__main__":
    main()
