"""Adding anchors from a file: what is wanted, what would happen, and doing it.

The page, the command and Python fill in the same request. Its plan only reads: it is the page's
preview and the command's dry run.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy.orm import Session

from curation.editing.attributes import CHECKS, moved, moved_rows, splits
from curation.editing.own_types import ORIGINAL_TYPES
from curation.importing.anchor_preview import FileRow, Preview, preview
from curation.importing.anchor_storing import (
    About,
    Added,
    Earlier,
    PairedTexts,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.importing.labels import LabelledTable
from curation.importing.originals import Fault, Originals, guess_columns, read_originals
from curation.tables.columns import named
from curation.tables.delimited import not_used, quoted
from curation.tables.plain import ATTRIBUTE_NAMES
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

_EXAMPLES, _EXAMPLE = 2, 60


@dataclass(frozen=True)
class Request:
    """A file of sentences to add as anchors.

    Attributes:
        file: its name, stored with the run.
        about: source and licence, and the genre and language of rows without their own.
        column: the column with the sentences; '' to find it by its name.
        attributes: attribute of an anchor (see ``COLUMNS``) → its column; None to find it by its
            name, '' for none.
        originals: variant type → the column with its texts; None to find it by its name, '' for
            none.
        accept_originals: accept the entailments and contradictions as labelled in the data set.
        suspicious: whether to add suspicious rows; or the lines of those to add.
        sample: add only a sample of this size, with the same proportions of lengths and genres.
    """

    table: LabelledTable
    file: str
    about: About
    column: str = ""
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    originals: Mapping[str, str | None] = field(default_factory=dict)
    accept_originals: bool = False
    suspicious: bool | Collection[int] = False
    sample: int | None = None
    seed: int = 0


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
        preview: every row, and what happens to it.
        rows: the rows that are added.
        splits: split → the number of these rows in it; empty if the file names neither splits nor
            documents.
        moved: the number of these rows whose document is in another split than the file says.
        originals: the entailments and contradictions of the file.
        earlier: an earlier import of the same file.
    """

    request: Request
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


def columns_of(request: Request) -> Columns:
    """The columns that a request names, or that their names show.

    Raises:
        HedgerowError: no name shows the column with the sentences; the message lists candidates.
    """
    table = request.table
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
        type_id: guessed.get(type_id, "") if request.originals.get(type_id) is None else given
        for type_id, given in {**dict.fromkeys(ORIGINAL_TYPES), **request.originals}.items()
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
    session: Session,
    request: Request,
    *,
    known: Preview | None = None,
    originals: Originals | None = None,
) -> Plan:
    """What a request would do, without writing anything.

    Args:
        known, originals: parts of an earlier plan for the same columns and the same project, which
            take seconds for a large file.

    Raises:
        HedgerowError: a column is missing or unknown, the source has another licence, or the sample
            is too large.
    """
    columns, table, about = columns_of(request), request.table, request.about
    source = check_source(session, about)
    shown = known or preview(
        session,
        table,
        column=columns.sentences,
        attributes=columns.attributes,
        language=about.language,
    )
    paired = originals or read_originals(
        session,
        table,
        shown,
        sentence=columns.sentences,
        columns=columns.originals,
        source=about.source,
        language=about.language,
    )
    rows = shown.chosen(suspicious=request.suspicious, sample=request.sample, seed=request.seed)
    of_rows: list[str] = []
    own = [(row.uid, row.own) for row in rows]
    if {"split", "document_id"} & columns.attributes.keys():
        of_rows = splits(session, source.id if source else None, own)
    elsewhere = moved(own, of_rows)
    earlier = earlier_import(session, table.content_hash)
    return Plan(request, columns, shown, rows, Counter(of_rows), elsewhere, paired, earlier)


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


def add(session: Session, planned: Plan, *, author_id: int | None = None) -> Added:
    """Add what a plan shows, all or nothing, in the session's transaction.

    Args:
        author_id: the signed-in person, if any.

    Raises:
        HedgerowError: the source has another licence, or anchors were added since the plan.
    """
    request, columns = planned.request, planned.columns
    paired = PairedTexts(planned.originals, request.accept_originals)
    chosen = request.suspicious
    return add_anchors(
        session,
        planned.preview,
        planned.rows,
        about=request.about,
        paired=paired if columns.originals or planned.originals.left_out else None,
        file=request.file,
        parameters={
            "column": columns.sentences,
            **{f"{name}_column": columns.attributes.get(name) for name in ATTRIBUTE_NAMES},
            "sample": request.sample,
            "seed": request.seed,
            "include_suspicious": chosen if isinstance(chosen, bool) else sorted(chosen) or False,
        },
        author_id=author_id,
    )
