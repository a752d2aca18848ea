"""What a run by rule will write, found out by writing for some of its anchors beforehand."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.current_revision import current_wording
from curation.generation.missing_variants import WantedAnchor, wanted_anchors
from curation.generation.providers.rules import RULE_TYPES, write_by_rule
from curation.generation.request import GenerationRequest
from curation.taxonomy.project_types import list_types
from db.models import Anchor, AnchorRevision

LOOKED_AT = 400
"""Anchors of each role that are tried, evenly spread; about a second."""


class Forecast(NamedTuple):
    """Variants that a run by rule will write.

    Attributes:
        variants: by type id; 0 for a type without rules.
        exact: whether every anchor was tried; otherwise the counts are scaled from some.
        no_rules: the types that there are no rules for.
    """

    variants: dict[str, int]
    exact: bool
    no_rules: tuple[str, ...]

    @property
    def total(self) -> int:
        """All variants."""
        return sum(self.variants.values())

    def sentences(self) -> list[str]:
        """The forecast for people."""
        each = ", ".join(f"{number:,} {name}" for name, number in self.variants.items())
        about = "" if self.exact else "About "
        lines = [f"{about}{self.total:,} variants to write by rule{f': {each}' if each else ''}."]
        if self.no_rules:
            lines.append(no_rules_sentence(self.no_rules))
        return lines


def no_rules_sentence(type_ids: Iterable[str]) -> str:
    """What to do about types that no rule writes."""
    return f"There are no rules for {', '.join(type_ids)}: ask a model for that."


def forecast(session: Session, request: GenerationRequest) -> Forecast:
    """Try the rules on up to ``LOOKED_AT`` anchors of each role; nothing is stored."""
    types = list_types(session)
    wanted = wanted_anchors(session, request.selection, request.roles, types, seed=request.seed)
    counts: Counter[str] = Counter()
    asked: dict[str, None] = {}
    for anchors in wanted.values():
        tried = anchors[:: -(-len(anchors) // LOOKED_AT) or 1]
        texts = _texts(session, tried)
        found: Counter[str] = Counter()
        for anchor in tried:
            some = [entry for entry in types if entry.id in anchor.type_ids]
            asked |= dict.fromkeys(anchor.type_ids)
            written = write_by_rule(texts[anchor.anchor_id], types=some, cues={})
            found.update(list(written.texts))
        for type_id, number in found.items():
            counts[type_id] += round(number * len(anchors) / len(tried))
    exact = all(len(anchors) <= LOOKED_AT for anchors in wanted.values())
    no_rules = tuple(type_id for type_id in asked if type_id not in RULE_TYPES)
    return Forecast({type_id: counts[type_id] for type_id in asked}, exact, no_rules)


def _texts(session: Session, anchors: list[WantedAnchor]) -> dict[int, str]:
    query = (
        select(col(Anchor.id), col(AnchorRevision.text))
        .join(AnchorRevision, current_wording())
        .where(col(Anchor.id).in_([anchor.anchor_id for anchor in anchors]))
    )
    return {row.id: row.text for row in session.execute(query)}
