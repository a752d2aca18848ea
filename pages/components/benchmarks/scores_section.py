"""The scores of all models, like HedgeTriple's Table 1, and negation against general ability."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.benchmarks import (
    asked_table,
    names,
    objective_section,
    paired_difference,
    scatter_chart,
)
from pages.components.benchmarks.scatter_chart import Dot
from pages.components.shared.charts import save as saved
from pages.components.shared.runs import no_results
from pages.components.shared.scores import score_table
from pages.components.shared.shell import open_project
from training.benchmarks.catalogue import NEGATION_AVERAGE
from training.benchmarks.results.paper_tables import Line
from training.benchmarks.results.published_lines import paper_of, shortened
from training.benchmarks.results.queries import Scored, newest_scores
from training.benchmarks.results.score_file import titles
from training.benchmarks.results.score_table import (
    NEGATION_COLUMN,
    ScoreColumn,
    columns,
    lines,
    points,
)
from training.benchmarks.results.spending import DETAILS
from training.benchmarks.results.unseen_antonyms import unseen_scores
from training.benchmarks.runs.measured_models import BASELINES

MOST_MODELS = 25
"""Most models in the table by default: the newest."""


def draw() -> None:
    """The table, its downloads, a paired test, and the scatter chart."""
    rows, trained_from = open_project.ask(newest_scores, open_project.settings().data_folder)
    if not rows:
        nothing()
        return
    rows.sort(key=lambda row: row.architecture in BASELINES)  # baselines come last
    models = list(dict.fromkeys(row.title for row in rows))
    chosen, with_tasks, more = _options(models, rows)
    shown = [row for row in rows if row.title in chosen]
    if not shown:
        st.text("Choose at least one model.")
        return
    found = columns(shown, tasks=with_tasks)
    made = _with_published(lines(shown, trained_from=trained_from))
    score_table.draw(made, found, name="hedgerow-benchmarks", more=more)
    asked_table.draw(shown)
    _unseen(shown)
    paired_difference.draw(shown, titles(found), trained_from)
    objective_section.draw(shown)
    _scatter(made, found)


def nothing() -> None:
    """What to do if nothing is measured yet."""
    no_results.box(
        "There are no scores yet. Choose models and benchmarks under Run.",
        section=names.RUN,
        key=names.SECTION,
    )


def _options(models: Sequence[str], rows: Sequence[Scored]) -> tuple[list[str], bool, list[str]]:
    """The models to show, whether to show single mteb tasks, and the extra columns."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-options"):
        chosen = st.multiselect(
            "Models",
            models,
            default=models[:MOST_MODELS],
            placeholder="Choose models",
            key=f"bench-shown-{len(models)}",
        )
        tasks = any(row.kind != "negation" and not row.file for row in rows) and st.toggle(
            "Show each mteb task", key="tasks", bind="query-params"
        )
    more = st.pills(
        "More columns",
        DETAILS,
        selection_mode="multi",
        key="bench-details",
        persist_state="session",
        help="Time and cost are averages per item over the benchmarks shown. Local models have "
        "no cost.",
    )
    return chosen, tasks, [title for title in DETAILS if title in more]


def _with_published(made: Sequence[Line]) -> list[Line]:
    """The measured rows, and the published ones that are chosen or searched for."""
    papers = list(dict.fromkeys(paper_of(line) for line in made if line.published))
    if not papers:
        return list(made)
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-published"):
        chosen = st.pills(
            "Published numbers",
            papers,
            default=papers[:1],
            selection_mode="multi",
            key="bench-papers",
            help="Scores from the papers on their full data. They are not ranked with your "
            "measurements.",
        )
        search = st.text_input(
            "Search published models",
            key="bench-published-search",
            placeholder="Part of a name, such as nli",
            width=260,
        )
    wanted = [line for line in made if not line.published or paper_of(line) in chosen]
    shown, left_out = shortened(wanted, search=search)
    if left_out and not search.strip():
        st.caption(
            f"{left_out:,} more published models are hidden; search by name to see them. The "
            "table shows those that you measured, too, and those with the highest scores."
        )
    return shown


def _unseen(rows: Sequence[Scored]) -> None:
    """SemAntoNeg scores of models trained here, without antonym pairs from their training data."""
    found = open_project.ask(unseen_scores, open_project.settings().data_folder, rows)
    if not found:
        return
    st.header("SemAntoNeg without the antonyms of the training data", anchor=False)
    st.dataframe(
        [
            {
                "Model": row.title,
                "Accuracy": round(row.score, 1),
                "Items": row.n,
                "Accuracy, unseen": None if score.score is None else round(score.score, 1),
                "Items, unseen": score.n,
                "Trained on": score.where,
                "Data": row.data,
            }
            for row in rows
            if (score := found.get(row.id))
        ],
        hide_index=True,
        key="bench-unseen",
        placeholder="–",
    )
    st.caption(
        "Unseen: items whose antonym pair does not occur in the training data. A pair occurs if "
        "one word is in an anchor and the other is in one of its variants."
    )


def _scatter(made: Sequence[Line], found: Sequence[ScoreColumn]) -> None:
    """Negation against general ability, for models that have both."""
    st.header("Negation against general ability", anchor=False)
    general = [column for column in found if column.kind == "general" and not column.benchmark]
    if not general:
        st.text(
            "Run a whole mteb suite, or the three lm_eval tasks, to see a chart of negation "
            "against general ability here."
        )
        return
    negation, title = _negation(found)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {column.title: column.key for column in general}
        chosen = st.selectbox("General ability", list(names), key="bench-general-of", width=260)
    dots = _dots(made, negation, names[chosen])
    if not dots:
        st.text(f"No model has scores for both {title} and {chosen}.")
        return
    saved.chart(
        partial(scatter_chart.scatter, dots, negation=title, general=chosen),
        name="trade-off",
        alt_text="Negation against general ability, by model",
    )
    if any(dot.start for dot in dots):
        st.caption("A dashed line connects a model with the models trained from it.")


def _negation(found: Sequence[ScoreColumn]) -> tuple[list[str], str]:
    """The negation average, or, if no model has all four benchmarks, the mean over chosen ones."""
    if any(column.key == NEGATION_COLUMN for column in found):
        return [NEGATION_COLUMN], "negation average"
    names = {column.key: column for column in found if column.kind == "negation"}
    labels = titles(found)
    chosen = st.multiselect(
        "Negation: average of",
        list(names),
        default=list(names)[:1],
        format_func=lambda key: labels[key],
        key="bench-negation-of",
        help=f"The negation average needs all four: {', '.join(NEGATION_AVERAGE)}.",
    )
    return chosen, "mean of " + ", ".join(names[key].title for key in chosen)


def _dots(made: Sequence[Line], negation: Sequence[str], general: str) -> list[Dot]:
    started = {line.model: line.base for line in made if not line.published}
    return [
        Dot(
            point.model,
            point.negation,
            point.general,
            "" if point.published else started.get(point.model, ""),
            point.published,
        )
        for point in points(made, negation=negation, general=general)
    ]
