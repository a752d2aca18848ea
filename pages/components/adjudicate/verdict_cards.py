"""Markup of the verdicts on a variant: side by side, and as the record of a settled conflict."""

from collections.abc import Sequence

from markupsafe import Markup

from curation.review.adjudication import GivenVerdict, Settled
from curation.review.browser_window import messages
from db.models import Verdict
from pages.components.shared.formatting.clock import local
from pages.components.shared.formatting.diff import diff, join
from pages.components.shared.links import make_gold
from pages.components.shared.variants import card

_VERDICTS = {Verdict.ACCEPT: "accept", Verdict.REJECT: "reject", Verdict.EDIT: "edit"}
_MAX_SECONDS = 600
"""Longest time to a decision that is shown. After a longer one the reviewer was probably away."""


def side_by_side(given: Sequence[GivenVerdict], text: str, type_id: str) -> Markup:
    """Each person's verdict in a card of its own.

    Args:
        text, type_id: the variant's; edited wordings are compared with them.
    """
    return Markup('<div class="hg-verdicts">{}</div>').format(
        join(_verdict(one, text, type_id) for one in given)
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
    new = diff(text, given.wording.text)[1]
    return Markup('<div class="hg-scroll">{}{}</div>').format(new, retyped)


def _when(given: GivenVerdict) -> str:
    """When the person decided, how long they had seen the card, and whether it was blind."""
    parts = [f"{local(given.decided_at):%Y-%m-%d %H:%M}"]
    if given.seconds is not None and 0 <= given.seconds <= _MAX_SECONDS:
        parts.append(f"after {given.seconds:.0f} s")
    if given.blind:
        parts.append("blind")
    return " · ".join(parts)


def trail(found: Settled, label: str) -> Markup:
    """A settled conflict: both sentences, each person's verdict, and the settlement."""
    link = Markup('<a href="{}" title="Open its card">{}</a>').format(
        card.permalink(found.uid), found.uid
    )
    old, new = diff(found.anchor, found.text)
    gold = Markup('<a href="{}" title="{}">Make it a gold item</a>').format(
        make_gold(found.uid),
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
        join(_line(one.reviewer, _summary(one)) for one in found.verdicts),
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
