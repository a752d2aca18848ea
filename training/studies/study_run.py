"""Studies (run kind ``study``): training runs that differ in one thing, one after another.

A study is one run whose process executes its training runs in turn (`training.studies.members`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject
from db import LARGEST_NUMBER
from db.engine import writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Encoder, Run, RunState
from db.runs import (
    UNFINISHED,
    create_run,
    get_run,
    list_runs,
    parts_of,
    requeue,
    under_way,
)
from db.settings import Settings
from training.benchmarks.runs import lifecycle as measuring
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.request import KIND as BENCHMARK
from training.benchmarks.runs.request import (
    BenchmarkRequest,
    checked_request,
    plan_benchmarks,
    request_benchmarks,
)
from training.benchmarks.sources import DataChoice, latest_data, require_hub
from training.benchmarks.tasks.general import SUITES
from training.data.families import Composition, composition
from training.encoder_run import training_run
from training.encoder_run.requesting import Train
from training.finetune.feasibility import estimate
from training.recipe.presets import PAPER, PRESETS, Preset
from training.recipe.schema import Recipe
from training.recipe.training_data import TrainingPlan, plan
from training.studies.designs import QUESTIONS, Arm, Design, Study, design
from training.studies.members import MemberProgress, Trial, carry_out_members, trials

KIND = "study"

UNKNOWN_SECONDS = 60.0
"""The assumed duration of benchmarks with a model if it is unknown."""


class RunStudy(Train):
    """A study: its question, the recipe of all runs, and what to measure afterwards."""

    name: Study = Field(
        description=" ".join(f"{name}: {question}" for name, question in QUESTIONS.items())
    )

    preset: str | None = Field(
        default=None,
        description=f"One of {', '.join(PRESETS)}. Default: '{PAPER}' for the study "
        f"'{Study.DATA}', and the preset that fits the release for the others.",
    )

    release: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Default: the newest."""

    seed: int = training_run.DEFAULT_SEED
    """Seed of all runs."""

    benchmarks: tuple[DataChoice | str, ...] = ()
    """Run this benchmark with every model afterwards, on its latest data. Can be repeated."""

    suites: tuple[str, ...] = Field(
        default=(),
        description=f"Run this suite of mteb tasks afterwards ({', '.join(SUITES)}).",
    )

    def preset_on(self, data: TrainingPlan) -> Preset:
        """The preset: by default the paper's own for Table 2, else the one that fits the data."""
        default = not self.preset and self.name is Study.DATA
        return PRESETS[PAPER] if default else super().preset_on(data)

    def data_in(self, folder: Path) -> tuple[DataChoice, ...]:
        """The benchmarks and their data, for names the latest file."""
        return tuple(
            latest_data(folder, one) if isinstance(one, str) else one for one in self.benchmarks
        )


class Planned(NamedTuple):
    """A possible study, with its estimated time in seconds."""

    design: Design
    seconds: list[float]
    """The seconds of each training run."""


def plan_study(session: Session, study: Study, *, data: Composition, base: Recipe) -> Planned:
    """The design of a study on this data: the base recipe, except for what the study varies."""
    found = design(study, data, base)
    return Planned(found, [estimate(session, arm.plan, arm.recipe).seconds for arm in found.arms])


def store(project: OpenProject, request: RunStudy) -> Run:
    """Store a study with all of its training runs.

    Raises:
        HedgerowError: another study is in progress, the release is too small for this one, the seed
            is out of range, or the data of a benchmark is missing.
    """
    benchmarks = request.data_in(project.settings.data_folder)
    for choice in benchmarks:
        require_hub(choice)  # fail before the training runs, not after them
    with writing(project.engine) as session:
        for other in under_way(session, KIND):
            raise HedgerowError(f"Run {other.id} is another study; wait until it has ended.")
        data = composition(session, request.release)
        base, _ = request.recipe_on(plan(session, data.release))
        planned = plan_study(session, request.name, data=data, base=base)
        if planned.design.obstacle:
            raise HedgerowError(planned.design.obstacle)
        afterwards = BenchmarkRequest(
            models=(ModelChoice(name=base.base_encoder),),
            benchmarks=benchmarks,
            suites=request.suites,
        )
        run = create_run(
            session,
            kind=KIND,
            parameters={
                "study": request.name.value,
                "release": data.release,
                "seed": request.seed,
                "recipe": base.model_dump(mode="json"),
                "caution": planned.design.caution,
                "told": [*filter(None, [planned.design.caution]), *planned.design.notes],
                **_afterwards(session, project.settings, afterwards, len(planned.seconds)),
            },
            requested_by=project.author(session),
        )
        arms = zip(planned.design.arms, planned.seconds, strict=True)
        members = [_member(session, run, arm, seconds, seed=request.seed) for arm, seconds in arms]
        run.parameters = run.parameters | {"members": members}
        session.flush()
        return run


