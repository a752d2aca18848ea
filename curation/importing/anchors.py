"""The action *add anchors*: the request, what it would do with a file, and doing it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pydantic import Field
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.editing.attributes import CHECKS, moved, moved_rows, splits
from curation.editing.own_types import CONTRADICTION, ENTAILMENT
from curation.importing.anchor_preview import FileRow, Preview, preview
from curation.importing.anchor_rows import MAX_SOURCE, About, check_source
from curation.importing.anchor_storing import (
    Added,
    Earlier,
    PairedTexts,
    add_anchors,
    earlier_import,
)
from curation.importing.labels import LabelledTable
from curation.importing.originals import Fault, Originals, guess_columns, read_originals
from curation.tables.columns import named
from curation.tables.delimited import not_used, quoted
from curation.tables.plain import ATTRIBUTE_NAMES
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split

COLUMNS = {
    "genre": "Genre column",
    "language": "Language column",
    "split": "Split column",
    "document_id": "Document column",
    "row_id": "Row id column",
}
"""Attribute of an anchor → the label of its column."""

FIELDS = {name: f"{name}_column" for name in COLUMNS} | {"document_id": "document_column"}
"""Attribute of an anchor → the field of the request with its column."""

_EXAMPLES, _EXAMPLE = 2, 60


class AddAnchors(Request):
    """How to add the sentences of a file as anchors."""

    column: str | None = None
    """Column with the sentences (default: detected)."""

    genre_column: str | None = None
    """Column with the genres (default: detected; '' for none)."""

    language_column: str | None = None
    """Column with the languages (default: detected; '' for none)."""

    split_column: str | None = None
    """Column with the splits (default: detected; '' for none)."""

    document_column: str | None = None
    """Column with the ids of documents, whose sentences are all in one split (default: detected; ''
    for none)."""

    row_id_column: str | None = None
    """Column with the ids of rows (default: detected; '' for none)."""

    entailment: str | None = None
    """Column with entailments (default: detected; '' for none)."""

    contradiction: str | None = None
    """Column with contradictions (default: detected; '' for none)."""

    accept_originals: bool = False
    """Accept both with the labels of their data set."""

    sample: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Only add a sample of this size, with the same proportions of lengths and genres."""

    seed: int = 0
    """Change the seed to get a different sample."""

    source: str = ""
    """Name of the source (default: the file's name)."""

    licence: str | None = None
    """Licence of the source, such as 'CC BY 4.0'."""

    genre: str = ""
    """Genre of rows without one."""

    language: str = "en"
    """Language tag such as 'en' or 'de-CH'."""

    include_suspicious: bool | frozenset[int] = False
    """Also add suspicious rows."""

    @property
    def attributes(self) -> dict[str, str | None]:
        """Attribute of an anchor → its column."""
        return {name: getattr(self, field) for name, field in FIELDS.items()}

    @property
    def originals(self) -> dict[str, str | None]:
        """Variant type → the column with its texts."""
        return {ENTAILMENT: self.entailment, CONTRADICTION: self.contradiction}


class AnchorFile(NamedTuple):
    """A table with sentences.

    Attributes:
        source: the name of its source if the request names none.
    """

    table: LabelledTable
    source: str = ""


@dataclass(frozen=True)
class Columns:
    """The columns that are read.

    Attributes:
        attributes: attribute of an anchor → its column.
        unfit: why a column whose name shows an attribute is not read, one sentence each.
        unused: the other columns.
        originals: variant type → the column with its texts.
    """

    sentences: str
    attributes: Mapping[str, str]
    originals: Mapping[str, str]
    unfit: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """What a request would do.

    Attributes:
        about: source and licence, and the genre and language of rows without their own.
        preview: every row, and what happens to it.
        rows: the rows that are added.
        splits: split → the number of these rows in it; empty if the file names neither splits nor
            documents.
        moved: the number of these rows whose document is in another split than the file says.
        originals: the entailments and contradictions of the file.
        earlier: an earlier import of the same file.
    """

    request: AddAnchors
    table: LabelledTable
    about: About
    columns: Columns
    preview: Preview
    rows: list[FileRow]
    splits: Counter[str]
    moved: int
    originals: Originals
    earlier: Earlier | None

    @cached_property
    def originals_left_out(self) -> Mapping[Fault, int]:
        """How many entailments and contradictions are left out for each reason."""
        return self.originals.left_out_beside(self.rows)


def candidates(table: LabelledTable) -> dict[str, list[str]]:
    """The columns that can contain the sentences, each with a few of its texts."""
    return {
        column: [" ".join(text.split())[:_EXAMPLE] for text in table.cells[column] if text][
            :_EXAMPLES
        ]
        for column in table.text_columns
    }


def columns_of(request: AddAnchors, table: LabelledTable) -> Columns:
    """The columns that a request names, or that their names show.

    Raises:
        HedgerowError: no name shows the column with the sentences; the message lists candidates.
    """
    sentences = request.column or table.sentence_column()
    if sentences is None:
        likely = "; ".join(
            f"{quoted(column)} ({', '.join(f'“{text}”' for text in texts)})"
            for column, texts in candidates(table).items()
        )
        raise HedgerowError(
            f"No name in {table.name} shows which column has the sentences; choose one with "
            f"--column: {likely}."
        )
    guessed = guess_columns(table, sentences)
    named_ones = {
        type_id: guessed.get(type_id, "") if column is None else column
        for type_id, column in request.originals.items()
    }
    originals = {type_id: column for type_id, column in named_ones.items() if column}
    attributes, unfit = attribute_columns(table, sentences, request.attributes)
    used = {sentences, *attributes.values(), *originals.values(), *table.labels.columns}
    unused = tuple(
        column for column in table.columns if column not in used and not _is_nested(table, column)
    )
    return Columns(sentences, attributes, originals, unfit, unused)


