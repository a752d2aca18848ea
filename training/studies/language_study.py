"""The arms of the paper's Table 3 as a study (run kind ``llm-study``): one run after another on all
variants, only negations, and only hedges.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject
from curation.release.freezing import get_release
from curation.release.question_pairs import Arm
from db.engine import writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Run
from db.runs import create_run, list_runs, parts_of, under_way
from training.llm import finetuning
from training.llm.request import (
    LanguageTraining,
    checked_request,
    forecast,
    request_language_finetuning,
    request_of,
    require_train_questions,
)
from training.studies.members import Trial, carry_out_members

KIND = "llm-study"

ARMS: Mapping[str, Arm] = MappingProxyType(
    {"All": "paper", "Only negation": "negation", "Only hedging": "hedging"}
)
"""The label and the arm of each training run."""


class ArmRow(NamedTuple):
    """The results of one training run in a study.

    Attributes:
        label: one of `ARMS`.
        pairs: the number of its training pairs; None before it has ended.
        before, after: its metrics (`training.llm.card`); {} until it has ended.
    """

    label: str
    run: Run
    pairs: int | None
    steps: int | None
    before: Mapping[str, float]
    after: Mapping[str, float]


def store(project: OpenProject, request: LanguageTraining) -> Run:
    """Store a study with one training run for each arm that the release has question pairs for.
    All have the request's recipe, except for the arm.

    Raises:
        HedgerowError: another such study is in progress, fewer than two arms have pairs, or as in
            `checked_request`.
    """
    recipe = request.whole_recipe()
    recipes = {label: recipe.model_copy(update={"arm": arm}) for label, arm in ARMS.items()}
    with writing(project.engine) as session:
        for other in under_way(session, KIND):
            raise HedgerowError(
                f"Run {other.id} is another study of this kind; wait until it has ended."
            )
        release = get_release(session, request.release)
        left_out = {}
        for label, one in recipes.items():
            try:
                require_train_questions(session, release, one)
            except HedgerowError as error:
                left_out[label] = str(error)
        if len(recipes) - len(left_out) < 2:
            raise HedgerowError(
                f"There is not enough data to compare arms. {next(iter(left_out.values()))}"
            )
        run = create_run(
            session,
            kind=KIND,
            parameters={
                "release": release.number,
                "told": [f"Left out: “{label}”. {why}" for label, why in left_out.items()],
            },
            requested_by=project.author(session),
        )
        members = []
        for label, one in recipes.items():
            if label in left_out:
                continue
            member = checked_request(session, request, one)
            child = request_language_finetuning(
                session, member, requested_by=run.requested_by, group=parts_of(run)
            )
            members.append({"run": child.id, "label": label, "seconds": _seconds(session, child)})
        run.parameters = run.parameters | {"base": member.base, "members": members}
        session.flush()
        return run


COMPARE_ARMS = Action("compare the arms of a language model", LanguageTraining, store)


def _seconds(session: Session, run: Run) -> int:
    """The estimated seconds of a training run; its number of steps without an estimate."""
    request = request_of(run)
    found = forecast(session, request.recipe, base=request.base, release_number=request.release)
    return round(found.seconds or found.steps)


def work(context: RunContext) -> dict[str, Any]:
    """Execute the training runs that are not done yet, one after another (run kind ``llm-study``).

    Raises:
        HedgerowError: none of them succeeded.
    """
    states = carry_out_members(context, work=finetuning.work)
    return {"run": context.run.id, "members": {str(key): state for key, state in states.items()}}


def list_language_studies(session: Session) -> list[Run]:
    """The studies, newest first."""
    return list_runs(session, kind=KIND, limit=100)


def arm_rows(trials: list[Trial]) -> list[ArmRow]:
    """The training runs of a study, in its order."""
    return [
        ArmRow(
            label,
            run,
            run.result.get("pairs", {}).get("train"),
            run.result.get("steps"),
            run.result.get("before", {}),
            run.result.get("after", {}),
        )
        for label, run in trials
    ]
