"""Messages about the result of an import, for page and terminal."""

from typing import NamedTuple

from curation.plurals import counted
from curation.variants.importing.entries import LABELS, LeftOut
from curation.variants.importing.preview import Preview
from db.models import Status, Verdict

_SHOWN = 60
"""Maximum characters of a quoted anchor."""

_VERBS = {Verdict.ACCEPT: ("accepts", "accept"), Verdict.REJECT: ("rejects", "reject")}
_HERE = {
    Status.ACCEPTED: "accepted here",
    Status.REJECTED: "rejected here",
    Status.SUPERSEDED: "replaced by an edit in this project",
}


class LeftOutCount(NamedTuple):
    """How much is left out for one reason, and the position of its first occurrence in the file."""

    number: int
    what: str
    first: str


def left_out(found: Preview) -> list[LeftOutCount]:
    """Return everything that is left out, with one entry per other source that owns the anchors."""
    counts: list[LeftOutCount] = []
    for reason, number in found.left_out.items():
        if reason is not LeftOut.OTHER_SOURCE:
            place = found.places.get(reason.value, "")
            counts.append(LeftOutCount(number, LABELS[reason], place))
            continue
        for source, one in found.elsewhere.items():
            anchor = one.anchor if len(one.anchor) <= _SHOWN else f"{one.anchor[:_SHOWN]}…"
            what = (
                f"variants of anchors that belong to the source '{source}', such as “{anchor}” "
                "(use that source for the file to add them)"
            )
            counts.append(LeftOutCount(one.variants, what, one.place.words))
    return counts


def against(found: Preview) -> str:
    """Say which verdicts differ from the decisions in this project, and the effect; '' for none."""
    if not found.against:
        return ""
    parts: list[str] = []
    for (verdict, status), number in found.against.items():
        verb = _VERBS[verdict][number != 1]
        which = "a variant that is" if number == 1 else "variants that are"
        parts.append(f"{number:,} {verb} {which} {_HERE[status]}")
    return (
        f"Of these verdicts, {', '.join(parts)}. A person's verdict outranks decisions "
        "by models. If it differs from another person's, the variant becomes a "
        "conflict."
    )


def nothing_left(found: Preview) -> str:
    """Say that nothing can be imported, and why; '' if something can."""
    if found.variants or found.decisions:
        return ""
    there = {LeftOut.THERE, LeftOut.VERDICT_THERE}
    if not found.left_out.keys() & there:
        return "There is nothing to import: all rows are left out."
    rest = ", and the rest is left out." if found.left_out.keys() - there else " already."
    what = "everything that could be imported" if found.left_out.keys() - there else "all of it"
    return f"Nothing is left to import: the project has {what}{rest}"


def amount(found: Preview) -> str:
    """Say what is imported: '1 anchor, 2 variants and 2 verdicts'."""
    parts = [
        counted(number, name)
        for number, name in (
            (found.anchors, "anchor"),
            (found.variants, "variant"),
            (found.decisions, "verdict"),
        )
        if number
    ]
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + "".join(parts[-1:])
