"""Adding anchors from a file: what is wanted, what would happen, and doing it.

The page, the command and Python fill in the same request. Its plan only reads: it is the page's
preview and the command's dry run.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy.orm import Session

from curation.anchors.importing.insert import (
    About,
    Added,
    Earlier,
    PairedTexts,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchors.importing.labels import LabelledTable
from curation.anchors.importing.nli_texts import Fault, Originals, guess_columns, read_originals
from curation.anchors.importing.preview import FileRow, Preview, preview
from curation.tables.columns import named
from curation.tables.delimited import quoted
from curation.tables.plain import LANGUAGE_NAMES
from curation.taxonomy.nli_types import ORIGINAL_TYPES
from db.errors import HedgerowError

_EXAMPLES, _EXAMPLE = 2, 60


@dataclass(frozen=True)
class Request:
    """A file of sentences to add as anchors.

    Attributes:
        file: its name, stored with the run.
        about: source and licence, and the genre and language of rows without their own.
        column: the column with the sentences; '' to find it by its name.
        genre_column, language_column: None to find them by their names, '' for none.
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
    genre_column: str | None = None
    language_column: str | None = None
    originals: Mapping[str, str | None] = field(default_factory=dict)
    accept_originals: bool = False
    suspicious: bool | Collection[int] = False
    sample: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Columns:
    """The columns that are read.

    Attributes:
        originals: variant type → the column with its texts.
    """

    sentences: str
    genres: str | None
    languages: str | None
    originals: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a request would do.

    Attributes:
        preview: every row, and what happens to it.
        rows: the rows that are added.
        originals: the entailments and contradictions of the file.
        earlier: an earlier import of the same file.
    """

    request: Request
    columns: Columns
    preview: Preview
    rows: list[FileRow]
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
    others = [name for name in table.text_columns if name != sentences]
    guessed = guess_columns(table, sentences)
    named_ones = {
        type_id: guessed.get(type_id, "") if request.originals.get(type_id) is None else given
        for type_id, given in {**dict.fromkeys(ORIGINAL_TYPES), **request.originals}.items()
    }
    return Columns(
        sentences,
        _given(request.genre_column, table.genre_column(), others),
        _given(request.language_column, named(table.text_columns, LANGUAGE_NAMES), others),
        {type_id: column for type_id, column in named_ones.items() if column},
    )


def _given(wanted: str | None, guessed: str | None, others: list[str]) -> str | None:
    if wanted is not None:
        return wanted or None
    return guessed if guessed in others else None


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
    check_source(session, about)
    shown = known or preview(
        session,
        table,
        column=columns.sentences,
        genre_column=columns.genres,
        language_column=columns.languages,
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
    earlier = earlier_import(session, table.content_hash)
    return Plan(request, columns, shown, rows, paired, earlier)


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
        paired=paired if columns.originals else None,
        file=request.file,
        parameters={
            "column": columns.sentences,
            "genre_column": columns.genres,
            "language_column": columns.languages,
            "sample": request.sample,
            "seed": request.seed,
            "include_suspicious": chosen if isinstance(chosen, bool) else sorted(chosen) or False,
        },
        author_id=author_id,
    )
