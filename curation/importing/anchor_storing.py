"""Add the rows of a previewed file as anchors, all or none.

An import is stored as a finished run with the file's hash, the column and what was left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.editing.attributes import checked_genre, checked_language, splits
from curation.gc_pause import collector_paused
from curation.importing.anchor_preview import Fate, FileRow, Preview, count_revisions
from curation.importing.original_storing import Imported, add_originals
from curation.importing.originals import Originals
from db.columns import UtcDateTime, now
from db.engine import batched, know_new_rows
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Run, RunState, Source

# -- New anchors as database rows: one for the anchor, one for its first revision -----------------


_ANCHOR = (
    "INSERT INTO anchor"
    " (uid, source_id, genre, language, split, document_id, row_id, id, created_at, revision)"
    " VALUES ({}, 1)"
)
_WORDING = (
    "INSERT INTO anchor_revision (anchor_id, text, text_uid, author_id, created_at, revision)"
    " VALUES ({}, 1)"
)


class NewAnchor(NamedTuple):
    """A new anchor.

    Attributes:
        uid: uid of its canonical text.
    """

    uid: str
    source_id: int
    genre: str
    language: str
    split: str
    document_id: str
    row_id: str
    text: str


def insert_anchors(
    session: Session, anchors: Sequence[NewAnchor], *, author_id: int | None
) -> Sequence[int]:
    """Add anchors in the session's transaction; return their ids in order.

    The values go straight to the driver's executemany, because SQLAlchemy's parameter handling
    would double the time of the insert.

    Raises:
        sqlalchemy.exc.IntegrityError: an anchor already exists.
    """
    connection = session.connection()
    moment = UtcDateTime().dialect_impl(connection.dialect).bind_processor(connection.dialect)
    created = moment(now()) if moment else now()
    ids = _next_ids(session, len(anchors))
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    numbered = list(zip(ids, anchors, strict=True))
    for some in batched(numbered):
        connection.exec_driver_sql(
            _ANCHOR.format(", ".join([mark] * 9)),
            [(*one[:7], id_, created) for id_, one in some],
        )
        connection.exec_driver_sql(
            _WORDING.format(", ".join([mark] * 5)),
            [(id_, one.text, one.uid, author_id, created) for id_, one in some],
        )
    know_new_rows(session, Anchor, AnchorRevision)
    return ids


def _next_ids(session: Session, count: int) -> Sequence[int]:
    """Reserve ids for this many anchors."""
    if session.get_bind().dialect.name == "postgresql":
        sequence = func.nextval(func.pg_get_serial_sequence("anchor", "id"))
        query = select(sequence).select_from(func.generate_series(1, count))
        return sorted(session.execute(query).scalars())
    # SQLite has a single writer.
    last = session.execute(select(func.max(col(Anchor.id)))).scalar_one_or_none() or 0
    return range(last + 1, last + count + 1)


KIND = "import"

MAX_SOURCE, MAX_LICENCE = 200, 200

_OVERTAKEN = (
    "Other anchors were added since the preview. Nothing was changed; check the preview again, "
    "then add the rows."
)


@dataclass(frozen=True)
class About:
    """The attributes of a whole file of anchors.

    Attributes:
        source: name of the source.
        licence: licence of the source; None keeps the licence of an existing source.
        genre: genre of rows without one.
        language: a tag such as 'en' or 'de-CH'.

    Raises:
        HedgerowError: a name is missing or too long, or the language is not a tag.
    """

    source: str
    licence: str | None = None
    genre: str = ""
    language: str = "en"

    def __post_init__(self) -> None:
        for name, limit in (("source", MAX_SOURCE), ("licence", MAX_LICENCE)):
            value = canonical(getattr(self, name) or "")
            if len(value) > limit:
                raise HedgerowError(
                    f"Expected a {name} of at most {limit} characters, found {len(value):,}; "
                    "shorten it."
                )
            if name != "licence" or self.licence is not None:
                object.__setattr__(self, name, value)
        if not self.source:
            raise HedgerowError("Expected the name of a source, found none.")
        object.__setattr__(self, "genre", checked_genre(self.genre))
        object.__setattr__(self, "language", checked_language(self.language))


class PairedTexts(NamedTuple):
    """The entailments and contradictions to add with the anchors.

    Attributes:
        accept: record that the labels of the data set are right; otherwise they are pending.
    """

    originals: Originals
    accept: bool = False


class Added(NamedTuple):
    """The result of an import; `run_id` and `source` are None if nothing was added."""

    added: int
    run_id: int | None = None
    source: str | None = None
    originals: Imported = Imported()


class Earlier(NamedTuple):
    """An earlier import of exactly the same file."""

    source: str
    added: int
    run: Run


def earlier_import(session: Session, content_hash: str) -> Earlier | None:
    """The latest import of a file with this hash, if any."""
    query = select(Run).where(col(Run.kind) == KIND).order_by(col(Run.id).desc())
    for run in session.execute(query).scalars():
        if run.inputs.get("sha256") == content_hash:
            return Earlier(run.parameters["source"], run.result["added"], run)
    return None


def check_source(session: Session, about: About) -> Source | None:
    """The source with this name, if any.

    Raises:
        HedgerowError: it has another licence.
    """
    source = session.execute(select(Source).where(col(Source.name) == about.source)).scalar()
    if source is None or about.licence is None or about.licence == source.licence:
        return source
    raise HedgerowError(
        f"The source '{source.name}' already exists with the licence "
        f"'{source.licence or 'none given'}', found '{about.licence or 'none given'}'; enter the "
        "same licence, or use another source name."
    )


def add_anchors(
    session: Session,
    preview: Preview,
    rows: Sequence[FileRow],
    *,
    about: About,
    paired: PairedTexts | None = None,
    file: str = "",
    parameters: dict[str, Any] | None = None,
    author_id: int | None = None,
) -> Added:
    """Add these rows of a preview as anchors, in the session's transaction.

    Args:
        rows: the result of ``preview.chosen``.
        paired: texts paired with these anchors or with existing anchors of the same source.
        file: its name, stored with the run.
        parameters: how the rows were chosen, stored with the run.
        author_id: the signed-in person, if any.

    Raises:
        HedgerowError: the source has another licence, or anchors were added since the preview.
    """
    source = check_source(session, about)
    texts = paired.originals.of(rows) if paired else []
    if not rows and not texts:
        return Added(0)
    if count_revisions(session) != preview.revisions:
        raise HedgerowError(_OVERTAKEN)
    if source is None:
        licence = about.licence or ""
        source = Source(name=about.source, licence=licence, content_hash=preview.content_hash)
        session.add(source)
        session.flush()
    run = _kept_as_run(preview, rows, about, file, parameters or {}, author_id)
    session.add(run)
    session.flush()
    try:
        with collector_paused():
            if rows:
                new = _new_anchors(session, rows, about, source.id)
                insert_anchors(session, new, author_id=author_id)
    except IntegrityError as error:
        raise HedgerowError(_OVERTAKEN) from error
    if paired is None:
        return Added(len(rows), run.id, source.name)
    with collector_paused():
        imported = _add_paired(session, rows, paired, run=run, file=file)
    return Added(len(rows), run.id, source.name, imported)


def _add_paired(
    session: Session, rows: Sequence[FileRow], paired: PairedTexts, *, run: Run, file: str
) -> Imported:
    """Add the texts that the file pairs with its anchors, and store the counts with the run."""
    texts = paired.originals.of(rows)
    imported = add_originals(session, texts, run_id=run.id, file=file, accept=paired.accept)
    faults = paired.originals.left_out_beside(rows).items()
    left_out = {fault.value: count for fault, count in faults}
    run.parameters = run.parameters | {
        "columns": dict(paired.originals.columns),
        "accept_originals": paired.accept,
    }
    added = {"originals": dict(imported.types), "originals_left_out": left_out}
    run.result = run.result | added
    return imported


def _kept_as_run(
    preview: Preview,
    rows: Sequence[FileRow],
    about: About,
    file: str,
    parameters: dict[str, Any],
    author_id: int | None,
) -> Run:
    fates = preview.fates
    result = {"added": len(rows), "rows": len(preview.rows)}
    result |= {fate.value: fates[fate] for fate in Fate}
    moment = now()
    return Run(
        kind=KIND,
        parameters=parameters | {"source": about.source, "language": about.language},
        inputs={"file": file, "sha256": preview.content_hash},
        result=result,
        state=RunState.DONE,
        step=len(rows),
        total=len(rows),
        message=f"Added {len(rows):,} anchors.",
        requested_by=author_id,
        started_at=moment,
        finished_at=moment,
    )


def _new_anchors(
    session: Session, rows: Sequence[FileRow], about: About, source_id: int
) -> list[NewAnchor]:
    of_rows = splits(session, source_id, [(row.uid, row.own) for row in rows])
    return [
        NewAnchor(
            *(row.uid, source_id, row.own.genre or about.genre, row.own.language or about.language),
            *(split, row.own.document_id, row.own.row_id, row.text),
        )
        for row, split in zip(rows, of_rows, strict=True)
    ]
