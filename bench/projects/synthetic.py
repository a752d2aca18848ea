"""A project of any size: the starter families, with numbers that make them distinct."""

import json
import uuid
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import Levenshtein
from sqlalchemy import Engine, insert
from sqlalchemy.orm import Session

from curation.content_uids import anchor_uid, variant_uid
from curation.corpora.corpus import STARTER
from curation.decisions.reviewers import ensure_reviewer
from curation.diagnostics.measures import MEASURES_VERSION, Flag, distance_flag
from curation.generation.request import GenerationRequest
from curation.overview.project_settings import open_project
from curation.project.settings import LEVENSHTEIN_THRESHOLD
from curation.splits import RANDOM_SALT, bucket, split_of
from curation.taxonomy.built_in import variant_type
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.columns import now
from db.engine import writing
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Diagnostic,
    Encoder,
    ReviewerKind,
    Run,
    RunState,
    Source,
    Status,
    Variant,
    VariantCosine,
    Verdict,
)
from db.settings import Settings

TYPES = ("verbal", "absolute", "affixal", "lexical", "word", "phrase", "negated_antonym")
RUNS = 5
"""The number of generation runs that the variants are distributed over."""

REJECTED = 0.15
"""The share of decided variants that are rejected."""


def make_project(home: Path, *, variants: int, decided: float = 0.0) -> Engine:
    """A SQLite project in ``home`` with this many measured variants.

    The distances are correct. The other measures are derived from the uids, because queues, cards
    and charts need values but not correct ones.

    Args:
        decided: the share of variants that a model has accepted or rejected, in [0, 1]; the others
            are pending.
    """
    home.mkdir(parents=True, exist_ok=True)
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        source = Source(name="synthetic")
        encoder = Encoder(name="all-MiniLM-L6-v2", fingerprint="synthetic")
        asked = GenerationRequest(model="model-0").model_dump(mode="json")
        runs = [Run(kind="generate", parameters=asked, state=RunState.DONE) for _ in range(RUNS)]
        session.add_all([source, encoder, *runs])
        judge = ensure_reviewer(session, "synthetic-judge", kind=ReviewerKind.MODEL)
        session.flush()
        rows = islice(_variants(source.id, decided=decided), variants)
        while batch := list(islice(rows, 7000)):
            _store(session, batch, encoder.id)
            _decide(session, [variant for _, variant in batch], judge.id)
    return engine


def _variants(source_id: int, *, decided: float) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Endless pairs of an anchor row and a variant row, family by family."""
    with (STARTER.folder / "families.jsonl").open(encoding="utf-8") as lines:
        families = [json.loads(line) for line in lines]
    number = 0
    for position, family in enumerate(cycle(families)):
        mark = f" (item {position})"
        text = family["anchor"] + mark
        uid = anchor_uid(text)
        anchor = {
            "id": position + 1,
            "uid": uid,
            "source_id": source_id,
            "genre": family["genre"],
            "split": split_of(uid),
            "text": text,
        }
        for type_id in TYPES:
            entry = family.get(type_id)
            if entry is None:
                continue
            number += 1
            wording = (entry["text"] if isinstance(entry, dict) else entry) + mark
            own = variant_uid(anchor_uid=uid, type_id=type_id, text=wording)
            share = bucket(own, salt="d") / decided if decided else 1.0
            status = Status.PENDING
            if share < 1:
                status = Status.REJECTED if share < REJECTED else Status.ACCEPTED
            yield (
                anchor,
                {
                    "id": number,
                    "uid": own,
                    "anchor_id": position + 1,
                    "source_id": source_id,
                    "type_id": type_id,
                    "text": wording,
                    "cue": entry["cue"] if isinstance(entry, dict) else None,
                    "random_key": bucket(own, salt=RANDOM_SALT),
                    "hardness": bucket(own, salt="h"),
                    "suspicion": bucket(own, salt="s"),
                    "status": status,
                    "model_only": status is Status.ACCEPTED,
                    "run_id": 1 + position % RUNS,
                    "provider": "openai",
                    "model": f"model-{position % 2}",
                },
            )


def _store(
    session: Session, batch: list[tuple[dict[str, Any], dict[str, Any]]], encoder_id: int
) -> None:
    moment = now()
    anchors = {anchor["id"]: anchor for anchor, _ in batch}
    known = session.get(Anchor, min(anchors))  # the last batch may have ended within a family
    new = [a for a in anchors.values() if known is None or a["id"] != known.id]
    if new:
        session.execute(
            insert(Anchor),
            [{k: v for k, v in a.items() if k != "text"} | {"created_at": moment} for a in new],
        )
        session.execute(
            insert(AnchorRevision),
            [
                {
                    "anchor_id": a["id"],
                    "revision": 1,
                    "text": a["text"],
                    "text_uid": a["uid"],
                    "created_at": moment,
                }
                for a in new
            ],
        )
    variants = [variant | {"created_at": moment} for _, variant in batch]
    session.execute(insert(Variant), variants)
    session.execute(
        insert(Diagnostic),
        [
            {
                "variant_id": v["id"],
                "length_ratio": 1.1,
                "content_kept": 0.9,
                "check_version": MEASURES_VERSION,
                "created_at": moment,
            }
            | _distance(anchor["text"], v)
            for anchor, v in batch
        ],
    )
    session.execute(
        insert(VariantCosine),
        [
            {"encoder_id": encoder_id, "variant_id": v["id"], "cosine": v["hardness"]}
            for v in variants
        ],
    )


def _distance(anchor: str, variant: dict[str, Any]) -> dict[str, int]:
    """The actual distance and its flag, and each of the other flags on one variant in sixteen."""
    distance = Levenshtein.distance(anchor, variant["text"])
    check = variant_type(variant["type_id"]).surface_check
    flags = distance_flag(distance, LEVENSHTEIN_THRESHOLD, check=check)
    others = list(Flag)[1:]
    sampled = int(bucket(variant["uid"], salt="f") * 16)
    return {
        "levenshtein": distance,
        "flags": int(flags | (others[sampled] if sampled < len(others) else Flag(0))),
    }


def _decide(session: Session, variants: list[dict[str, Any]], reviewer_id: int) -> None:
    verdicts = {Status.ACCEPTED: Verdict.ACCEPT, Status.REJECTED: Verdict.REJECT}
    reasons = [reason.id for reason in REJECT_REASONS]
    moment = now()
    rows = [
        {
            "variant_id": v["id"],
            "variant_version": 1,
            "reviewer_id": reviewer_id,
            "verdict": verdicts[v["status"]],
            "action_id": str(uuid.uuid4()),
            "decided_at": moment,
            "reason": reasons[v["id"] % len(reasons)] if v["status"] == Status.REJECTED else "",
        }
        for v in variants
        if v["status"] in verdicts
    ]
    if rows:
        session.execute(insert(Decision), rows)
