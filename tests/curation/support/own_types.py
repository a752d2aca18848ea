"""User-defined variant types for tests: a negation, and a hedge with its own cues."""

from curation.editing.type_drafts import OwnType
from curation.taxonomy.surface_check import SurfaceCheck

NEGATION = OwnType(
    label="Quantifier negation",
    role="negation",
    definition="A negated quantifier before the subject denies the claim for some of it.",
    example_anchor="Every bridge is safe.",
    example="Not every bridge is safe.",
    surface_check=SurfaceCheck(require_new=("negator",), forbid_words=("perhaps",)),
)
HEDGE = OwnType(
    label="Hedge: hearsay",
    role="hedge",
    definition="The claim is what others say.",
    example_anchor="The bridge is safe.",
    example="Rumour has it that the bridge is safe.",
    surface_check=SurfaceCheck(
        require_cue=True, require_words=("rumour has it", "they whisper"), forbid_new=("negator",)
    ),
)
