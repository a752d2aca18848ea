"""The people who review: adding, renaming and merging them, and their roles."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from curation.decisions.people import add, merge, plan_merge, separate
from curation.decisions.reviewers import MAX_NAME, Person, lookalikes, people, rename_person
from curation.decisions.roles import set_role
from db.models import TeamRole
from pages.components.shared.shell import current_user, error_messages, open_project

_PERSON, _INTO, _NAME, _ROLE = "person", "person-into", "person-name", "person-role"
_NEW_NAME, _NEW_ROLE = "new-person-name", "new-person-role"
_MESSAGE = "people_said"


def draw() -> None:
    """Show the panel."""
    found = open_project.ask(people)
    with st.container(border=True, key="people-panel"):
        st.text("People")
        st.caption(
            "A lead can change everything, a reviewer can decide on variants, and a viewer can "
            "only read. Names are not case-sensitive. If somebody has reviewed under two "
            "names, you can merge them."
        )
        if found:
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
                    "Decisions": st.column_config.NumberColumn(
                        format="localized",
                        help="All stored decisions, including settlements, decisions by rule and "
                        "undone ones. Team › People counts current verdicts on single variants.",
                    ),
                },
            )
        for first, second in lookalikes(found):
            st.text(f"{second.name} may be {first.name}: the names differ only in case.")
        error_messages.show_once(_MESSAGE)
        error_messages.show_kept(_PERSON)
        if current_user.only_leads("add or edit people"):
            if not current_user.signs_in():  # otherwise, people are added when they sign in
                _add_form()
            if found:
                _changes(found)


def _add_form() -> None:
    """Add a person before they begin."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="add-person"):
        st.text_input("Add a person", key=_NEW_NAME, max_chars=MAX_NAME, placeholder="Name")
        st.selectbox(
            "Role of the new person",
            list(TeamRole),
            index=list(TeamRole).index(TeamRole.REVIEWER),
            key=_NEW_ROLE,
            format_func=lambda role: role.value.capitalize(),
            width=180,
        )
        st.button("Add", key="add-person-button", on_click=_add)


def _changes(found: Sequence[Person]) -> None:
    """Choose a person and an action."""
    by_id = {one.id: one for one in found}
    chosen = st.selectbox(
        "Edit a person",
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
    """Choose the person's role; the settings decide for people who sign in."""
    if person.signs_in_as:
        st.text(
            f"{person.name} signs in, so the settings HEDGEROW_SIGN_IN_LEADS and "
            "HEDGEROW_SIGN_IN_REVIEWERS decide the role."
        )
        return
    key = f"{_ROLE}-{person.id}-{person.role}"
    st.segmented_control(
        "Role",
        list(TeamRole),
        default=person.role,
        key=key,
        required=True,
        format_func=lambda role: role.value.capitalize(),
        on_change=_give_role,
        args=(person.id, key),
    )


def _merge_form(person: int, into: int) -> None:
    """Show the effect of the merge, and its button."""
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


@contextmanager
def _changing() -> Iterator[None]:
    """Keep why a change failed; after one that succeeds, update the name of the person here."""
    with error_messages.kept_for(_PERSON):
        yield
        st.session_state[_PERSON] = None
        current_user.follow_people()


def _add() -> None:
    with _changing():
        role = st.session_state[_NEW_ROLE]
        name = open_project.tell(add, st.session_state[_NEW_NAME], role)
        st.session_state[_NEW_NAME] = ""
        st.session_state[_MESSAGE] = f"Added {name} as a {role}."


def _give_role(person: int, key: str) -> None:
    with _changing():
        role = TeamRole(st.session_state.pop(key))  # so that a refused change shows the stored role
        name = open_project.tell(set_role, person, role)
        st.session_state[_MESSAGE] = f"{name} is now a {role}."


def _rename(person: int) -> None:
    with _changing():
        before, now = open_project.tell(
            rename_person, person, str(st.session_state[f"{_NAME}-{person}"])
        )
        st.session_state[_MESSAGE] = f"{before} is now called {now}."


def _merge(person: int, into: int) -> None:
    with _changing():
        done = merge(open_project.engine(), person=person, into=into)
        st.session_state[_MESSAGE] = (
            f"{done.person} and {done.into} are now one reviewer, {done.into}."
        )


def _separate(person: int) -> None:
    with _changing():
        done = separate(open_project.engine(), person)
        st.session_state[_MESSAGE] = f"{done.person} and {done.into} are two reviewers again."
