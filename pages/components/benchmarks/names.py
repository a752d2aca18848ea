"""Labels and explanations of benchmarks, outcomes and breakdowns."""

from collections.abc import Mapping

from training.benchmarks.definition import RIGHT
from training.benchmarks.tasks.common_forms import Cannot, M3Counterfactual
from training.benchmarks.tasks.excluir import RIGHT_RANK, ExcluIR
from training.benchmarks.tasks.nevir import CORRECT, NevIR
from training.benchmarks.tasks.own_families import LEVELS, NEGATIVE, POSITIVE, Hedgerow
from training.benchmarks.tasks.semantoneg import CHANGES, SemAntoNeg

SECTION = "step"
"""Key of the section choice, and its name in the URL."""

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
"""The outcome that counts as correct."""

_OUTCOMES: Mapping[str, str] = {
    "antonym": "picks the antonym",
    "negation": "picks the negation",
    "both": "picks the paraphrase",
}

SAID: Mapping[str, str] = {
    NevIR.id: "Correct: both queries rank their own document first. Reversed: neither does. "
    "Otherwise, both queries rank the same document first: the one with more negators (prefers "
    "negated), the one with fewer (prefers non-negated), or, if both have the same number, one of "
    "the two (prefers one). Tied: a query gives both documents the same score.",
    ExcluIR.id: "Right rank: the requested document scores higher than the excluded one.",
    SemAntoNeg.id: "The candidate that the model ranks closest: with the antonym changed, the "
    "negation changed, or both. Only the last one is a paraphrase of the input.",
    Hedgerow.id: "Right: every hedge and paraphrase of the anchor is closer to it than every "
    "negation.",
    Cannot.id: "How the model ranks the pairs, grouped by human judgement. Pairs with a "
    "negated sentence should come last.",
    M3Counterfactual.id: "How the model ranks pairs of an original and its negation (−1), "
    "“there is no evidence” (0), or a hedge (1). The ranks should rise in this order.",
}

BREAKDOWNS: Mapping[str, str] = {
    "edit": "By edit of the passage",
    "antonyms": "By antonyms",
    POSITIVE: "Hedges and paraphrases: each type against all negations",
    NEGATIVE: "Negations: each type against all hedges and paraphrases",
    LEVELS: "Unsupported: all of an anchor's are between its positives and negations",
}
"""Title of a breakdown; two types against each other are a heat map."""


def outcome(name: str) -> str:
    """The label of an outcome."""
    return _OUTCOMES.get(name, name)
