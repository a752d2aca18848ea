"""What the search for a recipe and the final judgement measure an encoder on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from curation.content_uids import anchor_uid, canonical, in_pending_fifth, split_of
from curation.corpora.corpus import STARTER
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.taxonomy.built_in import TAXONOMY
from training.evaluation.held_out import HeldOut
from training.evaluation.sts import read_sts, spearman
from training.finetune.losses import Family, Member, Role

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PENDING = "pending"
"""The part of the corpus that is undecided in a new project; the others are the splits' names."""

_ROLES = {entry.id: Role[entry.role.upper()] for entry in TAXONOMY}


def starter_families() -> dict[str, list[Family]]:
    """The starter corpus with its reviews applied, by split, and the pending fifth for itself."""
    both = [*STARTER.reviews(), *STARTER.second_reviews()]
    reviews = {(row["anchor"], row["type"]): row for row in both}
    parts: dict[str, list[Family]] = defaultdict(list)
    for row in STARTER.families():
        uid = anchor_uid(row["anchor"])
        part = PENDING if in_pending_fifth(uid) else str(split_of(uid))
        parts[part].append(
            [Member(canonical(row["anchor"]), Role.ANCHOR), *_variants(row, reviews)]
        )
    return parts


def _variants(
    row: dict[str, Any], reviews: dict[tuple[str, str], dict[str, Any]]
) -> Iterator[Member]:
    for type_id, role in _ROLES.items():
        entry = row.get(type_id)
        review = reviews.get((row["anchor"], type_id), {"verdict": "accept"})
        if entry is None or review["verdict"] == "reject":
            continue
        text = entry["text"] if isinstance(entry, dict) else entry
        yield Member(canonical(review.get("text", text)), role, type_id)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def ordered(families: list[Family], model: SentenceTransformer) -> float:
    """The share of anchors to which every paraphrase is nearer than every hedge."""
    right = []
    for family in families:
        sides = {
            role: [member.text for member in family if member.role == role]
            for role in (Role.PARAPHRASE, Role.HEDGE)
        }
        if not all(sides.values()):
            continue
        near, far = (
            pair_cosines(model, [(family[0].text, text) for text in texts])
            for texts in sides.values()
        )
        right.append(near.min() > far.max())
    return float(np.mean(right))


def on_families(
    families: list[Family], model: SentenceTransformer, base: SentenceTransformer
) -> dict[str, float]:
    """The figures of `held_out`, and the share of anchors as `ordered` has it."""
    return HeldOut(base, families).figures(model) | {"ordered": ordered(families, model)}


def on_sts(folder: Path, model: SentenceTransformer) -> dict[str, float]:
    """Spearman's correlation on each STS file of a folder (`*.tsv`), and their mean."""
    found = {}
    for path in sorted(folder.glob("*.tsv")):
        pairs = read_sts(path)
        cosines = pair_cosines(model, [(pair.first, pair.second) for pair in pairs])
        found[path.stem] = spearman(pairs, cosines)
    return found | {"mean": float(np.mean(list(found.values())))}


def on_semantoneg(path: Path, model: SentenceTransformer) -> float:
    """The share of a SemAntoNeg file's entries whose right candidate is nearest to the input."""
    entries = list(_lines(path))
    texts = [text for entry in entries for text in (entry["input"], *entry["sentences"])]
    rows = encode_distinct(model, texts).reshape(len(entries), 4, -1)
    cosines = np.einsum("nd,ncd->nc", rows[:, 0], rows[:, 1:])
    return float(np.mean(cosines.argmax(axis=1) == [entry["label"] for entry in entries]))
