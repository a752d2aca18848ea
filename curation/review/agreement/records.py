"""The variants behind a figure of agreement: their texts and verdicts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.reviewers import person_id_now, shown_name
from curation.decisions.storing import chunks
from curation.review.agreement.overlap import Overlap, is_vote, knew, packed, unpacked
from db.models import Anchor, AnchorRevision, Decision, Reviewer, Source, Status, Variant, Verdict


class GivenVerdict(NamedTuple):
    """One person's verdict on a variant.

    Attributes:
        independent: see `curation.review.agreement.overlap`.
    """

    reviewer: str
    verdict: Verdict
    reason: str
    note: str
    decided_at: datetime
    independent: bool


class Record(NamedTuple):
    """A variant, the current text of its anchor, and all current verdicts in order."""

    uid: str
    type_id: str
    cue: str | None
    source: str
    anchor: str
    text: str
    status: Status
    verdicts: tuple[GivenVerdict, ...]


COLUMNS = (
    "uid",
    "type",
    "cue",
    "source",
    "anchor",
    "variant",
    "reviewer",
    "verdict",
    "reason",
    "note",
    "decided_at",
    "independent",
)
"""The columns of `table`."""


def ids_of(found: Overlap) -> list[int]:
    """The ids of the variants, sorted."""
    return sorted(number for pattern in found.patterns for number in pattern.variant_ids())


def records(session: Session, variant_ids: Sequence[int]) -> list[Record]:
    """The variants with these ids, in order."""
    return [record for ids in chunks(variant_ids) for record in _records(session, ids)]


def table(found: Sequence[Record]) -> Iterator[tuple[str | bool | None, ...]]:
    """One row per verdict, with the columns `COLUMNS`."""
    for record in found:
        variant = (record.uid, record.type_id, record.cue, record.source, record.anchor)
        for given in record.verdicts:
            yield (
                *variant,
                record.text,
                given.reviewer,
                given.verdict.value,
                given.reason,
                given.note,
                given.decided_at.isoformat(),
                given.independent,
            )


def _records(session: Session, ids: Sequence[int]) -> Iterator[Record]:
    verdicts = _verdicts(session, ids)
    query = (
        select(
            col(Variant.id),
            col(Variant.uid),
            col(Variant.type_id),
            col(Variant.cue),
            col(Source.name),
            col(AnchorRevision.text),
            col(Variant.text),
            col(Variant.status),
        )
        .join(Source, col(Source.id) == col(Variant.source_id))
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .join(AnchorRevision, of_current_revision())
        .where(col(Variant.id).in_(ids))
        .order_by(col(Variant.id))
    )
    for key, *variant in session.execute(query):
        yield Record._make((*variant, tuple(verdicts[key])))


def _verdicts(session: Session, ids: Sequence[int]) -> dict[int, list[GivenVerdict]]:
    query = (
        select(
            col(Decision.variant_id),
            person_id_now(),
            packed(),
            shown_name(),
            col(Decision.verdict),
            col(Decision.reason),
            col(Decision.note),
            col(Decision.decided_at),
        )
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(col(Decision.variant_id).in_(ids), is_vote())
        .order_by(col(Decision.id))
    )
    rows = [(row[0], row[1], unpacked(row[2]), row[3:]) for row in session.execute(query)]
    first: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for variant_id, person, code, _ in rows:
        first[variant_id].setdefault(person, code)
    found: dict[int, list[GivenVerdict]] = {key: [] for key in ids}
    for variant_id, person, code, given in rows:
        others = [its for key, its in first[variant_id].items() if key != person]
        found[variant_id].append(GivenVerdict._make((*given, not knew(code, others))))
    return found
