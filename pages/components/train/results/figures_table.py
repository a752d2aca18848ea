"""The figures of the held-out part before and after a training, as a table that explains itself."""

from collections.abc import Mapping

import streamlit as st

from db.models import Run
from hedgerow.losses.families import Role
from training.evaluation.held_out import COSINE, DRIFT, FAMILIES, QUESTIONS, RANKED, STS
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS

SHARE, COSINES = "{:.1%}", "{:.3f}"

FIGURES: Mapping[str, tuple[str, str, str, str]] = {
    RANKED: (
        "Triples ranked right",
        SHARE,
        "triples",
        "The positive is nearer to the anchor than the negative.",
    ),
    FAMILIES: (
        "Anchors ranked right as a whole",
        SHARE,
        "anchors",
        "Every positive is nearer than every negative.",
    ),
    QUESTIONS: (
        "Questions answered right",
        SHARE,
        "questions",
        "As in SemAntoNeg: of three candidates, the paraphrase is nearest; one in three by chance.",
    ),
    COSINE[Role.NEGATION]: (
        "Mean cosine, negations",
        COSINES,
        "variants",
        "Should sink: they say the opposite.",
    ),
    COSINE[Role.UNSUPPORTED]: (
        "Mean cosine, unsupported",
        COSINES,
        "variants",
        "Should lie between hedges and negations: they leave the claim open.",
    ),
    COSINE[Role.HEDGE]: (
        "Mean cosine, hedges",
        COSINES,
        "variants",
        "Should stay: they say the same, weakened.",
    ),
    COSINE[Role.PARAPHRASE]: (
        "Mean cosine, paraphrases",
        COSINES,
        "variants",
        "Should rise: they say the same.",
    ),
    STS: (
        "STS, Spearman",
        COSINES,
        "pairs",
        "General ability: how well cosines follow people's scores. Should stay.",
    ),
    RETRIEVAL: ("Retrieval, MRR@10", COSINES, "questions", f"Should stay. {WHAT_IT_IS}"),
    DRIFT: (
        "Drift",
        COSINES,
        "sentences",
        "How far cosines of unrelated sentences have moved; 0 is nothing forgotten.",
    ),
}
"""Name of a figure → what it is called, how it is written, what it rests on, what it means."""


def show(run: Run) -> None:
    """The table; a run of an older version may not have measured any of it."""
    st.header("On the held-out part", anchor=False)
    held_out = run.result.get("held_out") or {}
    before, after = held_out.get("before") or {}, held_out.get("after") or {}
    rows = _rows(before, after, held_out.get("of") or {})
    if not rows:
        st.text("This training measured nothing on held-out anchors, or there were none.")
        return
    general = " General ability is measured on other texts." if RETRIEVAL in after else ""
    st.text("Anchors of the release's validation split, which the training has not seen." + general)
    st.table(rows, hide_index=True)


def _rows(
    before: Mapping[str, float], after: Mapping[str, float], of: Mapping[str, int]
) -> list[dict[str, str]]:
    return [
        {
            "Figure": name,
            "Before": form.format(before[key]),
            "After": form.format(after[key]),
            "Of": f"{of[key]:,} {things}" if key in of else "",
            "What it means": meaning,
        }
        for key, (name, form, things, meaning) in FIGURES.items()
        if key in before and key in after
    ]
