"""Forecasts what a provider's run will write, by trying some of its anchors."""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.generation.missing_variants import WantedAnchor, wanted_anchors
from curation.generation.providers.installed import not_written, provider, provider_class
from curation.generation.providers.interface import WritingTask
from curation.generation.providers.writing_run import answer_of, seed_of
from curation.generation.request import OPENAI, GenerationRequest
from curation.taxonomy.project_types import list_types
from db.models import Anchor, AnchorRevision

INSPECTED = 400
"""Anchors of each role to try, evenly spread; takes about a second."""


class Forecast(NamedTuple):
    """The variants that a run will write.

    Attributes:
        provider: the provider's name.
        variants: by type id; 0 for a type that it does not write.
        exact: whether every anchor was tried. Otherwise the counts are extrapolated.
        not_written: the types that it does not write.
    """

    provider: str
    variants: dict[str, int]
    exact: bool
    not_written: tuple[str, ...]

    @property
    def total(self) -> int:
        """The total number of variants."""
        return sum(self.variants.values())

    def sentences(self) -> list[str]:
        """Describe the forecast in sentences."""
        each = ", ".join(f"{number:,} {name}" for name, number in self.variants.items())
        each = f": {each}" if each else ""
        about = "" if self.exact else "About "
        lines = [f"{about}{self.total:,} variants to write by {self.provider}{each}."]
        if self.not_written:
            lines.append(not_written(self.provider, self.not_written))
        return lines


def can_forecast(name: str) -> bool:
    """Whether a provider may be tried on a few hundred anchors before a run.

    Raises:
        HedgerowError: as in `provider_class`.
    """
    return name != OPENAI and provider_class(name).free


def forecast(session: Session, request: GenerationRequest) -> Forecast:
    """Try the provider on up to ``INSPECTED`` anchors per role without storing anything.

    Raises:
        HedgerowError: there is no such provider, or it fails.
    """
    made = provider(request.provider)
    types = list_types(session)
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    counts: Counter[str] = Counter()
    asked: dict[str, None] = {}
    for anchors in wanted.values():
        tried = anchors[:: -(-len(anchors) // INSPECTED) or 1]
        texts = _texts(session, tried)
        found: Counter[str] = Counter()
        for anchor in tried:
            some = tuple(entry for entry in types if entry.id in anchor.type_ids)
            asked |= dict.fromkeys(anchor.type_ids)
            seed = seed_of(request.seed, anchor.uid)
            text, language = texts[anchor.anchor_id]
            answer = answer_of(made, WritingTask(text, language, some, {}, seed))
            found.update(list(answer.texts))
        for type_id, number in found.items():
            counts[type_id] += round(number * len(anchors) / len(tried))
    exact = all(len(anchors) <= INSPECTED for anchors in wanted.values())
    never = tuple(type_id for type_id in asked if made.types and type_id not in made.types)
    return Forecast(made.name, {type_id: counts[type_id] for type_id in asked}, exact, never)


def _texts(session: Session, anchors: list[WantedAnchor]) -> dict[int, tuple[str, str]]:
    """Return the text and language of each anchor."""
    query = (
        select(col(Anchor.id), col(AnchorRevision.text), col(Anchor.language))
        .join(AnchorRevision, of_current_revision())
        .where(col(Anchor.id).in_([anchor.anchor_id for anchor in anchors]))
    )
    return {row.id: (row.text, row.language) for row in session.execute(query)}
