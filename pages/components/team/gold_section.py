"""Gold items: how often reviewers get them, and adding, listing and removing them."""

from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

from curation.decisions.shown_card import MAX_NOTE, find_variant
from curation.formatting import counted
from curation.project.settings import GOLD_RATE, PRACTISE_FIRST, get_setting
from curation.review.adjudication import verdicts_on
from curation.review.browser_window.messages import reason as reason_text
from curation.review.cards import card
from curation.review.gold.items import USE_LABELS, Gold, gold_items, mark, remove
from curation.review.gold.mixing import change_practise_first, change_rate
from curation.review.people_statistics import Share, answers_on_gold
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import REJECT_REASONS, reject_reason
from db.errors import HedgerowError
from db.models import GoldUse, Verdict
from pages.components.shared import card as card_view
from pages.components.shared import formatting, links
from pages.components.shared.shell import error_messages, open_project
from pages.components.team.people_section import lead

RATES = (0, 5, 10, 20, 50, 100)
VERDICTS = {Verdict.ACCEPT: "Accept", Verdict.REJECT: "Reject"}

_UID, _VERDICT, _REASON = "gold-uid", "gold-verdict", "gold-reason"
_WHY, _USE, _LIST = "gold-explanation", "gold-use", "gold-list"
_MESSAGE = "gold-said"
_PREFILLED = "gold-prefilled"
"""Session key of the uid whose settlement the form has taken over."""


def draw() -> None:
    """Draw the section."""
    me = lead("choose gold items")
    if me is None:
        return
    st.text(
        "A gold item is a variant whose correct verdict is known. In the review queue, it looks "
        "like any pending card and shows how well reviewers decide. In practice rounds, new "
        "reviewers learn from it."
    )
    _settings()
    error_messages.show_once(_MESSAGE)
    _form(me)
    found = open_project.ask(gold_items)
    if found:
        _items(found)


def _settings() -> None:
    """Choose the rate, and whether new reviewers practise first. A change is stored at once."""
    rate, first = (open_project.ask(get_setting, key) for key in (GOLD_RATE, PRACTISE_FIRST))
    options = sorted({*RATES, rate})
    with st.container(horizontal=True, vertical_alignment="bottom", key="gold-settings"):
        chosen = st.selectbox(
            "Frequency",
            options,
            index=options.index(rate),
            format_func=lambda one: (
                f"About one in {one:,} cards" if one else "No gold items in the queue"
            ),
            key=f"gold-rate-{rate}",
            width=260,
            help="The interval between gold items varies, so that reviewers can't predict the "
            "next one. Each reviewer gets each item once, in random order.",
        )
        wanted = st.checkbox(
            "New reviewers practise first",
            first,
            key=f"gold-first-{first}",
            help="Reviewers who have not decided on any variant yet must finish a practice round "
            "before they see the queue.",
        )
    if chosen != rate:
        open_project.tell(change_rate, chosen)
        st.rerun()
    if wanted != first:
        open_project.tell(change_practise_first, wanted)
        st.rerun()


def _form(me: int) -> None:
    """The form that makes a variant a gold item. A link can name the variant."""
    if linked := st.query_params.pop(links.GOLD_UID, ""):
        st.session_state[_UID] = linked[:64]
        st.session_state.pop(_PREFILLED, None)
    with st.container(border=True, key="gold-form"):
        uid = st.text_input(
            "Uid of the variant",
            key=_UID,
            max_chars=64,
            placeholder="16 hexadecimal digits, as on its card",
        ).strip()
        entry = _shown(uid) if uid else None
        if entry is None:
            st.session_state.pop(_PREFILLED, None)
            if not uid:
                st.caption(
                    "To fill this in, use “Make it a gold item” under Adjudicate › Settled or in a "
                    "card's details (G on the Review page)."
                )
            return
        _prefill(uid, entry)
        with st.container(horizontal=True, vertical_alignment="bottom", key="gold-choices"):
            verdict = st.segmented_control(
                "Correct verdict",
                list(VERDICTS),
                format_func=lambda one: VERDICTS[one],
                key=_VERDICT,
            )
            if verdict is Verdict.REJECT:
                reasons = [one.id for one in REJECT_REASONS if one.applies_to(entry)]
                st.selectbox(
                    "Reason",
                    reasons,
                    index=None,
                    placeholder="Choose a reason",
                    format_func=lambda key: reject_reason(key).label,
                    key=_REASON,
                    width=230,
                )
            st.segmented_control(
                "Use",
                list(GoldUse),
                format_func=lambda use: USE_LABELS[use].capitalize(),
                key=_USE,
                default=GoldUse.MIXED,
                required=True,
            )
        st.text_area(
            "Explanation",
            key=_WHY,
            max_chars=MAX_NOTE,
            height=80,
            placeholder="A sentence or two about why this verdict is right",
            help="Practice rounds show it after each answer.",
        )
        st.caption(
            "This also settles the variant: reviewers' verdicts no longer change its status. Z on "
            "the Review page undoes both."
        )
        st.button(
            "Make it a gold item",
            key="make-gold",
            type="primary",
            disabled=verdict is None,
            on_click=_make,
            args=(me, uid),
        )


