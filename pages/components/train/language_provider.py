"""Finetuning at a provider: the form, jobs in progress, and the resulting models."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st
from pydantic import SecretStr

from curation.formatting import counted
from curation.generation.providers.chat.completions import KEY_VARIABLE
from curation.release.freezing import release_numbers
from curation.release.question_pairs import ARMS
from curation.validation import checked
from db.errors import HedgerowError
from db.models import Run, RunState, TeamRole
from db.run_process import run_folder
from db.runs import STOPPED, UNFINISHED, last_metrics
from pages.components.shared import formatting, links, model_choice, page_runs
from pages.components.shared.charts import plot
from pages.components.shared.shell import current_user, error_messages, open_project
from pages.components.train import curve_charts, language_form, training_runs
from training.evaluation.figures import loss_curve
from training.llm.card import HELD_OUT_LOSS
from training.llm.provider_request import (
    FINETUNE_AT_PROVIDER,
    LARGEST_SEED,
    MOST_EPOCHS,
    Plan,
    ProviderRequest,
    list_finetunings,
    plan,
    read_job,
    request_of,
)
from training.runs.kinds import cancel_run

_PROBLEM = "llm_provider_problem"

FEW = 2
"""Fewest points of a curve."""


def show() -> None:
    """Draw the section."""
    st.text(
        "Finetune a hosted model on the questions of a release, as under Train. Any server with "
        "OpenAI's finetuning API works. The sentences of your release are sent to it."
    )
    runs = open_project.ask(list_finetunings)
    for run in reversed(runs):
        if run.state in UNFINISHED:
            page_runs.follow(run, title=_title(run), more=_live)
    if runs and runs[0].state in STOPPED:
        _stopped(runs[0])
    error_messages.show_kept(_PROBLEM)
    if numbers := open_project.ask(release_numbers):
        box(numbers)
    else:
        links.no_release("The questions are made from a release, but there is none yet.")
    _models([run for run in runs if run.state == RunState.DONE])


def _title(run: Run) -> str:
    request = request_of(run)
    about = language_form.ARM_LABELS[request.arm]
    return f"finetune {request.model} on release {request.release}, {about}"


def _live(run: Run) -> None:
    """The curve of a run in progress."""
    _curve(run, "live-llm-provider")


def _curve(run: Run, key: str, title: str = "") -> None:
    points = open_project.ask(loss_curve, run)
    if len(points) >= FEW:
        if title:
            st.markdown(f"**{title}**")
        drawn = partial(curve_charts.loss, points)
        plot.chart(drawn, alt="Loss by step", key=f"{key}-{run.id}")


def _stopped(run: Run) -> None:
    """A run that stopped early: the reason, and how to continue. Its job may still be running."""
    address = request_of(run).base_url
    page_runs.stopped(
        run,
        again=lambda: page_runs.start_again(run, model_choice.key_environment(address)),
        label="Resume",
    )
    if not current_user.may(TeamRole.LEAD):
        return
    with st.container(key=f"llm-provider-stopped-{run.id}"):
        # The form below has the same field, for its own address.
        with st.popover(f"Key for run {run.id}", icon=":material/key:"):
            model_choice.key_field(address, place=f"-llm-{run.id}")
        job = read_job(run_folder(open_project.settings(), run))
        may_run = job is not None and job.started
        if may_run and run.state in (RunState.PAUSED, RunState.INTERRUPTED):
            st.text("The job at the provider keeps running until you cancel it.")
            st.button(
                "Cancel the job", key=f"llm-provider-cancel-{run.id}", on_click=_cancel, args=(run,)
            )


def _cancel(run: Run) -> None:
    """Cancel the run and its job, with the key typed in for its address, if any."""
    settings, address = open_project.settings(), request_of(run).base_url
    if typed := model_choice.key_environment(address).get(KEY_VARIABLE):
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
    chosen = training_runs.choose_among("Run", done, _title, key="llm-provider-run")
    st.text("The model's name at the provider")
    st.code(chosen.result["fine_tuned_model"], language=None)
    st.text("You can use it as a chat model under Benchmarks, Generate and Second opinions.")
    st.text(_outcome(chosen))
    _curve(chosen, "llm-provider-loss", "Loss")
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
        "When": formatting.local(run.created_at).replace(tzinfo=None),
        "Model": result["fine_tuned_model"],
        "Base": result["base"],
        "Release": result["release"],
        "Questions about": language_form.ARM_LABELS[result["arm"]],
        "Pairs": result["train"],
        "Epochs": result["epochs"],
        "Tokens": result["tokens"],
        "US$": result["cost"],
    }


# -- The form that starts finetuning at a provider ------------------------------------------------


_PROVIDERS_OWN = "automatic"


@current_user.for_leads("start training runs")
def box(numbers: list[int]) -> None:
    """The release, the model, the estimate, and the button.

    Args:
        numbers: the releases' numbers, at least one, newest first.
    """
    with st.container(border=True, key="llm-provider-box"):
        values = _values(numbers)
        if not values["model"]:
            st.text("Enter a model to see the estimate.")
            return
        try:
            request = checked(ProviderRequest, values)
            found = _plan(request.model_dump_json(), open_project.settings().openai_base_url)
        except HedgerowError as error:
            st.text(str(error))
            return
        for line in found.sentences():
            st.text(line)
        if lacks_key := model_choice.lacks_key(request.base_url):
            st.text("OpenAI needs a key. Enter one above, or enter the address of another server.")
        # Not a callback, which would use the values from the last time the page was drawn.
        if st.button(
            "Send and start",
            key="llm-provider-start",
            type="primary",
            icon=":material/cloud_upload:",
            disabled=lacks_key,
            help="Sends the question pairs to the provider and starts a job there. You can close "
            "the browser.",
        ):
            _start(request)


def _values(numbers: list[int]) -> dict[str, Any]:
    """The boxes' values for a `ProviderRequest`."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        release = st.selectbox(
            "Release", numbers, key="llm-provider-release", persist_state="session", width=90
        )
        arm = st.selectbox(
            "Questions about",
            list(ARMS),
            format_func=lambda name: language_form.ARM_LABELS[name],
            key="llm-provider-arm",
            persist_state="session",
        )
    st.caption(language_form.ARM_MEANINGS[arm])
    chosen = model_choice.model()
    model_choice.key_field(chosen["base_url"], place="-llm")
    with (
        st.expander("Epochs and seed", icon=":material/tune:", key="llm-provider-settings"),
        st.container(horizontal=True),
    ):
        epochs = _number("Epochs", "epochs", 1, MOST_EPOCHS)
        seed = _number("Seed", "seed", 0, LARGEST_SEED)
    return {
        "model": chosen["model"],
        "base_url": chosen["base_url"],
        "release": release,
        "arm": arm,
        "epochs": epochs,
        "seed": seed,
    }


def _number(label: str, name: str, least: int, most: int) -> int | None:
    found = st.number_input(
        label,
        least,
        most,
        value=None,
        placeholder=_PROVIDERS_OWN,
        key=f"llm-provider-{name}",
        persist_state="session",
    )
    return None if found is None else int(found)


@st.cache_data(show_spinner=False, max_entries=20)
def _plan(request: str, address: str) -> Plan:
    """A release never changes. Whether a price is known depends on the address in the settings."""
    asked = ProviderRequest(**json.loads(request))
    return plan(current_user.project(), asked)


def _start(request: ProviderRequest) -> None:
    """Store the run and start its process."""
    try:
        keys = model_choice.key_environment(request.base_url)
        page_runs.begin(FINETUNE_AT_PROVIDER, request, keys)
    except HedgerowError as error:
        error_messages.show(str(error), key="llm-provider")
    else:
        st.rerun()
