"""Small families, stored and decided on as in the program."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from curation.content_uids import canonical, variant_uid
from curation.decisions.storing import store_decisions
from db.models import (
    Anchor,
    Decision,
    Split,
    Variant,
    Verdict,
)
from tests.support.factories import add_anchor, model

NEGATIVES = ("verbal", "absolute", "affixal", "lexical")
POSITIVES = ("word", "phrase", "negated_antonym")


def add_variant(
    session: Session,
    anchor: Anchor,
    type_id: str,
    text: str,
    *,
    cue: str | None = None,
    revision: int = 1,
    parent: Variant | None = None,
    author: int | None = None,
) -> Variant:
    variant = _variant(
        anchor,
        type_id,
        text,
        cue,
        anchor_revision=revision,
        parent_id=parent and parent.id,
        author_id=author,
    )
    session.add(variant)
    session.flush()
    return variant


def _variant(
    anchor: Anchor, type_id: str, text: str, cue: str | None, **more: int | None
) -> Variant:
    return Variant(
        uid=variant_uid(anchor_uid=anchor.uid, type_id=type_id, text=text),
        anchor_id=anchor.id,
        type_id=type_id,
        text=canonical(text),
        cue=cue,
        provider="openai",
        model="gpt-x",
        **more,
    )


def decide(
    session: Session,
    variant: Variant,
    reviewer: int,
    verdict: Verdict = Verdict.ACCEPT,
    *,
    reason: str = "",
    child: Variant | None = None,
    adjudicates: bool = False,
) -> None:
    more = {"reason": reason, "adjudicates": adjudicates, "child_id": child and child.id}
    store_decisions(session, [decision_of(variant, reviewer, verdict, **more)])


def decision_of(
    variant: Variant, reviewer: int, verdict: Verdict = Verdict.ACCEPT, **more: Any
) -> Decision:
    return Decision(
        variant_id=variant.id,
        variant_version=variant.version,
        reviewer_id=reviewer,
        verdict=verdict,
        action_id=str(uuid.uuid4()),
        **more,
    )


def add_family(
    session: Session,
    text: str,
    variants: Mapping[str, Sequence[str]],
    *,
    by: int | None = None,
    split: Split | None = None,
    cue: str | None = None,
    source: str = "A corpus",
) -> Anchor:
    """An anchor with accepted variants, by a model reviewer unless ``by`` names another
    reviewer."""
    anchor = add_anchor(session, text, split=split, source=source)
    family = [
        _variant(anchor, type_id, variant_text, cue)
        for type_id, texts in variants.items()
        for variant_text in texts
    ]
    session.add_all(family)
    session.flush()
    reviewer = by or model(session)
    store_decisions(session, [decision_of(one, reviewer) for one in family])
    return anchor


def add_plain_family(
    session: Session, number: int, *, split: Split | None = None, source: str = "A corpus"
) -> Anchor:
    """An anchor with one hedge and two negations: two triples."""
    return add_family(
        session,
        f"Door {number} is open.",
        {
            "word": [f"Door {number} is probably open."],
            "verbal": [f"Door {number} is not open."],
            "lexical": [f"Door {number} is shut."],
        },
        split=split,
        source=source,
    )
