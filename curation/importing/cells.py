"""Parse single cells: a verdict, a type, a reason or a text."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from curation.content_uids import canonical
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import new_members
from curation.editing.cues import kind_of
from curation.importing.column_roles import ColumnRole, Field, Unclear, name_key
from curation.language.tokens import lemma, tokenize
from curation.tables.delimited import quoted
from curation.tables.json_values import cell_text
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import HEDGE_CUES, SPELLING, listed_cues, new_cues
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.errors import HedgerowError
from db.models import Verdict

_ACCEPTING = "accept accepted yes true 1 good correct ok okay right valid keep approve approved"
_REJECTING = "reject rejected no false 0 bad incorrect wrong invalid discard discarded decline"
_OPEN = "ignore ignored skip skipped pending unsure undecided maybe none conflict submitted draft"

_VERDICTS: dict[str, Verdict | None] = (
    dict.fromkeys(_ACCEPTING.split(), Verdict.ACCEPT)
    | dict.fromkeys(_REJECTING.split(), Verdict.REJECT)
    | dict.fromkeys(_OPEN.split(), None)
    | {"": None}
)
_MEANINGS: dict[str, Verdict | None] = {
    "accept": Verdict.ACCEPT,
    "reject": Verdict.REJECT,
    "none": None,
}

_REASONS = {
    name_key(name): reason.id for reason in REJECT_REASONS for name in (reason.id, reason.label)
}

OTHER = "other"
"""The reason for rejections without a known reason. The note then quotes the file."""


class Judged(NamedTuple):
    """A verdict in a file.

    Attributes:
        reason: the id of a reject reason; '' for an acceptance.
        note: the rest of what the file says.
    """

    verdict: Verdict
    reason: str = ""
    note: str = ""


Meanings = Mapping[str, Verdict | None]
"""Maps words for verdicts in files to verdicts; None for no verdict."""


def parse_meanings(given: Iterable[str]) -> dict[str, Verdict | None]:
    """Parse the meanings of values, each given as ``VALUE=accept``, ``reject`` or ``none``.

    Raises:
        HedgerowError: one has another form.
    """
    found: dict[str, Verdict | None] = {}
    for one in given:
        value, equals, meaning = one.rpartition("=")
        if not equals or meaning.strip().casefold() not in _MEANINGS:
            raise HedgerowError(
                f"Expected VALUE=accept, VALUE=reject or VALUE=none, found {one[:80]!r}."
            )
        found[name_key(value)] = _MEANINGS[meaning.strip().casefold()]
    return found


def judged(
    value: str, *, reason: str, note: str, meanings: Meanings, place: str, column: str
) -> Judged | None:
    """Parse the verdict in a cell; None for none. A reject reason alone is a rejection.

    Raises:
        Unclear: the value is not known.
    """
    key = name_key(value)
    known = _VERDICTS | dict(meanings)
    if key not in known:
        if key in _REASONS:
            return Judged(Verdict.REJECT, _REASONS[key], note)
        raise Unclear(
            f"Expected a verdict (accept or reject) in {quoted(column)}, found {quoted(value)} on "
            f"{place}",
            Field.VERDICT_WORDS,
            value,
        )
    verdict = known[key]
    if verdict is not Verdict.REJECT:
        return Judged(verdict, "", note) if verdict else None
    known_reason = _REASONS.get(name_key(reason), OTHER)
    if known_reason == OTHER and reason and name_key(reason) != OTHER:
        note = f"{reason}. {note}".strip()
    return Judged(verdict, known_reason, note)


def type_in(value: str, types: Mapping[str, str], *, place: str, column: str) -> str:
    """Parse the type in a cell and return its id; '' if it is empty.

    Args:
        types: the result of ``roles.types_by_name``.

    Raises:
        HedgerowError: the project has no such type.
    """
    key = name_key(value)
    if not key:
        return ""
    if key not in types:
        raise HedgerowError(
            f"The type {quoted(value)} in column {quoted(column)} on {place} does not exist in "
            "this project; add it on the Taxonomy page first, or remove its rows."
        )
    return types[key]


def short(value: Any, *, longest: int) -> str:
    """Return a cell as canonical text, shortened; '' if it is not plain text."""
    try:
        return canonical(cell_text(value))[:longest].rstrip()
    except HedgerowError:
        return ""


# -- Finds the type of a variant that its file only labels as a hedge or a negation ---------------


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
        role: ``ColumnRole.HEDGE`` or ``ColumnRole.NEGATION``.
    """
    if role == ColumnRole.NEGATION:
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
