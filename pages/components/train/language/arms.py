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
        "both": "Each negation of an anchor becomes a question with the answer Yes; each hedge or "
        "paraphrase becomes one with the answer No.",
        "paper": "The paper's four types of negation have the answer Yes, and its two types of "
        "hedge have the answer No.",
        "negation": "The paper's four types of negation have the answer Yes; the original "
        "entailment, or another paraphrase, has the answer No. There are no questions about "
        "hedges.",
        "hedging": "The original contradiction has the answer Yes, and the paper's two types of "
        "hedge have the answer No. There are no questions about the four types of negation.",
    }
)
