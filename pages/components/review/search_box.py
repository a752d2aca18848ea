"""Finding variants while reviewing: by a search, or similar to the card's.

Each opens its card, and all together can be reviewed.
"""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from curation.anchors.search import Hit, SearchKind, SearchResult, find, marked
from curation.decisions.status import status_label
from curation.formatting import counted, duration
from curation.review.browser_window.key_actions import ReviewState
from curation.review.gold.mixing import undecided
from curation.similar import KIND as EMBED
from curation.similar import (
    LOW_COSINE,
    NONE_SIMILAR,
    SimilarVariant,
    SimilarVariants,
    similar_variants,
)
from db.models import Status, Variant
from pages.components.shared import formatting, links, page_runs
from pages.components.shared.shell import error_messages, open_project

SHOWN = 20
"""Maximum number of hits listed. Each has a button, which takes time to draw."""

_LABELS = {
    SearchKind.VARIANTS: "Variants",
    SearchKind.ANCHORS: "Anchors",
    SearchKind.NOTES: "Notes",
}
_TEXT, _KIND = "search-text", "search-in"
_LAST = "searched"
"""Session key of the last search, which the dialog shows when it opens again."""


def search(state: ReviewState) -> None:
    """Open the search dialog. While it is open, letters are text (see editor.js)."""
    error_messages.dialog(lambda: search_contents(state), title="Search")


def search_contents(state: ReviewState) -> None:
    """Draw the search field and the hits.

    In blind mode, notes are not searched and no status is shown: both reveal what others think.
    """
    kinds = [kind for kind in SearchKind if kind is not SearchKind.NOTES or not state.blind]
    with st.container(key="type-here-search"):
        st.session_state.setdefault(_TEXT, st.session_state.get(_LAST, ""))
        text = st.text_input("Part of a sentence or a note, or a uid", key=_TEXT).strip()
        st.session_state[_LAST] = text
        kind = st.segmented_control(
            "Search in",
            kinds,
            key=_KIND,
            default=kinds[0],
            required=True,
            format_func=lambda one: _LABELS[one],
            label_visibility="collapsed",
        )
        if text:
            found = open_project.ask(find, text, kind, limit=SHOWN)
            found = found._replace(hits=as_pending(state, found.hits))
            ids = [hit.variant_id for hit in found.hits if hit.variant_id is not None]
            veiled = open_project.ask(state.hidden_ids, ids)
            _summary(found, kind, text)
            for number, hit in enumerate(found.hits):
                hidden = hit.variant_id in veiled
                if hidden and hit.kind is SearchKind.NOTES:
                    st.text("This note is hidden, because its variant is reviewed blind.")
                else:
                    hit_row(state, hit, number=number, hidden=hidden, text=text)


