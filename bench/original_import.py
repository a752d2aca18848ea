"""Importing anchors with entailments and contradictions into PostgreSQL, compared with SQLite.

    python -m bench.original_import --postgresql URL [--anchors 5000 20000 200000] [--accept]

URL is a database on the server, such as postgresql+psycopg://postgres@127.0.0.1/postgres. The bench
creates a temporary database next to it for each import. It prints the seconds of each import, which
works as in ``hedgerow anchors add`` (read, compare, insert, commit), and the ratio. The ratio
should be at most 3 for any number of anchors.
"""

import argparse
import csv
import io
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url

from bench.anchor_import import starter_anchors
from curation.importing.anchor_preview import preview
from curation.importing.anchor_rows import About
from curation.importing.anchor_storing import PairedTexts, add_anchors
from curation.importing.labels import read_file
from curation.importing.originals import guess_columns, read_originals
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import create_engine, reading, writing
from db.migrate import upgrade


def csv_of(count: int) -> bytes:
    """A CSV file with this many premises, each with an entailment and a contradiction."""
    families = starter_anchors()
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["premise", "entailment", "contradiction"])
    for number in range(count):
        family = families[number % len(families)]["anchor"]
        end = f"{family[:1].lower()}{family[1:]}"
        writer.writerow(
            [f"On day {number} {end}", f"On some day {end}", f"On no day {number} {end}"]
        )
    return file.getvalue().encode()


@contextmanager
def new_database(server: URL | None) -> Iterator[URL]:
    """Create a temporary database on the server, or on SQLite if it is None; yield its address."""
    if server is None:
        with tempfile.TemporaryDirectory() as folder:
            yield URL.create("sqlite", database=str(Path(folder) / "hedgerow.db"))
        return
    name = f"bench_{uuid.uuid4().hex[:12]}"
    maintenance = create_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    with maintenance.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield server.set(database=name)
        finally:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def seconds_of(url: URL, data: bytes, *, accept: bool) -> float:
    """The seconds that the import takes."""
    engine = create_engine(url)
    upgrade(engine)
    with writing(engine) as session:
        seed_taxonomy(session)
    start = time.perf_counter()
    table = read_file(data, name="originals.csv")
    with reading(engine) as session:
        shown = preview(session, table, column="premise")
        originals = read_originals(
            session,
            table,
            shown,
            sentence="premise",
            source="bench",
            columns=guess_columns(table, "premise"),
        )
    rows = shown.chosen(suspicious=True)
    paired = PairedTexts(originals, accept)
    add_anchors(engine, shown, rows, about=About(source="bench"), paired=paired)
    took = time.perf_counter() - start
    engine.dispose()
    return took


def main() -> None:
    """Measure, and print a line for each number of anchors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", type=make_url, required=True)
    parser.add_argument("--anchors", type=int, nargs="+", default=[5_000, 20_000, 200_000])
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args()
    for count in options.anchors:
        data = csv_of(count)
        took = {}
        for name, server in (("SQLite", None), ("PostgreSQL", options.postgresql)):
            with new_database(server) as url:
                took[name] = seconds_of(url, data, accept=options.accept)
        timings = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items())
        ratio = took["PostgreSQL"] / took["SQLite"]
        print(f"{count:,} anchors: {timings}, ratio {ratio:.2f} (at most 3)", flush=True)


if __name__ == "__main__":
    main()
