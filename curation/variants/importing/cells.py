"""Parse single cells: a verdict, a type, a reason or a text."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from curation.content_uids import canonical
from curation.tables.delimited import quoted
from curation.tables.json_values import cell_text
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.variants.importing.roles import name_key
from curation.variants.importing.unclear import Field, Unclear
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
