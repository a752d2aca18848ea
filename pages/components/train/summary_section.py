"""Results of a training run: metrics before and after, curves, the model, the recipe."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st
import yaml

from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from curation.formatting import duration
from db.errors import HedgerowError
from db.models import Run, RunState
from pages.components.shared import hub, links, page_runs, tables
from pages.components.shared.charts import plot, similarity_bars
from pages.components.shared.shell import error_messages, open_project
from pages.components.train import (
    curves_view,
    recipe_editor,
    runs_table,
    tradeoff_section,
    training_runs,
)
from training.evaluation.figures import (
    SAMPLE,
    Part,
    distributions,
    encoder_names,
    probe_figures,
    unseen_distributions,
)
from training.evaluation.similarity import DistributionRow
from training.hub.push_run import Subject, card_to_publish
from training.recipe.presets import changes, nearest
from training.recipe.schema import recipe_of, rows_of, values_of

PARTS = {
    Part.TRAINED: "Trained on",
    Part.HELD_OUT: "Held out (validation and test)",
    Part.UNSEEN: "Not in the release",
}


def draw(runs: Sequence[Run]) -> None:
    """The results of the chosen run."""
    if not runs:
        links.no_results(
            "No training run has finished yet. Start one under Train.",
            section=training_runs.TRAIN,
            key=training_runs.SECTION,
        )
        st.page_link(
            "pages/compare.py",
            label="See what training changes",
            icon=":material/compare_arrows:",
            query_params={"a": DEFAULT_ENCODER, "b": TRAINED_ENCODER},
        )
        return
    run = training_runs.choose_run({run.id: run for run in runs}, title=training_runs.encoder_title)
    if run.state != RunState.DONE:
        training_runs.stopped(run)
        st.header("Progress before it stopped", anchor=False)
        curves_view.encoder(run)
        _recipe(run)
        return
    show(run)


def show(run: Run) -> None:
    """Everything about a finished run."""
    st.text(_summary(run))
    runs_table.show_figures(run)
    _figure_1(run)
    _distributions(run)
    tradeoff_section.show(run)
    st.header("Training curves", anchor=False)
    curves_view.encoder(run)
    _model(run)
    publish(run)
    _recipe(run)
    page_runs.log(run)


def _summary(run: Run) -> str:
    recipe = values_of(run)
    result = run.result
    kept = result.get("kept_step", result["steps"])
    by = run.parameters.get("providers")
    only = f" (only variants by {', '.join(by)})" if by else ""
    best = "" if kept == result["steps"] else f", keeping step {kept:,} as the best"
    named = run.parameters.get("preset")
    preset = f" with the “{named}” preset" if named else ""
    return (
        f"Trained{preset} for {result['steps']:,} steps{best}, with a batch size of "
        f"{recipe['batch_size']} {rows_of(recipe['loss'])}, on {result['triples']:,} triples of "
        f"release {result['release']}{only} with seed {run.parameters['seed']}. Training and "
        f"evaluation took {duration(result['seconds'])}."
    )


def _figure_1(run: Run) -> None:
    paper, own, added_since = open_project.ask(probe_figures, run)
    st.header("Figure 1", anchor=False)
    if not paper:
        st.text(
            "The results of this run are no longer in the database. Train again to measure them."
        )
        return
    st.text(
        f"How similar is each sentence to “{paper[0].anchor}”? “A hoax” should move away; "
        "“no doubt” should stay close. Filled bars: measured here. Hollow bars: published in the "
        "paper for all-mpnet-base-v2 (before) and HedgeMPNet (after)."
    )
    plot.chart_to_save(
        partial(similarity_bars.figure_1, paper),
        name="figure-1",
        alt_text="Cosine similarity of three sentences to the anchor, published and measured, "
        "before and after training",
    )
    if own:
        st.markdown("**Your sentence pairs**")
        plot.chart_to_save(
            partial(similarity_bars.own_probes, own),
            name="own-pairs",
            alt_text="Cosine similarity of your sentence pairs before and after training",
        )
    if added_since:
        st.caption(
            f"You added {added_since} of your pairs later. Measure them on the Compare page."
        )
    _compare(run)


def _compare(run: Run) -> None:
    """A link to the Compare page, with the encoder before as model A and this one as B."""
    before, after = open_project.ask(encoder_names, run)
    if before is not None and after is not None:
        st.page_link(
            "pages/compare.py",
            label="Compare the two encoders",
            icon=":material/compare_arrows:",
            query_params={"a": before, "b": after},
        )


@st.cache_resource(show_spinner=False, max_entries=8)
def _of_the_release(version: tuple[Any, ...], _run: Run) -> list[DistributionRow]:
    """The parts of the data; with many variants, this takes most of a second."""
    return open_project.ask(distributions, _run, (Part.TRAINED, Part.HELD_OUT))


@error_messages.fragment
def _distributions(run: Run) -> None:
    labels = open_project.type_names()
    version, unseen = open_project.ask(unseen_distributions, run)
    rows = _of_the_release(version, run) + unseen
    st.header("Similarity of anchor and variant, by type", anchor=False)
    st.text(
        "Negations should move to the left, away from their anchors. Hedges and paraphrases "
        "should stay on the right."
    )
    by_part = {part: [row for row in rows if row.part == part] for part in Part}
    parts = [part for part in Part if by_part[part]]
    if not parts:
        st.caption("No variants were measured.")
        return
    part = st.segmented_control(
        "Part of the data",
        parts,
        default=Part.HELD_OUT if Part.HELD_OUT in parts else parts[0],
        required=True,
        format_func=lambda key: PARTS[key],
        label_visibility="collapsed",
        key=f"train-part-{run.id}",
    )
    shown = by_part[part or parts[0]]
    known = labels | {row.type: row.type for row in shown if row.type not in labels}
    plot.chart_to_save(
        partial(similarity_bars.distribution, shown, labels=known),
        name="cosine-by-type",
        alt_text="Cosine of anchor and variant by type, before and after training",
    )
    st.caption(
        "Bar: 25th to 75th percentile. Line: 10th to 90th percentile. Tick: median. "
        f"{_measured(run, part or parts[0])}"
    )
    with st.expander("Show the numbers", icon=":material/table:"):
        st.dataframe(
            tables.decimals(_numbers(rows, known), signed=["Change"]),
            hide_index=True,
            column_config={"Part": st.column_config.TextColumn(width=130)},
        )


def _measured(run: Run, part: Part) -> str:
    counts = run.result.get("sampled", {}).get(part.value)
    if not counts or counts["of"] <= SAMPLE:
        return ""
    return f"A random sample of {counts['measured']:,} of {counts['of']:,} variants."


def _numbers(rows: list[DistributionRow], labels: dict[str, str]) -> list[dict[str, object]]:
    """Medians before and after by type and part."""
    table: list[dict[str, object]] = []
    for part, name in PARTS.items():
        found = similarity_bars.summary([row for row in rows if row.part == part], labels=labels)
        for before, after in zip(found[::2], found[1::2], strict=True):
            table.append(
                {
                    "Part": name,
                    "Type": labels[before.type],
                    "Variants": before.n,
                    "Median before": round(before.median, 3),
                    "Median after": round(after.median, 3),
                    "Change": round(after.median - before.median, 3),
                }
            )
    return table


def _model(run: Run) -> None:
    st.header("The model", anchor=False)
    path = open_project.settings().data_folder / run.result["model"]
    if not path.is_dir():
        st.text(f"The model is no longer at {path}.")
    training_runs.how_to_load(path)


def _recipe(run: Run) -> None:
    recipe = values_of(run)
    st.header("The recipe", anchor=False)
    preset = nearest([recipe])
    other = changes(recipe, preset)
    st.text(
        f"Differences from the “{preset.id}” preset:" if other else f"The “{preset.id}” preset."
    )
    if other:
        st.code(_yaml(other), language=None)
    with st.expander("Full recipe, inputs and versions", icon=":material/receipt_long:"):
        st.code(_yaml(recipe), language=None)
        st.caption("Content hashes of the inputs, and software versions:")
        record = {"seed": run.parameters["seed"], "inputs": run.inputs, "versions": run.versions}
        st.code(yaml.safe_dump(record, sort_keys=False), language=None)
    try:
        text = recipe_of(run).to_yaml()
    except HedgerowError as error:
        st.text(str(error))
        return
    st.button(
        "Use this recipe for the next run",
        key=f"train-reuse-{run.id}",
        on_click=_reuse,
        args=(text,),
    )


def _yaml(values: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)


def _reuse(text: str) -> None:
    recipe_editor.use(text)
    st.session_state[training_runs.SECTION] = training_runs.TRAIN


# -- A finished run's model card, and the form to publish the model on the Hub --------------------


def publish(run: Run) -> None:
    """The card and the push form of a run's model; nothing if its folder is gone."""
    folder = open_project.settings().data_folder / run.result["model"]
    if not folder.is_dir():
        return
    card = open_project.ask(card_to_publish, run, folder)
    st.header("Publish", anchor=False)
    with st.expander("Model card", icon=":material/description:"):
        st.text(
            "This is README.md in the model's folder. It is published with the model. Edit "
            "it before you push."
        )
        st.code(card, language=None, wrap_lines=True, height=420)
    hub.push_box(Subject(run=run.id), what="the model")
