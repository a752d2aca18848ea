"""The verdicts on a variant, and the lists of cards to discuss and of settled conflicts."""

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from curation.decisions.status import status_label
from curation.review import discussing
from curation.review.adjudication import GivenVerdict, Settled, settled
from curation.review.browser_window import messages
from curation.review.browser_window.adjudicating import AdjudicationState
from db.models import TeamRole, Verdict
from pages.components.shared import card, formatting, links
from pages.components.shared.shell import current_user, error_messages, open_project

AT_MOST = 50
"""Maximum number of entries shown in each list."""


def to_discuss(state: AdjudicationState) -> None:
    """Draw the marked cards, oldest mark first, with buttons to open them and remove marks."""
    marks = open_project.ask(
        discussing.open_marks,
        type_id=state.type_id,
        source_id=state.source_id,
        limit=AT_MOST + 1,
    )
    if not marks:
        links.nothing(
            "No card is marked for discussion. To mark a card, press D on the Review page. "
            "Marking a card does not decide it."
        )
        return
    labels = open_project.type_names()
    veiled = open_project.ask(state.hidden_ids, [mark.variant_id for mark in marks])
    can_remove = current_user.may(TeamRole.REVIEWER)
    for mark in marks[:AT_MOST]:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key=f"one-line-{mark.uid}"
        ):
            hidden = mark.variant_id in veiled
            formatting.emit(card.line(mark.text, _about(mark, labels[mark.type_id], hidden=hidden)))
            st.page_link("pages/review.py", label="Open", query_params={"variant": mark.uid})
            if can_remove:
                st.button(
                    "Remove mark",
                    key=f"lift-{mark.uid}",
                    width="content",
                    on_click=_lift,
                    args=(mark.variant_id, state.reviewer_id),
                    help="Use this after the discussion. To undo it, press Z on a card.",
                )
    if len(marks) > AT_MOST:
        st.caption(f"The {AT_MOST} oldest marks are shown. Remove some to see newer ones.")


def _lift(variant_id: int, reviewer_id: int) -> None:
    with error_messages.message_kept():
        open_project.tell(discussing.lift, variant_id, reviewer_id=reviewer_id)


def _about(mark: discussing.OpenMark, label: str, *, hidden: bool) -> str:
    """Describe a mark and its card in one line: when, who, the remark, type and status.

    Args:
        hidden: leave out the remark and the status, which could influence a blind reviewer.
    """
    when = f"{formatting.local(mark.marked_at):%d %b %H:%M}"
    about = f"“{mark.remark}”" if mark.remark and not hidden else ""
    status = "" if hidden else status_label(mark.status)
    parts = [when, mark.reviewer, about, label, status]
    return " · ".join(part for part in parts if part)


def settled_conflicts(*, type_id: str | None, source_id: int | None) -> None:
    """Draw the settled conflicts with everybody's verdicts, latest settlement first."""
    found = open_project.ask(settled, type_id=type_id, source_id=source_id, limit=AT_MOST)
    if not found:
        with st.container(border=True, key="empty"):
            st.write("No conflict has been settled yet. Settle one under “In conflict”.")
        return
    labels = open_project.type_names()
    for one in found:
        formatting.emit(trail(one, labels[one.type_id]))
    if len(found) == AT_MOST:
        st.caption(f"The latest {AT_MOST} are shown. Choose a type or a source to see others.")


# -- verdict cards --------------------------------------------------------------------------------


_VERDICTS = {Verdict.ACCEPT: "accept", Verdict.REJECT: "reject", Verdict.EDIT: "edit"}
_MAX_SECONDS = 600
"""Longest time to a decision that is shown. After a longer one the reviewer was probably away."""


def side_by_side(given: Sequence[GivenVerdict], text: str, type_id: str) -> Markup:
    """Each person's verdict in a card of its own.

    Args:
        text, type_id: the variant's; edited wordings are compared with them.
    """
    return Markup('<div class="hg-verdicts">{}</div>').format(
        formatting.join(_verdict(one, text, type_id) for one in given)
    )


def _verdict(given: GivenVerdict, text: str, type_id: str) -> Markup:
    why = messages.reason(given.reason)
    verdict = Markup('<span class="hg-said-{0}">{0}</span>').format(_VERDICTS[given.verdict])
    return Markup(
        '<section class="hg-card hg-line" aria-label="{}"><div class="hg-head">'
        '<span class="hg-type">{}</span>{}{}</div><div class="hg-label">{}</div>{}{}</section>'
    ).format(
        f"{given.reviewer}'s verdict",
        given.reviewer,
        verdict,
        Markup("<span>{}</span>").format(why) if why else "",
        _when(given),
        Markup('<div class="hg-scroll hg-text" dir="auto">{}</div>').format(given.note)
        if given.note
        else "",
        _wording(given, text, type_id),
    )


def _wording(given: GivenVerdict, text: str, type_id: str) -> Markup:
    """The edited wording with its changes marked, and its type if the edit changed that."""
    if given.wording is None:
        return Markup("")
    retyped = (
        Markup(' <span class="hg-label">as {}</span>').format(given.wording.type_id)
        if given.wording.type_id != type_id
        else ""
    )
    new = formatting.diff(text, given.wording.text)[1]
    return Markup('<div class="hg-scroll">{}{}</div>').format(new, retyped)


def _when(given: GivenVerdict) -> str:
    """When the person decided, how long they had seen the card, and whether it was blind."""
    parts = [f"{formatting.local(given.decided_at):%Y-%m-%d %H:%M}"]
    if given.seconds is not None and 0 <= given.seconds <= _MAX_SECONDS:
        parts.append(f"after {given.seconds:.0f} s")
    if given.blind:
        parts.append("blind")
    return " · ".join(parts)


def trail(found: Settled, label: str) -> Markup:
    """A settled conflict: both sentences, each person's verdict, and the settlement."""
    link = Markup('<a href="{}" title="Open its card">{}</a>').format(
        links.permalink(found.uid), found.uid
    )
    old, new = formatting.diff(found.anchor, found.text)
    gold = Markup('<a href="{}" title="{}">Make it a gold item</a>').format(
        links.make_gold(found.uid),
        "Use this variant to test or train reviewers. Its correct verdict is known.",
    )
    return Markup(
        '<div class="hg-card hg-line hg-trail"><div class="hg-head"><span class="hg-type">{}</span>'
        "<span>{}</span><span>{}</span></div>{}{}{}{}</div>"
    ).format(
        label,
        link,
        gold,
        _line("Anchor", old),
        _line("Variant", new),
        formatting.join(_line(one.reviewer, _summary(one)) for one in found.verdicts),
        _line(found.settlement.reviewer, Markup("<b>{}</b>").format(_summary(found.settlement))),
    )


def _line(label: str, content: Markup) -> Markup:
    return Markup(
        '<div class="hg-row"><span class="hg-label">{}</span><div class="hg-scroll">{}</div></div>'
    ).format(label, content)


def _summary(given: GivenVerdict) -> Markup:
    """A verdict in one line: 'settled it as rejected (wrong type) · note · wording · when'."""
    wording = f"“{given.wording.text}”" if given.wording else ""
    parts = [messages.did(given), given.note, wording, _when(given)]
    return Markup("{}").format(" · ".join(part for part in parts if part))
