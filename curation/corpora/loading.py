"""Loading a corpus: families as variants, the review in its files as decisions of its model.

Of the starter corpus, a fifth of the anchors stays pending, to be reviewed, and is thereby held
out of every default training.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import (
    RANDOM_SALT,
    anchor_uid,
    bucket,
    canonical,
    canonical_uid,
    in_pending_fifth,
    split_of,
    variant_uid,
)
from curation.corpora.corpus import Corpus
from curation.diagnostics.measuring import measure_variants
from curation.review.decisions import CHUNK, bulk_store_decisions
from curation.review.people.reviewers import ensure_reviewer
from curation.taxonomy.built_in import GUIDELINE_VERSION, TAXONOMY
from curation.taxonomy.project_types import seed_taxonomy
from db.columns import now
from db.engine import batched, know_new_rows
from db.models import (
    Anchor,
    AnchorRevision,
    ReviewerKind,
    Run,
    RunState,
    Source,
    Variant,
    Verdict,
)

KIND = "corpus"
"""The kind of the run that its variants name as their origin."""

_TYPES = tuple(entry.id for entry in TAXONOMY)


class Loaded(NamedTuple):
    """What a loading added; all zero where the corpus was there already."""

    anchors: int
    variants: int
    decisions: int


class _Written(NamedTuple):
    """A variant as the corpus has it."""

    anchor: str
    type_id: str
    text: str
    cue: str | None


Families = dict[str, list[dict[str, Any]]]
"""Anchor uid → the families that the corpus has of it."""


def missing_families(session: Session, corpus: Corpus) -> Families:
    """The families whose anchors the database lacks; those it knows are left as they are."""
    known = set(session.execute(select(col(Anchor.uid))).scalars())
    found: Families = {}
    for family in corpus.families():
        if (uid := anchor_uid(family["anchor"])) not in known:
            found.setdefault(uid, []).append(family)
    return found


def load(session: Session, corpus: Corpus) -> Loaded:
    """Add the families that the database lacks, in this transaction."""
    seed_taxonomy(session)
    families = missing_families(session, corpus)
    if not families:
        return Loaded(0, 0, 0)
    run = Run(kind=KIND, parameters={"corpus": corpus.id}, state=RunState.DONE, finished_at=now())
    session.add(run)
    session.flush()
    return add_families(session, corpus, families, run_id=run.id)


def add_families(session: Session, corpus: Corpus, families: Families, *, run_id: int) -> Loaded:
    """Add families that the database lacks, with their measures and the review that there is.

    Args:
        run_id: the run that the variants name as their origin.
    """
    source_id = _source(session, corpus)
    anchors = _add_anchors(session, families, source_id=source_id)
    written = {
        uid: variant
        for anchor, of_anchor in families.items()
        for family in of_anchor
        for uid, variant in _variants(anchor, family)
    }
    rows = [
        _row(uid, one, anchors[one.anchor], corpus=corpus, run_id=run_id)
        for uid, one in written.items()
    ]
    ids = _add_variants(session, rows, source_id=source_id)
    children, decisions = _decide(
        session, corpus, written, anchors=anchors, ids=ids, source_id=source_id
    )
    bulk_store_decisions(session, decisions)
    measure_variants(session, [*ids.values(), *children])
    return Loaded(len(families), len(ids) + len(children), len(decisions))


def _source(session: Session, corpus: Corpus) -> int:
    row = session.execute(select(Source).where(col(Source.name) == corpus.source)).scalar()
    if row is None:
        row = Source(
            name=corpus.source,
            licence=corpus.licence,
            note="Written by a large language model for this project; reviewed by a second one.",
        )
        session.add(row)
        session.flush()
    return row.id


def _add_anchors(session: Session, families: Families, *, source_id: int) -> dict[str, int]:
    """Add the anchors; (uid → id) of them.

    Those with one pair of opposites get one split: a model that has learnt a pair is not tested on
    it.
    """
    moment = now()
    rows = [
        {
            "uid": uid,
            "revision": 1,
            "source_id": source_id,
            "genre": first.get("genre", ""),
            "language": "en",
            "split": split_of(canonical_uid(first["pair"]) if "pair" in first else uid),
            "created_at": moment,
        }
        for uid, (first, *_) in families.items()
    ]
    ids: dict[str, int] = {}
    for some in batched(rows):
        session.execute(insert(Anchor), some)
        ids |= _ids(session, Anchor, [row["uid"] for row in some])
    revisions = [
        {
            "anchor_id": ids[uid],
            "revision": 1,
            "text": canonical(first["anchor"]),
            "text_uid": uid,
            "created_at": moment,
        }
        for uid, (first, *_) in families.items()
    ]
    for some in batched(revisions):
        session.execute(insert(AnchorRevision), some)
    know_new_rows(session, Anchor, AnchorRevision)
    return ids


def _ids(
    session: Session, table: type[Anchor] | type[Variant], uids: Sequence[str]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(uids), CHUNK):
        query = select(col(table.uid), col(table.id))
        some = query.where(col(table.uid).in_(uids[start : start + CHUNK]))
        found |= dict(session.execute(some).all())
    return found


def _variants(anchor: str, family: Mapping[str, Any]) -> Iterator[tuple[str, _Written]]:
    for type_id in _TYPES:
        found = family.get(type_id, [])
        for entry in found if isinstance(found, list) else [found]:
            text, cue = (entry["text"], entry["cue"]) if isinstance(entry, dict) else (entry, None)
            one = _Written(anchor, type_id, canonical(text), cue)
            yield _uid(one), one


def _uid(one: _Written) -> str:
    return variant_uid(anchor_uid=one.anchor, type_id=one.type_id, text=one.text)


def _row(uid: str, one: _Written, anchor_id: int, *, corpus: Corpus, run_id: int) -> dict[str, Any]:
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


def _add_variants(
    session: Session, rows: Sequence[dict[str, Any]], *, source_id: int
) -> dict[str, int]:
    """Add the rows, whose anchors are of this source; (uid → id) of them."""
    for some in batched(rows):
        session.execute(insert(Variant), [row | {"source_id": source_id} for row in some])
    know_new_rows(session, Variant)
    return _ids(session, Variant, [row["uid"] for row in rows])


def _decide(
    session: Session,
    corpus: Corpus,
    written: Mapping[str, _Written],
    *,
    anchors: Mapping[str, int],
    ids: Mapping[str, int],
    source_id: int,
) -> tuple[Sequence[int], list[dict[str, Any]]]:
    """Add what the review's edits made; the ids of that, and the review as decision rows."""
    if not corpus.reviewer:
        return [], []
    reviews = {
        (anchor_uid(review["anchor"]), review["type"], review.get("of")): review
        for review in corpus.reviews()
    }
    reviewer = ensure_reviewer(session, corpus.reviewer, kind=ReviewerKind.MODEL)
    edits: list[tuple[int, str, dict[str, Any]]] = []
    children: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    for uid, one in written.items():
        if corpus.whole and in_pending_fifth(one.anchor):
            continue
        review = reviews.get((one.anchor, one.type_id, None if corpus.whole else one.text))
        if review is None:
            if corpus.whole:
                rows.append(_decision(ids[uid], reviewer.id, Verdict.ACCEPT))
        elif review["verdict"] == "reject":
            rows.append(_decision(ids[uid], reviewer.id, Verdict.REJECT, review))
        else:
            better = one._replace(text=canonical(review["text"]), cue=review.get("cue", one.cue))
            child = _row(_uid(better), better, anchors[one.anchor], corpus=corpus, run_id=0)
            by_reviewer = {"parent_id": ids[uid], "author_id": reviewer.id, "run_id": None}
            children[child["uid"]] = child | by_reviewer | {"model": corpus.reviewer}
            edits.append((ids[uid], child["uid"], review))
    child_ids: dict[str, int] = {}
    if children:
        child_ids = _add_variants(session, list(children.values()), source_id=source_id)
    for variant_id, child_uid, review in edits:
        edit = _decision(variant_id, reviewer.id, Verdict.EDIT, review)
        edit["child_id"] = child_ids[child_uid]
        accept = _decision(child_ids[child_uid], reviewer.id, Verdict.ACCEPT)
        rows += [edit, accept | {"action_id": edit["action_id"]}]
    return list(child_ids.values()), rows


def _decision(
    variant_id: int, reviewer_id: int, verdict: Verdict, review: Mapping[str, Any] | None = None
) -> dict[str, Any]:
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
        "guideline_version": GUIDELINE_VERSION,
        "decided_at": now(),
    }
