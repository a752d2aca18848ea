"""What the arms of a finetuning are called, and what each asks about."""

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
        "both": "Every negation of an anchor is a question to be answered Yes, every hedge or "
        "paraphrase one to be answered No.",
        "paper": "As the paper has it: its four negations are to be answered Yes, its two hedges "
        "No.",
        "negation": "The paper's four negations are to be answered Yes; the original entailment, "
        "or another paraphrase, is to be answered No. No hedge is asked about.",
        "hedging": "The original contradiction is to be answered Yes, the paper's two hedges No. "
        "None of the four negations is asked about.",
    }
)
