"""Prompt versions with examples."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from curation.generation.examples.few_shot import Example, as_rows, with_place
from curation.generation.prompts import save_copy
from curation.taxonomy.roles import ROLES, Role
from db.errors import HedgerowError
from db.models import PromptVersion


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
