"""Variants similar to the card's. Each opens its card, and all together can be reviewed."""

import streamlit as st

from curation.formatting import counted
from curation.review.browser_window.key_actions import ReviewState
from curation.similar import KIND as EMBED
from curation.similar import (
    LOW_COSINE,
    NONE_SIMILAR,
    SimilarVariant,
    SimilarVariants,
    similar_variants,
)
from db.models import Variant
from pages.components.review.search_box import as_pending, hit_row
from pages.components.shared.runs import background
from pages.components.shared.runs.progress_view import REFRESH_SECONDS, duration, time_left
from pages.components.shared.shell import error_messages, open_project
from pages.components.shared.variants.picked_variants import open_in_review

SHOWN = 20
"""Number of similar variants listed."""

SECONDS_EACH = 60 / 10_000
"""Time to embed one variant, for a rough estimate before a run starts."""


def similar(state: ReviewState, variant: Variant) -> None:
    """Open a dialog with the variants that are most similar to this one."""
    error_messages.dialog(lambda: contents(state, variant), title="Similar variants")


def contents(state: ReviewState, variant: Variant) -> None:
    """List the similar variants, or offer to compute the embeddings that the search needs."""
    found = open_project.ask(similar_variants, open_project.settings(), variant, limit=SHOWN)
    with st.container(key="type-here-similar"):
        st.text(variant.text)
        if found.found is not None:
            _list(state, found.found, description=f"Similar to: {variant.text}")
        if found.missing:
            _compute(found)


def _list(state: ReviewState, similar: list[SimilarVariant], *, description: str) -> None:
    if not similar:
        st.text("There are no variants of other anchors yet.")
        return
    ids = [one.hit.variant_id for one in similar if one.hit.variant_id is not None]
    with st.container(horizontal=True, vertical_alignment="center", key="similar-found"):
        st.text(f"The {len(similar)} most similar variants of other anchors.")
        if st.button(f"Review these {len(similar)}", key="review-similar", type="primary"):
            open_in_review(ids, description)
    if similar[0].cosine < LOW_COSINE:
        st.caption(NONE_SIMILAR)
    veiled = open_project.ask(state.veiled_ids, ids)
    hits = as_pending(state, [one.hit for one in similar])
    for number, (hit, one) in enumerate(zip(hits, similar, strict=True)):
        hidden = hit.variant_id in veiled
        hit_row(state, hit, number=number, hidden=hidden, fact=f"cosine {one.cosine:.2f}")


def _compute(found: SimilarVariants) -> None:
    if background.active(EMBED) is not None:
        _progress()
        st.button("Show similar variants", key="refresh-similar")
        return
    if found.found is None:
        has = "has" if found.missing == 1 else "have"
        st.text(
            "The search for similar variants needs embeddings. "
            f"{counted(found.missing, 'variant')} {has} none yet. Computing them takes "
            f"{duration(found.missing * SECONDS_EACH)}."
        )
    else:
        st.text(f"{counted(found.missing, 'newer variant')} cannot be found yet.")
    st.button(
        "Compute embeddings", key="compute-embeddings", on_click=background.ensure, args=(EMBED,)
    )


@error_messages.fragment(run_every=REFRESH_SECONDS)
def _progress() -> None:
    """Draw the progress of the run that computes embeddings; only this part is refreshed."""
    run = background.active(EMBED)
    if run is None:
        st.progress(1.0, "The embeddings are ready.")
        return
    share = min(1.0, run.step / run.total) if run.total else 0.0
    number = f"{run.step:,} of {run.total:,} variants" if run.total else ""
    parts = [f"Run {run.id} is computing embeddings", number, time_left(run)]
    st.progress(share, " · ".join(part for part in parts if part))
