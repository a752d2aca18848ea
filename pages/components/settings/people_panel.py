"""The people who review: their roles and names, and merging two names of one person."""

from collections.abc import Callable, Sequence

import streamlit as st

from curation.review.people.by_id import give_role, merge, plan_merge, rename, separate
from curation.review.people.reviewers import MAX_NAME, Person, lookalikes, people
from curation.review.people.roles import Role
from db.errors import HedgerowError
from pages.components.shared.shell import error_messages, open_project, rights, signin

_PERSON, _INTO, _NAME, _ROLE = "person", "person-into", "person-name", "person-role"
_SAID = "people_said"


def draw() -> None:
    """Show the panel, or nothing if nobody has reviewed yet."""
    found = open_project.ask(people)
    if not found:
        return
    with st.container(border=True, key="people-panel"):
        st.text("People")
        st.caption(
            "A lead can change everything, a reviewer can decide on variants, and a viewer can "
            "only read. Names ignore upper and lower case. If somebody has reviewed under two "
            "names, you can merge them."
        )
        st.dataframe(
            [
                {
                    "Name": one.name,
                    "Role": one.role,
                    "Decisions": one.decisions,
                    "Merged into": one.merged_into,
                    "Signs in as": one.signs_in_as,
                }
                for one in found
            ],
            hide_index=True,
            key="people",
            width="content",
            height="content",
            column_config={
                "Name": st.column_config.TextColumn(width="medium"),
                "Decisions": st.column_config.NumberColumn(format="localized"),
            },
        )
        for first, second in lookalikes(found):
            st.text(f"{second.name} may be {first.name}: the names differ only in case.")
        if said := st.session_state.pop(_SAID, ""):
            st.text(said)
        error_messages.show_kept(_PERSON)
        if rights.only_leads("change people"):
            _changes(found)


def _changes(found: Sequence[Person]) -> None:
    """Choose a person and an action."""
    by_id = {one.id: one for one in found}
    chosen = st.selectbox(
        "Person",
        list(by_id),
        index=None,
        key=_PERSON,
        placeholder="Choose a person",
        format_func=lambda key: by_id[key].name,
    )
    if chosen is None:
        return
    person = by_id[chosen]
    if person.merged_into:
        st.text(f"{person.name} has been merged into {person.merged_into}.")
        st.button(
            "Separate",
            key="separate",
            on_click=_separate,
            args=(chosen,),
            help="Undoes the merge: the decisions go back to two reviewers.",
        )
        return
    _role(person)
    with st.container(horizontal=True, vertical_alignment="bottom", key="rename-person"):
        st.text_input("New name", key=f"{_NAME}-{chosen}", max_chars=MAX_NAME)
        st.button("Rename", key="rename", on_click=_rename, args=(chosen,))
    others = [one.id for one in found if one.id != chosen and not one.merged_into]
    into = st.selectbox(
        "Merge into",
        others,
        index=None,
        key=f"{_INTO}-{chosen}",
        placeholder="Name after the merge",
        format_func=lambda key: by_id[key].name,
    )
    if into is not None:
        _merge_form(chosen, into)


def _role(person: Person) -> None:
    """What they may do; the settings decide for those who sign in."""
    if person.signs_in_as:
        st.text(
            f"{person.name} signs in: HEDGEROW_SIGN_IN_LEADS and HEDGEROW_SIGN_IN_REVIEWERS say "
            "who is what."
        )
        return
    key = f"{_ROLE}-{person.id}-{person.role}"
    st.segmented_control(
        "Role",
        list(Role),
        default=person.role,
        key=key,
        required=True,
        format_func=lambda role: role.value.capitalize(),
        on_change=_give_role,
        args=(person.id, key),
    )


def _merge_form(person: int, into: int) -> None:
    """Say what a merge changes, and show its button."""
    plan = open_project.ask(plan_merge, person=person, into=into)
    for line in plan.in_words():
        st.text(line)
    st.button(
        "Merge",
        key="merge",
        type="primary",
        on_click=_merge,
        args=(person, into),
        help="You can undo this.",
    )


def _give_role(person: int, key: str) -> None:
    def do() -> str:
        role = Role(st.session_state.pop(key))  # drawn again from what is stored, also if refused
        return f"{open_project.tell(give_role, person, role)} is a {role} now."

    _change(do)


def _rename(person: int) -> None:
    def do() -> str:
        before, now = open_project.tell(rename, person, str(st.session_state[f"{_NAME}-{person}"]))
        return f"{before} is now called {now}."

    _change(do)


def _merge(person: int, into: int) -> None:
    def do() -> str:
        done = open_project.tell(merge, person=person, into=into)
        return f"{done.person} and {done.into} are now one reviewer, {done.into}."

    _change(do)


def _separate(person: int) -> None:
    def do() -> str:
        done = open_project.tell(separate, person)
        return f"{done.person} and {done.into} are two reviewers again."

    _change(do)


def _change(do: Callable[[], str]) -> None:
    """Apply the change and say what happened; keep the signed-in person's identity up to date."""
    try:
        said = do()
    except HedgerowError as error:
        error_messages.keep(_PERSON, str(error))
        return
    st.session_state[_SAID] = said
    st.session_state[_PERSON] = None
    signin.follow_people()
