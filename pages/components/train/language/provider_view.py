"""Finetuning at a provider: the next job, jobs in progress, and the resulting models."""

from collections.abc import Sequence
from typing import Any

import streamlit as st
from pydantic import SecretStr

from curation.decisions.roles import Role
from curation.formatting import counted
from curation.generation.providers.chat.completions import KEY_VARIABLE
from curation.release.freezing import release_numbers
from db.models import Run, RunState
from db.run_folders import run_folder
from db.runs import STOPPED, UNFINISHED, last_metrics
from pages.components.shared.charts import plot
from pages.components.shared.chat_models import provider_key
from pages.components.shared.formatting import clock
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights
from pages.components.train.language import provider_form
from pages.components.train.language.arms import LABELS
from pages.components.train.results import curve_charts
from training.llm.figures import HELD_OUT_LOSS
from training.llm.provider.job_file import read_job
from training.llm.provider.request import list_finetunings, request_of
from training.runs.cancelling import cancel_run
from training.runs.figures import loss_curve

_PROBLEM = "llm_provider_problem"

FEW = 2
"""Fewest points of a curve."""

_IDEA = (
    "Finetune a hosted model on the questions of a release, as under Train. Any server with "
    "OpenAI's finetuning API works. The sentences of your release are sent to it."
)


def show() -> None:
    """Draw the section."""
    st.text(_IDEA)
    runs = open_project.ask(list_finetunings)
    for run in reversed(runs):
        if run.state in UNFINISHED:
            progress_view.follow(run, title=_title(run), more=_live)
    if runs and runs[0].state in STOPPED:
        _stopped(runs[0])
    error_messages.show_kept(_PROBLEM)
    if numbers := open_project.ask(release_numbers):
        provider_form.box(numbers)
    else:
        st.text("The questions are made from a release, but there is none yet.")
        st.page_link("pages/release.py", label="Create a release", icon=":material/inventory_2:")
    _models([run for run in runs if run.state == RunState.DONE])


def _title(run: Run) -> str:
    request = request_of(run)
    return f"finetune {request.model} on release {request.release}, {LABELS[request.arm]}"


def _live(run: Run) -> None:
    """The curve of a run in progress."""
    points = open_project.ask(loss_curve, run)
    if len(points) >= FEW:
        dark = st.context.theme.type == "dark"
        chart = curve_charts.loss(points, dark=dark)
        plot.chart(chart, alt="Loss by step", key=f"live-llm-provider-{run.id}")


def _stopped(run: Run) -> None:
    """A run that stopped early: the reason, and how to continue. Its job may still be running."""
    address = request_of(run).base_url
    progress_view.stopped(run, again=lambda: _again(run), label="Resume")
    if not rights.may(Role.LEAD):
        return
    with st.container(key=f"llm-provider-stopped-{run.id}"):
        # The form below has the same field, for its own address.
        with st.popover(f"Key for run {run.id}", icon=":material/key:"):
            provider_key.draw(address, place=f"-llm-{run.id}")
        if run.state in (RunState.PAUSED, RunState.INTERRUPTED) and _has_job(run):
            st.text("The job at the provider keeps running until you cancel it.")
            st.button(
                "Cancel the job", key=f"llm-provider-cancel-{run.id}", on_click=_cancel, args=(run,)
            )


def _has_job(run: Run) -> bool:
    """Whether the provider may still be running a job of the run."""
    job = read_job(run_folder(open_project.settings(), run))
    return job is not None and job.started


def _again(run: Run) -> None:
    with error_messages.kept_for(_PROBLEM):
        background.start_again(run, provider_key.environment(request_of(run).base_url))


def _cancel(run: Run) -> None:
    """Cancel the run and its job, with the key typed in for its address, if any."""
    settings, address = open_project.settings(), request_of(run).base_url
    if typed := provider_key.environment(address).get(KEY_VARIABLE):
        changes = {"openai_api_key": SecretStr(typed)}
        settings = settings.model_copy(
            update=changes | ({"openai_base_url": address} if address else {})
        )
    with error_messages.kept_for(_PROBLEM):
        cancel_run(open_project.engine(), settings, run.id)


def _models(done: Sequence[Run]) -> None:
    """The results, newest first; and the name and curve of one."""
    if not done:
        return
    st.header("Results", anchor=False)
    by_id = {run.id: run for run in done}
    chosen = by_id[
        st.selectbox(
            "Run",
            list(by_id),
            format_func=lambda key: f"Run {key}: {_title(by_id[key])}",
            key=f"llm-provider-run-{max(by_id)}",  # a new widget where there are others
        )
    ]
    st.text("The model's name at the provider")
    st.code(chosen.result["fine_tuned_model"], language=None)
    st.text("You can use it as a chat model under Benchmarks, Generate and Second opinions.")
    st.text(_outcome(chosen))
    points = open_project.ask(loss_curve, chosen)
    if len(points) >= FEW:
        st.markdown("**Loss**")
        chart = curve_charts.loss(points, dark=st.context.theme.type == "dark")
        plot.chart(chart, alt="Loss by step", key=f"llm-provider-loss-{chosen.id}")
    if len(done) > 1:
        st.dataframe([_line(run) for run in done], hide_index=True, key="llm-provider-runs")


def _outcome(run: Run) -> str:
    result = run.result
    facts = [f"Trained on {counted(result['train'], 'question pair')}"]
    if result["epochs"]:
        facts.append(f"for {counted(result['epochs'], 'epoch')}")
    if result["tokens"]:
        facts.append(f"({result['tokens']:,} tokens, as the provider counts them)")
    held_out = open_project.ask(last_metrics, run.id).get(HELD_OUT_LOSS)
    measured = (
        ""
        if held_out is None
        else f" Loss on {counted(result['validation'], 'validation question')}: {held_out:.4f}."
    )
    return f"{' '.join(facts)}.{measured}"


def _line(run: Run) -> dict[str, Any]:
    result = run.result
    return {
        "Run": run.id,
        "When": clock.local(run.created_at).replace(tzinfo=None),
        "Model": result["fine_tuned_model"],
        "Base": result["base"],
        "Release": result["release"],
        "Questions about": LABELS[result["arm"]],
        "Pairs": result["train"],
        "Epochs": result["epochs"],
        "Tokens": result["tokens"],
        "US$": result["cost"],
    }
