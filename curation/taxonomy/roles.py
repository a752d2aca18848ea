"""Roles of variant types: how far a variant still makes the anchor's claim."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["negation", "unsupported", "hedge", "paraphrase"]
Polarity = Literal["negative", "neutral", "positive"]


class RoleFacts(NamedTuple):
    """The texts about a role, and what its variants are in a triple.

    Attributes:
        name: the plural name for its types.
        does: what a variant does to its anchor's claim, such as "contradicts the anchor".
        polarity: a triple's positive comes from the positive roles and its negative from the
            negative one (Equation 1); neutral variants are in no triple.
    """

    name: str
    does: str
    polarity: Polarity


ROLES: dict[Role, RoleFacts] = {
    "negation": RoleFacts("Negations", "contradicts the anchor", "negative"),
    "unsupported": RoleFacts("Unsupported claims", "leaves the anchor's claim open", "neutral"),
    "hedge": RoleFacts("Hedges", "makes the anchor's claim with less certainty", "positive"),
    "paraphrase": RoleFacts("Paraphrases", "says the same as the anchor", "positive"),
}
"""All roles, from denying the claim to making it with the anchor's certainty."""


def role_of(polarity: str, type_role: str | None) -> Role:
    """Return the role of a variant in a release, from its polarity and its type's current role.

    Args:
        type_role: None if the project no longer has the type.
    """
    if polarity == "negative":
        return "negation"
    if polarity == "neutral":
        return "unsupported"
    return "paraphrase" if type_role == "paraphrase" else "hedge"


def role_name(role: str) -> str:
    """Return the plural name for a role's types; an unknown role is returned unchanged."""
    facts = {str(key): facts for key, facts in ROLES.items()}.get(role)
    return facts.name if facts else role
