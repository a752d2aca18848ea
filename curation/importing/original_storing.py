"""Store the entailments and contradictions of a file as variants of its anchors.

Nobody has reviewed them in this project, so they are pending unless the import accepts the labels
of the data set. They are then accepted by a model reviewer, and a person's verdict outranks it.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.decisions.reviewers import LABELS, ensure_reviewer
from curation.decisions.storing import bulk_store_decisions
from curation.decisions.variant_rows import imported_row
from curation.diagnostics.measuring import measure_variants
from curation.editing.own_types import ensure_types
from curation.importing.originals import KnownAnchor, Original, known_anchors
from curation.taxonomy.built_in import GUIDELINE_VERSION
from db.columns import now
from db.engine import insert_new, know_new_rows
from db.models import ReviewerKind, Variant, Verdict

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


def add_originals(
    session: Session, originals: Sequence[Original], *, run_id: int, file: str, accept: bool = False
) -> Imported:
    """Add these texts as variants of their anchors, in the session's transaction.

    Skips a text that its anchor already has with the same type, and texts whose anchor has been
    retired or corrected meanwhile.

    Args:
        originals: texts of stored anchors.
        run_id: the import's.
        file: its name, stored with each variant.
        accept: record that the labels of the data set are right.

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
        return Imported()
    insert_new(session, Variant, rows)
    know_new_rows(session, Variant)
    query = select(col(Variant.id), col(Variant.type_id)).where(col(Variant.run_id) == run_id)
    added = dict(session.execute(query).all())
    if accept:
        _accept(session, list(added), note=f"As labelled in {file}.")
    measured = len(added) <= MEASURED_AT_ONCE
    if measured:
        measure_variants(session, added)
    return Imported(Counter(added.values()), measured)


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


def _accept(session: Session, variant_ids: Sequence[int], *, note: str) -> None:
    reviewer = ensure_reviewer(session, LABELS, kind=ReviewerKind.MODEL)
    action, moment = str(uuid.uuid4()), now()
    bulk_store_decisions(
        session,
        [
            {
                "variant_id": variant_id,
                "variant_version": 1,
                "reviewer_id": reviewer.id,
                "verdict": Verdict.ACCEPT,
                "note": note,
                "action_id": action,
                "guideline_version": GUIDELINE_VERSION,
                "decided_at": moment,
            }
            for variant_id in variant_ids
        ],
    )
