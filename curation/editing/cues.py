"""Choose or correct the cue of a hedge, which also decides between a word and a phrase."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.content_uids import at_most, canonical
from curation.diagnostics.measuring import measure_variants
from curation.language.tokens import ABSOLUTE_NEGATORS, VERBAL_NEGATORS, Token, align, analyse
from curation.taxonomy.built_in import VariantType, known_type
from curation.taxonomy.cues import HEDGE_CUES, find_cue, new_cues
from db.errors import HedgerowError
from db.models import CueCorrection, Decision, Variant, Verdict

# -- cue choice -----------------------------------------------------------------------------------


MAX_PROPOSED = 4
"""Maximum number of words in a proposed cue."""

_NEGATORS = VERBAL_NEGATORS | ABSOLUTE_NEGATORS | {"n't"}


class CueWanted(HedgerowError):
    """The person has to name the cue.

    Attributes:
        proposed: a suggestion for the field; '' for none.
        concerns: other concerns, which ``draft_checks`` adds.
    """

    def __init__(self, sentence: str, *, proposed: str = "") -> None:
        super().__init__(sentence)
        self.proposed = proposed
        self.concerns: tuple[Concern, ...] = ()


class Hedge(NamedTuple):
    """The type of a text, and its cue; None for a type without cues."""

    entry: VariantType
    cue: str | None


def kind_of(cue: str) -> str:
    """The built-in hedge that a cue belongs to: 'word' or 'phrase'.

    A cue in the paper's lists belongs to its list. For any other, the number of words decides.
    """
    listed = (kind for kind, cues in HEDGE_CUES.items() if cue.casefold() in cues)
    return next(listed, "phrase" if len(cue.split()) > 1 else "word")


def choose_cue(
    entry: VariantType,
    types: Sequence[VariantType],
    *,
    anchor: str,
    text: str,
    named: str | None = None,
    current: str | None = None,
) -> Hedge:
    """Choose the cue of a text, and the type that follows from it.

    Args:
        entry: the requested type. For the two built-in hedge types, the cue decides between them.
        types: the types in use.
        anchor: the anchor's current text.
        named: the cue that the person names; None or blank for none.
        current: the cue that the variant has now.

    Raises:
        CueWanted: the text uses no known cue, or several.
        HedgerowError: the cue is too long, not plain text, or a mere negator for a hedge.
    """
    if not entry.needs_cue:
        return Hedge(entry, None)
    cue = checked_cue(named)
    if cue is not None and entry.id in HEDGE_CUES and _only_negates(cue):
        raise HedgerowError(
            f"'{cue}' is a negator, not a hedge. Enter the word or phrase that hedges."
        )
    if cue is None and current and _is_kept(entry, current, text):
        cue = current
    if cue is None:
        cue = _found(entry, anchor=anchor, text=text)
    if entry.id in HEDGE_CUES and kind_of(cue) != entry.id:
        entry = known_type(types, kind_of(cue))
    return Hedge(entry, cue)


def _is_kept(entry: VariantType, cue: str, text: str) -> bool:
    if entry.id in HEDGE_CUES and kind_of(cue) != entry.id:
        return False
    listed = entry.surface_check.require_words
    return (not listed or cue in listed) and bool(find_cue(analyse(text), cue))


def _found(entry: VariantType, *, anchor: str, text: str) -> str:
    listed = tuple(cue for cues in HEDGE_CUES.values() for cue in cues)
    known = entry.surface_check.require_words or listed
    every = new_cues(anchor=anchor, text=text, cues=known)
    own = [cue for cue in every if entry.id not in HEDGE_CUES or kind_of(cue) == entry.id]
    found = own or every
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"'{cue}'" for cue in found)
        raise CueWanted(
            f"The text has several hedge cues ({names}); enter the one that hedges the claim.",
            proposed=found[0],
        )
    raise CueWanted(
        f"The text has no known cue of the type '{entry.label}'. Enter the cue.",
        proposed=_added_words(anchor, text),
    )


def _added_words(anchor: str, text: str) -> str:
    """The first sequence of words that a text adds to its anchor; '' for none or a long one.

    It does not begin with a clitic (the n't of "isn't") or consist only of negators.
    """
    analysis = analyse(text)
    origins = align(analyse(anchor), analysis)
    stretch: list[Token] = []
    for token, origin in zip(analysis.tokens, origins, strict=True):
        is_clitic = text[token.start - 1 : token.start].isalnum()
        if origin is None and token.word[-1].isalnum() and (stretch or not is_clitic):
            stretch.append(token)
        elif any(word.word not in _NEGATORS for word in stretch):
            break
        else:
            stretch = []
    if not any(word.word not in _NEGATORS for word in stretch) or len(stretch) > MAX_PROPOSED:
        return ""
    return text[stretch[0].start : stretch[-1].end].lower()


def _only_negates(cue: str) -> bool:
    return all(word in _NEGATORS for word in analyse(cue).words)


def filed_by_cue(hedge: Hedge) -> str:
    """A sentence about a hedge that gets another type than the requested one."""
    cue = hedge.cue or ""
    return f"Saved as '{hedge.entry.label}', because the cue '{cue}' has {number_of_words(cue)}."


def number_of_words(cue: str) -> str:
    """'one word', '2 words'."""
    number = len(cue.split())
    return "one word" if number == 1 else f"{number} words"


# -- Questions to a person before a text is saved -------------------------------------------------


class Concern(NamedTuple):
    """Something to think about before saving.

    Attributes:
        kind: the flag, or ``draft_checks.TWIN``; asking once covers all concerns of a kind.
        variant_id: the variant that the sentence is about, if there is one.
    """

    kind: str
    sentence: str
    variant_id: int | None = None


# -- cue corrections ------------------------------------------------------------------------------


MAX_CUE = 200
"""Longest cue, in characters."""


def checked_cue(cue: str | None) -> str | None:
    """The cue in canonical form; None if it is empty.

    Raises:
        HedgerowError: it is too long or not plain text.
    """
    return at_most(MAX_CUE, canonical(cue or ""), "a cue") or None


def correct_cue(
    session: Session, variant: Variant, cue: str | None, *, reviewer_id: int, action_id: str
) -> None:
    """Correct the variant's cue, as part of an action whose decision the caller stores."""
    session.add(
        CueCorrection(
            variant_id=variant.id,
            reviewer_id=reviewer_id,
            action_id=action_id,
            before=variant.cue,
            after=cue,
        )
    )
    variant.cue = cue
    session.flush()


def restore_cues(session: Session, action_id: str, *, reviewer_id: int, undo_id: str) -> None:
    """Restore the cues that an action had corrected, after its decisions were undone.

    If somebody else has corrected a cue since then, their correction stays.
    """
    of_action = select(col(CueCorrection.variant_id)).where(
        col(CueCorrection.action_id) == action_id
    )
    variants = session.execute(select(Variant).where(col(Variant.id).in_(of_action))).scalars()
    for variant in variants.all():
        cue = _current_cue(session, variant.id)
        if cue != variant.cue:
            correct_cue(session, variant, cue, reviewer_id=reviewer_id, action_id=undo_id)
            measure_variants(session, [variant.id])


def _current_cue(session: Session, variant_id: int) -> str | None:
    """The variant's cue by its corrections. There must be at least one."""
    retract = aliased(Decision)
    valid = (
        select(col(Decision.id))
        .where(
            col(Decision.variant_id) == col(CueCorrection.variant_id),
            col(Decision.action_id) == col(CueCorrection.action_id),
            col(Decision.verdict) != Verdict.RETRACT,
            ~select(col(retract.id)).where(col(retract.retracts_id) == col(Decision.id)).exists(),
        )
        .exists()
    )
    of_variant = col(CueCorrection.variant_id) == variant_id
    latest = (
        select(col(CueCorrection.after))
        .where(of_variant, valid)
        .order_by(col(CueCorrection.id).desc())
        .limit(1)
    )
    first = select(col(CueCorrection.before)).where(of_variant).order_by(col(CueCorrection.id))
    row = session.execute(latest).first() or session.execute(first.limit(1)).one()
    return row[0]
