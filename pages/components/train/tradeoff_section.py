"""The trade-off of a finished run: measured with a button, chosen with a slider, saved."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from curation.formatting import duration
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared import page_runs, tables
from pages.components.shared.charts import negation_and_ability, plot
from pages.components.shared.charts.negation_and_ability import curve as draw_curve
from pages.components.shared.shell import current_user, error_messages, open_project
from pages.components.train import runs_table, training_runs
from training.encoder_run.tradeoff import (
    MEASURE_TRADEOFF,
    MeasureTradeoff,
    StsFile,
    seconds_to_measure,
    training_sts,
)
from training.encoder_run.tradeoff_curve import Curve, axes, suggested
from training.encoder_run.tradeoff_save import SAVE_POINT, Saved, SavePoint, tradeoff_of, why_not
from training.evaluation import general_ability
from training.evaluation.figures import encoder_names

_PROBLEM = "tradeoff_problem"


def show(run: Run) -> None:
    """The trade-off of a finished run."""
    st.header("Trade-off between negation and general ability", anchor=False)
    curve, saved, measuring, saving = open_project.ask(tradeoff_of, open_project.settings(), run.id)
    if curve is None:
        st.text(
            "Training for negation costs some general ability. Averaging the finetuned weights "
            "with those of the base encoder often keeps most of the gain and recovers most of the "
            "loss, without training again."
        )
    else:
        _curve(run, curve, saved)
    _under_way(saving, f"saving a model from run {run.id}")
    if not _under_way(measuring, f"measuring the trade-off of run {run.id}"):
        _offer(run, curve)
    error_messages.show_kept(_PROBLEM)


def _under_way(run: Run | None, title: str) -> bool:
    """Follow a run; say why the newest one failed. Whether one is in progress."""
    if run is not None and run.state in UNFINISHED:
        page_runs.follow(run, title=title)
        return True
    if run is not None and run.state in (RunState.FAILED, RunState.INTERRUPTED):
        page_runs.stopped(run, again=partial(page_runs.start_again, run))
    return False


def _offer(run: Run, curve: Curve | None) -> None:
    """The button that starts measuring, unless nothing can be measured."""
    try:
        seconds = open_project.ask(seconds_to_measure, open_project.settings(), run)
    except HedgerowError as error:
        st.text(str(error))
        return
    if curve is None:
        with st.container(border=True, key=f"tradeoff-start-{run.id}"):
            _form(run, seconds, label="Measure the trade-off", sts_now="")
        return
    with st.expander("Measure again", icon=":material/replay:", key=f"tradeoff-more-{run.id}"):
        _form(run, seconds, label="Measure again", sts_now=curve.sts)


@current_user.for_leads("measure the trade-off")
def _form(run: Run, seconds: float, *, label: str, sts_now: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            label,
            key=f"tradeoff-click-{run.id}",
            icon=":material/show_chart:",
            on_click=_start,
            args=(run.id,),
            type="secondary" if sts_now else "primary",
        )
        st.text(
            "Evaluates eleven interpolations, from the base encoder to the finetuned one, on the "
            "release's validation split and on retrieval. Takes "
            f"{duration(seconds)}. Nothing is trained.",
            width="stretch",
        )
    file = training_sts(run)
    used = sts_now or (file.name if file else "")
    st.text(
        "General ability is measured by retrieval, by the drift of unrelated sentences and by "
        f"{used}. {general_ability.WHAT_IT_IS}"
        if used
        else "General ability is measured by retrieval, by the drift of unrelated sentences, and "
        f"by an STS file if you upload one. {general_ability.WHAT_IT_IS}"
    )
    st.file_uploader(
        "STS file",
        key=_file_key(run.id),
        type=["tsv", "txt", "csv"],
        max_upload_size=general_ability.LARGEST_STS_FILE >> 20,
        help="UTF-8 text. Each line has a score and two sentences, separated by tabs. Every point "
        "then also shows the Spearman correlation between the cosines and the scores.",
    )


def _file_key(training: int) -> str:
    return f"tradeoff-sts-{training}"


def _given(training: int) -> StsFile | None:
    file = st.session_state.get(_file_key(training))
    return None if file is None else StsFile(file.name, file.getvalue())


def _start(training: int) -> None:
    """Store the run that measures, and start its process."""
    given = _given(training)
    try:
        page_runs.begin(MEASURE_TRADEOFF, MeasureTradeoff(training=training, sts=given))
    except HedgerowError as error:
        error_messages.keep(_PROBLEM, f"{given.name}: {error}" if given else str(error))


@error_messages.fragment
def _curve(run: Run, curve: Curve, saved: Sequence[Saved]) -> None:
    st.text(
        "Each point is the same model with a different share of the finetuned weights. Points "
        "further up are better on negation, and points further right keep more general ability. "
        "Choose the highest point whose general ability you can accept. The point farthest above "
        "the straight line between the ends is selected by default."
    )
    general, negation = axes(curve)
    if not general or not negation:
        st.text("Too few anchors are held out to measure a curve.")
        return
    x, y = _axes(curve, general, negation)
    shares = [point.share for point in curve.points]
    where = st.container()
    share = st.select_slider(
        "Share of the finetuned weights",
        shares,
        format_func=lambda value: f"{value:g}",
        value=suggested(curve, general=general[0], negation=negation[0]),
        key=f"tradeoff-share-{curve.run}",
    )
    with where:
        plot.chart_to_save(
            partial(
                draw_curve,
                curve,
                general=x,
                negation=y,
                negation_name=runs_table.FIGURES[y][0],
                share=share,
            ),
            name="trade-off",
            alt_text="Negation against general ability for every share of finetuned weights",
        )
    st.table(_figures(curve, share), hide_index=True)
    _save(run, curve, share, saved)
    _numbers(curve)


def _axes(curve: Curve, general: list[str], negation: list[str]) -> tuple[str, str]:
    """The choice of metrics, if there are several."""
    with st.container(horizontal=True):
        y = st.segmented_control(
            "Negation",
            negation,
            default=negation[0],
            required=True,
            format_func=lambda name: runs_table.FIGURES[name][0],
            key=f"tradeoff-y-{curve.run}",
        )
        if len(general) == 1:
            return general[0], y or negation[0]
        x = st.segmented_control(
            "General ability",
            general,
            default=general[0],
            required=True,
            format_func=lambda name: negation_and_ability.GENERAL_NAMES[name],
            key=f"tradeoff-x-{curve.run}",
        )
    return x or general[0], y or negation[0]


def _figures(curve: Curve, share: float) -> list[dict[str, str]]:
    """The chosen point's metrics between those of the ends."""
    point = curve.at(share) or curve.points[-1]
    columns = {
        "Base encoder (0)": curve.points[0].figures,
        f"Chosen ({point.share:g})": point.figures,
        "Finetuned (1)": curve.points[-1].figures,
    }
    return [
        {"Metric": name}
        | {title: form.format(figures[key]) for title, figures in columns.items()}
        | {"Items": f"{curve.counts[key]:,} {things}" if key in curve.counts else ""}
        for key, (name, form, things, _) in runs_table.FIGURES.items()
        if all(key in figures for figures in columns.values())
    ]


