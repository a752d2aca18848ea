"""Is every damaged file read or refused in one sentence?

Change bytes of files of all formats at random and read them as anchors. Baseline: the unchanged
files. A file fails if it raises anything but our own error, takes over five seconds, or has a row
in no count. Parquet files are read in a child process, so they take a second each.

    python -m bench.odd_tables --count 20000 --parquet 2000
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from io import BytesIO

import pandas as pd
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from curation.importing.anchor_preview import preview
from curation.importing.anchors import AddAnchors, columns_of
from curation.importing.labels import read_file
from db import models
from db.errors import HedgerowError

SECONDS = 5
ROWS = [
    {"anchor": "The bridge is safe.", "text": 'He said "no", twice.', "label": "0"},
    {"anchor": "It rains; it pours.", "text": "It doesn't rain.", "label": "1"},
    {"anchor": "The lake froze.", "text": "The lake\ndid not freeze.", "label": "2"},
]
PIECES = (b'"', b",", b"\t", b"\n", b"\r", b"\0", b"\xff", b"{", b"}", b"[", b"]", b"\\", b"'", b"")


def samples() -> Iterator[tuple[str, bytes]]:
    """A file of each format."""
    frame = pd.DataFrame(ROWS)
    for separator in ",;\t":
        yield "a.csv", frame.to_csv(sep=separator, index=False).encode()
    yield "a.tsv", frame.to_csv(sep="\t", quotechar="'").encode("utf-16")
    yield "a.jsonl", frame.to_json(orient="records", lines=True).encode()
    yield "a.json", json.dumps({"data": ROWS}, indent=1).encode()
    yield "a.txt", "\n".join(row["anchor"] for row in ROWS).encode()
    task = {"id": 1, "data": ROWS[0], "annotations": [{"completed_by": 1, "result": []}]}
    yield "tasks.json", json.dumps([task]).encode()


def changed(data: bytes, chance: random.Random) -> bytes:
    """The data with one to four pieces replaced, added or cut off."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 0, 1, 2, 40)))
        data = data[:start] + chance.choice(PIECES) + data[end:]
    return data


def outcome(name: str, data: bytes) -> str:
    """What happens to a file: read, refused, or a fault."""
    start = time.monotonic()
    try:
        table = read_file(data, name=name)
        column = columns_of(AddAnchors(), table).sentences
        with Session(ENGINE) as session:
            shown = preview(session, table, column=column)
        is_whole = sum(shown.statuses.values()) == len(table.lines)
        said = "read" if is_whole else "a row in no count"
    except HedgerowError as error:
        said = "refused" if "\n" not in str(error) else "several lines"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return said if time.monotonic() - start < SECONDS else "slow"


def main() -> None:
    """Change and read, and count what happens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--parquet", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    models.Anchor.metadata.create_all(ENGINE)
    chance, files = random.Random(options.seed), list(samples())
    baseline = Counter(outcome(*file) for file in files)
    print(f"baseline, unchanged: {dict(baseline)}")
    written = BytesIO()
    pd.DataFrame(ROWS).to_parquet(written)
    found: Counter[str] = Counter()
    for number in range(options.count + options.parquet):
        name, data = chance.choice(files)
        if number >= options.count:
            name, data = "a.parquet", written.getvalue()
        broken = changed(data, chance)
        said = outcome(name, broken)
        if said not in ("read", "refused"):
            print(f"{said}: {name} {broken!r}")
        found[said] += 1
    faults = found.total() - found["read"] - found["refused"]
    ratio = found["read"] / found.total() / (baseline["read"] / baseline.total())
    print(f"changed: {dict(found)}; read as often as unchanged files: ratio {ratio:.2f}")
    print(f"faults: {faults} of {found.total():,}")


ENGINE = create_engine("sqlite://", poolclass=StaticPool)

if __name__ == "__main__":
    main()
