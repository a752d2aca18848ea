"""The scores of all models, like HedgeTriple's Table 1, and negation against general ability."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.benchmarks import (
    asked_table,
    objective_section,
    paired_difference,
    scatter_chart,
)
from pages.components.benchmarks.scatter_chart import Dot
from pages.components.shared.charts import save as saved
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
"""Models in the table unless others are chosen: the newest."""


def draw() -> None:
    """The table, its files, a paired test, the scatter."""
    rows, trained_from = open_project.ask(newest_scores)
    if not rows:
        nothing()
        return
    rows.sort(key=lambda row: row.architecture in BASELINES)  # they are there to compare with
    models = list(dict.fromkeys(row.title for row in rows))
    chosen, with_tasks, more = _options(models, rows)
    shown = [row for row in rows if row.title in chosen]
    if not shown:
        st.text("Choose the models to show.")
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
    """What to do where nothing is measured yet."""
    st.text("Nothing is measured yet; choose models and benchmarks under Run.")


def _options(models: Sequence[str], rows: Sequence[Scored]) -> tuple[list[str], bool, list[str]]:
    """The models to show, whether with mteb's single tasks, and the columns before the scores."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-options"):
        chosen = st.multiselect(
            "Models",
            models,
            default=models[:MOST_MODELS],
            placeholder="Choose models",
            key=f"bench-shown-{len(models)}",
        )
        tasks = any(row.kind != "negation" and not row.file for row in rows) and st.toggle(
            "Every task of mteb", key="tasks", bind="query-params"
        )
    more = st.pills(
        "More columns",
        DETAILS,
        selection_mode="multi",
        key="bench-details",
        persist_state="session",
        help="Time and cost are means over the items of the benchmarks that are shown. A model on "
        "this machine costs nothing that is known here.",
    )
    return chosen, tasks, [title for title in DETAILS if title in more]


def _with_published(made: Sequence[Line]) -> list[Line]:
    """The measured lines, and those of the papers that are chosen, or that are looked for."""
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
            help="What papers print, on their own full data; never ranked with what is measured.",
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
            f"{left_out:,} more published models: search for a name to see them. Shown are those "
            "that are measured here, too, and those with the highest scores."
        )
    return shown


def _unseen(rows: Sequence[Scored]) -> None:
    """The scores of models trained here without what their release taught them of SemAntoNeg."""
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
        "Unseen: items whose antonym pair is in nothing that the model was trained on, with one "
        "word in an anchor and the other in a variant of it."
    )


def _scatter(made: Sequence[Line], found: Sequence[ScoreColumn]) -> None:
    """Negation against general ability, of the models that have both."""
    st.header("What negation cost", anchor=False)
    general = [column for column in found if column.kind == "general" and not column.benchmark]
    if not general:
        st.text(
            "With a suite of mteb's tasks or the three tasks of lm_eval measured in full, this "
            "shows what a model understands of negation against what it is good for elsewhere."
        )
        return
    negation, title = _negation(found)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {column.title: column.key for column in general}
        chosen = st.selectbox("General ability", list(names), key="bench-general-of", width=260)
    dots = _dots(made, negation, names[chosen])
    if not dots:
        st.text(f"No model has both: {title}, and {chosen}.")
        return
    saved.chart(
        partial(scatter_chart.scatter, dots, negation=title, general=chosen),
        name="trade-off",
        alt_text="Negation against general ability, by model",
    )
    if any(dot.start for dot in dots):
        st.caption("A dashed line leads from a model to what was trained from it.")


def _negation(found: Sequence[ScoreColumn]) -> tuple[list[str], str]:
    """The negation average; where nobody has all four of it, the mean over what there is."""
    if any(column.key == NEGATION_COLUMN for column in found):
        return [NEGATION_COLUMN], "negation average"
    names = {column.key: column for column in found if column.kind == "negation"}
    labels = titles(found)
    chosen = st.multiselect(
        "Negation: the mean of",
        list(names),
        default=list(names)[:1],
        format_func=lambda key: labels[key],
        key="bench-negation-of",
        help=f"The average of {', '.join(NEGATION_AVERAGE)} needs all four.",
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
