"""Questions about a file of variants: what its columns contain and what its values mean."""

from collections.abc import Mapping

import streamlit as st

from curation.importing.cells import Meanings, parse_meanings
from curation.importing.column_roles import (
    MEANINGS,
    ColumnRole,
    Field,
    Unclear,
    check_roles,
    guess_roles,
    types_by_name,
)
from curation.importing.staged import Staged
from curation.importing.variant_choices import fitting_types
from curation.tables.table import Table
from curation.taxonomy.built_in import VariantType
from db.errors import HedgerowError
from pages.components.shared.formatting import plain

MOST = 40
"""Number of columns to ask about; the others of a wider table keep their detected role."""

WORDS = "Verdict values"

_UNDECIDED = {ColumnRole.HEDGE: "Hedges", ColumnRole.NEGATION: "Negations"}


def roles_of(table: Table, types: Mapping[str, VariantType], *, key: str) -> dict[str, str]:
    """Column → its role, as detected from its name or as chosen."""
    guessed = guess_roles(table.columns, types_by_name(types.values()))
    in_use = [entry.id for entry in types.values() if not entry.retired]
    options = [
        ColumnRole.IGNORE.value,
        *(role.value for role in ColumnRole if role != ColumnRole.IGNORE),
        *in_use,
    ]
    asked = sorted(table.columns, key=lambda column: column not in guessed)[:MOST]
    given: dict[str, str] = {}
    unsure = _is_unsure(table, guessed)
    with st.expander(f"Columns of {plain(table.name)}", expanded=unsure):
        place = st.container(horizontal=True, key="filters-variant-columns")
        for column in asked:
            role = guessed.get(column, ColumnRole.IGNORE.value)
            given[column] = place.selectbox(
                plain(column),
                options if role in options else [*options, role],
                index=options.index(role) if role in options else len(options),
                format_func=lambda one: _named(one, types),
                key=f"variants-column-{key}-{column}",
            )
        if len(asked) < len(table.columns):
            st.caption(
                f"{len(table.columns) - len(asked):,} further columns use the detected role."
            )
    return given


def _is_unsure(table: Table, guessed: Mapping[str, str]) -> bool:
    try:
        check_roles(guessed, columns=table.columns, name=table.name)
    except Unclear:
        return True
    return False


def _named(role: str, types: Mapping[str, VariantType]) -> str:
    if role in set(ColumnRole):
        return MEANINGS[ColumnRole(role)]
    return plain(f"Type: {types[role].label if role in types else role}")


def meanings(roles: Mapping[str, str], *, key: str) -> str:
    """The meaning of the file's own verdict values, as typed."""
    if ColumnRole.VERDICT not in roles.values():
        return ""
    return st.text_input(
        WORDS,
        key=f"variants-words-{key}",
        placeholder="For example fine=accept, odd=reject, later=none",
        help="Only needed for values other than accept, reject, yes, no and the like.",
    )


def parsed_meanings(typed: str) -> Meanings:
    """Parse the typed values.

    Raises:
        HedgerowError: the format is wrong; the message names the field.
    """
    try:
        return parse_meanings(part.strip() for part in typed.split(",") if part.strip())
    except HedgerowError as error:
        raise HedgerowError(f"{WORDS}: {error}") from None


_FIELDS = {
    Field.ONE_COLUMN: f"choose “{MEANINGS[ColumnRole.IGNORE]}” for all but one of them",
    Field.ANCHORS: f"choose “{MEANINGS[ColumnRole.ANCHOR]}” for the right column",
    Field.VARIANTS: f"choose “{MEANINGS[ColumnRole.TEXT]}”, one type, "
    f"“{MEANINGS[ColumnRole.HEDGE]}” or “{MEANINGS[ColumnRole.NEGATION]}” for each column "
    "of variants",
    Field.TYPES: f"choose “{MEANINGS[ColumnRole.TYPE]}” for the column that names them, or, for "
    "'{about}', the type that all of them are",
    Field.SAME_VALUE: "make them the same in the file, or choose "
    f"“{MEANINGS[ColumnRole.IGNORE]}” for the column",
    Field.VERDICT_WORDS: f"say under “{WORDS}” what it means, as in {{about}}=accept, or choose "
    f"“{MEANINGS[ColumnRole.IGNORE]}” for the column",
}
"""Import question → what to do about it on this page."""


def in_fields(error: HedgerowError) -> str:
    """An error message in terms of the fields of this page."""
    if not isinstance(error, Unclear):
        return str(error)
    return f"{error.found}; {_FIELDS[error.field].format(about=error.about)}."


def undecided(staged: Staged, types: Mapping[str, VariantType], *, key: str) -> dict[str, str]:
    """Untyped role → the type chosen for variants whose text does not show their type."""
    chosen: dict[str, str] = {}
    for role, count in staged.facts.untyped.items():
        type_id = st.selectbox(
            f"{_UNDECIDED[ColumnRole(role)]} of unknown type: {count:,}",
            [None, *fitting_types(types, ColumnRole(role))],
            format_func=lambda one: "Leave out" if one is None else types[one].label,
            key=f"variants-undecided-{role}-{key}",
        )
        if type_id is not None:
            chosen[role] = type_id
    return chosen
