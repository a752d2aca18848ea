"""Assignment: variants for several people, their progress, and a quota for each person."""

from collections.abc import Mapping

import streamlit as st

from curation.decisions.assignment import Plan, current_plan
from curation.decisions.assignment_progress import Progress, assign, progress
from curation.decisions.quotas import ALL_TYPES, all_quotas, set_quota, shares_of, work_done
from curation.decisions.reviewers import Person, people
from curation.formatting import counted
from pages.components.shared import links, tables
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

_REVIEWERS, _SHARE = "assign-reviewers", "assign-share"
_PERSON, _TYPE, _QUOTA = "quota-person", "quota-type", "quota-variants"
"""Keys of the fields."""
_REFUSED_PLAN, _REFUSED_QUOTA = "assignment", "quota"


def draw() -> None:
    """Draw the section."""
    counts = count_cache.CachedCounts()
    if counts.empty:
        links.no_variants()
        return
    plan = open_project.ask(current_plan)
    _plan(plan)
    if plan:
        _progress(counts.get(progress, plan))
    _quotas(counts.get(work_done))
    counts.follow()


def _plan(plan: Plan) -> None:
    """Show the assignment, and the fields to change it."""
    st.header("Multiple reviewers per variant", anchor=False)
    st.text(plan.in_words())
    if not plan:
        st.caption(
            "To measure agreement, have several people decide on a share of the variants. They "
            "don't see each other's verdicts until all of them have decided."
        )
    if current_user.only_leads("change the assignment"):
        _plan_fields(plan)


def _plan_fields(plan: Plan) -> None:
    """Fields without limits: Streamlit would silently drop a value outside of them."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="assignment"):
        st.number_input(
            "People per variant", value=max(2, plan.reviewers), key=_REVIEWERS, width=160
        )
        st.number_input(
            "Share of the variants (%)",
            value=100 * plan.share,
            step=5.0,
            format="%.4g",
            key=_SHARE,
            width=200,
            help="A share of all variants. People don't get variants that only models or a rule "
            "have decided on, so the counts below can be lower. If you raise the share, the "
            "variants chosen so far stay chosen. 0 ends the assignment.",
        )
        st.button("Save", key="assign-save", type="primary", on_click=_save_plan)
    error_messages.show_kept(_REFUSED_PLAN)
    st.caption("Earlier decisions are kept and still count.")


def _save_plan() -> None:
    with error_messages.kept_for(_REFUSED_PLAN):
        assign(
            open_project.engine(),
            reviewers=int(st.session_state[_REVIEWERS]),
            share=st.session_state[_SHARE] / 100,
        )
        count_cache.forget()


def _progress(found: Progress | None) -> None:
    """Show how many assigned variants have 0, 1, … verdicts, by type."""
    if found is None:
        st.text("Counting. In a large project this takes a few seconds.")
        return
    st.text(" ".join(found.in_words()))
    if not found.by_type:
        return
    labels = open_project.type_names()
    heads = [counted(number, "verdict") for number in range(found.plan.reviewers + 1)]
    st.dataframe(
        [
            {"Type": labels.get(type_id, type_id)} | dict(zip(heads, numbers, strict=True))
            for type_id, numbers in found.by_type.items()
        ],
        hide_index=True,
        key="assignment-progress",
        width="content",
        height="content",
        column_config=tables.counts(heads, width=90),
    )


def _quotas(done: Mapping[tuple[int, str], int] | None) -> None:
    """Show each person's progress and quotas, and the fields to change them."""
    st.header("Quotas", anchor=False)
    everybody = [one for one in open_project.ask(people) if not one.merged_into]
    if not everybody:
        st.text(
            "Nobody has reviewed here yet. People appear here when they first review, or when a "
            "lead adds them under Settings."
        )
        return
    st.caption(
        "People who reach their quota for a type get no more of its variants. Decisions beyond "
        "the quota also count."
    )
    if done is None:
        st.text("Counting. In a large project this takes a few seconds.")
    else:
        _table(everybody, done)
    if current_user.only_leads("change quotas"):
        _fields(everybody)


def _table(everybody: list[Person], done: Mapping[tuple[int, str], int]) -> None:
    labels = open_project.type_names() | {ALL_TYPES: "All types"}
    rows = []
    quotas = shares_of(open_project.ask(all_quotas), done)
    for person in everybody:
        by_type = {share.type_id: share for one, share in quotas if one.reviewer_id == person.id}
        total = sum(number for (key, _), number in done.items() if key == person.id)
        rows.append((person.name, ALL_TYPES, total, by_type.pop(ALL_TYPES, None)))
        rows += [(person.name, key, share.done, share) for key, share in by_type.items()]
    st.dataframe(
        [
            {
                "Reviewer": name,
                "Type": labels.get(type_id, type_id),
                "Decided": number,
                "Quota": share and share.quota,
                "Left": share and max(0, share.quota - share.done),
            }
            for name, type_id, number, share in rows
        ],
        hide_index=True,
        key="quotas",
        placeholder="–",
        width="content",
        height="content",
        column_config={
            "Reviewer": st.column_config.TextColumn(width=180),
            "Type": st.column_config.TextColumn(width=135),
        }
        | tables.counts(("Decided", "Quota", "Left"), width=75),
    )


def _fields(everybody: list[Person]) -> None:
    names = {one.id: one.name for one in everybody}
    types = {ALL_TYPES: "All types"} | {one.id: one.label for one in open_project.types()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="quota-fields"):
        st.selectbox("Reviewer", list(names), format_func=names.__getitem__, key=_PERSON, width=200)
        st.selectbox("Type", list(types), format_func=types.__getitem__, key=_TYPE, width=220)
        st.number_input("Variants", value=100, step=10, key=_QUOTA, width=160)
        st.button("Set quota", key="quota-save", on_click=_change_quota)
        st.button(
            "Remove quota",
            key="quota-remove",
            type="tertiary",
            on_click=_change_quota,
            kwargs={"remove": True},
        )
    error_messages.show_kept(_REFUSED_QUOTA)


def _change_quota(*, remove: bool = False) -> None:
    state = st.session_state
    with error_messages.kept_for(_REFUSED_QUOTA):
        variants = None if remove else int(state[_QUOTA])
        open_project.tell(set_quota, state[_PERSON], variants, type_id=state[_TYPE])
