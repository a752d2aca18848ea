"""Stores the contents of a table in a temporary file until they are imported.

A table can be large and in any order, with the triples of one anchor far apart. So it is read once,
row by row, into an SQLite file that contains every anchor, variant and verdict once. Both the
preview and the run that stores them read that file, a few hundred anchors at a time.
"""

import json
import sqlite3
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.content_uids import words_of
from curation.formatting import counted
from curation.importing.cells import Meanings, cue_of, type_of
from curation.importing.column_roles import (
    UNTYPED,
    ColumnRole,
    ColumnRoles,
    Field,
    Unclear,
    types_by_name,
)
from curation.importing.staged import Facts, Place, Staged
from curation.importing.variant_entries import LABELS, Entry, EntryReader, LeftOut
from curation.language.english import is_english, looks_foreign
from curation.tables.files import Parts
from curation.tables.table import Table
from curation.taxonomy.built_in import VariantType
from db import Report
from db.errors import HedgerowError

BATCH = 5_000
"""Rows to write to the file at a time."""

_SCHEMA = """
CREATE TABLE anchor (uid TEXT PRIMARY KEY, text, source, licence, genre, language, split,
                     document_id, row_id, number INTEGER) WITHOUT ROWID;
CREATE TABLE variant (anchor, kind, text, cue, provider, model, type DEFAULT '',
                      number INTEGER, place, PRIMARY KEY (anchor, kind, text)) WITHOUT ROWID;
CREATE TABLE verdict (anchor, kind, text, reviewer, by, verdict, reason, note,
                      number INTEGER, place,
                      PRIMARY KEY (anchor, kind, text, reviewer, by)) WITHOUT ROWID;
CREATE TABLE said (anchor, split, source, licence,
                   PRIMARY KEY (anchor, split, source, licence)) WITHOUT ROWID;
CREATE TABLE facts (json);
"""
_CLASH = (
    "SELECT {1}, min(said.{0}), max(said.{0}) FROM said JOIN anchor ON anchor.uid = said.anchor"
    " WHERE said.{0} <> '' GROUP BY {1} HAVING min(said.{0}) < max(said.{0}) LIMIT 1"
)
_NEXT = (
    "SELECT variant.anchor, kind, variant.text, anchor.text, language FROM variant"
    " JOIN anchor ON anchor.uid = variant.anchor"
    " WHERE kind IN {} AND (variant.anchor, kind, variant.text) > (?, ?, ?)"
    " ORDER BY variant.anchor, kind, variant.text LIMIT ?"
)


def stage(
    table: Table,
    parts: Parts,
    *,
    roles: ColumnRoles,
    types: Mapping[str, VariantType],
    meanings: Meanings | None = None,
    language: str = "en",
    report: Report | None = None,
) -> Staged:
    """Read a table into a temporary file, which is deleted when the result is no longer used.

    Args:
        roles: checked roles of the columns.
        types: the project's types by id, including retired ones.
        meanings: meanings of verdicts, in addition to the known words.
        language: the language of anchors for which the table names none. Types and cues are only
            found in English.

    Raises:
        HedgerowError: the table is broken, names an unknown type, split or verdict, or has no
            variants; the message says where.
    """
    handle, name = tempfile.mkstemp(prefix="hedgerow-", suffix=".variants")
    path = Path(name)
    open(handle, "wb").close()
    try:
        with _writing(path) as connection:
            reader = EntryReader(roles, types_by_name(types.values()), meanings)
            rows, left_out, places = _fill(connection, table, reader, report)
            _check_consistent(connection, table.name)
            untyped = _find_types(connection, types, roles, language, report)
            facts = Facts(
                *(table.name, parts.content_hash, rows, dict(roles)),
                *(dict(left_out), places, untyped, dict(reader.changed)),
            )
            _check_any(connection, facts)
            connection.execute("INSERT INTO facts VALUES (?)", (json.dumps(asdict(facts)),))
        staged = Staged(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    weakref.finalize(staged, path.unlink, missing_ok=True)
    return staged


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection to a file that nobody else reads yet and that may be lost."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def _fill(
    connection: sqlite3.Connection, table: Table, reader: EntryReader, report: Report | None
) -> tuple[int, Counter[str], dict[str, str]]:
    """Read all rows; return their number, and what is left out with its first position."""
    left_out: Counter[str] = Counter()
    places: dict[str, str] = {}
    entries: list[tuple[Place, Entry]] = []
    number = 0
    for row in table.rows():
        number += 1
        for entry in reader.entries(row):
            for fault in entry.left_out:
                left_out[fault.value] += 1
                places.setdefault(fault.value, row.place)
            if entry.anchor is not None:
                entries.append((Place(number, row.place), entry))
        if len(entries) >= BATCH:
            left_out += _keep(connection, entries)
            entries.clear()
            if report is not None:
                report(number, 0, f"Reading {table.name}: {number:,} rows.")
    left_out += _keep(connection, entries)
    (kept,) = connection.execute("SELECT count(*) FROM verdict").fetchone()
    left_out[LeftOut.REPLACED] -= kept
    return number, +left_out, places


