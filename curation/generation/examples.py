"""Few-shot examples in a prompt, and prompt versions with examples."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.generation.prompts import EXAMPLES, checked_template, save_copy
from curation.taxonomy.surface_check import ROLES, Role
from db.errors import HedgerowError
from db.models import PromptVersion

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
