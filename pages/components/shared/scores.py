"""Tables of models' scores on a project's benchmarks, and of their agreement with people."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st
from markupsafe import Markup

from curation.diagnostics.model_verdicts import agreement, together
from curation.formatting import counted, decimal
from curation.release.freezing import release_numbers
from db.models import Split
from pages.components.shared import formatting, tables
from pages.components.shared.shell import count_cache, open_project
from training.benchmarks.catalogue import all_benchmarks
from training.benchmarks.definition import Benchmark
from training.benchmarks.file_reading import HUB
from training.benchmarks.results.paper_tables import DECIMALS, Line, ScoreCell, cells, latex
from training.benchmarks.results.score_file import as_table, titles
from training.benchmarks.results.score_table import ScoreColumn, details, unlike_published
from training.benchmarks.sources import DataChoice, KeptData, kept_data
from training.benchmarks.tasks.own_families import Hedgerow

METRICS: Mapping[str, str] = {Hedgerow.metric: "share of anchors ranked correctly"}
"""Labels of metrics whose names are not clear enough."""

LONGEST_DATA = 28
"""Characters of a data set's name in the head of a column."""


def score_table(
    made: Sequence[Line], found: Sequence[ScoreColumn], *, name: str, more: Sequence[str] = ()
) -> None:
    """Draw the table, its legend, and the buttons to download it.

    Args:
        name: the name of the files without their endings.
        more: columns before the scores, from ``score_table.DETAILS``.
    """
    heads = {column.key: Head(column.title, _below(column)) for column in found}
    grid(made, heads, more)
    legend = LEGEND
    if any(line.intervals for line in made):
        legend += " Below a score: its 95% interval."
    if any(line.base for line in made):
        legend += " Next to it: the difference from the base model."
    st.caption(legend)
    _files(made, found, name=name, more=more)


def _files(
    made: Sequence[Line], found: Sequence[ScoreColumn], *, name: str, more: Sequence[str]
) -> None:
    """Draw the download buttons, and a note if published numbers are for other data."""
    note = _note(made, found)
    if note:
        st.caption(note)
    with st.container(horizontal=True):
        tables.csv_button(
            lambda: as_table(made, found),
            name,
            key="bench-csv",
            help="One row per score, with its interval, data, base model, time and cost.",
        )
        st.download_button(
            "LaTeX",
            lambda: latex(
                made, titles(found), caption=note, details=_details(made, found, more)
            ).encode(),
            f"{name}.tex",
            "application/x-tex",
            key="bench-latex",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            help="The table above in LaTeX. It requires the booktabs package.",
        )


def _details(
    made: Sequence[Line], found: Sequence[ScoreColumn], more: Sequence[str]
) -> dict[str, list[str]]:
    """The columns before the scores: title → one text per line."""
    keys = [column.key for column in found]
    return {title: [details(line, [title], keys)[0] for line in made] for title in more}


def _note(made: Sequence[Line], found: Sequence[ScoreColumn]) -> str:
    """A note if published numbers are in columns with other data."""
    others = unlike_published(made, found)
    if not others:
        return ""
    return (
        "Published numbers are for the papers' full data. Your data for "
        f"{' and '.join(others)} may differ, so compare with care."
    )


def _below(column: ScoreColumn) -> tuple[str, ...]:
    """The lines below a column's title: metric, items, data."""
    data = column.data
    if len(data) > LONGEST_DATA:
        data = f"{data[: LONGEST_DATA - 1]}…"
    items = counted(column.n, "item") if column.n else ""
    metric = METRICS.get(column.metric, column.metric)
    return tuple(part for part in (metric, items, data) if part)


# -- The table of scores, as in the papers: one line per model, one column per benchmark ----------


LEGEND = (
    "Points from 0 to 100 (correlations from −100). Bold: the best measured model of a column; "
    "underlined: the second best."
)

_AFTER_A_SIGN = re.compile(r"(?<=[-_.])")
_NOTHING = Markup("")
_MARKS = {
    "best": Markup('<b title="best">{}</b>'),
    "second": Markup('<u title="second best">{}</u>'),
    "": Markup("<span>{}</span>"),
}


class Head(NamedTuple):
    """A column's title, and the lines below it in small letters."""

    title: str
    below: tuple[str, ...] = ()


def grid(lines: Sequence[Line], heads: Mapping[str, Head], more: Sequence[str] = ()) -> None:
    """Draw the table. Published lines come last, below a heading.

    Args:
        heads: the columns' heads, by key.
        more: titles of columns from ``score_table.DETAILS`` before these.
    """
    table = cells(lines, list(heads))
    rows = list(zip(lines, table, strict=True))
    measured = [_row(line, found, heads, more) for line, found in rows if not line.published]
    published = [_row(line, found, heads, more) for line, found in rows if line.published]
    formatting.emit(
        Markup(
            '<div class="hg-scores" tabindex="0" role="region" aria-label="Scores"><table>'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody>{}</table></div>"
        ).format(
            _heads(heads, more),
            formatting.join(measured),
            _published(published, len(more) + len(heads)),
        )
    )


def _heads(heads: Mapping[str, Head], more: Sequence[str]) -> Markup:
    cells = [Markup('<th scope="col">{}</th>').format(title) for title in ("Model", *more)]
    cells += [
        Markup('<th scope="col">{}{}</th>').format(
            head.title, formatting.join(map(_below_name, head.below))
        )
        for head in heads.values()
    ]
    return formatting.join(cells)


