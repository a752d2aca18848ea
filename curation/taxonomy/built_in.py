"""The built-in variant types and their surface checks, as data.

Negation follows Pullum & Huddleston (2002), hedging Crompton (1997), both as simplified in the
HedgeTriple paper, section 3.1.2. The negated antonym is the right answer in SemAntoNeg. The other
types are Hedgerow's own: free-form sentences that affirm a claim, make it with less certainty,
leave it open or contradict it. Definitions, guidelines and checks are seeded into the database,
where users may add types of their own. Therefore everything here is declarative and serialises to
JSON. `surface.py` implements the checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from curation.taxonomy.surface_check import ROLES, ConditionalWords, Polarity, Role, SurfaceCheck
from db.errors import HedgerowError

TAXONOMY_VERSION = 8
"""Increased with every change to a definition, prompt line, surface check or guideline."""

GUIDELINE_VERSION = 8
"""Increased with every change to a guideline or a reject reason; stored with each decision."""

_GUIDELINES = Path(__file__).with_name("guidelines")


class VariantType(BaseModel):
    """A kind of variant: what it is, how to request it and how to judge it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    order: int
    label: str
    role: Role
    definition: str
    example_anchor: str
    example: str
    prompt_line: str = Field(
        description="The line that asks a model for it; '{cue}' stands for the requested cue."
    )
    surface_check: SurfaceCheck
    guideline: str = Field(description="Plain text in the format that `guideline.py` reads.")
    version: int = TAXONOMY_VERSION
    own: bool = Field(default=False, description="Added by a user of this project.")
    imported: bool = Field(
        default=False, description="Comes with imported anchors; no model or rule writes it."
    )
    retired: bool = Field(default=False, description="No longer in use, like its variants.")
    of_paper: bool = Field(
        default=False, description="One of the six types in the HedgeTriple paper."
    )
    on_request: bool = Field(
        default=False, description="Written only by a run that names it, not by a run for its role."
    )

    @property
    def polarity(self) -> Polarity:
        """What its variants are in a triple."""
        return ROLES[self.role].polarity

    @property
    def needs_cue(self) -> bool:
        """Whether a hedge cue is requested for each variant of this type."""
        return self.surface_check.require_cue


def guideline_of(type_id: str) -> str:
    """Return the guideline text that ships with a type."""
    return (_GUIDELINES / f"{type_id}.txt").read_text(encoding="utf-8").strip()


_STILL = ("still", "remain", "continue", "keep", "stay", "persist", "already", "always", "again")
"""Words in an anchor that say that something was true before."""

_CHANGE = (*_STILL, "have", "become", "now", "finally", "resume", "return", "end", "regain")
"""Words in an anchor that express a change."""

_NO_LONGER = ("no longer", "anymore", "any longer", "any more .", "any more ,")
"""Words that add that something was once true.

'any more' only counts at the end of a clause, not in 'any more soup'.
"""

_PLANE = "A yellow and black plane is flying in the clouds and blue sky."

_HEDGED = (
    *("perhaps", "maybe", "possibly", "probably", "presumably", "apparently", "seemingly"),
    *("reportedly", "supposedly", "allegedly", "may", "might", "seems", "seemed", "appears to"),
    *("I think", "I believe", "I suspect", "I guess", "I suppose", "as far as I know"),
)
_OPEN = (
    *("whether", "no evidence", "unknown", "unclear", "unconfirmed", "unproven", "unverified"),
    *("remains to be seen", "no way of knowing", "no telling", "nobody knows", "anyone's guess"),
    *("anybody's guess", "open question", "not known", "can't rule out", "cannot rule out"),
)
_AGAINST = ("doubtful", "unlikely", "I doubt", "hardly likely", "not true", "untrue")
_HOW_OFTEN = ("sometimes", "usually", "generally", "tends to", "tend to", "or thereabouts")
"""Words that weaken a claim, leave it open, contradict it, or say how often or how much."""

