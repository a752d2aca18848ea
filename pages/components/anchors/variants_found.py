"""What a file of variants would bring: by type, by reviewer, what is left out, the first rows."""

from collections.abc import Mapping

import streamlit as st

from curation.plurals import counted
from curation.taxonomy.built_in import VariantType
from curation.variants.importing.entries import LABELS
from curation.variants.importing.plan import Preview
from curation.variants.importing.staged import Staged
from db.models import Verdict

_EXAMPLES = 8
"""Anchors of which the variants are shown."""

_SHOWN = 300
"""Characters of a text that a cell shows."""

_NUMBER = st.column_config.NumberColumn(format="localized", width="small")
_VERDICTS = {Verdict.ACCEPT: "Accepted", Verdict.REJECT: "Rejected"}


def draw(found: Preview, staged: Staged, types: Mapping[str, VariantType]) -> None:
    """The counts, and the first variants with their types."""
    st.text(
        f"{counted(staged.facts.rows, 'row')}: {counted(found.anchors, 'new anchor')}, "
        f"{counted(found.variants, 'new variant')}, {counted(found.decisions, 'verdict')}."
    )
    left, right = st.columns(2)
    with left:
        _by_type(found, types)
    with right:
        _by_reviewer(found)
        _left_out(found)
    _examples(staged, types)


def _by_type(found: Preview, types: Mapping[str, VariantType]) -> None:
    if found.types:
        rows = [{"Type": _label(types, id_), "Variants": n} for id_, n in found.types.items()]
        _table(rows, number="Variants", key="types")


def _by_reviewer(found: Preview) -> None:
    if found.verdicts:
        rows = [
            {"Reviewer": name, "Verdict": _VERDICTS[verdict], "Variants": count}
            for (name, verdict), count in found.verdicts.items()
        ]
        _table(rows, number="Variants", key="reviewers")


def _left_out(found: Preview) -> None:
    if found.left_out:
        rows = [
            {
                "Number": count,
                "Left out": LABELS[reason],
                "First at": found.places.get(reason.value, ""),
            }
            for reason, count in found.left_out.items()
        ]
        _table(rows, number="Number", key="left-out")


def _examples(staged: Staged, types: Mapping[str, VariantType]) -> None:
    families = next(staged.families(_EXAMPLES), [])
    rows = [
        {
            "Anchor": family.anchor.text[:_SHOWN],
            "Type": _label(types, one.type_id) if one.type_id else "Not shown by its words",
            "Cue": one.variant.cue or "",
            "Variant": one.variant.text[:_SHOWN],
            "Verdicts": ", ".join(_VERDICTS[each.judged.verdict] for each in one.verdicts),
        }
        for family in families
        for one in family.variants
    ]
    st.dataframe(
        rows,
        hide_index=True,
        key="variants-examples",
        height="auto" if len(rows) < 8 else 320,
        column_config={
            "Anchor": st.column_config.TextColumn(width="medium"),
            "Variant": st.column_config.TextColumn(width="large"),
        },
    )


def _table(rows: list[dict[str, object]], *, number: str, key: str) -> None:
    st.dataframe(rows, hide_index=True, key=f"variants-{key}", column_config={number: _NUMBER})


def _label(types: Mapping[str, VariantType], type_id: str) -> str:
    return types[type_id].label if type_id in types else type_id
