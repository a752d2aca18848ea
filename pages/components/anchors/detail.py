"""One anchor: its revisions, variants and actions."""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from curation.anchors.lookup import FoundAnchor, Revision
from curation.decisions.status import status_label
from curation.editing.anchors import restore_anchor, retire_anchor
from curation.review.cards import Card, measured_card, whole_anchor
from db.models import Status
from pages.components.anchors import carry_over_view, forms_of_change, several
from pages.components.shared.formatting import markup
from pages.components.shared.formatting.clock import local
from pages.components.shared.formatting.diff import join
from pages.components.shared.shell import open_project, rights, signin
from pages.components.shared.variants import card as cards
from pages.components.shared.variants.picked_variants import open_in_review

_CORRECT, _WRITE = "Correct the text", "Write a variant"
_DESCRIBE = "Set genre and language"
_NAME = "anchor-name"


def draw(uid: str, reviewer_id: int | None) -> None:
    """Show the anchor with this uid, if it exists."""
    found = open_project.ask(whole_anchor, uid)
    if found is None:
        st.text(f"There is no anchor '{uid}'.")
        return
    anchor, variants, revisions = found
    with st.container(border=True, key="anchor-detail"):
        _head(anchor)
        _show_result(anchor)
        _actions(anchor, reviewer_id)
        if anchor.retired_at is None and anchor.revision > 1:
            carry_over_view.draw(anchor, reviewer_id)
        _variants(anchor, variants)
        if len(revisions) > 1:
            _revisions(revisions)


def _head(anchor: FoundAnchor) -> None:
    facts = [anchor.source, anchor.licence, anchor.genre, anchor.language, anchor.split.value]
    facts += [f"document {anchor.document_id}"] * bool(anchor.document_id)
    facts += [f"row {anchor.row_id}"] * bool(anchor.row_id)
    markup.show(
        Markup(
            '<div class="hg-variant"><span class="hg-text" dir="auto">{}</span></div>'
            '<div class="hg-head"><span>{}</span></div>'
        ).format(anchor.text, " · ".join(fact for fact in (*facts, anchor.uid) if fact))
    )
    if anchor.retired_at is not None:
        st.text(
            f"Retired on {local(anchor.retired_at):%Y-%m-%d}: it and its variants are no longer "
            "in use."
        )


def _show_result(anchor: FoundAnchor) -> None:
    """Report the last action on this anchor once."""
    done = forms_of_change.take_done(anchor.uid)
    if done is None:
        return
    st.success(done.message)
    if done.variant_id is not None:
        written, threshold = open_project.ask(measured_card, done.variant_id)
        entry = open_project.every_type()[written.variant.type_id]
        markup.show(cards.chips(written, entry, threshold=threshold))


@rights.for_leads()
def _actions(anchor: FoundAnchor, reviewer_id: int | None) -> None:
    if anchor.retired_at is not None:
        if st.button("Restore", key="anchor-restore", icon=":material/undo:"):
            _set_retired(anchor, reviewer_id, retired=False)
        return
    key = forms_of_change.doing(anchor.uid)
    with st.container(horizontal=True, vertical_alignment="center", key="anchor-actions"):
        doing = st.segmented_control(
            "Action", (_CORRECT, _WRITE, _DESCRIBE), key=key, label_visibility="collapsed"
        )
        retire = st.button("Retire", key="anchor-retire", icon=":material/inventory_2:")
    retire = signin.kept_press(retire, key=_NAME, of=(anchor.uid, doing))
    if not (doing or retire):
        return
    if reviewer_id is None:
        signin.name_form("Your changes are stored under your name.", key=_NAME, button="Continue")
    elif retire:
        _set_retired(anchor, reviewer_id, retired=True)
    elif doing == _CORRECT:
        forms_of_change.correct(anchor, reviewer_id)
    elif doing == _WRITE:
        forms_of_change.write(anchor, reviewer_id)
    elif doing == _DESCRIBE:
        message = several.facts_form([anchor.id], genre=anchor.genre, language=anchor.language)
        if message:
            forms_of_change.finish(anchor.uid, message)


def _set_retired(anchor: FoundAnchor, reviewer_id: int | None, *, retired: bool) -> None:
    open_project.tell(retire_anchor if retired else restore_anchor, anchor.id)
    message = (
        "Retired. The anchor and its variants are no longer in use. Existing releases do not "
        "change."
        if retired
        else "The anchor and its variants are restored."
    )
    forms_of_change.finish(anchor.uid, message)


def _variants(anchor: FoundAnchor, variants: Sequence[Card]) -> None:
    if not variants:
        st.text("This anchor has no variants yet.")
        return
    markup.show(_table(variants))
    pending = [item.variant.id for item in variants if item.variant.status is Status.PENDING]
    if pending and anchor.retired_at is None:
        label = (
            "Review the pending variant"
            if len(pending) == 1
            else f"Review the {len(pending)} pending variants"
        )
        if st.button(label, key="anchor-review", icon=":material/rate_review:"):
            open_in_review(pending, f"Anchor: {anchor.text}")


def _table(variants: Sequence[Card]) -> Markup:
    """The variants with their whole sentences, which an ``st.dataframe`` would cut."""
    labels = open_project.type_names()
    heads = ("Card", "Variant", "Type", "Status", "Cue")
    rows = (
        Markup(
            '<tr><td><a href="{}" target="_blank" title="Opens the variant\'s card in Review in a '
            'new tab.">Open</a></td><td><span class="hg-text" dir="auto">{}</span></td>'
            "<td>{}</td><td>{}</td><td>{}</td></tr>"
        ).format(
            cards.permalink(item.variant.uid),
            item.variant.text,
            labels.get(item.variant.type_id, item.variant.type_id),
            _status(item),
            item.variant.cue or "",
        )
        for item in variants
    )
    return Markup(
        '<div class="hg-found hg-of-anchor" tabindex="0" role="region" aria-label="Variants">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(join(Markup('<th scope="col">{}</th>').format(head) for head in heads), join(rows))


def _status(item: Card) -> str:
    if item.variant.verdicts_by:  # those who are to decide on it, too, do so without knowing it
        return "in review"
    return "second look" if item.variant.second_look else status_label(item.variant.status)


def _revisions(revisions: Sequence[Revision]) -> None:
    with st.expander(f"Revisions ({len(revisions)})"):
        for revision in reversed(revisions):
            by = f"{revision.author}, " if revision.author else ""
            st.text(f"{revision.text}\n{by}{local(revision.created_at):%Y-%m-%d %H:%M}")
