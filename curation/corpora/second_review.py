"""The second review of a corpus: another model checks what the first one had accepted.

Its edits settle disagreements of the two models; a person's verdict outranks both. It does not
apply to variants that a person has decided, or to anchors that are kept pending or have been
corrected.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import anchor_uid, canonical, in_pending_fifth
from curation.corpora.corpus import Corpus
from curation.corpora.rows import (
    Written,
    add_variants,
    child_row,
    decision_row,
    ids_by_uid,
)
from curation.review.decisions import bulk_store_decisions, chunks
from curation.review.people.reviewers import ensure_reviewer
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Variant, Verdict


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
    there = ids_by_uid(session, Variant, [child["uid"] for _, _, child in edits])
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
    found: dict[Any, _Found] = {}
    for some in chunks(wanted):
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
                column.in_(some),
                col(Variant.retired).is_(False),
                col(Anchor.retired_at).is_(None),
                col(Anchor.revision) == 1,
            )
        )
        found |= {key: _Found(*row) for key, *row in session.execute(query)}
    return found


def _past(session: Session, variant_ids: Iterable[int]) -> dict[int, list[_Past]]:
    found: dict[int, list[_Past]] = defaultdict(list)
    for some in chunks(variant_ids):
        query = (
            select(
                col(Decision.variant_id),
                col(Reviewer.name),
                col(Reviewer.kind) == ReviewerKind.PERSON,
                col(Decision.verdict),
                col(Decision.child_id),
            )
            .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
            .where(col(Decision.variant_id).in_(some))
            .order_by(col(Decision.id))
        )
        for variant_id, name, is_person, verdict, child_id in session.execute(query):
            found[variant_id].append(_Past(name, is_person, verdict, child_id))
    return found
