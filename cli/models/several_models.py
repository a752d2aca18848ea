"""Several models in one command: which, and those that had to be passed over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine

from cli.shared.run_here import carry_out_run
from db.engine import reading
from db.errors import HedgerowError, RunEnded
from db.named_files import LARGEST_WRITTEN, expanded, read_text
from db.settings import Settings
from training.benchmarks.runs.lifecycle import NotMeasured
from training.benchmarks.runs.measured_models import ModelChoice, clean_model, require_fitting


class PassedOver(NamedTuple):
    """A model that was not measured, and why: a sentence."""

    model: str
    problem: str

    @property
    def told(self) -> str:
        """For people."""
        return f"Passed over: {self.problem}"


class Fitting(NamedTuple):
    """The models that can be asked for, and those that can't."""

    models: tuple[ModelChoice, ...]
    passed_over: list[PassedOver]


def names_of_models(named: Sequence[str], file: Path | None) -> list[str]:
    """The models that options and a file name, each once; one without a name where none does.

    Raises:
        HedgerowError: the file can't be read or names none.
    """
    found = list(named)
    if file is not None:
        text = read_text(expanded(file), kind="a list of models", largest=LARGEST_WRITTEN)
        lines = [line.strip() for line in text.splitlines()]
        listed = [line for line in lines if line and not line.startswith("#")]
        if not listed:
            raise HedgerowError(
                f"Expected a model a line in {str(file)!r}, found none; name some, or leave the "
                "file out."
            )
        found += listed
    return list(dict.fromkeys(found)) or [""]


def fitting_models(engine: Engine, settings: Settings, asked: Iterable[ModelChoice]) -> Fitting:
    """Those whose files do not say at once that they can't be measured.

    Raises:
        HedgerowError: none is left.
    """
    models: list[ModelChoice] = []
    passed_over: list[PassedOver] = []
    with reading(engine) as session:
        for model in asked:
            try:
                require_fitting(session, settings, clean_model(session, model))
            except HedgerowError as error:
                passed_over.append(PassedOver(model.name, f"{model.name}: {error}"))
            else:
                models.append(model)
    if not models:
        raise HedgerowError(_none_left(passed_over))
    return Fitting(tuple(models), passed_over)


def _none_left(passed_over: Sequence[PassedOver]) -> str:
    first = passed_over[0].problem
    return f"Expected models that can be measured, found none of {len(passed_over)}. First: {first}"


class CarriedOut(NamedTuple):
    """What a run came to, as `carry_out_run` gives it, and what it could not measure."""

    result: dict[str, Any]
    passed_over: list[PassedOver]


def carry_out(settings: Settings, engine: Engine, run_id: int, *, several: bool) -> CarriedOut:
    """Carry out a run; of several models, those that can't be loaded are passed over.

    Raises:
        RunEnded: as `carry_out_run`; with several models only where nothing was measured.
    """
    try:
        return CarriedOut(carry_out_run(settings, engine, run_id), [])
    except RunEnded as ended:
        problem = ended.__cause__
        if not (several and isinstance(problem, NotMeasured) and problem.measured):
            raise
        passed_over = [PassedOver(model, said) for model, said in problem.problems]
        return CarriedOut(dict(ended.facts), passed_over)