def _shown(uid: str) -> VariantType | None:
    """Draw the variant with this uid, and return its type; None if there is no such variant."""
    try:
        variant = open_project.ask(find_variant, uid)
    except HedgerowError as error:
        error_messages.show(str(error), key="gold-uid")
        return None
    shown = open_project.ask(card, variant.id)
    entry = open_project.every_type()[variant.type_id]
    formatting.emit(
        Markup(
            '<div class="hg-card hg-line"><div class="hg-head"><span class="hg-type">{}</span>'
            "<span>{}</span></div>{}</div>"
        ).format(entry.label, f"status: {variant.status}", card_view.sentences(shown))
    )
    return entry


def _prefill(uid: str, entry: VariantType) -> None:
    """Take over verdict, reason and note of the variant's settlement when its uid is entered."""
    state = st.session_state
    if state.get(_PREFILLED) == uid:
        return
    variant_id = open_project.ask(find_variant, uid).id
    given = open_project.ask(verdicts_on, [variant_id]).get(variant_id, [])
    last = next((one for one in reversed(given) if one.settles), None)
    state[_PREFILLED], state[_VERDICT] = uid, None
    if last is not None and last.verdict in VERDICTS:
        state[_VERDICT], state[_WHY] = last.verdict, state.get(_WHY) or last.note
        if last.reason and reject_reason(last.reason).applies_to(entry):
            state[_REASON] = last.reason


def _make(me: int, uid: str) -> None:
    state = st.session_state
    is_rejection = state[_VERDICT] is Verdict.REJECT
    try:
        made = open_project.tell(
            mark,
            uid,
            state[_VERDICT],
            reviewer_id=me,
            reason=(state[_REASON] or "") if is_rejection else "",
            explanation=state[_WHY] or "",
            use=state[_USE],
        )
    except HedgerowError as error:
        state[_MESSAGE] = str(error)
        return
    state[_UID] = state[_WHY] = ""
    state[_VERDICT] = None
    state[_MESSAGE] = f"{made.uid} is now a gold item, settled as {made.verdict}ed."


def _items(found: Sequence[Gold]) -> None:
    """The table of all gold items with reviewers' results, and a button to remove some."""
    in_queue = sum(item.use is GoldUse.MIXED for item in found)
    st.header("Gold items", anchor=False)
    st.text(
        f"{counted(in_queue, 'item')} for the review queue, {len(found) - in_queue:,} for practice "
        "rounds."
    )
    if in_queue and not open_project.ask(get_setting, GOLD_RATE):
        st.text("Reviewers don't see the queue items yet. To show them, set a frequency.")
    answers, names = open_project.ask(answers_on_gold), open_project.type_names()
    event = st.dataframe(
        [_row(item, answers, names) for item in found],
        hide_index=True,
        key=_LIST,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "Variant": st.column_config.TextColumn(width=380),
            "Matched": st.column_config.TextColumn(
                width=80, help="How many reviewers' verdicts match the correct verdict."
            ),
        },
    )
    chosen = [found[row].uid for row in event["selection"]["rows"] if row < len(found)]
    st.button(
        f"Remove {counted(len(chosen), 'gold item')}" if chosen else "Remove",
        key="remove-gold",
        disabled=not chosen,
        on_click=_remove,
        args=(chosen,),
        help="Select rows first. The variants keep their verdicts.",
    )


def _row(item: Gold, answers: Mapping[int, Share], names: Mapping[str, str]) -> dict[str, str]:
    given = answers.get(item.variant_id, Share())
    reason = f" ({reason_text(item.reason)})" if item.reason else ""
    return {
        "Variant": item.text,
        "Type": names.get(item.type_id, item.type_id),
        "Correct verdict": f"{item.verdict}{reason}",
        "Use": USE_LABELS[item.use],
        "Matched": f"{given.number} of {given.of}" if given.of else "–",
        "Explanation": item.explanation,
        "Added by": item.maker,
        "Uid": item.uid,
    }


def _remove(uids: Sequence[str]) -> None:
    try:
        for uid in uids:
            open_project.tell(remove, uid)
    except HedgerowError as error:
        st.session_state[_MESSAGE] = str(error)
    else:
        st.session_state[_MESSAGE] = f"Removed {counted(len(uids), 'gold item')}."
