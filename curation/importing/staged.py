"""The contents of a file: its anchors, with their variants and verdicts (see ``staging``)."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from curation.editing.attributes import Attributes
from curation.importing.cells import Judged
from curation.importing.column_roles import UNTYPED, ColumnRoles
from curation.importing.variant_entries import FileAnchor, FileVariant
from db.models import Verdict


@dataclass(frozen=True)
class Facts:
    """Facts about the file.

    Attributes:
        name: the file's name.
        content_hash: SHA-256 of the file.
        rows: number of rows.
        roles: column → role or type id with which it was read.
        left_out: reason → number of rows or variants.
        places: reason → position of the first one.
        untyped: role → variants whose words don't show their type.
        changed: what the canonical form changes → number of texts.
    """

    name: str
    content_hash: str
    rows: int
    roles: ColumnRoles
    left_out: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    untyped: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)


class Place(NamedTuple):
    """A position in a file: the row's number in the whole file, and how to describe it."""

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
        type_id: '' if its words don't show it.
        role: the untyped role of its column; '' if the file names the type.
        place: its first position in the file.
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
    """The contents of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        ((facts,),) = self._all("SELECT json FROM facts")
        ((self.anchors,),) = self._all("SELECT count(*) FROM anchor")
        self.facts = Facts(**json.loads(facts))

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(query).fetchall()

    def families(self, size: int) -> Iterator[list[Family]]:
        """Yield every anchor with its variants in the file's order, this many at a time."""
        with closing(sqlite3.connect(self.path)) as connection:
            # Runs that version 0.2.0 left unfinished have no ids of documents and rows.
            stored = {column[1] for column in connection.execute("PRAGMA table_info(anchor)")}
            attributes = ", ".join(key if key in stored else "''" for key in Attributes._fields)
            rows = connection.execute(
                f"SELECT uid, text, source, licence, {attributes} FROM anchor ORDER BY number"
            )
            while some := [
                FileAnchor(uid, text, source, licence, Attributes(*own))
                for uid, text, source, licence, *own in rows.fetchmany(size)
            ]:
                yield [Family(anchor, _variants(connection, anchor.uid)) for anchor in some]

    def verdicts(self) -> dict[tuple[str, str], int]:
        """(reviewer, by) → verdicts in the file."""
        found = self._all("SELECT reviewer, by, count(*) FROM verdict GROUP BY reviewer, by")
        return {(reviewer, by): number for reviewer, by, number in found}

    def sources(self) -> dict[str, str]:
        """Return the sources that the file names, with their licences; '' if it names none."""
        return dict(
            self._all("SELECT source, max(licence) FROM anchor WHERE source <> '' GROUP BY source")
        )

    def types(self) -> set[str]:
        """Return the ids of the types that the file names or its words show."""
        return {row[0] for row in self._all("SELECT DISTINCT type FROM variant WHERE type <> ''")}


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
