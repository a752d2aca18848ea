"""A file that has been read: its anchors, each with its variants and verdicts (see ``staging``)."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from curation.variants.importing.cells import Judged
from curation.variants.importing.entries import FileAnchor, FileVariant
from curation.variants.importing.roles import UNTYPED, ColumnRoles
from db.models import Verdict


@dataclass(frozen=True)
class Facts:
    """What is known of a file that has been read.

    Attributes:
        name: of the file.
        content_hash: SHA-256 of it.
        rows: how many there were.
        roles: column → role or type id, as it was read.
        left_out: reason → rows or variants.
        places: reason → where the first one is.
        untyped: role → variants whose words don't show their type.
    """

    name: str
    content_hash: str
    rows: int
    roles: ColumnRoles
    left_out: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    untyped: Mapping[str, int] = field(default_factory=dict)


class Place(NamedTuple):
    """Where something is in a file: the number of its row in all of it, and what to call that."""

    number: int
    words: str


class StagedVerdict(NamedTuple):
    """A verdict; the first three are as in ``FileVerdict``."""

    reviewer: str
    by: str
    judged: Judged
    place: Place


class StagedVariant(NamedTuple):
    """A variant with its verdicts.

    Attributes:
        type_id: '' where its words don't show it.
        role: the untyped role of its column; '' for one whose type the file names.
        place: where it is in the file for the first time.
    """

    type_id: str
    role: str
    place: Place
    variant: FileVariant
    verdicts: tuple[StagedVerdict, ...]


class Family(NamedTuple):
    """An anchor with its variants."""

    anchor: FileAnchor
    variants: tuple[StagedVariant, ...]


class Staged:
    """A file that has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(sqlite3.connect(path)) as connection:
            (facts,) = connection.execute("SELECT json FROM facts").fetchone()
            query = "SELECT count(*) FROM anchor"
            (self.anchors,) = connection.execute(query).fetchone()
        self.facts = Facts(**json.loads(facts))

    def families(self, size: int) -> Iterator[list[Family]]:
        """Every anchor with its variants in the file's order, so many at a time."""
        with closing(sqlite3.connect(self.path)) as connection:
            rows = connection.execute(
                "SELECT uid, text, split, source, licence, genre, language FROM anchor"
                " ORDER BY number"
            )
            while some := [FileAnchor(*row) for row in rows.fetchmany(size)]:
                yield [Family(anchor, _variants(connection, anchor.uid)) for anchor in some]

    def verdicts(self) -> dict[tuple[str, str], int]:
        """(reviewer, by) → verdicts in the file."""
        with closing(sqlite3.connect(self.path)) as connection:
            query = "SELECT reviewer, by, count(*) FROM verdict GROUP BY reviewer, by"
            return {(reviewer, by): n for reviewer, by, n in connection.execute(query)}

    def sources(self) -> dict[str, str]:
        """The sources that the file names, each with its licence; '' where it names none."""
        with closing(sqlite3.connect(self.path)) as connection:
            query = "SELECT source, max(licence) FROM anchor WHERE source <> '' GROUP BY source"
            return dict(connection.execute(query))

    def types(self) -> set[str]:
        """The ids of the types that the file names or its words show."""
        with closing(sqlite3.connect(self.path)) as connection:
            query = "SELECT DISTINCT type FROM variant WHERE type <> ''"
            return {row[0] for row in connection.execute(query)}


def _variants(connection: sqlite3.Connection, uid: str) -> tuple[StagedVariant, ...]:
    verdicts: dict[tuple[str, str], list[StagedVerdict]] = {}
    query = (
        "SELECT kind, text, reviewer, by, verdict, reason, note, number, place"
        " FROM verdict WHERE anchor = ?"
        " ORDER BY reviewer, by"
    )
    for kind, text, reviewer, by, verdict, *why, number, place in connection.execute(query, (uid,)):
        judged = Judged(Verdict(verdict), *why)
        found = StagedVerdict(reviewer, by, judged, Place(number, place))
        verdicts.setdefault((kind, text), []).append(found)
    query = (
        "SELECT type, number, place, kind, text, cue, provider, model FROM variant WHERE anchor = ?"
        " ORDER BY number"
    )
    return tuple(
        StagedVariant(
            type_id,
            kind if kind in UNTYPED else "",
            Place(number, place),
            FileVariant(kind, text, *rest),
            tuple(verdicts.get((kind, text), ())),
        )
        for type_id, number, place, kind, text, *rest in connection.execute(query, (uid,))
    )