@current_user.for_leads("save models")
def _save(run: Run, curve: Curve, share: float, saved: Sequence[Saved]) -> None:
    reason = why_not(curve, share, saved)
    with st.container(horizontal=True, vertical_alignment="center"):
        clicked = st.button(
            "Save this model",
            key=f"tradeoff-save-{run.id}",
            type="primary",
            icon=":material/save:",
            disabled=bool(reason),
        )
        st.text(
            reason
            or f"Saves the mixture at {share:g} as a new model, which you can choose on Compare "
            "and Diagnostics.",
            width="stretch",
        )
    if clicked:
        _start_saving(run.id, share)
        st.rerun()
    for model in saved:
        if model.share == share:
            _place(run, model)


def _start_saving(training: int, share: float) -> None:
    with error_messages.kept_for(_PROBLEM):
        page_runs.begin(SAVE_POINT, SavePoint(training=training, share=share))


def _place(run: Run, model: Saved) -> None:
    """The folder of a saved model, and a link to compare it with the base encoder."""
    training_runs.how_to_load(model.folder)
    st.text(f"To publish it: hedgerow push {model.run} --repo OWNER/NAME")
    base = open_project.ask(encoder_names, run).before
    if base is not None:
        st.page_link(
            "pages/compare.py",
            label="Compare with the base encoder",
            icon=":material/compare_arrows:",
            query_params={"a": base, "b": model.name},
        )


def _numbers(curve: Curve) -> None:
    """Every metric at every share, as a table and a download."""
    names = list(dict.fromkeys(name for point in curve.points for name in point.figures))
    rows = [[point.share, *(point.figures.get(name) for name in names)] for point in curve.points]
    with st.expander(
        "Show the numbers", icon=":material/table:", key=f"tradeoff-numbers-{curve.run}"
    ):
        note = f" STS file: {curve.sts}." if curve.sts else ""
        st.text(f"Measured by run {curve.run}.{note}")
        st.dataframe(
            [{"Share": share} | dict(zip(names, values, strict=True)) for share, *values in rows],
            hide_index=True,
        )
        tables.csv_button(
            lambda: (["share", *names], rows),
            f"hedgerow-trade-off-run-{curve.training}",
            key=f"tradeoff-csv-{curve.run}",
            label="Download CSV",
            type="secondary",
        )
