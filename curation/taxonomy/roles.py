"""Roles of variant types: how much of the anchor's claim a variant still makes."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["negation", "unsupported", "hedge", "paraphrase"]
Polarity = Literal["negative", "neutral", "positive"]


class RoleFacts(NamedTuple):
    """What is said of a role, and what its variants are in a triple.

    Attributes:
        name: what its types are called together.
        does: what a variant does with its anchor: "contradicts the anchor".
        polarity: a triple takes its positive from the positive roles, its negative from the
            negative one (Equation 1); what is neutral is in none.
    """

    name: str
    does: str
    polarity: Polarity


ROLES: dict[Role, RoleFacts] = {
    "negation": RoleFacts("Negations", "contradicts the anchor", "negative"),
    "unsupported": RoleFacts("Unsupported claims", "leaves the anchor's claim open", "neutral"),
    "hedge": RoleFacts("Hedges", "makes the anchor's claim less firmly", "positive"),
    "paraphrase": RoleFacts("Paraphrases", "says the same as the anchor", "positive"),
}
"""Every role, from the one that denies the claim to the one that makes it as firmly."""


def role_of(polarity: str, type_role: str | None) -> Role:
    """The role of a variant in a release, by its polarity and the role that its type has now.

    Args:
        type_role: None where the project no longer has the type.
    """
    if polarity == "negative":
        return "negation"
    if polarity == "neutral":
        return "unsupported"
    return "paraphrase" if type_role == "paraphrase" else "hedge"


def role_name(role: str) -> str:
    """What the types of a role are called together; a role that no type has any more as it is."""
    facts = {str(key): facts for key, facts in ROLES.items()}.get(role)
    return facts.name if facts else role
