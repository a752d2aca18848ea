"""Searching while reviewing: a hit opens its card, and all hits make a selection."""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from curation.plurals import counted
from curation.project.search import Hit, SearchKind, SearchResult, find, marked
from curation.review.browser_window.key_actions import ReviewState
from curation.review.gold.mixing import undecided
from curation.review.status import status_label
from db.models import Status
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.diff import join
from pages.components.shared.shell import error_messages, open_project
from pages.components.shared.variants.picked_variants import open_in_review

SHOWN = 20
"""Hits listed; each has a button, and more of them make drawing slow."""

_LABELS = {
    SearchKind.VARIANTS: "Variants",
    SearchKind.ANCHORS: "Anchors",
    SearchKind.NOTES: "Notes",
}
_TEXT, _KIND = "search-text", "search-in"
_LAST = "searched"
"""What was searched for last is there when the dialog opens again."""


def search(state: ReviewState) -> None:
    """Open a dialog to search in. Letters are text while it is open (see editor.js)."""
    error_messages.dialog(lambda: contents(state), title="Search")


def contents(state: ReviewState) -> None:
    """Ask what to look for and list what is found.

    In blind mode no notes are searched and no status is shown: both tell what others think.
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
            veiled = open_project.ask(state.veiled_ids, ids)
            _summary(found, kind, text)
            for number, hit in enumerate(found.hits):
                hidden = hit.variant_id in veiled
                if hidden and hit.kind is SearchKind.NOTES:
                    st.text("A note on a variant that you are to decide on first.")
                else:
                    hit_row(state, hit, number=number, hidden=hidden, text=text)


def as_pending(state: ReviewState, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with gold items as this reviewer is to see them before they decide: as pending
    variants, without notes."""
    ids = [hit.variant_id for hit in hits if hit.variant_id is not None]
    gold = open_project.ask(undecided, state.reviewer_id, ids)
    return [
        hit._replace(status=Status.PENDING) if hit.variant_id in gold else hit
        for hit in hits
        if hit.variant_id not in gold or hit.kind is not SearchKind.NOTES
    ]


def _summary(found: SearchResult, kind: SearchKind, text: str) -> None:
    total = counted(len(found.rows), _LABELS[kind].lower().removesuffix("s"))
    said = f"{'More than ' if found.more else ''}{total}"
    if len(found.hits) < len(found.rows):
        said += f". Here are the first {len(found.hits)}"
    with st.container(horizontal=True, vertical_alignment="center", key="search-found"):
        st.text(f"{said}.")
        ids = tuple(dict.fromkeys(found.rows))
        if kind is not SearchKind.ANCHORS and ids:
            label = "Review this one" if len(ids) == 1 else f"Review these {len(ids):,}"
            if st.button(label, key="review-found", type="primary"):
                open_in_review(ids, f"Search: {text}")


def hit_row(
    state: ReviewState, hit: Hit, *, number: int, hidden: bool, text: str = "", fact: str = ""
) -> None:
    """One hit with a button that opens it.

    Args:
        number: of the row, from 0.
        hidden: leave out its status.
        text: what was looked for; it is marked.
        fact: shown with what the hit is.
    """
    with st.container(horizontal=True, vertical_alignment="center", key=f"one-line-hit-{number}"):
        facts = " · ".join(part for part in (fact, _facts(hit, hidden=hidden)) if part)
        markup.show(hit_markup(hit, text, facts=facts))
        if st.button("Open", key=f"hit-{number}", width="content"):
            if hit.variant_id is None:
                st.switch_page("pages/anchors.py", query_params={"anchor": hit.anchor_uid})
            state.pin(hit.variant_id)
            st.rerun()


def hit_markup(hit: Hit, text: str, *, facts: str) -> Markup:
    """The hit with what was looked for marked, and what it is."""
    pieces = (
        Markup('<mark class="hg-match">{}</mark>' if is_match else "{}").format(piece)
        for piece, is_match in marked(hit.text, text)
    )
    return Markup(
        '<div class="hg-hit"><span class="hg-text" dir="auto">{}</span>'
        '<div class="hg-head"><span>{}</span></div></div>'
    ).format(join(pieces), facts)


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
