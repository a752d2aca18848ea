"""A project of any size for measuring: the starter families, numbered to be distinct."""

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert
from sqlmodel import Session

from curation.project import open_project
from curation.starter_corpus import FOLDER, RANDOM_SALT
from curation.text import anchor_uid, bucket, split_of, variant_uid
from db.columns import now
from db.engine import writing
from db.models import Anchor, AnchorRevision, Diagnostic, Encoder, Source, Variant, VariantCosine
from db.settings import Settings

TYPES = ("verbal", "absolute", "affixal", "lexical", "word", "phrase", "negated_antonym")


def make_project(home: Path, *, variants: int) -> Engine:
    """A SQLite project in ``home`` with so many pending, measured variants.

    The measures are made up (drawn from the uids): the queues and the card need some to be there,
    not to be right.
    """
    home.mkdir(parents=True, exist_ok=True)
    engine = open_project(Settings(home=home, database_url=""))
    with writing(engine) as session:
        source = Source(name="synthetic")
        encoder = Encoder(name="all-MiniLM-L6-v2", fingerprint="synthetic")
        session.add_all([source, encoder])
        session.flush()
        rows = islice(_variants(source.id or 0), variants)
        while batch := list(islice(rows, 7000)):
            _store(session, batch, encoder.id or 0)
    return engine


def _variants(source_id: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(anchor row, variant row), family by family, without end."""
    with (FOLDER / "families.jsonl").open(encoding="utf-8") as lines:
        families = [json.loads(line) for line in lines]
    number = 0
    for position, family in enumerate(cycle(families)):
        mark = f" (item {position})"
        text = family["anchor"] + mark
        uid = anchor_uid(text)
        anchor = {"id": position + 1, "uid": uid, "source_id": source_id, "genre": family["genre"],
                  "split": split_of(uid), "text": text}  # fmt: skip
        for type_id in TYPES:
            entry = family.get(type_id)
            if entry is None:
                continue
            number += 1
            wording = (entry["text"] if isinstance(entry, dict) else entry) + mark
            own = variant_uid(anchor_uid=uid, type_id=type_id, text=wording)
            yield anchor, {
                "id": number, "uid": own, "anchor_id": position + 1, "type_id": type_id,
                "text": wording, "cue": entry["cue"] if isinstance(entry, dict) else None,
                "random_key": bucket(own, salt=RANDOM_SALT), "hardness": bucket(own, salt="h"),
                "suspicion": bucket(own, salt="s"),
            }  # fmt: skip


def _store(
    session: Session, batch: list[tuple[dict[str, Any], dict[str, Any]]], encoder_id: int
) -> None:
    moment = now()
    anchors = {anchor["id"]: anchor for anchor, _ in batch}
    with_known = session.get(Anchor, min(anchors))  # the family that the last batch broke off in
    fresh = [a for a in anchors.values() if with_known is None or a["id"] != with_known.id]
    if fresh:
        session.execute(
            insert(Anchor),
            [{k: v for k, v in a.items() if k != "text"} | {"created_at": moment} for a in fresh],
        )
        session.execute(
            insert(AnchorRevision),
            [
                {"anchor_id": a["id"], "revision": 1, "text": a["text"], "text_uid": a["uid"],
                 "created_at": moment}
                for a in fresh
            ],
        )  # fmt: skip
    variants = [variant | {"created_at": moment} for _, variant in batch]
    session.execute(insert(Variant), variants)
    session.execute(
        insert(Diagnostic),
        [
            {"variant_id": v["id"], "levenshtein": 12, "length_ratio": 1.1, "content_kept": 0.9,
             "flags": 0, "created_at": moment}
            for v in variants
        ],
    )  # fmt: skip
    session.execute(
        insert(VariantCosine),
        [
            {"encoder_id": encoder_id, "variant_id": v["id"], "cosine": v["hardness"]}
            for v in variants
        ],
    )
