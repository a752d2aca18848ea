"""The declarative surface check of a variant type: data only, as it is stored with the type."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

TokenClass = Literal[
    "verbal_negator", "absolute_negator", "approximate_negator", "negator", "negative_affix"
]
Scope = Literal["sentence", "main_clause"]


class ConditionalWords(BaseModel):
    """Words allowed only if the anchor has certain words: 'no longer' needs 'still'."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: tuple[str, ...] = Field(description="Words or phrases, matched without gaps.")
    anchor_has: tuple[str, ...] = Field(
        description="The words may be added if the anchor has one of these, in any form."
    )


class SurfaceCheck(BaseModel):
    """Requirements on the form of a variant, compared with its anchor.

    'New' means more occurrences in the variant than in the anchor. The scope 'main_clause' ignores
    the frame that a hedge puts around the claim ("I'm not sure, but", "It isn't clear whether").
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    require_new: tuple[TokenClass, ...] = Field(
        default=(), description="A member of each of these classes must be added."
    )
    forbid_new: tuple[TokenClass, ...] = Field(
        default=(), description="No member of these classes may be added."
    )
    scope: Scope = Field(default="main_clause", description="Where added members of a class count.")
    require_replaced_content: bool = Field(
        default=False, description="A content word of the anchor must be replaced."
    )
    forbid_replaced_content: bool = Field(
        default=False, description="Content words of the anchor must not be replaced."
    )
    forbid_reversed_content: bool = Field(
        default=False,
        description="Content words of the anchor may be replaced, but not by antonyms.",
    )
    require_cue: bool = Field(
        default=False, description="The variant must contain the requested hedge cue."
    )
    require_words: tuple[str, ...] = Field(
        default=(), description="At least one of these words or phrases must be added."
    )
    forbid_words: tuple[str, ...] = Field(
        default=(), description="None of these words or phrases may be added."
    )
    forbid_words_unless: tuple[ConditionalWords, ...] = Field(
        default=(),
        description="Words that may be added only if the anchor has certain other words.",
    )
    negative_prefixes: tuple[str, ...] = Field(
        default=(), description="Replaces the built-in prefixes, e.g. 'un', 'non'."
    )
    negative_suffixes: tuple[str, ...] = Field(
        default=(), description="Replaces the built-in suffixes, e.g. 'less', 'free'."
    )
    max_lost_content: int | None = Field(
        default=None,
        ge=0,
        description="Number of content words of the anchor that may be dropped; None: any number.",
    )

    @property
    def keeps_words(self) -> bool:
        """Whether a variant is its anchor with some words changed.

        Otherwise it is free-form, and no distance from the anchor is too great.
        """
        return self.max_lost_content is not None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if clash := set(self.require_new) & set(self.forbid_new):
            raise ValueError(f"a class cannot be both required and forbidden: {sorted(clash)}")
        if self.require_replaced_content and (
            self.forbid_replaced_content or self.forbid_reversed_content
        ):
            raise ValueError("replaced content cannot be both required and forbidden")
        lists = (
            self.require_words,
            self.forbid_words,
            self.negative_prefixes,
            self.negative_suffixes,
            *(
                entry
                for rule in self.forbid_words_unless
                for entry in (rule.words, rule.anchor_has)
            ),
        )
        if any(not word.strip() for words in lists for word in words):
            raise ValueError("word and affix lists must not contain an empty entry")
        return self


# -- Roles of variant types: how far a variant still makes the anchor's claim ---------------------


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
