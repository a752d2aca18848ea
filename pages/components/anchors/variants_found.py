"""Preview of an import: counts by type and reviewer, what is left out, and sample variants."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.editing.attributes import moved_rows
from curation.formatting import counted
from curation.importing.anchor_preview import changed
from curation.importing.staged import Staged
from curation.importing.variant_entries import LeftOut
from curation.importing.variant_preview import Example, Preview, against, left_out
from curation.tables.delimited import not_used
from curation.taxonomy.built_in import VariantType
from db.models import Verdict

_SHOWN = 300
"""Maximum number of characters in a cell."""

_ROW = 84
"""Row height in pixels for four lines. Streamlit wraps text only in rows higher than 64."""

_NUMBER = st.column_config.NumberColumn(format="localized", width="small")
_VERDICTS = {Verdict.ACCEPT: "Accepted", Verdict.REJECT: "Rejected"}
_FATES = {
    LeftOut.UNDECIDED: "Left out: no type",
    LeftOut.THERE: "Already exists",
    LeftOut.OTHER_SOURCE: "Left out: its anchor belongs to another source",
    LeftOut.RETIRED: "Left out: its anchor is retired",
    LeftOut.EARLIER_REVISION: "Left out: its anchor was corrected",
}


def draw(
    found: Preview, staged: Staged, types: Mapping[str, VariantType], columns: Sequence[str]
) -> None:
    """Show the counts, and sample variants with their result."""
    st.text(
        f"{counted(staged.facts.rows, 'row')}: {counted(found.anchors, 'new anchor')}, "
        f"{counted(found.variants, 'new variant')}, {counted(found.decisions, 'new verdict')}."
    )
    unused = [column for column in columns if column not in staged.facts.roles]
    for sentence in [*not_used(unused), *moved_rows(found.moved), *changed(found.changed)]:
        st.text(sentence)
    places = iter(st.columns(2) if found.types or found.verdicts else ())
    if found.types:
        with next(places):
            _by_type(found, types)
    if found.verdicts:
        with next(places):
            _by_reviewer(found)
    if differing := against(found):
        st.text(differing)
    _left_out(found)
    _examples(found, types)


def _by_type(found: Preview, types: Mapping[str, VariantType]) -> None:
    rows = [{"Type": _label(types, id_), "Variants": n} for id_, n in found.types.items()]
    _table(rows, key="types")


def _by_reviewer(found: Preview) -> None:
    rows = [
        {"Reviewer": name, "Verdict": _VERDICTS[verdict], "Variants": count}
        for (name, verdict), count in found.verdicts.items()
    ]
    _table(rows, key="reviewers")


def _left_out(found: Preview) -> None:
    """One line each, because the reasons are too long for a table in a narrow window."""
    if found.left_out:
        lines = [
            f"• {one.what}: {one.number:,}" + f" (first: {one.first})" * bool(one.first)
            for one in left_out(found)
        ]
        st.text("\n".join(["Left out:", *lines]))


def _examples(found: Preview, types: Mapping[str, VariantType]) -> None:
    rows = [
        {
            "Result": _fate(example),
            "Anchor": example.anchor[:_SHOWN],
            "Variant": example.variant.text[:_SHOWN],
            "Type": _label(types, example.type_id) or "Unknown",
            "Cue": example.variant.cue or "",
            "New verdicts": ", ".join(_VERDICTS[verdict] for verdict in example.verdicts),
        }
        for example in found.examples
    ]
    st.dataframe(
        rows,
        hide_index=True,
        key="variants-examples",
        row_height=_ROW,
        height="auto" if len(rows) < 6 else 460,
        column_config={
            "Result": st.column_config.TextColumn(width=112),
            "Anchor": st.column_config.TextColumn(width=145),
            "Variant": st.column_config.TextColumn(width=170),
        },
    )


def _fate(example: Example) -> str:
    if example.reason is None:
        return "New"
    if example.reason is LeftOut.THERE and example.verdicts:
        return "Already exists; new verdict"
    return _FATES[example.reason]


def _table(rows: list[dict[str, object]], *, key: str) -> None:
    st.dataframe(rows, hide_index=True, key=f"variants-{key}", column_config={"Variants": _NUMBER})


def _label(types: Mapping[str, VariantType], type_id: str) -> str:
    return types[type_id].label if type_id in types else type_id
