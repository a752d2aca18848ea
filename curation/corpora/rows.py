"""The variants and decisions of a corpus as database rows."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import RANDOM_SALT, bucket, canonical, variant_uid
from curation.corpora.corpus import Corpus
from curation.review.decisions import CHUNK
from curation.taxonomy.built_in import GUIDELINE_VERSION, TAXONOMY
from db.columns import now
from db.engine import batched, know_new_rows
from db.models import Anchor, Reviewer, Variant, Verdict

_TYPES = tuple(entry.id for entry in TAXONOMY)


class Written(NamedTuple):
    """A variant in the corpus."""

    anchor: str
    type_id: str
    text: str
    cue: str | None


def ids_by_uid(
    session: Session, table: type[Anchor] | type[Variant], uids: Sequence[str]
) -> dict[str, int]:
    """Uid → id of the variants that exist in the database."""
    found: dict[str, int] = {}
    for start in range(0, len(uids), CHUNK):
        query = select(col(table.uid), col(table.id))
        some = query.where(col(table.uid).in_(uids[start : start + CHUNK]))
        found |= dict(session.execute(some).all())
    return found


def variants_of(anchor: str, family: Mapping[str, Any]) -> Iterator[tuple[str, Written]]:
    """The variants of a family with their uids, in the order of the types.

    Args:
        anchor: uid of the family's anchor.
    """
    for type_id in _TYPES:
        found = family.get(type_id, [])
        for entry in found if isinstance(found, list) else [found]:
            text, cue = (entry["text"], entry["cue"]) if isinstance(entry, dict) else (entry, None)
            one = Written(anchor, type_id, canonical(text), cue)
            yield uid_of(one), one


def uid_of(one: Written) -> str:
    """The content uid of the variant."""
    return variant_uid(anchor_uid=one.anchor, type_id=one.type_id, text=one.text)


def variant_row(
    uid: str, one: Written, anchor_id: int, *, corpus: Corpus, run_id: int
) -> dict[str, Any]:
    """A variant as a database row.

    Args:
        run_id: the run that created it.
    """
    return {
        "uid": uid,
        "anchor_id": anchor_id,
        "anchor_revision": 1,
        "type_id": one.type_id,
        "text": one.text,
        "cue": one.cue,
        "run_id": run_id,
        "parent_id": None,
        "author_id": None,
        "provider": corpus.id,
        "model": corpus.id,
        "random_key": bucket(uid, salt=RANDOM_SALT),
        "created_at": now(),
    }


def add_variants(session: Session, rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Add the rows, whose anchors are from one source; return uid → id."""
    if not rows:
        return {}
    source_id = session.get_one(Anchor, rows[0]["anchor_id"]).source_id
    for some in batched(rows):
        session.execute(insert(Variant), [row | {"source_id": source_id} for row in some])
    know_new_rows(session, Variant)
    return ids_by_uid(session, Variant, [row["uid"] for row in rows])


def child_row(
    better: Written, anchor_id: int, *, corpus: Corpus, parent_id: int, reviewer: Reviewer
) -> dict[str, Any]:
    """The variant made by a model's edit, as a row."""
    child = variant_row(uid_of(better), better, anchor_id, corpus=corpus, run_id=0)
    by_reviewer = {"parent_id": parent_id, "author_id": reviewer.id, "run_id": None}
    return child | by_reviewer | {"model": reviewer.name}


def decision_row(
    variant_id: int, reviewer_id: int, verdict: Verdict, review: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A decision on a variant as a row; each decision is one action."""
    review = review or {}
    return {
        "variant_id": variant_id,
        "variant_version": 1,
        "reviewer_id": reviewer_id,
        "verdict": verdict,
        "reason": review.get("reason", ""),
        "note": review.get("note", ""),
        "action_id": str(uuid.uuid4()),
        "child_id": None,
        "adjudicates": False,
        "guideline_version": GUIDELINE_VERSION,
        "decided_at": now(),
    }
