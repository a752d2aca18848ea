"""The scores of all models, like HedgeTriple's Table 1, and negation against general ability."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from curation.formatting import counted
from curation.generation.run_report import listed
from db.errors import HedgerowError
from pages.components.benchmarks import models_choice, names, objective_section
from pages.components.shared import links, scores
from pages.components.shared.charts import negation_and_ability
from pages.components.shared.charts import plot as saved
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.catalogue import NEGATION_AVERAGE, all_benchmarks
from training.benchmarks.results.paper_tables import Line, paper_of, shortened
from training.benchmarks.results.queries import ModelKey, Scored, by_column, newest_scores, paired
from training.benchmarks.results.score_file import titles
from training.benchmarks.results.score_table import (
    DETAILS,
    NEGATION_COLUMN,
    ScoreColumn,
    columns,
    lines,
    points,
)
from training.benchmarks.results.semantoneg_analyses import unseen_scores
from training.benchmarks.results.statistics import PairedTest
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
    scores.score_table(made, found, name="hedgerow-benchmarks", more=more)
    asked_table(shown)
    _unseen(shown)
    paired_test(shown, titles(found), trained_from)
    objective_section.draw(shown)
    _scatter(made, found)


def nothing() -> None:
    """What to do if nothing is measured yet."""
    links.no_results(
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
    started = {line.model: line.base for line in made if not line.published}
    dots = [
        negation_and_ability.Dot(
            point.model,
            point.negation,
            point.general,
            "" if point.published else started.get(point.model, ""),
            point.published,
        )
        for point in points(made, negation=negation, general=names[chosen])
    ]
    if not dots:
        st.text(f"No model has scores for both {title} and {chosen}.")
        return
    saved.chart_to_save(
        partial(negation_and_ability.scatter, dots, negation=title, general=chosen),
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


# -- Paired test of two models on the same items --------------------------------------------------


SURE = 0.05

_TESTS = {
    "McNemar": "exact McNemar test",
    "permutation": "permutation test",
}


def paired_test(
    rows: Sequence[Scored], titles: Mapping[str, str], trained_from: Mapping[ModelKey, ModelKey]
) -> None:
    """Choose a column and two of its models, and test their difference.

    Args:
        titles: column titles by key.
        trained_from: as returned by ``bases``; such a pair is the default.
    """
    keys = [key for key in titles if len(_measured(rows, key)) > 1]
    if not keys:
        return
    st.header("Do two models differ?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-paired"):
        names = {titles[key]: key for key in keys}
        column = names[st.selectbox("Benchmark", list(names), key="bench-paired-of")]
        models = {row.title: row for row in _measured(rows, column)}
        start = _proposed(models, trained_from)
        first, second = (
            st.selectbox(label, list(models), index=at, key=f"bench-paired-{label}-{column}")
            for label, at in zip(("First", "Second"), start, strict=True)
        )
    if first == second:
        st.text("Choose two different models.")
        return
    try:
        with st.spinner("Testing …"):
            found = paired(open_project.settings().data_folder, models[first], models[second])
    except HedgerowError as error:
        error_messages.show(str(error), key="bench-paired")
        return
    st.text(_in_words(found.comparison, first, second))


def _proposed(
    models: Mapping[str, Scored], trained_from: Mapping[ModelKey, ModelKey]
) -> tuple[int, int]:
    """The indices of a base model and a model trained from it, or else of the two newest."""
    keys = [row.model_key for row in models.values()]
    for at, key in enumerate(keys):
        if trained_from.get(key) in keys:
            return keys.index(trained_from[key]), at
    return 1, 0


def _measured(rows: Sequence[Scored], column: str) -> list[Scored]:
    """The results of a column whose items are stored."""
    return [row for row in by_column(rows, column).values() if row.file]


def _in_words(found: PairedTest, first: str, second: str) -> str:
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    sure = "statistically significant" if found.p < SURE else "not statistically significant"
    points = f"{abs(found.difference):.1f} points"
    than = "higher" if found.difference > 0 else "lower"
    scores = f"scores {points} {than} than" if found.difference else "scores the same as"
    text = (
        f"{second} {scores} {first}. The difference is {sure} ({p}, two-sided "
        f"{_TESTS[found.test]})."
    )
    if found.better is not None and found.worse is not None:
        better, worse = counted(found.better, "item"), f"{found.worse:,}"
        text += f" On {better}, only {second} is right; on {worse}, only {first} is."
    return text


# -- How language models answered: position bias and missing answers ------------------------------


_HELP = {
    "First chosen (%)": "Share of answers that choose the first position. Each text is shown in "
    "each position, so 50 of two positions, or 33 of three, means no position bias.",
    "Order-dependent (%)": "Share of questions whose chosen text changes with the order.",
    "Unanswered": "Items without a usable answer. They do not count as correct, and are counted "
    "separately from wrong answers.",
    "Problems": "Why prompts have no usable answer, with the number of prompts.",
    "Removed from answers": "What is no part of the answers, with the number of answers.",
}


def asked_table(rows: Sequence[Scored]) -> None:
    """One row per result of a prompted model; nothing without any."""
    asked = [row for row in rows if row.asked]
    if not asked:
        return
    titles = {entry.id: entry.title for entry in all_benchmarks()}
    st.header("Language models: order and missing answers", anchor=False)
    st.dataframe(
        [
            {
                "Model": row.title,
                "Benchmark": titles.get(row.benchmark, row.benchmark),
                "Prompt": _prompt(row),
                "First chosen (%)": _points(row.asked.get("first_share")),
                "Order-dependent (%)": _points(row.asked.get("changed_share")),
                "Unanswered": row.unanswered,
                "Unanswered (%)": _points(row.unanswered_share),
                "Problems": listed(row.asked.get("problems", {})),
                "Removed from answers": listed(row.asked.get("removed", {})),
            }
            for row in asked
        ],
        hide_index=True,
        key="bench-asked",
        placeholder="–",
        column_config={
            name: st.column_config.Column(help=help_text) for name, help_text in _HELP.items()
        },
    )


def _prompt(row: Scored) -> str:
    labels = {str(name): title for name, title in models_choice.PROMPT_LABELS.items()}
    label, version = labels.get(row.asked["prompt"], ""), row.asked["version"]
    return f"{label}, version {version}" if version else label


def _points(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
