"""Few-shot examples: in a prompt, and a choice of a few that are as diverse as possible.

Candidates are variants in use that a person read and accepted. They only come from training
anchors, because examples from the validation or test split would leak into its measurements. Edits
come first, because they show what a model got wrong.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.decisions.history import not_retracted
from curation.decisions.storing import RULE, counts_still
from curation.diagnostics.side_guessing import words
from curation.generation.prompts import EXAMPLES, checked_template, save_copy, types_of
from curation.taxonomy.project_types import list_types
from curation.taxonomy.surface_check import ROLES, Role
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    PromptVersion,
    Reviewer,
    ReviewerKind,
    Split,
    Status,
    Variant,
    Verdict,
)

# -- few shot -------------------------------------------------------------------------------------


HEADING = "Examples that reviewers accepted:"


class Example(NamedTuple):
    """A variant that a person accepted, as it was when it was chosen.

    Attributes:
        uid, anchor_uid: uids of the variant and its anchor.
        anchor: the anchor's text.
        cue: the hedge cue; '' for none.
        edited: whether a person edited its text.
    """

    uid: str
    type_id: str
    anchor_uid: str
    anchor: str
    text: str
    cue: str = ""
    edited: bool = False


def as_rows(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Convert the examples for storing with a prompt version."""
    return [example._asdict() for example in examples]


def from_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[Example, ...]:
    """Read the examples stored with a prompt version."""
    return tuple(Example(**row) for row in rows)


def in_words(
    examples: Sequence[Example], types: Collection[str], *, anchor_uid: str, text: str
) -> str:
    """Return the examples for the prompt of one call; '' if none apply.

    Each anchor is followed by its variants. Their text is not read as a template.

    Args:
        types: ids of the types that the call asks for. Examples of other types are left out.
        anchor_uid, text: the call's anchor. No examples from this anchor are shown.
    """
    by_anchor: dict[str, list[str]] = {}
    for example in examples:
        own = example.anchor_uid == anchor_uid or example.anchor == text
        if example.type_id in types and not own:
            line = f'"{example.type_id}": {example.text}'
            by_anchor.setdefault(example.anchor, []).append(line)
    if not by_anchor:
        return ""
    blocks = ["\n".join([f"Example: {anchor}", *lines]) for anchor, lines in by_anchor.items()]
    return "\n\n".join([HEADING, *blocks])


def with_place(template: str) -> str:
    """The template with a placeholder for examples, before the line of the anchor if missing."""
    clean = checked_template(template)
    if EXAMPLES in clean:
        return clean
    lines = clean.splitlines()
    at = next(number for number, line in enumerate(lines) if "{text}" in line)
    return "\n".join([*lines[:at], EXAMPLES, "", *lines[at:]])


# -- Prompt versions with examples ----------------------------------------------------------------


def role_of(name: str) -> Role:
    """Return the role of the variants that a prompt asks for.

    Raises:
        HedgerowError: it is a prompt of another kind, which can't have examples.
    """
    for role in ROLES:
        if role == name:
            return role
    raise HedgerowError(
        f"Expected a prompt that asks for variants ({', '.join(ROLES)}), found {name[:80]}; other "
        "prompts have no examples."
    )


def save_with_examples(
    session: Session,
    parent: PromptVersion,
    examples: Sequence[Example],
    *,
    template: str | None = None,
    author_id: int | None,
) -> PromptVersion:
    """Store a prompt version with these examples, with a placeholder for them if it has none.

    Args:
        template: replaces the parent's.

    Raises:
        HedgerowError: the template cannot be used, or there are no examples.
    """
    role_of(parent.name)
    if not examples:
        raise HedgerowError("Expected at least one example, found none.")
    placed = with_place(parent.template if template is None else template)
    return save_copy(session, parent, placed, author_id=author_id, examples=as_rows(examples))


MOST = 10
"""Maximum examples per type."""

POOL = 2_000
"""Maximum candidates per type, edits and others, chosen at random."""

LONGEST = 400
"""Maximum characters of an anchor or a variant, since every call pays for the prompt."""

WORDS_A_STEP = 5
"""Sentences whose lengths differ by this many words differ in one more feature."""


def choose_examples(
    session: Session,
    role: Role,
    number: int,
    *,
    seed: int = 0,
    types: Collection[str] = (),
) -> list[Example]:
    """Choose up to this many examples per type of a role, in taxonomy order.

    The same decisions, number and seed give the same examples.

    Args:
        types: ids of the types to include; empty for all types of the role.

    Raises:
        HedgerowError: no person has accepted a suitable variant.
    """
    known = list_types(session)
    wanted = [entry for entry in known if entry.role == role and not entry.imported]
    found = [
        example
        for entry in (types_of(role, known, types) if types else wanted)
        for example in _of_type(session, entry.id, min(number, MOST), seed)
    ]
    if not found:
        raise HedgerowError(
            "There are no examples: no person has accepted a variant of these types with an "
            "anchor in the training split. Accept some on the Review page."
        )
    return found


