"""Examples in a prompt: stored with its version, and inserted in calls for other anchors."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from curation.generation.prompts import EXAMPLES, checked_template

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
