"""Finds the type of a variant that its file only labels as a hedge or a negation.

The paper's types differ in form: a negation in the negators and affixes that it adds to its anchor,
which the types' own declarative checks detect, and a hedge in its cue, which is in one of the
paper's two lists. If the form is ambiguous, the type stays open.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import new_members
from curation.language.tokens import lemma, tokenize
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import HEDGE_CUES, SPELLING, listed_cues, new_cues
from curation.variants.cue_choice import kind_of
from curation.variants.importing.roles import Role

Types = Mapping[str, VariantType]
"""Type id → type."""


class Typed(NamedTuple):
    """A type and a cue; the type is '' if the form is ambiguous."""

    type_id: str
    cue: str | None = None


OPEN = Typed("")


def type_of(role: str, types: Types, *, anchor: str, text: str) -> Typed:
    """Return the type of an untyped variant, among the paper's types that are in use.

    Args:
        role: ``Role.HEDGE`` or ``Role.NEGATION``.
    """
    if role == Role.NEGATION:
        return Typed(_negation(types, anchor=anchor, text=text))
    return _hedge(types, anchor=anchor, text=text)


def cue_of(entry: VariantType, *, anchor: str, text: str) -> str | None:
    """Return the cue that a variant of this type uses, if the text shows it; else None."""
    own_list = None if entry.id in HEDGE_CUES else listed_cues(entry)
    found = _new_cues(anchor, text, own_list or _every_cue())
    fitting = (cue for cue in found if entry.id not in HEDGE_CUES or kind_of(cue) == entry.id)
    return next(fitting, None)


def _negation(types: Types, *, anchor: str, text: str) -> str:
    """Return the type whose negator the text adds, or without a negator, the one that replaces
    words.
    """
    comparison = PairAnalysis(anchor=anchor, text=text)
    fitting = [entry for entry in _of_paper(types, "negation") if _fits(entry, comparison)]
    marked = [entry for entry in fitting if entry.surface_check.require_new]
    found = marked or fitting
    return found[0].id if len(found) == 1 else ""


def _fits(entry: VariantType, comparison: PairAnalysis) -> bool:
    """Whether the text adds what the type requires, and nothing that it forbids."""
    check = entry.surface_check
    return (
        all(new_members(one, comparison, check=check) for one in check.require_new)
        and not any(new_members(one, comparison, check=check) for one in check.forbid_new)
        and (comparison.content_replaced or not check.require_replaced_content)
    )


def _hedge(types: Types, *, anchor: str, text: str) -> Typed:
    """Return a phrase hedge for the first phrase in the paper's list that the text adds, else a
    word hedge.

    Phrases come first because they often occur next to words in the other list ("I'm not sure, it
    may rain").
    """
    found = _new_cues(anchor, text, _every_cue())
    in_use = {entry.id for entry in _of_paper(types, "hedge")}
    for kind in ("phrase", "word"):
        cue = next((cue for cue in found if kind_of(cue) == kind), None)
        if cue is not None:
            return Typed(kind, cue) if kind in in_use else OPEN
    return OPEN


def _of_paper(types: Types, role: str) -> list[VariantType]:
    return [one for one in types.values() if one.of_paper and one.role == role and not one.retired]


@cache
def _every_cue() -> tuple[str, ...]:
    return tuple(cue for cues in HEDGE_CUES.values() for cue in cues)


def _new_cues(anchor: str, text: str, cues: tuple[str, ...]) -> list[str]:
    """Like ``new_cues``, but only tries cues whose first word is in the text."""
    by_first = _by_first_lemma(cues)
    likely = {cue: None for token in tokenize(text) for cue in by_first.get(lemma(token.word), ())}
    return new_cues(anchor=anchor, text=text, cues=likely) if likely else []


@cache
def _by_first_lemma(cues: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for cue in cues:
        spellings = {cue, *SPELLING.get(cue, cue).split("/")}
        firsts = {lemma(tokenize(one)[0].word) for one in spellings if tokenize(one)}
        for first in sorted(firsts):
            found[first].append(cue)
    return dict(found)
