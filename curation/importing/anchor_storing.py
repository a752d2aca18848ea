"""Add the rows of a previewed file as anchors.

An import is stored as a finished run with the file's hash, the column and what was left out.

Nobody has reviewed the file's entailments and contradictions in this project, so they are pending
unless the import accepts the labels of the data set. They are then accepted by a model reviewer,
and a person's verdict outranks it.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.decisions.reviewers import LABELS, ensure_reviewer
from curation.decisions.roles import require
from curation.decisions.storing import bulk_store_decisions, rows_with
from curation.decisions.variant_rows import imported_row
from curation.diagnostics.measuring import measure_variants
from curation.editing.attributes import splits
from curation.editing.own_types import ensure_types
from curation.importing.anchor_preview import FileRow, Preview, RowStatus, count_revisions
from curation.importing.anchor_rows import (
    About,
    NewAnchor,
    check_source,
    ensure_source,
    insert_anchors,
)
from curation.importing.originals import KnownAnchor, Original, Originals, known_anchors
from db.columns import now
from db.engine import collector_paused, insert_new, know_new_rows, write_in_pieces
from db.errors import HedgerowError
from db.models import Anchor, ReviewerKind, Run, RunState, TeamRole, Variant, Verdict

KIND = "import"

_OVERTAKEN = (
    "Other anchors were added since the preview. Nothing was changed; check the preview again, "
    "then add the rows."
)


ALL_OR_NONE = 1_000
"""An import of at most this many anchors is one transaction."""

MEASURED_AT_ONCE = 5_000
"""Maximum variants whose distances and flags the import measures, in a second or two; if there are
   more, the next diagnostics run measures them."""


class Imported(NamedTuple):
    """The result of adding originals.

    Attributes:
        types: type id → number of variants added.
        measured: whether distances and flags were measured; cosines always need a diagnostics run.
    """

    types: Mapping[str, int] = {}
    measured: bool = True

    @property
    def total(self) -> int:
        """Number of variants added."""
        return sum(self.types.values())


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


def add_anchors(
    engine: Engine,
    preview: Preview,
    rows: Sequence[FileRow],
    *,
    about: About,
    paired: PairedTexts | None = None,
    file: str = "",
    parameters: dict[str, Any] | None = None,
    author_id: int | None = None,
) -> Added:
    """Add these rows of a preview as anchors.

    Up to `ALL_OR_NONE` anchors are added all or none. More are added in pieces of whole rows with
    their paired texts, between which others can write. If the process ends in between, the run says
    how many were added, and adding the same file again adds the rest.

    Args:
        rows: the result of ``preview.chosen``.
        paired: texts paired with these anchors or with existing anchors of the same source.
        file: its name, stored with the run.
        parameters: how the rows were chosen, stored with the run.
        author_id: the signed-in person, if any.

    Raises:
        HedgerowError: the source has another licence, anchors were added since the preview, or the
            user is not a lead.
    """
    require(TeamRole.LEAD)
    texts = paired.originals.paired_with(rows) if paired else []
    if not rows and not texts:
        return Added(0)
    run = _kept_as_run(preview, rows, about, file, parameters or {}, author_id)
    if paired is not None:
        faults = paired.originals.left_out_beside(rows).items()
        run.parameters = run.parameters | {
            "columns": dict(paired.originals.columns),
            "accept_originals": paired.accept,
        }
        run.result = run.result | {"originals_left_out": {one.value: n for one, n in faults}}
    of_anchor: dict[str, list[Original]] = {}
    for text in texts:
        of_anchor.setdefault(text.anchor, []).append(text)
    parts: list[_Part] = [(row, of_anchor.pop(row.uid, [])) for row in rows]
    parts += [(None, others) for others in of_anchor.values()]
    adding = _Adding(preview, about, run, paired, parts=len(parts), texts=len(texts))
    try:
        write_in_pieces(engine, parts, adding.write, first=ALL_OR_NONE)
    except IntegrityError as error:
        raise HedgerowError(_OVERTAKEN) from error
    imported = Imported(adding.types, adding.measures) if paired else Imported()
    return Added(adding.added, run.id, about.source, imported)


_Part = tuple[FileRow | None, list[Original]]
"""A row that becomes an anchor (None for an existing anchor), with its paired texts."""


class _Adding:
    """An import that is written in pieces.

    Attributes:
        added: the number of anchors added so far.
        types: type id → number of paired texts added so far.
        measures: whether distances and flags are measured at once.
    """

    def __init__(
        self,
        preview: Preview,
        about: About,
        run: Run,
        paired: PairedTexts | None,
        *,
        parts: int,
        texts: int,
    ) -> None:
        self._preview, self._about, self._run, self._paired = preview, about, run, paired
        self._left, self._total = parts, run.total
        self._splits: dict[str, str] = {}  # document → its split, over all pieces
        self.added = 0
        self.types: Counter[str] = Counter()
        self.measures = texts <= MEASURED_AT_ONCE

    def write(self, session: Session, parts: Sequence[_Part]) -> None:
        """Store some rows with their texts; with the first ones, the source and the run."""
        about, run = self._about, self._run
        check_source(session, about)
        source_id = ensure_source(
            session, about.source, about.licence or "", content_hash=self._preview.content_hash
        )
        rows = [row for row, _ in parts if row is not None]
        if run.id is None:
            if count_revisions(session) != self._preview.revisions:
                raise HedgerowError(_OVERTAKEN)
            session.add(run)
            session.flush()
        else:  # somebody may have added some of them since the first piece
            query = select(col(Anchor.uid))
            found = rows_with(session, query, col(Anchor.uid), [row.uid for row in rows])
            there = {uid for (uid,) in found}
            rows = [row for row in rows if row.uid not in there]
        with collector_paused():
            if rows:
                new = _new_anchors(session, rows, about, source_id, self._splits)
                insert_anchors(session, new, author_id=run.requested_by)
            if self._paired is not None:
                texts = [text for _, some in parts for text in some]
                self.types.update(self._add_paired(session, texts))
        self.added += len(rows)
        self._left -= len(parts)
        self._note(session)

    def _add_paired(self, session: Session, texts: Sequence[Original]) -> Mapping[str, int]:
        assert self._paired is not None
        return add_originals(
            session,
            texts,
            run_id=self._run.id,
            file=self._run.inputs["file"],
            accept=self._paired.accept,
            measures=self.measures,
        )

    def _note(self, session: Session) -> None:
        """Store how far the import is. Until the last piece, it counts as interrupted."""
        originals = {"originals": dict(self.types)} if self._paired is not None else {}
        of = f" of {self._total:,}" if self._left else ""
        values = {
            "result": self._run.result | {"added": self.added} | originals,
            "state": RunState.INTERRUPTED if self._left else RunState.DONE,
            "step": self.added,
            "message": f"Added {self.added:,}{of} anchors.",
        }
        session.execute(update(Run).where(col(Run.id) == self._run.id).values(**values))


def _kept_as_run(
    preview: Preview,
    rows: Sequence[FileRow],
    about: About,
    file: str,
    parameters: dict[str, Any],
    author_id: int | None,
) -> Run:
    statuses = preview.statuses
    result = {"added": len(rows), "rows": len(preview.rows)}
    result |= {status.value: statuses[status] for status in RowStatus}
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
    session: Session,
    rows: Sequence[FileRow],
    about: About,
    source_id: int,
    known: dict[str, str],
) -> list[NewAnchor]:
    of_rows = splits(session, source_id, [(row.uid, row.own) for row in rows], known)
    return [
        NewAnchor(
            *(row.uid, source_id, row.own.genre or about.genre, row.own.language or about.language),
            *(split, row.own.document_id, row.own.row_id, row.text),
        )
        for row, split in zip(rows, of_rows, strict=True)
    ]


# -- The entailments and contradictions of the file as variants of its anchors --------------------


def add_originals(
    session: Session,
    originals: Sequence[Original],
    *,
    run_id: int,
    file: str,
    accept: bool,
    measures: bool,
) -> Mapping[str, int]:
    """Add these texts as variants of their anchors, in the session's transaction.

    Skips a text that its anchor already has with the same type, and texts whose anchor has been
    retired or corrected meanwhile.

    Args:
        originals: texts of stored anchors.
        run_id: the import's.
        file: its name, stored with each variant.
        accept: record that the labels of the data set are right.
        measures: measure distances and flags at once.

    Returns:
        Type id → number of variants added.

    Raises:
        HedgerowError: as ``ensure_types``.
    """
    ensure_types(session, dict.fromkeys(original.type_id for original in originals))
    anchors = known_anchors(session, {original.anchor for original in originals}, lock=True)
    rows = [
        _row(original, anchors[original.anchor], run_id=run_id, file=file)
        for original in originals
        if original.anchor in anchors
    ]
    if not rows:
        return {}
    insert_new(session, Variant, rows)
    know_new_rows(session, Variant)
    query = select(col(Variant.id), col(Variant.type_id)).where(col(Variant.run_id) == run_id)
    uids = [row["uid"] for row in rows]
    added: dict[int, str] = dict(rows_with(session, query, col(Variant.uid), uids))
    if accept:
        _accept(session, list(added), run_id=run_id, note=f"As labelled in {file}.")
    if measures:
        measure_variants(session, added)
    return Counter(added.values())


def _row(original: Original, anchor: KnownAnchor, *, run_id: int, file: str) -> dict[str, Any]:
    uid = variant_uid(anchor_uid=anchor.uid, type_id=original.type_id, text=original.text)
    return imported_row(
        uid,
        anchor_id=anchor.id,
        anchor_revision=anchor.revision,
        source_id=anchor.source_id,
        type_id=original.type_id,
        text=original.text,
        run_id=run_id,
        file=file,
    )


def _accept(session: Session, variant_ids: Sequence[int], *, run_id: int, note: str) -> None:
    reviewer = ensure_reviewer(session, LABELS, kind=ReviewerKind.MODEL)
    action = str(uuid.uuid5(uuid.NAMESPACE_OID, f"import {run_id}"))  # one for all pieces
    bulk_store_decisions(
        session,
        [
            {
                "variant_id": variant_id,
                "reviewer_id": reviewer.id,
                "verdict": Verdict.ACCEPT,
                "note": note,
                "action_id": action,
            }
            for variant_id in variant_ids
        ],
    )