RUN_STUDY = Action("run a study", RunStudy, store)


def _afterwards(
    session: Session, settings: Settings, request: BenchmarkRequest, trainings: int
) -> dict[str, Any]:
    """The stored values for a study's benchmarks: the request for the base encoder, and the
    approximate seconds for all models; {} without benchmarks."""
    if not request.benchmarks and not request.suites:
        return {}
    request = checked_request(session, settings, request)
    (base,) = plan_benchmarks(session, settings, request.models, request.benchmarks).models
    seconds = round((base.seconds or UNKNOWN_SECONDS) * (trainings + 1))
    return {"benchmarks": request.model_dump(mode="json"), "benchmark_seconds": seconds}


def _member(session: Session, run: Run, arm: Arm, seconds: float, *, seed: int) -> dict[str, Any]:
    """Store the training run of an arm. Returns the values for the study's run."""
    child = training_run.store_training(
        session,
        release_number=arm.plan.release,
        recipe=arm.recipe,
        seed=seed,
        providers=arm.providers,
        requested_by=run.requested_by,
        group=parts_of(run),
    )
    return {"run": child.id, "label": arm.label, "seconds": round(seconds)}


def list_studies(session: Session, *, limit: int = 100) -> list[Run]:
    """The newest studies first."""
    return list_runs(session, kind=KIND, limit=limit)


def expected_seconds(run: Run) -> int:
    """The approximate duration of a study, as estimated at the time of the request."""
    seconds: int = run.parameters.get("benchmark_seconds", 0)
    return seconds + sum(member["seconds"] for member in run.parameters["members"])


def benchmark_run(run: Run) -> int | None:
    """The number of the run that measured a study's models with benchmarks, if there is one."""
    return run.parameters.get("benchmark_run")


def work(context: RunContext) -> dict[str, Any]:
    """Execute the training runs that are not done yet, one after another (run kind ``study``), and
    then the benchmarks.

    Raises:
        HedgerowError: no training run has finished, or a benchmark failed.
    """
    states = carry_out_members(context, work=training_run.work)
    if "benchmarks" in context.parameters:
        _measure(context)
    return {"run": context.run.id, "members": {str(key): state for key, state in states.items()}}


def _measure(context: RunContext) -> None:
    """Measure the base encoder and the trained encoders with the requested benchmarks."""
    number = _benchmarks(context)
    if number is None:
        return
    members = context.parameters["members"]
    progress = MemberProgress(context, members, len(members))

    def measure(own: RunContext) -> dict[str, Any]:
        own.listener = progress
        return measuring.work(own)

    execute(context.engine, context.settings, number, {BENCHMARK: measure}, context)


def trained_names(session: Session, found: Sequence[Trial]) -> dict[str, str]:
    """The name of each encoder that a study has trained → its difference from the others."""
    return {
        session.get_one(Encoder, trial.run.result["encoder_id"]).name: trial.label
        for trial in found
        if trial.run.state == RunState.DONE
    }


def _benchmarks(context: RunContext) -> int | None:
    """The number of the waiting benchmark run of a study; None if it is done."""
    with writing(context.engine) as session:
        study = get_run(session, context.run.id)
        number = benchmark_run(study)
        if number is not None:
            state = get_run(session, number).state
            if state not in (*UNFINISHED, RunState.DONE):
                requeue(session, number)
            return None if state == RunState.DONE else number
        request = BenchmarkRequest.model_validate(study.parameters["benchmarks"])
        trained = tuple(
            ModelChoice(name=name) for name in trained_names(session, trials(session, study))
        )
        run = request_benchmarks(
            session,
            context.settings,
            request.model_copy(update={"models": request.models + trained}),
            requested_by=study.requested_by,
            group=parts_of(study),
        )
        study.parameters = study.parameters | {"benchmark_run": run.id}
        return int(run.id or 0)
