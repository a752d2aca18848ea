"""Gold items: which there are, how often they come, and making and removing them."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from curation.plurals import counted
from curation.project.opening import GOLD_RATE, PRACTISE_FIRST, get_setting
from curation.review.browser_window.messages import reason as reason_text
from curation.review.cards import card
from curation.review.gold.items import Gold, gold_items, mark, remove
from curation.review.gold.settings import change_practise_first, change_rate
from curation.review.people.statistics import Share, answers_on_gold
from curation.review.shown_card import MAX_NOTE, find_variant
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import REJECT_REASONS, reject_reason
from db.errors import HedgerowError
from db.models import GoldUse, Verdict
from pages.components.shared.formatting import markup
from pages.components.shared.links import GOLD_UID
from pages.components.shared.shell import error_messages, open_project
from pages.components.shared.variants import card as card_view
from pages.components.team.lead_only import lead

RATES = (0, 5, 10, 20, 50, 100)
USES = {GoldUse.MIXED: "Mixed in with the queue", GoldUse.TRAINING: "Practice rounds"}
VERDICTS = {Verdict.ACCEPT: "Accept", Verdict.REJECT: "Reject"}

_UID, _VERDICT, _REASON = "gold-uid", "gold-verdict", "gold-reason"
_WHY, _USE, _LIST = "gold-explanation", "gold-use", "gold-list"
_SAID = "gold-said"


def draw() -> None:
    """The whole section."""
    me = lead("choose the gold items")
    if me is None:
        return
    st.text(
        "A gold item is a variant whose right verdict is known. Mixed in with the queue, it looks "
        "like any pending card and shows how well reviewers decide. In a practice round, new "
        "reviewers learn from it."
    )
    _settings()
    if said := st.session_state.pop(_SAID, ""):
        st.text(said)
    _form(me)
    found = open_project.ask(gold_items)
    if found:
        _items(found)


def _settings() -> None:
    """How often they come, and who practises first; a change is stored at once."""
    rate, first = (open_project.ask(get_setting, key) for key in (GOLD_RATE, PRACTISE_FIRST))
    options = sorted({*RATES, rate})
    with st.container(horizontal=True, vertical_alignment="bottom", key="gold-settings"):
        chosen = st.selectbox(
            "How often",
            options,
            index=options.index(rate),
            format_func=lambda one: (
                f"One in {one:,} cards" if one else "No gold items in the queue"
            ),
            key=f"gold-rate-{rate}",
            width=260,
            help="On average; the distance between two of them varies, so that nobody can count "
            "them off. Each reviewer gets each of them once, in an order of their own.",
        )
        wanted = st.checkbox(
            "New reviewers practise first",
            first,
            key=f"gold-first-{first}",
            help="Whoever has decided on nothing yet finishes a practice round before the queue.",
        )
    if chosen != rate:
        open_project.tell(change_rate, chosen)
        st.rerun()
    if wanted != first:
        open_project.tell(change_practise_first, wanted)
        st.rerun()


def _form(me: int) -> None:
    """Make a variant a gold item, which an address may name."""
    asked = st.query_params.pop(GOLD_UID, "")
    if asked:
        st.session_state[_UID] = asked[:64]
    with st.container(border=True, key="gold-form"):
        uid = st.text_input(
            "Uid of the variant",
            key=_UID,
            max_chars=64,
            placeholder="16 hexadecimal digits, as on its card",
        ).strip()
        entry = _shown(uid) if uid else None
        if entry is None:
            if not uid:
                st.caption(
                    "The Adjudicate page (Settled) and the details of a card (G on the Review "
                    "page) lead here, too."
                )
            return
        with st.container(horizontal=True, vertical_alignment="bottom", key="gold-choices"):
            verdict = st.segmented_control(
                "Right verdict",
                list(VERDICTS),
                format_func=lambda one: VERDICTS[one],
                key=_VERDICT,
                default=Verdict.ACCEPT,
                required=True,
            )
            if verdict is Verdict.REJECT:
                reasons = [one.id for one in REJECT_REASONS if one.applies_to(entry)]
                st.selectbox(
                    "Reason",
                    reasons,
                    format_func=lambda key: reject_reason(key).label,
                    key=_REASON,
                    width=230,
                )
            st.segmented_control(
                "Use",
                list(USES),
                format_func=lambda one: USES[one],
                key=_USE,
                default=GoldUse.MIXED,
                required=True,
            )
        st.text_area(
            "Explanation",
            key=_WHY,
            max_chars=MAX_NOTE,
            height=80,
            placeholder="Why it is right, in a sentence or two, for somebody who got it wrong",
        )
        st.button(
            "Make it a gold item",
            key="make-gold",
            type="primary",
            on_click=_make,
            args=(me, uid),
            help="Settles the variant. Z on the Review page takes both back.",
        )


def _shown(uid: str) -> VariantType | None:
    """Draw the variant that is meant; its type, or None where there is no such variant."""
    try:
        variant = open_project.ask(find_variant, uid)
    except HedgerowError as error:
        error_messages.show(str(error), key="gold-uid")
        return None
    shown = open_project.ask(card, variant.id)
    entry = open_project.every_type()[variant.type_id]
    markup.show(
        Markup(
            '<div class="hg-card hg-line"><div class="hg-head"><span class="hg-type">{}</span>'
            "<span>{}</span></div>{}</div>"
        ).format(entry.label, f"status: {variant.status}", card_view.sentences(shown))
    )
    return entry


def _make(me: int, uid: str) -> None:
    state = st.session_state
    rejects = state[_VERDICT] is Verdict.REJECT
    try:
        made = open_project.tell(
            mark,
            uid,
            state[_VERDICT],
            reviewer_id=me,
            reason=state[_REASON] if rejects else "",
            explanation=state[_WHY] or "",
            use=state[_USE],
        )
    except HedgerowError as error:
        state[_SAID] = str(error)
        return
    state[_UID] = state[_WHY] = ""
    state[_SAID] = f"{made.uid} is a gold item, to {made.verdict}."


def _items(found: Sequence[Gold]) -> None:
    """All of them, with how people did on them; those selected can be removed."""
    mixed = sum(item.use is GoldUse.MIXED for item in found)
    st.header("Gold items", anchor=False)
    st.text(f"{counted(mixed, 'item')} mixed in, {len(found) - mixed:,} for practice.")
    answers, names = open_project.ask(answers_on_gold), open_project.type_names()
    event = st.dataframe(
        [_row(item, answers, names) for item in found],
        hide_index=True,
        key=_LIST,
        on_select="rerun",
        selection_mode="multi-row",
    )
    chosen = [found[place].uid for place in event["selection"]["rows"] if place < len(found)]
    st.button(
        f"Remove {counted(len(chosen), 'gold item')}" if chosen else "Remove",
        key="remove-gold",
        disabled=not chosen,
        on_click=_remove,
        args=(chosen,),
        help="Select rows first. The variants stay settled as they are.",
    )


def _row(item: Gold, answers: Mapping[int, Share], names: Mapping[str, str]) -> dict[str, str]:
    given = answers.get(item.variant_id, Share())
    why = f" ({reason_text(item.reason)})" if item.reason else ""
    return {
        "Variant": item.text,
        "Type": names.get(item.type_id, item.type_id),
        "Right": f"{item.verdict}{why}",
        "Use": "mixed in" if item.use is GoldUse.MIXED else "practice",
        "Matched": f"{given.number} of {given.of}" if given.of else "–",
        "Explanation": item.explanation,
        "Made by": item.maker,
        "Uid": item.uid,
    }


def _remove(uids: Sequence[str]) -> None:
    try:
        for uid in uids:
            open_project.tell(remove, uid)
    except HedgerowError as error:
        st.session_state[_SAID] = str(error)
    else:
        st.session_state[_SAID] = f"Removed {counted(len(uids), 'gold item')}."