TAXONOMY: tuple[VariantType, ...] = (
    VariantType(
        id="verbal",
        order=1,
        label="Verbal negation",
        role="negation",
        definition=(
            "The negation is grammatically associated with the verb, the head of the clause:"
            " 'not' or '-n't' on the finite verb of the main clause."
        ),
        example_anchor=_PLANE,
        example="A yellow and black plane is not flying in the clouds and blue sky.",
        prompt_line=(
            "verbal negation: when the negation is grammatically associated with the verb, the head"
            " of the clause."
        ),
        surface_check=SurfaceCheck(
            require_new=("verbal_negator",),
            forbid_replaced_content=True,
            max_lost_content=0,
            forbid_words_unless=(ConditionalWords(words=_NO_LONGER, anchor_has=_STILL),),
        ),
        guideline=guideline_of("verbal"),
        of_paper=True,
    ),
    VariantType(
        id="absolute",
        order=2,
        label="Absolute negator",
        role="negation",
        definition=(
            "An absolute negator: 'no' (including the compounds 'nobody', 'nothing', etc., and the"
            " independent form 'none'), 'neither', 'nor', 'never'."
        ),
        example_anchor=_PLANE,
        example="No yellow and black plane is flying in the clouds and blue sky.",
        prompt_line=(
            "Absolute negator: no (including compounds nobody, nothing, etc., and the independent"
            " form none), neither, nor, never."
        ),
        surface_check=SurfaceCheck(
            require_new=("absolute_negator",),
            forbid_new=("verbal_negator",),
            forbid_reversed_content=True,
            max_lost_content=1,
            forbid_words=("nothing but", "none other than", "no wonder", "no sooner"),
            forbid_words_unless=(
                ConditionalWords(words=_NO_LONGER, anchor_has=_STILL),
                ConditionalWords(words=("no doubt",), anchor_has=("doubt",)),
            ),
        ),
        guideline=guideline_of("absolute"),
        of_paper=True,
    ),
    VariantType(
        id="affixal",
        order=3,
        label="Affixal negation",
        role="negation",
        definition=(
            "A negative affix expresses the negation: 'un-', 'in-' ('im-', 'il-', 'ir-'), "
            "'non-', 'dis-', 'mis-', '-less' and similar affixes."
        ),
        example_anchor="The bridge is safe for lorries.",
        example="The bridge is unsafe for lorries.",
        # The end of this line is missing in the paper; these are the affixes that it names.
        prompt_line="Affixal negators: un-, in-, non-, -less, etc.",
        surface_check=SurfaceCheck(
            require_new=("negative_affix",), forbid_new=("negator",), max_lost_content=1
        ),
        guideline=guideline_of("affixal"),
        of_paper=True,
    ),
    VariantType(
        id="lexical",
        order=4,
        label="Lexical negation",
        role="negation",
        definition=(
            "The main predicate of the sentence is replaced by its antonym or by a word "
            "with a negative meaning; no negator is added."
        ),
        example_anchor=_PLANE,
        example="A yellow and black plane is grounded under the clouds and blue sky.",
        prompt_line=(
            "Lexical negation: substituting the main predicate of the sentence with its antonym or"
            " word carrying negative meaning."
        ),
        surface_check=SurfaceCheck(
            forbid_new=("negator",), require_replaced_content=True, max_lost_content=1
        ),
        guideline=guideline_of("lexical"),
        of_paper=True,
    ),
    VariantType(
        id="word",
        order=5,
        label="Hedge: single word",
        role="hedge",
        definition=(
            "A single-word cue weakens the writer's commitment to the claim; the claim itself"
            " stays the same."
        ),
        example_anchor=_PLANE,
        example="A yellow and black plane is reportedly flying in the clouds and blue sky.",
        prompt_line="single-word cue such as {cue}",
        surface_check=SurfaceCheck(require_cue=True, forbid_new=("negator",), max_lost_content=0),
        guideline=guideline_of("word"),
        of_paper=True,
    ),
    VariantType(
        id="phrase",
        order=6,
        label="Hedge: phrase",
        role="hedge",
        definition=(
            "A multi-word cue weakens the writer's commitment to the claim; the claim itself stays"
            " the same. A negator inside the cue does not negate the claim."
        ),
        example_anchor=_PLANE,
        example=(
            "It's not entirely clear, but a yellow and black plane appears to be flying in the"
            " clouds and blue sky."
        ),
        prompt_line="multi-word cue such as {cue}",
        surface_check=SurfaceCheck(require_cue=True, forbid_new=("negator",), max_lost_content=0),
        guideline=guideline_of("phrase"),
        of_paper=True,
    ),
    VariantType(
        id="negated_antonym",
        order=7,
        label="Negated antonym",
        role="paraphrase",
        definition=(
            "A paraphrase with two reversals: the predicate is replaced by its antonym, "
            "and the antonym is negated."
        ),
        example_anchor="I'm guilty.",
        example="I'm not innocent.",
        prompt_line=(
            "negated antonym: saying the same as the text by negating an antonym of its main"
            " predicate."
        ),
        surface_check=SurfaceCheck(
            require_new=("negator",),
            require_replaced_content=True,
            max_lost_content=1,
            forbid_words_unless=(ConditionalWords(words=_NO_LONGER, anchor_has=_CHANGE),),
        ),
        guideline=guideline_of("negated_antonym"),
    ),
    VariantType(
        id="affirmation",
        order=8,
        label="Affirmation",
        role="paraphrase",
        definition=(
            "The anchor's claim again, more firmly or in other words, with no part of it weakened."
        ),
        example_anchor="The harbour is deep enough for tankers.",
        example="There is no doubt that the harbour is deep enough for tankers.",
        prompt_line=(
            "affirmation: making the same claim more firmly or in other words, without "
            "adding to it or weakening it."
        ),
        surface_check=SurfaceCheck(forbid_words=(*_HEDGED, *_OPEN, *_AGAINST, *_HOW_OFTEN)),
        guideline=guideline_of("affirmation"),
        on_request=True,
    ),
    VariantType(
        id="free_hedge",
        order=9,
        label="Free hedge",
        role="hedge",
        definition=(
            "The anchor's claim with less certainty, in any words; the writer still leans "
            "towards it."
        ),
        example_anchor="The harbour is deep enough for tankers.",
        example="From what the pilots say, the harbour should be deep enough for tankers.",
        prompt_line=(
            "free hedge: making the same claim with less certainty in words of your own, but still"
            " leaning towards it."
        ),
        surface_check=SurfaceCheck(forbid_words=(*_OPEN, *_AGAINST, *_HOW_OFTEN)),
        guideline=guideline_of("free_hedge"),
        on_request=True,
    ),
    VariantType(
        id="unsupported",
        order=10,
        label="Unsupported",
        role="unsupported",
        definition=(
            "The anchor's claim is left open: nobody knows, there is no evidence, it "
            "remains to be seen. The writer leans neither towards it nor against it."
        ),
        example_anchor="The harbour is deep enough for tankers.",
        example="There is no evidence that the harbour is deep enough for tankers.",
        prompt_line=(
            "unsupported: leaving the claim open in words of your own, neither for it nor against"
            ' it, as in "there is no evidence that" or "nobody has checked whether".'
        ),
        surface_check=SurfaceCheck(forbid_words=_AGAINST, max_lost_content=1),
        guideline=guideline_of("unsupported"),
    ),
    VariantType(
        id="free_contradiction",
        order=11,
        label="Free contradiction",
        role="negation",
        definition=(
            "A free-form contradiction of the anchor, with or without a negator: the two "
            "cannot both be true."
        ),
        example_anchor="The harbour is deep enough for tankers.",
        example="Any tanker would run aground in the harbour.",
        prompt_line=(
            "free contradiction: contradicting the text in words of your own, with or "
            "without a negator, so that the two cannot both be true."
        ),
        surface_check=SurfaceCheck(forbid_words=(*_HEDGED, *_OPEN, *_AGAINST[:-2], *_HOW_OFTEN)),
        guideline=guideline_of("free_contradiction"),
        on_request=True,
    ),
)


def variant_type(type_id: str) -> VariantType:
    """Return the built-in type with this id; raises as ``known_type`` does."""
    return known_type(TAXONOMY, type_id)


def known_type(types: Sequence[VariantType], type_id: str) -> VariantType:
    """Return the type with this id.

    Raises:
        HedgerowError: there is no such type.
    """
    for entry in types:
        if entry.id == type_id:
            return entry
    names = ", ".join(entry.id for entry in types)
    raise HedgerowError(f"Expected a variant type ({names}), found '{type_id}'.")