def _of_type(session: Session, type_id: str, number: int, seed: int) -> list[Example]:
    edits = _read(session, type_id, edited=True)
    known = {example.uid for example in edits}
    others = [one for one in _read(session, type_id, edited=False) if one.uid not in known]
    return diverse(edits, others, number=number, seed=seed)


def _read(session: Session, type_id: str, *, edited: bool) -> list[Example]:
    query = (
        select(
            col(Variant.uid),
            col(Variant.type_id),
            col(Anchor.uid),
            col(AnchorRevision.text),
            col(Variant.text),
            func.coalesce(col(Variant.cue), ""),
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(AnchorRevision, of_current_revision())
        .where(
            col(Variant.type_id) == type_id,
            col(Variant.status) == Status.ACCEPTED,
            col(Variant.retired).is_(False),
            col(Variant.model_only).is_(False),
            col(Anchor.split) == Split.TRAIN,
            col(Anchor.retired_at).is_(None),
            func.length(col(Variant.text)) <= LONGEST,
            func.length(col(AnchorRevision.text)) <= LONGEST,
            _edited_by_a_person() if edited else _read_and_accepted(),
        )
        .order_by(col(Variant.random_key), col(Variant.id))
        .limit(POOL)
    )
    return [Example(*row, edited=edited) for row in session.execute(query)]


def _read_and_accepted() -> ColumnElement[bool]:
    """SQL: a person's own 'accept' applies to the variant.

    Acceptance by a rule doesn't count, because nobody read the text.
    """
    return (
        _by_a_person(select(col(Decision.id)))
        .where(
            col(Decision.variant_id) == Variant.id,
            col(Decision.verdict) == Verdict.ACCEPT,
            ~col(Decision.note).startswith(RULE, autoescape=True),
            counts_still(),
        )
        .exists()
    )


def _edited_by_a_person() -> ColumnElement[bool]:
    """SQL: the variant is the result of a person's edit that has not been undone."""
    original = aliased(Variant)
    return (
        _by_a_person(select(col(Decision.id)))
        .join(original, col(original.id) == Decision.variant_id)
        .where(
            col(Decision.child_id) == Variant.id,
            col(Decision.verdict) == Verdict.EDIT,
            col(original.text) != Variant.text,  # otherwise only the type or the cue changed
            col(Decision.variant_version) >= col(original.since_version),
        )
        .exists()
    )


def _by_a_person(query: Select[int]) -> Select[int]:
    return query.join(Reviewer, col(Reviewer.id) == Decision.reviewer_id).where(
        col(Reviewer.kind) == ReviewerKind.PERSON, not_retracted()
    )


def diverse(
    edits: Sequence[Example], others: Sequence[Example], *, number: int, seed: int
) -> list[Example]:
    """Choose this many from different anchors, edits first and the most distant first.

    The next one is always the one farthest from its nearest neighbour among those already chosen.
    Half of the distance is over the sentence's words and length, half over its cue and the words
    that it adds to its anchor; each is one minus the Jaccard index. A seeded hash decides on the
    first one and on ties.
    """
    chosen: list[Example] = []
    for group in (edits, others):
        used = {one.anchor_uid for one in chosen}
        pool = [one for one in group if one.anchor_uid not in used]
        salt = f"hedgerow/examples/1:{seed}:"
        pool.sort(key=lambda one: hashlib.sha256(f"{salt}{one.uid}".encode()).digest())
        features = {one.uid: _features(one) for one in (*pool, *chosen)}
        nearest = {
            one.uid: min((_distance(features, one, other) for other in chosen), default=1.0)
            for one in pool
        }
        while pool and len(chosen) < number:
            best = max(pool, key=lambda one: nearest[one.uid])  # break ties by hash
            chosen.append(best)
            pool = [one for one in pool if one.anchor_uid != best.anchor_uid]
            for one in pool:
                nearest[one.uid] = min(nearest[one.uid], _distance(features, one, best))
    return chosen


_Features = tuple[set[str], set[str]]


def _features(example: Example) -> _Features:
    """Return those of the sentence, and those of what it adds to its anchor."""
    found = words(example.text)
    added = set(found) - set(words(example.anchor))
    return {*found, f"length {len(found) // WORDS_A_STEP}"}, {*added, f"cue {example.cue}"}


def _distance(features: dict[str, _Features], one: Example, other: Example) -> float:
    pairs = zip(features[one.uid], features[other.uid], strict=True)
    return sum(1 - len(mine & theirs) / len(mine | theirs) for mine, theirs in pairs) / 2
