"""What came out of a training: Figure 1, the cosines by type, the model."""

from functools import partial
from typing import Any

import streamlit as st
import yaml

from db.engine import reading
from db.models import Encoder, Run
from pages.components import charts, errors, project, run_view, save_chart, train_start
from training.figures import (
    SAMPLE,
    Part,
    distributions,
    distributions_version,
    figure_1,
    loss_curve,
    own_figure,
)
from training.probes import own_probes
from training.recipe import Recipe
from training.similarity import DistributionRow

PARTS = {
    Part.TRAINED: "Trained on",
    Part.HELD_OUT: "Held out (validation and test)",
    Part.UNSEEN: "Not in the release",
}


def show(run: Run) -> None:
    """All of a finished training."""
    _figure_1(run)
    _distributions(run)
    _model(run)
    with st.expander("Training loss and log", icon=":material/show_chart:"):
        with reading(project.engine()) as session:
            points = loss_curve(session, run)
        if points:
            save_chart.chart(
                partial(charts.loss, points), name="loss", alt_text="Training loss by step"
            )
        run_view.log_lines(run)


def _figure_1(run: Run) -> None:
    with reading(project.engine()) as session:
        paper, own = figure_1(session, run), own_figure(session, run)
        added_since = len(own_probes(session)) - len({(row.anchor, row.text) for row in own})
    st.header("Figure 1", anchor=False)
    if not paper:
        st.text("This run's figures are no longer in the database; train again to measure anew.")
        return
    st.text(
        f"How similar is each sentence to “{paper[0].anchor}”? The hoax should move away, “no "
        "doubt” should stay close. Filled: measured here. Hollow: what the paper published for "
        "all-mpnet-base-v2 (before) and its HedgeMPNet (after)."
    )
    save_chart.chart(
        partial(charts.figure_1, paper), name="figure-1",
        alt_text="Cosine similarity of three sentences to the anchor, published and measured, "
        "before and after training",
    )  # fmt: skip
    if own:
        st.markdown("**Your own pairs**")
        save_chart.chart(
            partial(charts.own_probes, own), name="own-pairs",
            alt_text="Cosine similarity of your own pairs before and after training",
        )  # fmt: skip
    if added_since:
        st.caption(f"{added_since} of your pairs came later; Compare measures them.")
    _compare(run)


def _compare(run: Run) -> None:
    """A link to the Compare page, with the encoder before as model A and this one as B."""
    keys = {"a": "before_encoder_id", "b": "encoder_id"}
    with reading(project.engine()) as session:
        rows = {name: session.get(Encoder, run.result.get(key, 0)) for name, key in keys.items()}
    models = {name: row.name for name, row in rows.items() if row is not None}
    if len(models) == len(keys):
        st.page_link(
            "pages/compare.py", label="Compare the two on sixty groups, or on your own sentences",
            icon=":material/compare_arrows:", query_params=models,
        )  # fmt: skip


@st.cache_resource(show_spinner=False, max_entries=8)
def _of_the_release(version: tuple[Any, ...], _run: Run) -> list[DistributionRow]:
    """The parts that the release holds; of many, they take most of a second."""
    with reading(project.engine()) as session:
        return distributions(session, _run, (Part.TRAINED, Part.HELD_OUT))


@errors.fragment
def _distributions(run: Run) -> None:
    labels = project.type_names()
    with reading(project.engine()) as session:
        version = distributions_version(session, run)
        unseen = distributions(session, run, (Part.UNSEEN,))
    rows = _of_the_release(version, run) + unseen
    st.header("Anchor and variant, by type", anchor=False)
    st.text(
        "Negations should move to the left, away from their anchors; hedges and paraphrases should "
        "stay on the right."
    )
    by_part = {part: [row for row in rows if row.part == part] for part in Part}
    parts = [part for part in Part if by_part[part]]
    if not parts:
        st.caption("No variants were measured.")
        return
    part = st.segmented_control(
        "Part of the data", parts, default=Part.HELD_OUT if Part.HELD_OUT in parts else parts[0],
        required=True, format_func=lambda key: PARTS[key], label_visibility="collapsed",
        key=f"train-part-{run.id}",
    )  # fmt: skip
    shown = by_part[part or parts[0]]
    known = labels | {row.type: row.type for row in shown if row.type not in labels}
    save_chart.chart(
        partial(charts.distribution, shown, labels=known), name="cosine-by-type",
        alt_text="Cosine of anchor and variant by type, before and after training",
    )  # fmt: skip
    st.caption(
        f"Bar: the middle half. Line: the middle four fifths. Tick: the median. "
        f"{_measured(run, part or parts[0])}"
    )
    with st.expander("As numbers", icon=":material/table:"):
        st.dataframe(_numbers(rows, known), hide_index=True)


def _measured(run: Run, part: Part) -> str:
    counts = run.result.get("sampled", {}).get(part.value)
    if not counts or counts["of"] <= SAMPLE:
        return ""
    return f"A random {counts['measured']:,} of this part's {counts['of']:,} variants."


def _numbers(rows: list[DistributionRow], labels: dict[str, str]) -> list[dict[str, object]]:
    """Medians before and after by type and part."""
    table: list[dict[str, object]] = []
    for part, name in PARTS.items():
        found = charts.summary([row for row in rows if row.part == part], labels=labels)
        for before, after in zip(found[::2], found[1::2], strict=True):
            table.append(
                {
                    "Part": name, "Type": labels[before.type], "Variants": before.n,
                    "Median before": round(before.median, 3),
                    "Median after": round(after.median, 3),
                    "Change": round(after.median - before.median, 3),
                }
            )  # fmt: skip
    return table


def _model(run: Run) -> None:
    st.header("The model", anchor=False)
    path = project.settings().data_folder / run.result["model"]
    if not path.is_dir():
        st.text(f"The model is not at {path} any more.")
    st.code(
        "from sentence_transformers import SentenceTransformer\n"
        f"model = SentenceTransformer({str(path)!r})",
        language="python", wrap_lines=True,
    )  # fmt: skip
    recipe = Recipe.model_validate(run.parameters["recipe"])
    versions = (f"{name} {run.versions[name]}" for name in _SHOWN if name in run.versions)
    st.text(
        f"Trained in {run.result['steps']:,} steps with {recipe.batch_size} {recipe.rows} each, on "
        f"{run.result['triples']:,} triples of release {run.result['release']} with seed "
        f"{run.parameters['seed']}; training and measuring took "
        f"{run_view.duration(run.result['seconds'])}. Versions: {', '.join(versions)}."
    )
    with st.expander("Recipe, inputs and versions", icon=":material/receipt_long:"):
        st.code(recipe.to_yaml(), language="yaml")
        st.button(
            "Use this recipe for the next training", key=f"train-reuse-{run.id}",
            on_click=train_start.use_recipe, args=(recipe.to_yaml(),),
        )  # fmt: skip
        st.caption("Content hashes of the inputs, and the versions of the programs:")
        record = {"inputs": run.inputs, "versions": run.versions}
        st.code(yaml.safe_dump(record, sort_keys=False), language="yaml")


_SHOWN = ("hedgerow", "sentence-transformers", "transformers", "torch", "python")