def _below_name(text: str) -> Markup:
    """A line below a title. A long file name breaks after a sign, not within a word."""
    parts = [Markup("{}").format(part) for part in _AFTER_A_SIGN.split(text)]
    return Markup("<small>{}</small>").format(Markup("<wbr>").join(parts))


def _published(rows: Sequence[Markup], columns: int) -> Markup:
    if not rows:
        return _NOTHING
    return Markup(
        '<tbody class="hg-published"><tr><th colspan="{}" scope="rowgroup">Published results on '
        "the papers' own data</th></tr>{}</tbody>"
    ).format(columns + 1, formatting.join(rows))


def _row(
    line: Line, found: Mapping[str, ScoreCell], heads: Mapping[str, Head], more: Sequence[str]
) -> Markup:
    note = f"trained from {line.base}" if line.base else line.source
    cells = [Markup("<td>{}</td>").format(text) for text in details(line, more, list(heads))]
    scores = [_cell(found.get(column)) for column in heads]
    name = Markup('<span class="hg-text" title="{}">{}</span>').format(line.name, line.model)
    return Markup('<tr><th scope="row">{}{}</th>{}</tr>').format(
        name, _small(note), formatting.join([*cells, *scores])
    )


def _cell(cell: ScoreCell | None) -> Markup:
    if cell is None:
        return Markup('<td aria-label="not measured">–</td>')
    return Markup("<td>{}{}{}</td>").format(
        _MARKS[cell.place].format(points(cell.score)), _delta(cell.delta), _interval(cell)
    )


def points(score: float) -> str:
    """A score as text."""
    return decimal(score, DECIMALS)


def _delta(delta: float | None) -> Markup:
    """The difference to the base model in points. The sign repeats the meaning of the colour."""
    if delta is None:
        return _NOTHING
    shown = decimal(delta, DECIMALS, sign=True)
    way = "same" if not shown.strip("+−0.") else "up" if delta > 0 else "down"
    return Markup(' <small class="hg-{}" title="against the base model">{}</small>').format(
        way, shown
    )


def _interval(cell: ScoreCell) -> Markup:
    if cell.interval is None:
        return _NOTHING
    low, high = points(cell.interval.low), points(cell.interval.high)
    return _small(f"{low} to {high}")


def _small(text: str) -> Markup:
    return Markup("<small>{}</small>").format(text) if text else _NOTHING


# -- The benchmarks and the data that a project has for them, with labels -------------------------


FILE_TYPES = ["json", "jsonl", "tsv", "csv", "tab", "parquet"]
"""The endings of files with benchmark data."""


def known_data() -> dict[str, DataChoice]:
    """A readable name → each benchmark with data from the project or the model hub."""
    folder = open_project.settings().data_folder
    public = {
        f"{kind.title}: {name}": choice
        for kind in all_benchmarks()
        if kind is not Hedgerow
        for name, choice in data_names(kind, kept_data(folder, kind.id)).items()
    }
    own = {
        f"{Hedgerow.title}: release {number}": DataChoice(
            benchmark=Hedgerow.id, release=number, split=Split.TEST
        )
        for number in open_project.ask(release_numbers)
    }
    return own | public


def data_names(kind: type[Benchmark[Any]], kept: Sequence[KeptData]) -> dict[str, DataChoice]:
    """The choices by label. Files with equal names get a part of their hash."""
    found: dict[str, DataChoice] = {}
    for entry in kept:
        name = entry.name
        if name in found:
            name = f"{entry.name} ({entry.file.rpartition('/')[2][:6]})"
        found[name] = entry.choice
    if kind.hub:
        found[f"{kind.hub.removeprefix(HUB)} (model hub)"] = DataChoice(benchmark=kind.id)
    return found


# -- The agreement of a model's second opinions with people, as a table by type -------------------


_AGREEMENT_HELP = {
    "Pairs": "A variant with a person's verdict and the model's verdict, both for the same text of "
    "the anchor.",
    "Agree": "Share of the pairs in which both accept the variant unchanged, or neither does.",
    "Kappa": "Cohen's kappa: 0 is chance agreement, 1 is full agreement.",
    "Left out": "Verdicts of people who had seen the model's opinion first.",
}


def agreement_table(counts: count_cache.CachedCounts, reviewer_id: int, *, key: str) -> None:
    """Draw the table, or a note if nobody has decided on the same variants yet."""
    rows = counts.get(agreement, reviewer_id)
    if rows is None:
        return
    if not rows:
        st.text("Nobody has decided on a variant that it has judged yet.")
        return
    labels = {entry.id: entry.label for entry in open_project.types()}
    st.dataframe(
        [
            {
                "Type": labels.get(row.type_id, row.type_id),
                "Pairs": row.pairs,
                "Agree": None if row.share is None else 100 * row.share,
                "Kappa": row.kappa,
                "Only the model accepts": row.model_only,
                "Only the person accepts": row.person_only,
                "Left out": row.after_looking,
            }
            for row in (*rows, together(rows)._replace(type_id="All types"))
        ],
        hide_index=True,
        key=key,
        width="content",
        column_config={
            "Pairs": st.column_config.NumberColumn(
                format="localized", help=_AGREEMENT_HELP["Pairs"]
            ),
            "Agree": st.column_config.NumberColumn(format="%.1f%%", help=_AGREEMENT_HELP["Agree"]),
            "Kappa": st.column_config.NumberColumn(format="%.2f", help=_AGREEMENT_HELP["Kappa"]),
            "Left out": st.column_config.NumberColumn(
                format="localized", help=_AGREEMENT_HELP["Left out"]
            ),
        },
    )