def as_pending(state: ReviewState, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with gold items disguised until this reviewer has decided on them: they appear as
    pending variants without notes."""
    ids = [hit.variant_id for hit in hits if hit.variant_id is not None]
    gold = open_project.ask(undecided, state.reviewer_id, ids)
    return [
        hit._replace(status=Status.PENDING) if hit.variant_id in gold else hit
        for hit in hits
        if hit.variant_id not in gold or hit.kind is not SearchKind.NOTES
    ]


def _summary(found: SearchResult, kind: SearchKind, text: str) -> None:
    what = _LABELS[kind].lower()
    total = counted(len(found.rows), what.removesuffix("s"))
    summary = (
        f"{'More than ' if found.more else ''}{total} found." if found.rows else f"No {what} found."
    )
    if len(found.hits) < len(found.rows):
        summary += f" The first {len(found.hits)} are listed."
    with st.container(horizontal=True, vertical_alignment="center", key="search-found"):
        st.text(summary)
        ids = tuple(dict.fromkeys(found.rows))
        if kind is not SearchKind.ANCHORS and ids:
            label = "Review this one" if len(ids) == 1 else f"Review these {len(ids):,}"
            if st.button(label, key="review-found", type="primary"):
                links.open_in_review(ids, f"Search: {text}")


def hit_row(
    state: ReviewState, hit: Hit, *, number: int, hidden: bool, text: str = "", fact: str = ""
) -> None:
    """Draw a hit with a button that opens it.

    Args:
        number: position in the list, from 0.
        hidden: leave out its status.
        text: the search text, which is highlighted.
        fact: a fact to show before the hit's type and status.
    """
    with st.container(horizontal=True, vertical_alignment="center", key=f"one-line-hit-{number}"):
        facts = " · ".join(part for part in (fact, _facts(hit, hidden=hidden)) if part)
        formatting.emit(hit_markup(hit, text, facts=facts))
        if st.button("Open", key=f"hit-{number}", width="content"):
            if hit.variant_id is None:
                st.switch_page("pages/anchors.py", query_params={"anchor": hit.anchor_uid})
            state.pin(hit.variant_id)
            st.rerun()


def hit_markup(hit: Hit, text: str, *, facts: str) -> Markup:
    """The hit with the search text highlighted, and the facts about it."""
    pieces = (
        Markup('<mark class="hg-match">{}</mark>' if is_match else "{}").format(piece)
        for piece, is_match in marked(hit.text, text)
    )
    return Markup(
        '<div class="hg-hit"><span class="hg-text" dir="auto">{}</span>'
        '<div class="hg-head"><span>{}</span></div></div>'
    ).format(formatting.join(pieces), facts)


def _facts(hit: Hit, *, hidden: bool) -> str:
    if hit.kind is SearchKind.ANCHORS:
        return "Anchor, out of use" if hit.retired else "Anchor"
    names = open_project.type_names()
    facts = [names.get(hit.type_id or "", hit.type_id or "")]
    if hit.retired:
        facts.append("out of use")
    elif hit.status is not None and not hidden:
        facts.append(status_label(hit.status))
    if hit.kind is SearchKind.NOTES:
        facts.append(f"note on: {hit.about}")
    return " · ".join(facts)


# -- similar box ----------------------------------------------------------------------------------


SIMILAR_SHOWN = 20
"""Number of similar variants listed."""

SECONDS_EACH = 60 / 10_000
"""Time to embed one variant, for a rough estimate before a run starts."""


def similar(state: ReviewState, variant: Variant) -> None:
    """Open a dialog with the variants that are most similar to this one."""
    error_messages.dialog(lambda: similar_contents(state, variant), title="Similar variants")


def similar_contents(state: ReviewState, variant: Variant) -> None:
    """List the similar variants, or offer to compute the embeddings that the search needs."""
    found = open_project.ask(
        similar_variants, open_project.settings(), variant, limit=SIMILAR_SHOWN
    )
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
            links.open_in_review(ids, description)
    if similar[0].cosine < LOW_COSINE:
        st.caption(NONE_SIMILAR)
    veiled = open_project.ask(state.hidden_ids, ids)
    hits = as_pending(state, [one.hit for one in similar])
    for number, (hit, one) in enumerate(zip(hits, similar, strict=True)):
        hidden = hit.variant_id in veiled
        hit_row(state, hit, number=number, hidden=hidden, fact=f"cosine {one.cosine:.2f}")


def _compute(found: SimilarVariants) -> None:
    if page_runs.active(EMBED) is not None:
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
        "Compute embeddings", key="compute-embeddings", on_click=page_runs.ensure, args=(EMBED,)
    )


@error_messages.fragment(run_every=page_runs.REFRESH_SECONDS)
def _progress() -> None:
    """Draw the progress of the run that computes embeddings; only this part is refreshed."""
    run = page_runs.active(EMBED)
    if run is None:
        st.progress(1.0, "The embeddings are ready.")
        return
    share = min(1.0, run.step / run.total) if run.total else 0.0
    number = f"{run.step:,} of {run.total:,} variants" if run.total else ""
    parts = [f"Run {run.id} is computing embeddings", number, page_runs.time_left(run)]
    st.progress(share, " · ".join(part for part in parts if part))
