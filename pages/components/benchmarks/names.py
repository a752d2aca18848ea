"""What the benchmarks page says of benchmarks, outcomes and breakdowns."""

from collections.abc import Mapping

from training.benchmarks.tasks.cannot import Cannot
from training.benchmarks.tasks.excluir import RIGHT as RIGHT_RANK
from training.benchmarks.tasks.excluir import ExcluIR
from training.benchmarks.tasks.m3 import M3Counterfactual
from training.benchmarks.tasks.nevir import CORRECT, NevIR
from training.benchmarks.tasks.own_families import LEVELS, NEGATIVE, POSITIVE, RIGHT, Hedgerow
from training.benchmarks.tasks.semantoneg import CHANGES, SemAntoNeg

SECTION = "step"
"""Key of the choice of a section, and its name in the address."""

RUN, SCORES, ITEMS, OVERLAP, PROMPTS = SECTIONS = (
    "Run",
    "Scores",
    "Items",
    "Overlap",
    "Prompts",
)

RIGHT_OUTCOME: Mapping[str, str] = {
    NevIR.id: CORRECT,
    ExcluIR.id: RIGHT_RANK,
    SemAntoNeg.id: CHANGES[-1],
    Hedgerow.id: RIGHT,
}
"""The outcome that counts, where items are right or wrong."""

_OUTCOMES: Mapping[str, str] = {
    "antonym": "picks the antonym",
    "negation": "picks the negation",
    "both": "picks the paraphrase",
}

SAID: Mapping[str, str] = {
    NevIR.id: "Correct: both queries rank their own document first. Reversed: neither does. "
    "Otherwise both prefer the same document: the one with more negation, or the other one.",
    ExcluIR.id: "Right rank: the document that is asked for scores higher than the excluded one.",
    SemAntoNeg.id: "Which candidate the model finds nearest: with the antonym changed, with the "
    "negation changed, or with both, which alone says the same as the input.",
    Hedgerow.id: "Right: every hedge and paraphrase of the anchor is nearer to it than every "
    "negation.",
    Cannot.id: "Where the model has the pairs among all of them, by what people say of them. Pairs "
    "with a negated sentence should come last.",
    M3Counterfactual.id: "Where the model has originals beside their negation (−1), “there is no "
    "evidence” (0), and a hedge (1), among all pairs. They should rise in this order.",
}

BREAKDOWNS: Mapping[str, str] = {
    "edit": "By how the passage was edited",
    "antonyms": "By antonyms",
    POSITIVE: "Hedges and paraphrases: each type against all negations",
    NEGATIVE: "Negations: each type against all hedges and paraphrases",
    LEVELS: "Unsupported: all of an anchor's lie between positives and negations",
}
"""What a breakdown shows; two types against each other are a heat map."""


def outcome(name: str) -> str:
    """An outcome, as a chart or a list says it."""
    return _OUTCOMES.get(name, name)
