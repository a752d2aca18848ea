"""Studies: groups of training runs that differ in one thing and are compared."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import streamlit as st

from curation.formatting import duration
from curation.release.freezing import release_numbers
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED
from pages.components.shared import links, page_runs, scores
from pages.components.shared.shell import current_user, error_messages, open_project
from pages.components.train import recipe_editor, study_outcome, training_form, training_runs
from training.benchmarks.tasks.general import SUITES
from training.data.families import Composition
from training.encoder_run.training_run import DEFAULT_SEED
from training.finetune.finetuning import LARGEST_SEED
from training.recipe.presets import PRESETS
from training.recipe.schema import Recipe, parse_recipe
from training.studies.designs import QUESTIONS, Study
from training.studies.study_run import (
    RUN_STUDY,
    Planned,
    RunStudy,
    list_studies,
    plan_study,
)

HEADINGS: Mapping[Study, str] = MappingProxyType(
    {
        Study.DATA: "Negation and hedging",
        Study.TRIPLES: "Number of triples",
        Study.TYPES: "One type left out",
        Study.WRITERS: "Rules and language models",
        Study.SOURCES: "Other people's triples",
    }
)
"""Titles of the studies."""

PLANNED_SECONDS = 60.0
"""Seconds for which an estimate is cached: in a large project, 20 of them take a second."""

FITTING, OWN = "the preset that suits each study", "your own recipe, from the Train section"

_RELEASE, _SEED, _PROBLEM = "study-release", "study-seed", "study_problem"
_BENCHMARKS, _SUITES = "study-benchmarks", "study-suites"


def show() -> None:
    """The study in progress, the studies that can be started, and their results."""
    runs = open_project.ask(list_studies)
    numbers = open_project.ask(release_numbers)
    active = next((run for run in runs if run.state in UNFINISHED), None)
    if active is not None:
        page_runs.follow(active, title=_title(active), more=training_runs.states)
    if numbers:
        _ask(numbers, active)
    else:
        links.no_release("A study compares training runs on one release. Create a release first.")
    error_messages.show_kept(_PROBLEM)
    if runs:
        _results(runs)


def mention() -> bool:
    """Draw a line about the study in progress; whether there is one."""
    active = [run for run in open_project.ask(list_studies, limit=5) if run.state in UNFINISHED]
    for run in active:
        with st.container(
            horizontal=True, vertical_alignment="center", border=True, key="train-study"
        ):
            st.text(
                f"Run {run.id}, the {_title(run)}, is in progress. Other training runs take "
                "turns with its own.",
                width="stretch",
            )
            st.button(
                "Show details",
                key="train-show-study",
                on_click=st.session_state.update,
                args=({training_runs.SECTION: training_runs.STUDIES},),
            )
    return bool(active)


def _title(run: Run) -> str:
    return f"study “{HEADINGS[Study(run.parameters['study'])]}” on release {_release(run)}"


def _release(run: Run) -> int:
    return int(run.parameters["release"])


@current_user.for_leads("start studies")
def _ask(numbers: list[int], active: Run | None) -> None:
    """The studies, each with its button and estimated time.

    Args:
        active: the study in progress, which must end before the next one can start.
    """
    st.text(
        "A study is a group of full training runs that differ in one respect. They run one after "
        "another. You can close the browser."
    )
    if active is not None:
        st.text(f"You can start the next study when run {active.id} has ended.")
    chosen = _recipe()
    number = st.session_state.get(_RELEASE)
    data = training_form.composition_of(number if number in numbers else numbers[0])
    try:
        own = parse_recipe(recipe_editor.text("")) if chosen == OWN else None
    except HedgerowError as error:
        error_messages.show(
            f"The recipe in the Train section is not valid yet. {error}", key="base"
        )
        return
    preset = chosen if chosen in PRESETS else None
    for study in Study:
        request = RunStudy(name=study, release=data.release, preset=preset, recipe=own)
        _card(request, data, busy=active is not None)
    with st.expander("Advanced: release, seed, benchmarks", icon=":material/tune:"):
        _advanced(numbers)


def _recipe() -> str:
    """Choose the recipe of all runs: `FITTING`, the id of a preset, or `OWN`."""
    own = [OWN] if recipe_editor.text("") else []  # a user who edited a recipe wants it
    chosen: str = st.selectbox(
        "Recipe",
        [*own, FITTING, *PRESETS],
        format_func=lambda key: PRESETS[key].label if key in PRESETS else key,
        key=f"study-recipe-{len(own)}",
        persist_state="session",
        width=400,
        help="All runs of a study use this recipe, except for what the study varies. You can edit "
        "the recipe in the Train section.",
    )
    return chosen


@st.cache_data(show_spinner=False, ttl=PLANNED_SECONDS, max_entries=20)
def _planned(study: Study, number: int, recipe: str) -> Planned:
    base, data = Recipe.model_validate_json(recipe), training_form.composition_of(number)
    return open_project.ask(plan_study, study, data=data, base=base)


def _card(request: RunStudy, data: Composition, *, busy: bool) -> None:
    study, wanted = request.name, training_form.plan_of(data.release or 0)
    base, _ = request.recipe_on(wanted)
    planned = _planned(study, data.release or 0, base.model_dump_json())
    possible = not planned.design.obstacle
    with st.container(border=True, key=f"study-card-{study}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.header(HEADINGS[study], anchor=False, width="stretch")
            if possible:
                with st.popover("How it works", icon=":material/help:"):
                    for sentence in planned.design.notes:
                        st.text(sentence)
            st.button(
                "Run this study",
                key=f"study-start-{study}",
                icon=":material/science:",
                disabled=busy or not possible,
                on_click=_start,
                args=(request,),
            )
        text = f"Not possible with this release. {planned.design.obstacle}"
        if possible:
            called = f"the “{request.preset_on(wanted).id}” preset"
            called = "your edited recipe" if request.recipe else called
            arms = planned.design.arms
            text = (
                f"{len(arms)} runs, {duration(sum(planned.seconds))} in total: "
                f"{', '.join(arm.label for arm in arms)}. Uses {called}, except for what the study "
                "varies."
            )
        st.text("\n".join(filter(None, [QUESTIONS[study], text, planned.design.caution])))


def _advanced(numbers: list[int]) -> None:
    with st.container(horizontal=True):
        st.selectbox("Release", numbers, key=_RELEASE, persist_state="session")
        st.number_input(
            "Seed",
            0,
            LARGEST_SEED,
            DEFAULT_SEED,
            key=_SEED,
            persist_state="session",
            help="All runs of a study use it.",
        )
    with st.container(horizontal=True):
        st.multiselect(
            "Benchmarks",
            list(scores.known_data()),
            key=_BENCHMARKS,
            placeholder="None",
            persist_state="session",
            help="The base encoder and all trained models are evaluated on these after training. "
            "Add files on the Benchmarks page.",
        )
        st.multiselect(
            "General tasks",
            list(SUITES),
            key=_SUITES,
            placeholder="None",
            persist_state="session",
            help="Suites of mteb tasks. 'lite' is the one in the paper's Table 2; it takes hours "
            "per model.",
        )


def _start(request: RunStudy) -> None:
    """Store a study and start its process; a problem is shown on the page."""
    state, known = st.session_state, scores.known_data()
    with error_messages.kept_for(_PROBLEM):
        chosen = {
            "seed": int(state.get(_SEED, DEFAULT_SEED)),
            "benchmarks": tuple(
                known[name] for name in state.get(_BENCHMARKS, ()) if name in known
            ),
            "suites": tuple(state.get(_SUITES, ())),
        }
        page_runs.begin(RUN_STUDY, request.model_copy(update=chosen))


def _results(runs: list[Run]) -> None:
    """The results of a study: the newest, unless another one is chosen."""
    st.header("Results", anchor=False)
    run = training_runs.choose_among(
        "Study",
        runs,
        lambda run: f"{HEADINGS[Study(run.parameters['study'])]}, release {_release(run)}",
        key="study-chosen",
    )
    if run.state not in (*UNFINISHED, RunState.DONE):
        busy = any(other.state in UNFINISHED for other in runs)
        page_runs.stopped(run, again=None if busy else partial(page_runs.start_again, run))
    study_outcome.draw(run)
