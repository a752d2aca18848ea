"""What is asked about a file of variants: what its columns hold, and what its words mean."""

from collections.abc import Mapping

import streamlit as st

from curation.taxonomy.built_in import VariantType
from curation.variants.importing.choices import fitting_types
from curation.variants.importing.roles import (
    MEANINGS,
    Role,
    guess_roles,
    types_by_name,
    with_given,
)
from curation.variants.importing.staged import Staged
from curation.variants.importing.tables.table import Table
from pages.components.shared.formatting.label import plain

MOST = 40
"""Columns that can be chosen for; the others of a wider table are as guessed."""

_BESIDE = 3
_UNDECIDED = {Role.HEDGE: "Hedges", Role.NEGATION: "Negations"}


def roles_of(table: Table, types: Mapping[str, VariantType], *, key: str) -> dict[str, str]:
    """Column → what it holds, as guessed by its name or as somebody chose."""
    guessed = guess_roles(table.columns, types_by_name(types.values()))
    in_use = [entry.id for entry in types.values() if not entry.retired]
    options = [Role.IGNORE.value, *(role.value for role in Role if role != Role.IGNORE), *in_use]
    asked = _asked(table, guessed)
    given: dict[str, str] = {}
    unsure = Role.ANCHOR not in guessed.values()
    with st.expander(f"What the columns of {plain(table.name)} hold", expanded=unsure):
        for start in range(0, len(asked), _BESIDE):
            for column, place in zip(
                asked[start : start + _BESIDE], st.columns(_BESIDE), strict=False
            ):
                role = guessed.get(column, Role.IGNORE.value)
                chosen = place.selectbox(
                    plain(column),
                    options if role in options else [*options, role],
                    index=options.index(role) if role in options else len(options),
                    format_func=lambda one: _named(one, types),
                    key=f"variants-column-{key}-{column}",
                )
                given[column] = chosen
        if len(asked) < len(table.columns):
            st.caption(f"{len(table.columns) - len(asked):,} further columns are as guessed.")
    return with_given(guessed, given)


def _asked(table: Table, guessed: Mapping[str, str]) -> list[str]:
    """The columns to ask about: those that a role was guessed for first."""
    return sorted(table.columns, key=lambda column: column not in guessed)[:MOST]


def _named(role: str, types: Mapping[str, VariantType]) -> str:
    if role in set(Role):
        return MEANINGS[Role(role)]
    return plain(f"Type: {types[role].label if role in types else role}")


def meanings(roles: Mapping[str, str], *, key: str) -> str:
    """What the file's own words for verdicts mean, as it was typed."""
    if Role.VERDICT not in roles.values():
        return ""
    return st.text_input(
        "Words for verdicts",
        key=f"variants-words-{key}",
        placeholder="Such as fine=accept, odd=reject, later=none",
        help="Needed only for words other than accept, reject, yes, no and the like.",
    )


def undecided(staged: Staged, types: Mapping[str, VariantType], *, key: str) -> dict[str, str]:
    """Untyped role → the type chosen for variants whose words don't show theirs."""
    chosen: dict[str, str] = {}
    for role, count in staged.facts.untyped.items():
        type_id = st.selectbox(
            f"{_UNDECIDED[Role(role)]} whose words don't show their type: {count:,}",
            [None, *fitting_types(types, Role(role))],
            format_func=lambda one: "Leave out" if one is None else plain(types[one].label),
            key=f"variants-undecided-{role}-{key}",
        )
        if type_id is not None:
            chosen[role] = type_id
    return chosen
