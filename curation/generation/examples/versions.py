"""Prompt versions with examples."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from curation.generation.examples.few_shot import Example, as_rows, with_place
from curation.generation.prompts import save_copy
from curation.taxonomy.roles import ROLES, Role
from db.errors import HedgerowError
from db.models import PromptVersion


def role_of(name: str) -> Role:
    """The role that a prompt asks for the variants of.

    Raises:
        HedgerowError: it is another kind of prompt, in which examples have no place.
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
    """Store a version that shows these examples; where it has no place for them, it gets one.

    Args:
        template: in place of the parent's.

    Raises:
        HedgerowError: the template cannot be used, or there is no example.
    """
    role_of(parent.name)
    if not examples:
        raise HedgerowError("Expected at least one example, found none.")
    placed = with_place(parent.template if template is None else template)
    return save_copy(session, parent, placed, author_id=author_id, examples=as_rows(examples))
