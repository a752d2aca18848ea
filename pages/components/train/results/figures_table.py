"""The metrics on the validation split before and after training, as a table with explanations."""

from collections.abc import Mapping

import streamlit as st

from db.models import Run
from hedgerow.losses.families import Role
from training.evaluation.held_out import COSINE, DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS

SHARE, COSINES = "{:.1%}", "{:.3f}"

FIGURES: Mapping[str, tuple[str, str, str, str]] = {
    RANKED: (
        "Triples ranked correctly",
        SHARE,
        "triples",
        "The positive is closer to the anchor than the negative.",
    ),
    FAMILIES: (
        "Anchors ranked correctly",
        SHARE,
        "anchors",
        "All positives of the anchor are closer to it than all its negatives.",
    ),
    QUESTIONS: (
        "Questions answered correctly",
        SHARE,
        "questions",
        "As in SemAntoNeg: of three candidates, the paraphrase is closest. Chance: 33%.",
    ),
    COSINE[Role.NEGATION]: (
        "Mean cosine, negations",
        COSINES,
        "variants",
        "Should fall: they say the opposite.",
    ),
    COSINE[Role.UNSUPPORTED]: (
        "Mean cosine, unsupported",
        COSINES,
        "variants",
        "Should be between hedges and negations: they leave the claim open.",
    ),
    COSINE[Role.HEDGE]: (
        "Mean cosine, hedges",
        COSINES,
        "variants",
        "Should not change: they make the same claim with less certainty.",
    ),
    COSINE[Role.PARAPHRASE]: (
        "Mean cosine, paraphrases",
        COSINES,
        "variants",
        "Should rise: they say the same thing.",
    ),
    STS: (
        "STS, Spearman",
        COSINES,
        "pairs",
        "General ability: correlation of cosines with human scores. Should not change.",
    ),
    RETRIEVAL: ("Retrieval, MRR@10", COSINES, "questions", f"Should not change. {WHAT_IT_IS}"),
    DRIFT: (
        "Drift",
        COSINES,
        "sentences",
        "Root-mean-square change in the cosines between unrelated sentences. 0: nothing "
        "was forgotten.",
    ),
}
"""Name of a metric → its label, its format, what it counts, and what it means."""


def show(run: Run) -> None:
    """The table; runs of older versions may lack some or all metrics."""
    st.header("On the validation split", anchor=False)
    held_out = run.result.get("held_out") or {}
    before, after = held_out.get("before") or {}, held_out.get("after") or {}
    rows = _rows(before, after, held_out.get("of") or {})
    if not rows:
        st.text("This run has no evaluation on held-out anchors. The release may have none.")
        return
    general = " General ability is measured on other texts." if RETRIEVAL in after else ""
    st.text("The anchors of the release's validation split were not used for training." + general)
    st.table(rows, hide_index=True)


def _rows(
    before: Mapping[str, float], after: Mapping[str, float], of: Mapping[str, int]
) -> list[dict[str, str]]:
    return [
        {
            "Metric": name,
            "Before": form.format(before[key]),
            "After": form.format(after[key]),
            "Items": f"{of[key]:,} {things}" if key in of else "",
            "What it means": meaning,
        }
        for key, (name, form, things, meaning) in FIGURES.items()
        if key in before and key in after
    ]
