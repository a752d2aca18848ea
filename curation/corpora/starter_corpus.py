"""Loading the bundled corpus: families as variants, the model's review as decisions.

For four fifths of the anchors the review counts as decisions of the model reviewer
``starter-llm``; the remaining fifth stays pending, to be reviewed, and is thereby held out of
every default training.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import (
    anchor_uid,
    bucket,
    canonical,
    in_pending_fifth,
    split_of,
    variant_uid,
)
from curation.diagnostics.measuring import measure_variants
from curation.review.decisions import CHUNK, bulk_store_decisions
from curation.review.people.reviewers import STARTER, ensure_reviewer
from curation.taxonomy.built_in import GUIDELINE_VERSION
from curation.taxonomy.project_types import seed_taxonomy
from db.columns import now
from db.models import (
    Anchor,
    AnchorRevision,
    Reviewer,
    ReviewerKind,
    Run,
    RunState,
    Source,
    Variant,
    Verdict,
)

FOLDER = Path(__file__).with_name("starter")
KIND = "starter"
SOURCE = "Hedgerow starter corpus"
LICENCE = "CC BY 4.0"
RANDOM_SALT = "hedgerow/random/1:"
"""Salt of the key that the random queue is ordered by."""

_TYPES = ("verbal", "absolute", "affixal", "lexical", "word", "phrase", "negated_antonym")


class Loaded(NamedTuple):
    """What a loading added; all zero where the corpus was there already."""

    anchors: int
    variants: int
    decisions: int


def load_starter_corpus(session: Session) -> Loaded:
    """Add the families that the database lacks. Anchors it knows are left as they are."""
    seed_taxonomy(session)
    families = list(_read(FOLDER / "families.jsonl"))
    known = set(session.execute(select(col(Anchor.uid))).scalars())
    fresh = {anchor_uid(f["anchor"]): f for f in families}
    fresh = {uid: family for uid, family in fresh.items() if uid not in known}
    if not fresh:
        return Loaded(0, 0, 0)
    reviews = {(r["anchor"], r["type"]): r for r in _read(FOLDER / "reviews.jsonl")}
    run = _loading_run(session)
    anchor_ids = _add_anchors(session, fresh, source_id=_source(session))
    rows = [
        row
        for uid, family in fresh.items()
        for row in _variant_rows(family, uid=uid, anchor_id=anchor_ids[uid], run_id=run.id)
    ]
    variant_ids = _add_variants(session, rows)
    reviewer = ensure_reviewer(session, STARTER, kind=ReviewerKind.MODEL)
    decisions, children = _decide(
        session, fresh, reviews, anchor_ids=anchor_ids, variant_ids=variant_ids, reviewer=reviewer
    )
    bulk_store_decisions(session, decisions)
    measure_variants(session, list(variant_ids.values()) + children)
    return Loaded(len(fresh), len(variant_ids) + len(children), len(decisions))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _loading_run(session: Session) -> Run:
    """The run that the variants name as their origin."""
    run = Run(kind=KIND, parameters={}, state=RunState.DONE, finished_at=now())
    session.add(run)
    session.flush()
    return run


def _source(session: Session) -> int:
    row = session.execute(select(Source).where(col(Source.name) == SOURCE)).scalar()
    if row is None:
        row = Source(
            name=SOURCE,
            licence=LICENCE,
            note="Written by a large language model for this project; reviewed by a second one.",
        )
        session.add(row)
        session.flush()
    return row.id


def _add_anchors(
    session: Session, families: dict[str, dict[str, Any]], *, source_id: int
) -> dict[str, int]:
    moment = now()
    session.execute(
        insert(Anchor),
        [
            {
                "uid": uid,
                "revision": 1,
                "source_id": source_id,
                "genre": family["genre"],
                "language": "en",
                "split": split_of(uid),
                "created_at": moment,
            }
            for uid, family in families.items()
        ],
    )
    query = select(col(Anchor.uid), col(Anchor.id))
    ids: dict[str, int] = dict(session.execute(query).all())
    session.execute(
        insert(AnchorRevision),
        [
            {
                "anchor_id": ids[uid],
                "revision": 1,
                "text": canonical(family["anchor"]),
                "text_uid": uid,
                "created_at": moment,
            }
            for uid, family in families.items()
        ],
    )
    return ids


def _variant_rows(
    family: dict[str, Any], *, uid: str, anchor_id: int, run_id: int
) -> Iterator[dict[str, Any]]:
    for type_id in _TYPES:
        entry = family.get(type_id)
        if entry is None:
            continue
        text, cue = (entry["text"], entry["cue"]) if isinstance(entry, dict) else (entry, None)
        yield _row(uid, anchor_id, type_id, text=text, cue=cue, model="starter") | {
            "run_id": run_id,
            "parent_id": None,
            "author_id": None,
        }


def _row(
    uid: str, anchor_id: int, type_id: str, *, text: str, cue: str | None, model: str
) -> dict[str, Any]:
    own_uid = variant_uid(anchor_uid=uid, type_id=type_id, text=text)
    return {
        "uid": own_uid,
        "anchor_id": anchor_id,
        "anchor_revision": 1,
        "type_id": type_id,
        "text": canonical(text),
        "cue": cue,
        "provider": "starter",
        "model": model,
        "random_key": bucket(own_uid, salt=RANDOM_SALT),
        "created_at": now(),
    }


def _add_variants(session: Session, rows: list[dict[str, Any]]) -> dict[str, int]:
    """Add the rows; (uid → id) of them."""
    session.execute(insert(Variant), rows)
    ids: dict[str, int] = {}
    uids = [row["uid"] for row in rows]
    for start in range(0, len(uids), CHUNK):
        some = uids[start : start + CHUNK]
        query = select(col(Variant.uid), col(Variant.id)).where(col(Variant.uid).in_(some))
        ids |= dict(session.execute(query).all())
    return ids


def _decide(
    session: Session,
    families: dict[str, dict[str, Any]],
    reviews: dict[tuple[str, str], dict[str, Any]],
    *,
    anchor_ids: dict[str, int],
    variant_ids: dict[str, int],
    reviewer: Reviewer,
) -> tuple[list[dict[str, Any]], list[int]]:
    """The review as decision rows, and the ids of the variants that its edits made."""
    edits: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
    rows: list[dict[str, Any]] = []
    for uid, family in families.items():
        if in_pending_fifth(uid):
            continue
        for original in _variant_rows(family, uid=uid, anchor_id=anchor_ids[uid], run_id=0):
            variant_id = variant_ids[original["uid"]]
            review = reviews.get((family["anchor"], original["type_id"]))
            if review is None:
                rows.append(_decision(variant_id, reviewer, Verdict.ACCEPT))
            elif review["verdict"] == "reject":
                rows.append(_decision(variant_id, reviewer, Verdict.REJECT, review))
            else:
                child = _row(
                    uid,
                    anchor_ids[uid],
                    original["type_id"],
                    text=review["text"],
                    cue=review.get("cue", original["cue"]),
                    model=STARTER,
                )
                child |= {"parent_id": variant_id, "author_id": reviewer.id, "run_id": None}
                edits.append((variant_id, child, review))
    child_ids = _add_variants(session, [child for _, child, _ in edits]) if edits else {}
    for variant_id, child, review in edits:
        child_id = child_ids[child["uid"]]
        edit = _decision(variant_id, reviewer, Verdict.EDIT, review) | {"child_id": child_id}
        accept = _decision(child_id, reviewer, Verdict.ACCEPT) | {"action_id": edit["action_id"]}
        rows += [edit, accept]
    return rows, list(child_ids.values())


def _decision(
    variant_id: int, reviewer: Reviewer, verdict: Verdict, review: dict[str, Any] | None = None
) -> dict[str, Any]:
    review = review or {}
    return {
        "variant_id": variant_id,
        "variant_version": 1,
        "reviewer_id": reviewer.id,
        "verdict": verdict,
        "reason": review.get("reason", ""),
        "note": review.get("note", ""),
        "action_id": str(uuid.uuid4()),
        "child_id": None,
        "guideline_version": GUIDELINE_VERSION,
        "decided_at": now(),
    }
