"""Variants similar to the card: each opens its card, and all of them make a selection."""

import streamlit as st

from curation.plurals import counted
from curation.review.browser_window.key_actions import ReviewState
from curation.similar.embedding_run import KIND as EMBED
from curation.similar.lookup import SimilarVariants, similar_variants
from db.models import Variant
from pages.components.review.search_box import as_pending, hit_row
from pages.components.shared.runs import background
from pages.components.shared.shell import error_messages, open_project
from pages.components.shared.variants.picked_variants import open_in_review

SHOWN = 20


def similar(state: ReviewState, variant: Variant) -> None:
    """Open a dialog with the variants that are most similar to this one."""
    error_messages.dialog(lambda: contents(state, variant), title="Similar variants")


def contents(state: ReviewState, variant: Variant) -> None:
    """List them, or offer to compute the embeddings that they are found by."""
    found = open_project.ask(similar_variants, open_project.settings(), variant, limit=SHOWN)
    with st.container(key="type-here-similar"):
        st.text(variant.text)
        if found.found is not None:
            _list(state, found, told=f"Similar to: {variant.text}")
        if found.missing:
            _compute(found)


def _list(state: ReviewState, found: SimilarVariants, *, told: str) -> None:
    similar = found.found or []
    if not similar:
        st.text("There are no variants of other anchors yet.")
        return
    ids = [one.hit.variant_id for one in similar if one.hit.variant_id is not None]
    with st.container(horizontal=True, vertical_alignment="center", key="similar-found"):
        st.text(f"The {len(similar)} most similar variants of other anchors.")
        if st.button(f"Review these {len(similar)}", key="review-similar", type="primary"):
            open_in_review(ids, told)
    veiled = open_project.ask(state.veiled_ids, ids)
    hits = as_pending(state, [one.hit for one in similar])
    for number, (hit, one) in enumerate(zip(hits, similar, strict=True)):
        hidden = hit.variant_id in veiled
        hit_row(state, hit, number=number, hidden=hidden, fact=f"cosine {one.cosine:.2f}")


def _compute(found: SimilarVariants) -> None:
    run = background.active(EMBED)
    if run is not None:
        share = run.step / run.total if run.total else 0.0
        st.progress(share, f"Run {run.id} is computing embeddings.")
        st.button("Refresh", key="refresh-similar")
        return
    if found.found is None:
        st.text(
            "Similar variants are found by their embeddings. "
            f"{counted(found.missing, 'variant')} have none yet; computing them takes about a "
            "minute for 10,000 variants."
        )
    else:
        st.text(f"{counted(found.missing, 'newer variant')} cannot be found yet.")
    st.button(
        "Compute embeddings", key="compute-embeddings", on_click=background.ensure, args=(EMBED,)
    )
