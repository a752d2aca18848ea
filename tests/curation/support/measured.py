"""A small project with made-up measures, and all its rows for counting them by hand."""

import math
import random
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.distributions import COSINE_BINS
from curation.diagnostics.measures import Flag
from curation.encoders.registered import register_encoder
from curation.project.opening import ACTIVE_ENCODER, get_setting
from db.models import Anchor, Diagnostic, Status, Variant, VariantCosine
from tests.support.factories import add_family


class Measured(NamedTuple):
    """A variant as stored in the database."""

    id: int
    source_id: int
    type_id: str
    status: Status
    retired: bool
    cue: str | None
    genre: str
    origin: tuple[str, str]
    is_edit: bool
    hardness: float
    levenshtein: int | None
    cosine: float | None
    flags: Flag


EDGES = (-1.0, -0.98, -0.5, 0.0, 0.02, 0.3, 0.5, 0.98, 0.999, 1.0, 1.0000001, -1.0000001)


def fill(session: Session, *, families: int = 12, seed: int = 1) -> None:
    """Variants of every type with random statuses and measures. A few lack one or the other."""
    draw = random.Random(seed)
    encoder = register_encoder(session, name=get_setting(session, ACTIVE_ENCODER), hash_="f" * 64)
    other = register_encoder(session, name="another", hash_="e" * 64)
    before: Variant | None = None
    for number in range(families):
        source = "" if number % 3 else "Another source"
        family = add_family(session, f"The pier number {number} is safe.", source=source)
        for variant in family.values():
            variant.status = draw.choice(list(Status))
            variant.retired = draw.random() < 0.1
            variant.cue = variant.cue and draw.choice(["probably", "Maybe", "in my view", ""])
            variant.provider, variant.model = draw.choice([("a", "m"), ("b", "m")])
            variant.hardness, variant.suspicion = draw.random(), draw.random()
            variant.parent_id = before.id if before and draw.random() < 0.2 else None
            before = variant
            if draw.random() < 0.9:
                session.add(
                    Diagnostic(
                        variant_id=variant.id,
                        levenshtein=draw.randrange(90),
                        length_ratio=1.0,
                        content_kept=1.0,
                        flags=draw.randrange(64),
                    )
                )
            if draw.random() < 0.9:
                cosine = draw.choice([*EDGES, draw.uniform(-1, 1)])
                session.add(_cosine(encoder.id, variant, cosine))
            session.add(_cosine(other.id, variant, 0.123))
    session.flush()
    for anchor in session.execute(select(Anchor)).scalars():
        anchor.genre = draw.choice(["news", "legal", ""])


def _cosine(encoder_id: int | None, variant: Variant, cosine: float) -> VariantCosine:
    return VariantCosine(encoder_id=encoder_id or 0, variant_id=variant.id, cosine=cosine)


def everything(session: Session) -> list[Measured]:
    """All variants, by id."""
    diagnostics = {row.variant_id: row for row in session.execute(select(Diagnostic)).scalars()}
    cosines = {
        row.variant_id: row.cosine
        for row in session.execute(
            select(VariantCosine).where(col(VariantCosine.encoder_id) == 1)
        ).scalars()
    }
    anchors = session.execute(select(Anchor)).scalars().all()
    genres = {row.id: row.genre for row in anchors}
    sources = {row.id: row.source_id for row in anchors}
    found = []
    for v in session.execute(select(Variant).order_by(col(Variant.id))).scalars():
        measures = diagnostics.get(v.id)
        found.append(
            Measured(
                v.id,
                sources[v.anchor_id],
                v.type_id,
                v.status,
                v.retired,
                v.cue,
                genres[v.anchor_id],
                (v.provider, v.model),
                v.parent_id is not None,
                v.hardness,
                measures.levenshtein if measures else None,
                cosines.get(v.id),
                Flag(measures.flags if measures else 0),
            )
        )
    return found


def bin_of(row: Measured) -> int | None:
    """The bin of the variant's cosine; None if it has none."""
    if row.cosine is None:
        return None
    return min(max(math.floor((row.cosine + 1) * COSINE_BINS / 2), 0), COSINE_BINS - 1)
