"""The overlap of a release with benchmarks, computed outside the page, as tables."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from markupsafe import Markup

from curation.release.overlap import EXAMPLES, SHORTEST, SIDES
from curation.release.overlap_results import OverlapWithTest, kept
from db.models import Release
from pages.components.shared import formatting, tables
from pages.components.shared.shell import count_cache, open_project
from training.benchmarks.contamination import compare, compare_bundled_texts, missing
from training.retention.texts import texts_hash

Row = dict[str, Any]


def compared(release: Release, *, n: int = SHORTEST) -> list[OverlapWithTest] | None:
    """The overlap of a release with every stored benchmark; None while it is computed.

    Earlier results are read from the data folder.
    """
    make = partial(open_project.ask, compare, _folder(), release, n=n)
    return _compared(release.content_hash, n, make)


def bundled_texts_compared() -> list[OverlapWithTest] | None:
    """The overlap of the bundled retention texts with every stored benchmark."""
    return _compared(texts_hash(), SHORTEST, partial(compare_bundled_texts, _folder()))


def _compared(
    content_hash: str, n: int, make: Callable[[], list[OverlapWithTest]]
) -> list[OverlapWithTest] | None:
    new = missing(_folder(), content_hash, n=n)
    if not new:
        return kept(_folder(), content_hash, n=n)
    keys = tuple(f"{data.benchmark.id}-{data.key}" for data in new)
    return count_cache.made_in_background(("overlap", content_hash, n, keys), make)


def _folder() -> Path:
    return open_project.settings().data_folder


def table(found: Sequence[OverlapWithTest]) -> list[OverlapWithTest]:
    """Draw how much each benchmark shares with the release.

    Returns:
        The benchmark whose row is selected, or all of them if none is.
    """
    problems = any(entry.problem for entry in found)
    rows = [(row := _row(entry)) | {"Benchmark": _name(row)} for entry in found]
    left_out = {"Data"} if problems else {"Data", "Problem"}
    chosen = st.dataframe(
        tables.percentages(
            [{name: row[name] for name in row if name not in left_out} for row in rows], "Share"
        ),
        hide_index=True,
        key="overlap-table",
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "Benchmark": st.column_config.TextColumn(width=220),
            "Items": st.column_config.NumberColumn(format="localized"),
            "Overlapping": st.column_config.NumberColumn(
                format="localized",
                help="Items with a text that shares this many consecutive words with a text of the "
                "release.",
            ),
            "Whole text": st.column_config.NumberColumn(
                format="localized",
                help="Items with a text that is identical to a text of the release.",
            ),
        },
    )
    selected = [at for at in chosen["selection"]["rows"] if at < len(found)]
    return [found[at] for at in selected] or list(found)


def by_field(found: Sequence[OverlapWithTest]) -> None:
    """The overlap by field of the release and side of the benchmark."""
    rows = field_rows([entry for entry in found if entry.shares])
    if not rows:
        return
    count = st.column_config.NumberColumn(format="localized")
    st.text("Overlapping items by field of the release")
    st.dataframe(
        [{"Benchmark": _name(row)} | {name: row[name] for name in FIELD_COLUMNS} for row in rows],
        hide_index=True,
        key="overlap-fields-table",
        column_config={"Benchmark": st.column_config.TextColumn(width=220)}
        | dict.fromkeys(FIELD_COLUMNS[1:], count),
    )
    st.caption(
        "A query is what a benchmark asks or compares (SemAntoNeg's input, the first sentence of a "
        "pair). A document is what the query is compared with. An item can count in several fields."
    )


FIELD_COLUMNS = (
    "Field of the release",
    "In queries",
    "In documents",
    "Whole text in queries",
    "Whole text in documents",
)


def field_rows(found: Sequence[OverlapWithTest]) -> list[Row]:
    """One row per benchmark and field of the release: how many items overlap on each side."""
    rows = []
    for entry in found:
        parts = {(part.field, part.side): part for part in entry.fields or ()}
        for field in dict.fromkeys(field for field, _ in parts):
            query, document = (parts[field, side] for side in SIDES)
            figures = (query.overlapping, document.overlapping, query.exact, document.exact)
            named = zip(FIELD_COLUMNS, (field, *figures), strict=True)
            rows.append({"Benchmark": entry.title, "Data": entry.data, **dict(named)})
    return rows


def _name(row: Row) -> str:
    return f"{row['Benchmark']} ({row['Data']})"


def _row(entry: OverlapWithTest) -> Row:
    found = entry.overlap
    row: Row = {"Benchmark": entry.title, "Data": entry.data}
    if entry.problem:
        figures: Row = dict.fromkeys(("Overlapping", "Items", "Share", "Whole text"))
    else:
        figures = {
            "Overlapping": found.overlapping,
            "Items": found.samples,
            "Share": found.share,
            "Whole text": found.exact,
        }
    return row | figures | {"Problem": entry.problem}


def examples(found: Sequence[OverlapWithTest]) -> None:
    """The texts that overlap, as a table; the first ones of each benchmark."""
    rows = example_rows(found)
    if not rows:
        return
    formatting.emit(
        text_table([row | {"Benchmark": _name(row)} for row in rows], with_benchmark=len(found) > 1)
    )
    if any(len(entry.overlap.examples) == EXAMPLES for entry in found):
        st.caption(
            f"The first {EXAMPLES} overlapping texts of each benchmark, exact matches first."
        )


def example_rows(found: Sequence[OverlapWithTest]) -> list[Row]:
    """One row per benchmark text that shares words with the release."""
    return [
        {
            "Benchmark": entry.title,
            "Data": entry.data,
            "Item": example.sample + 1,
            "Shared": "the whole text" if example.exact else example.words,
            "Its text": example.text,
            "In the release": example.release_text,
            "Card": f"/review?variant={uid}" if uid else None,
        }
        for entry in found
        for example, uid in zip(entry.overlap.examples, entry.records, strict=True)
    ]


def download(release: Release, found: Sequence[OverlapWithTest], *, n: int) -> None:
    """The counts and the texts as CSV."""
    parts = {
        "Counts": ("overlap", [_row(entry) for entry in found]),
        "Fields": ("overlap-fields", field_rows(found)),
        "Texts": ("overlap-texts", example_rows(found)),
    }
    with st.container(horizontal=True):
        for label, (name, rows) in parts.items():
            if rows:
                tables.csv_button(
                    partial(_as_table, rows),
                    f"hedgerow-release-{release.number}-{name}-{n}",
                    key=f"overlap-csv-{name}",
                    label=f"{label} (CSV)",
                )


def _as_table(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    return list(rows[0]), [list(row.values()) for row in rows]


HEADS = {
    "Card": "Card",
    "Its text": "Benchmark text",
    "In the release": "Release text",
    "Shared": "Shared words",
    "Item": "Item",
    "Benchmark": "Benchmark",
}
"""Name of a column in the file → its head in the table."""


def text_table(rows: Iterable[Row], *, with_benchmark: bool) -> Markup:
    """The texts that a release shares with benchmarks, in order.

    Args:
        rows: with the keys of `HEADS`.
        with_benchmark: whether to draw the last column.
    """
    shown = len(HEADS) if with_benchmark else len(HEADS) - 1
    cells = (
        (
            tables.link(
                row["Card"],
                "Opens the variant in Review in a new tab. For an anchor, it opens one of its "
                "variants.",
            )
            if row["Card"]
            else "–",
            *(tables.sentence(row[name]) for name in ("Its text", "In the release", "Shared")),
            f"{row['Item']:,}",
            row["Benchmark"],
        )[:shown]
        for row in rows
    )
    return tables.sentences(list(HEADS.values())[:shown], cells, label="Overlapping texts")