def _keep(connection: sqlite3.Connection, entries: list[tuple[Place, Entry]]) -> Counter[str]:
    """Write entries. Return how many variants without a verdict repeat others, and all verdicts."""
    anchors = [(e.anchor, place.number) for place, e in entries if e.anchor is not None]
    connection.executemany(
        "INSERT OR IGNORE INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*anchor[:4], *anchor.own, number) for anchor, number in anchors],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)",
        {(a.uid, a.own.split, a.source, a.licence) for a, _ in anchors if a.own.split or a.source},
    )
    repeated = 0
    for has_verdict in (True, False):
        new = [
            (entry.anchor.uid, *variant, *place)
            for place, entry in entries
            if entry.anchor is not None and (entry.verdict is not None) is has_verdict
            for variant in entry.variants
        ]
        done = connection.executemany(
            "INSERT OR IGNORE INTO variant VALUES (?, ?, ?, ?, ?, ?, '', ?, ?)", new
        )
        repeated += 0 if has_verdict else len(new) - done.rowcount
    verdicts = [
        (
            *(entry.anchor.uid, variant.kind, variant.text, verdict.reviewer, verdict.by),
            *(verdict.judged.verdict.value, verdict.judged.reason, verdict.judged.note),
            *place,
        )
        for place, entry in entries
        if entry.anchor is not None and (verdict := entry.verdict) is not None
        for variant in entry.variants
    ]
    connection.executemany(
        "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", verdicts
    )
    return Counter({LeftOut.REPEATED: repeated, LeftOut.REPLACED: len(verdicts)})


def _check_consistent(connection: sqlite3.Connection, name: str) -> None:
    """Refuse an anchor with two splits or sources, and a source with two licences."""
    for what, group in (
        ("split", "anchor.text"),
        ("source", "anchor.text"),
        ("licence", "said.source"),
    ):
        if row := connection.execute(_CLASH.format(what, group)).fetchone():
            of, one, other = row
            whose = "each source" if what == "licence" else "all variants of an anchor"
            raise Unclear(
                f"Expected one {what} for {whose} in {name}, found '{one}' and '{other}' for "
                f"“{of[:60]}”",
                Field.SAME_VALUE,
            )


def _find_types(
    connection: sqlite3.Connection,
    types: Mapping[str, VariantType],
    roles: ColumnRoles,
    language: str,
    report: Report | None,
) -> dict[str, int]:
    """Find the type of every variant, and the cue of hedges if the file has no cues.

    Returns:
        Untyped role → number of variants whose words don't show their type.
    """
    untyped = [role.value for role in UNTYPED]
    connection.execute(
        f"UPDATE variant SET type = kind WHERE kind NOT IN {_marks(untyped)}", untyped
    )
    to_find = list(untyped)
    if ColumnRole.CUE not in roles.values():
        to_find += [entry.id for entry in types.values() if entry.needs_cue]
    condition = f"FROM variant WHERE kind IN {_marks(to_find)}"
    (total,) = connection.execute(f"SELECT count(*) {condition}", to_find).fetchone()
    done = 0
    opened: Counter[str] = Counter()
    last = ("", "", "")
    while some := connection.execute(
        _NEXT.format(_marks(to_find)), (*to_find, *last, BATCH)
    ).fetchall():
        found: list[tuple[Any, ...]] = []
        for uid, kind, text, anchor, own in some:
            if not is_english(own or language) or _is_foreign(anchor):
                type_id, cue = "" if kind in untyped else kind, None
                opened[kind] += not type_id
            elif kind in untyped:
                type_id, cue = type_of(kind, types, anchor=anchor, text=text)
                opened[kind] += not type_id
            else:
                type_id, cue = kind, cue_of(types[kind], anchor=anchor, text=text)
            found.append((type_id, cue, uid, kind, text))
        connection.executemany(
            "UPDATE variant SET type = ?, cue = coalesce(cue, ?)"
            " WHERE anchor = ? AND kind = ? AND text = ?",
            found,
        )
        last = found[-1][2:]
        done += len(some)
        if report is not None:
            report(done, total, f"Finding types and cues: {done:,} of {total:,}.")
    return {role: count for role, count in opened.items() if count}


@lru_cache(maxsize=1_000)
def _is_foreign(anchor: str) -> bool:
    return looks_foreign(anchor, words_of(anchor))


def _marks(values: list[str]) -> str:
    return f"({', '.join('?' * len(values))})"


def _check_any(connection: sqlite3.Connection, facts: Facts) -> None:
    (count,) = connection.execute("SELECT count(*) FROM variant").fetchone()
    if not count:
        why = next(iter(facts.places.items()), None)
        raise HedgerowError(
            f"There is no variant to import in {counted(facts.rows, 'row')} of {facts.name}"
            + (f" ({LABELS[LeftOut(why[0])]}, such as {why[1]})" if why else "")
            + "; check the roles of the columns."
        )
