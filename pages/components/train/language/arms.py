"""The labels of the arms, and what each asks about."""

from collections.abc import Mapping
from types import MappingProxyType

from curation.release.question_pairs import Arm

LABELS: Mapping[Arm, str] = MappingProxyType(
    {
        "both": "negations and hedges of any type",
        "paper": "the paper's six types",
        "negation": "only negation",
        "hedging": "only hedging",
    }
)

MEANINGS: Mapping[Arm, str] = MappingProxyType(
    {
        "both": "Each negation of an anchor makes a question with the answer Yes; each hedge or "
        "paraphrase makes one with the answer No.",
        "paper": "As in the paper: its four negations have the answer Yes, its two hedges No.",
        "negation": "The paper's four negations have the answer Yes; the original entailment, "
        "or another paraphrase, has the answer No. There are no questions about hedges.",
        "hedging": "The original contradiction has the answer Yes, the paper's two hedges No. "
        "There are no questions about the four negations.",
    }
)
