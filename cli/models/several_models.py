"""Several models in one command, and those that had to be skipped."""

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


class SkippedModel(NamedTuple):
    """A model that was not measured, and one sentence why."""

    model: str
    problem: str

    @property
    def description(self) -> str:
        """For people."""
        return f"Skipped: {self.problem}"


class Fitting(NamedTuple):
    """The usable models, and the others."""

    models: tuple[ModelChoice, ...]
    skipped: list[SkippedModel]


def names_of_models(named: Sequence[str], file: Path | None) -> list[str]:
    """The models from options and a file, each once; one without a name if there are none.

    Raises:
        HedgerowError: the file can't be read or names no models.
    """
    found = list(named)
    if file is not None:
        text = read_text(expanded(file), kind="a list of models", largest=LARGEST_WRITTEN)
        lines = [line.strip() for line in text.splitlines()]
        listed = [line for line in lines if line and not line.startswith("#")]
        if not listed:
            raise HedgerowError(
                f"Expected one model per line in {str(file)!r}, found none; add models, or omit "
                "the file."
            )
        found += listed
    return list(dict.fromkeys(found)) or [""]


def fitting_models(engine: Engine, settings: Settings, asked: Iterable[ModelChoice]) -> Fitting:
    """The models whose files do not rule them out.

    Raises:
        HedgerowError: no model is left.
    """
    models: list[ModelChoice] = []
    skipped: list[SkippedModel] = []
    with reading(engine) as session:
        for model in asked:
            try:
                require_fitting(session, settings, clean_model(session, model))
            except HedgerowError as error:
                skipped.append(SkippedModel(model.name, f"{model.name}: {error}"))
            else:
                models.append(model)
    if not models:
        raise HedgerowError(_none_left(skipped))
    return Fitting(tuple(models), skipped)


def _none_left(skipped: Sequence[SkippedModel]) -> str:
    first = skipped[0].problem
    return f"Expected models that can be measured, found none of {len(skipped)}. First: {first}"


class CarriedOut(NamedTuple):
    """The outcome of a run, as from `carry_out_run`, and what it could not measure."""

    result: dict[str, Any]
    skipped: list[SkippedModel]


def carry_out(settings: Settings, engine: Engine, run_id: int, *, several: bool) -> CarriedOut:
    """Carry out a run; models that can't be loaded are skipped if there are several.

    Raises:
        RunEnded: as in `carry_out_run`, but with several models only if nothing was measured.
    """
    try:
        return CarriedOut(carry_out_run(settings, engine, run_id), [])
    except RunEnded as ended:
        problem = ended.__cause__
        if not (several and isinstance(problem, NotMeasured) and problem.measured):
            raise
        skipped = [SkippedModel(model, reason) for model, reason in problem.problems]
        return CarriedOut(dict(ended.facts), skipped)