def _is_nested(table: LabelledTable, column: str) -> bool:
    """Whether a column has lists, so that a note of the table names it."""
    return any(isinstance(value, list | dict) for value in table.values.get(column, ()))


def attribute_columns(
    table: LabelledTable, sentences: str, given: Mapping[str, str | None]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Attribute of an anchor → its column: the given one, or the one that its name shows.

    A column with such a name but other values, such as whole texts in *document*, is not taken; the
    second result says so. A given one is.
    """
    others = [name for name in table.columns if name != sentences]
    found: dict[str, str] = {}
    unfit: list[str] = []
    for name, names in ATTRIBUTE_NAMES.items():
        column = given.get(name)
        if column is None:
            column = named(others, names)
            if column is not None and (fault := _fault(table, column, name)):
                unfit.append(f"{COLUMNS[name]}: {quoted(column)} was not used. {fault}")
                column = None
        if column:
            found[name] = column
    return found, tuple(unfit)


def _fault(table: LabelledTable, column: str, name: str) -> str:
    """Why a column has other values than its name shows; '' if it hasn't."""
    try:
        checked = [CHECKS[name](value) for value in dict.fromkeys(table.as_texts(column)) if value]
    except HedgerowError as error:
        return str(error).replace("; leave out the column", "")
    return "" if any(checked) else "It is empty."


def plan(
    project: OpenProject, request: AddAnchors, file: AnchorFile, *, known: Plan | None = None
) -> Plan:
    """What a request would do, without writing anything. Other users can write in the meantime.

    Args:
        known: an earlier plan for the same columns and the same project, parts of which take
            seconds for a large file.

    Raises:
        HedgerowError: a column is missing or unknown, the source has another licence, or the sample
            is too large.
    """
    with reading(project.engine) as session:
        return planned_in(session, request, file, known=known)


def planned_in(
    session: Session, request: AddAnchors, file: AnchorFile, *, known: Plan | None = None
) -> Plan:
    """See ``plan``."""
    table, columns = file.table, columns_of(request, file.table)
    named_source = request.source or file.source[:MAX_SOURCE]
    about = About(named_source, request.licence, request.genre, request.language)
    source = check_source(session, about)
    if known:
        shown, paired = known.preview, known.originals
    else:
        shown = preview(
            session,
            table,
            column=columns.sentences,
            attributes=columns.attributes,
            language=about.language,
        )
        paired = read_originals(
            session,
            table,
            shown,
            sentence=columns.sentences,
            columns=columns.originals,
            source=about.source,
            language=about.language,
        )
    rows = shown.chosen(
        suspicious=request.include_suspicious, sample=request.sample, seed=request.seed
    )
    of_rows: list[str] = []
    own = [(row.uid, row.own) for row in rows]
    if {"split", "document_id"} & columns.attributes.keys():
        of_rows = splits(session, source.id if source else None, own)
    return Plan(
        *(request, table, about, columns, shown, rows),
        splits=Counter(of_rows),
        moved=moved(own, of_rows),
        originals=paired,
        earlier=earlier_import(session, table.content_hash),
    )


def places(planned: Plan) -> list[str]:
    """Which columns describe the anchors, and the splits of these, a sentence each."""
    columns = planned.columns.attributes
    read = [f"{name}: {quoted(columns[key])}" for key, name in COLUMNS.items() if key in columns]
    sentences = [*planned.columns.unfit, *[f"{'; '.join(read)}."] * bool(read)]
    sentences += not_used(planned.columns.unused)
    if planned.splits:
        counts = [f"{planned.splits[one]:,} {one}" for one in Split if planned.splits[one]]
        computed = "" if "split" in columns else ", one for each document"
        sentences.append(f"Splits{computed}: {', '.join(counts)}.")
    return sentences + moved_rows(planned.moved)


def add(project: OpenProject, planned: Plan) -> Added:
    """Add what a plan shows.

    Raises:
        HedgerowError: the source has another licence, or anchors were added since the plan.
    """
    if not planned.rows and not planned.originals.paired_with(planned.rows):
        return Added(0)
    with writing(project.engine) as session:
        author_id = project.author(session)
    return stored_in(project.engine, planned, author_id=author_id)


def stored_in(engine: Engine, planned: Plan, *, author_id: int | None = None) -> Added:
    """See ``add``."""
    request, columns = planned.request, planned.columns
    paired = PairedTexts(planned.originals, request.accept_originals)
    lines = request.include_suspicious
    return add_anchors(
        engine,
        planned.preview,
        planned.rows,
        about=planned.about,
        paired=paired if columns.originals or planned.originals.left_out else None,
        file=planned.table.name,
        parameters={
            "column": columns.sentences,
            **{f"{name}_column": columns.attributes.get(name) for name in COLUMNS},
            "sample": request.sample,
            "seed": request.seed,
            "include_suspicious": lines if isinstance(lines, bool) else sorted(lines) or False,
        },
        author_id=author_id,
    )


ADD_ANCHORS = Action("add anchors", AddAnchors, add, plan)
