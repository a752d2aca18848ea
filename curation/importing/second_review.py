"""The second review of a corpus: another model checks what the first one had accepted.

Its edits settle disagreements of the two models; a person's verdict outranks both. It does not
apply to variants that a person has decided, or to anchors that are kept pending or have been
corrected.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, canonical, variant_uid
from curation.corpora.corpus import CORPORA, Corpus
from curation.decisions.reviewers import ensure_reviewer
from curation.decisions.storing import bulk_store_decisions, rows_with
from curation.decisions.variant_rows import ids_by_uid
from curation.splits import RANDOM_SALT, bucket, in_pending_fifth
from curation.taxonomy.built_in import TAXONOMY
from db.columns import now
from db.engine import batched, know_new_rows
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Variant, Verdict

# -- The variants and decisions of a corpus as database rows --------------------------------------


_TYPES = tuple(entry.id for entry in TAXONOMY)


class Written(NamedTuple):
    """A variant in the corpus."""

    anchor: str
    type_id: str
    text: str
    cue: str | None


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


def anchors_with_variants(types: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each anchor with each of its variants of these types, regardless of their review."""
    for corpus in CORPORA.values():
        for family in corpus.families():
            for _, written in variants_of("", family):
                if written.type_id in types:
                    yield family["anchor"], written.text


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
    return ids_by_uid(session, [row["uid"] for row in rows])


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
        "reviewer_id": reviewer_id,
        "verdict": verdict,
        "reason": review.get("reason", ""),
        "note": review.get("note", ""),
        "action_id": str(uuid.uuid4()),
    }


class _Found(NamedTuple):
    """A variant in the database to which the second review applies."""

    id: int
    anchor_id: int
    version: int
    cue: str | None


class _Past(NamedTuple):
    """A stored decision on a variant."""

    reviewer: str
    is_person: bool
    verdict: Verdict
    child_id: int | None


def review_again(
    session: Session, corpus: Corpus, written: Mapping[str, Written]
) -> tuple[Sequence[int], int]:
    """Store the decisions of the second review on these variants that are not stored yet.

    Args:
        written: uid → variants in the corpus; those that are not in the database are left out.

    Returns:
        The ids of the variants made by its edits, and the number of its decisions.
    """
    if not corpus.second_reviewer:
        return [], 0
    reviews = {(anchor_uid(one["anchor"]), one["type"]): one for one in corpus.second_reviews()}
    judged = {
        uid: one
        for uid, one in written.items()
        if (one.type_id in corpus.second_types or (one.anchor, one.type_id) in reviews)
        and not in_pending_fifth(one.anchor)
    }
    reviewer = ensure_reviewer(session, corpus.second_reviewer, kind=ReviewerKind.MODEL)
    accepts: list[dict[str, Any]] = []
    edits: list[tuple[_Found, dict[str, Any], dict[str, Any]]] = []
    for uid, target in _targets(session, corpus, judged).items():
        one = judged[uid]
        review = reviews.get((one.anchor, one.type_id))
        if review is None:
            accepts.append(_on(target, decision_row(target.id, reviewer.id, Verdict.ACCEPT)))
            continue
        better = one._replace(text=canonical(review["text"]), cue=review.get("cue", target.cue))
        child = child_row(
            better, target.anchor_id, corpus=corpus, parent_id=target.id, reviewer=reviewer
        )
        edits.append((target, review, child))
    there = ids_by_uid(session, [child["uid"] for _, _, child in edits])
    edits = [edit for edit in edits if edit[2]["uid"] not in there]  # somebody else wrote it
    ids = add_variants(session, [child for _, _, child in edits])
    rows = accepts
    for target, review, child in edits:
        child_id = ids[child["uid"]]
        edit = _on(target, decision_row(target.id, reviewer.id, Verdict.EDIT, review))
        edit |= {"child_id": child_id, "adjudicates": True}
        accept = decision_row(child_id, reviewer.id, Verdict.ACCEPT)
        rows += [edit, accept | {"action_id": edit["action_id"]}]
    bulk_store_decisions(session, rows)
    return list(ids.values()), len(rows)


def _on(target: _Found, row: dict[str, Any]) -> dict[str, Any]:
    return row | {"variant_version": target.version}


def _targets(session: Session, corpus: Corpus, judged: Mapping[str, Written]) -> dict[str, _Found]:
    """Uid in the corpus → the accepted variant after the first review, if it is open.

    It is open if neither a person nor the second reviewer has decided.
    """
    originals = _found(session, col(Variant.uid), judged)
    by_id = {found.id: uid for uid, found in originals.items()}
    past = _past(session, by_id)
    children: dict[int, str] = {}
    targets: dict[str, _Found] = {}
    for variant_id, uid in by_id.items():
        if _is_closed(past[variant_id], corpus):
            continue
        if judged[uid].type_id in corpus.second_types:
            targets[uid] = originals[uid]
            continue
        for one in past[variant_id]:
            if one.reviewer != corpus.reviewer:
                continue
            if one.verdict is Verdict.ACCEPT:
                targets[uid] = originals[uid]
            elif one.child_id is not None:
                children[one.child_id] = uid
    past = _past(session, children)
    for child_id, found in _found(session, col(Variant.id), children).items():
        if not _is_closed(past[child_id], corpus):
            targets[children[child_id]] = found
    return targets


def _is_closed(past: Iterable[_Past], corpus: Corpus) -> bool:
    return any(one.is_person or one.reviewer == corpus.second_reviewer for one in past)


def _found(session: Session, column: Any, wanted: Iterable[Any]) -> dict[Any, _Found]:
    """The variants in use with these values in the column, if their anchors are uncorrected."""
    query = (
        select(
            column,
            col(Variant.id),
            col(Variant.anchor_id),
            col(Variant.version),
            col(Variant.cue),
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .where(
            col(Variant.retired).is_(False),
            col(Anchor.retired_at).is_(None),
            col(Anchor.revision) == 1,
        )
    )
    return {key: _Found(*row) for key, *row in rows_with(session, query, column, wanted)}


def _past(session: Session, variant_ids: Iterable[int]) -> dict[int, list[_Past]]:
    found: dict[int, list[_Past]] = defaultdict(list)
    query = (
        select(
            col(Decision.variant_id),
            col(Reviewer.name),
            col(Reviewer.kind) == ReviewerKind.PERSON,
            col(Decision.verdict),
            col(Decision.child_id),
        )
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .order_by(col(Decision.id))
    )
    rows = rows_with(session, query, col(Decision.variant_id), variant_ids)
    for variant_id, name, is_person, verdict, child_id in rows:
        found[variant_id].append(_Past(name, is_person, verdict, child_id))
    return found
