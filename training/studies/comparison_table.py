"""Finished training runs side by side: the differences of their recipes, and their results.

Everything comes from the database in a few queries, so that hundreds of runs appear at once.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import ProbeCosine, Run
from training.evaluation.held_out import DRIFT
from training.evaluation.probe_sets import FIGURE_1_SET, stored_probes
from training.evaluation.similarity import ROLES
from training.models.finetuned import finished_runs
from training.recipe.presets import Preset, changes
from training.recipe.schema import values_of
from training.recipe.training_data import KIND
from training.studies.members import study_of
from training.studies.outcomes import NAMES, held_out

_MISSING = "–"
"""Shown where a recipe from another version has no such value."""

MOST = 1_000
"""Maximum number of training runs that are read: the newest."""


class TrainingRow(NamedTuple):
    """A finished training run.

    Attributes:
        run: its number.
        when: the time of the request, in UTC.
        study: the number of the study that it is part of, if any.
        providers: the providers of its training variants; empty means all.
        minutes: the duration of training and evaluation.
        preset: the name of its preset, if it used one.
        recipe: every key; for a recipe of another version, the stored keys.
        before, after: the metrics on the held-out part by name.
        figure_1: the three cosines after training, by relation to the anchor; {} if they are no
            longer stored.
    """

    run: int
    when: datetime
    release: int
    study: int | None
    seed: int
    providers: tuple[str, ...]
    triples: int
    steps: int
    minutes: float | None
    preset: str | None
    recipe: dict[str, Any]
    before: dict[str, float]
    after: dict[str, float]
    figure_1: dict[str, float]


def finished(session: Session) -> list[TrainingRow]:
    """The finished training runs, newest first, at most `MOST`."""
    runs = finished_runs(session, KIND, limit=MOST)
    cosines = _figure_1(session, [run.result.get("encoder_id", 0) for run in runs])
    return [_row(run, cosines) for run in runs]


def _row(run: Run, cosines: Mapping[int, dict[str, float]]) -> TrainingRow:
    result = run.result
    before, after, _ = held_out(run)
    seconds = result.get("seconds")
    return TrainingRow(
        run=run.id,
        when=run.created_at,
        release=int(run.parameters["release"]),
        study=study_of(run),
        seed=int(run.parameters["seed"]),
        providers=tuple(run.parameters.get("providers", ())),
        triples=int(result.get("triples", 0)),
        steps=int(result.get("steps", 0)),
        minutes=None if seconds is None else seconds / 60,
        preset=run.parameters.get("preset"),
        recipe=values_of(run),
        before=before,
        after=after,
        figure_1=cosines.get(result.get("encoder_id", 0), {}),
    )


def _figure_1(session: Session, encoders: Sequence[int]) -> dict[int, dict[str, float]]:
    labels = {stored.id: stored.probe.label for stored in stored_probes(session, FIGURE_1_SET)}
    query = select(
        col(ProbeCosine.encoder_id), col(ProbeCosine.probe_id), col(ProbeCosine.cosine)
    ).where(
        col(ProbeCosine.probe_id).in_(list(labels)), col(ProbeCosine.encoder_id).in_(set(encoders))
    )
    found: dict[int, dict[str, float]] = {}
    for encoder, probe, cosine in session.execute(query):
        found.setdefault(encoder, {})[labels[probe]] = cosine
    return found


def in_words(changes: Mapping[str, Any]) -> str:
    """Keys and values, written as in a recipe file."""
    return ", ".join(f"{key}: {shown(value)}" for key, value in changes.items())


def shown(value: Any) -> str:
    """A short form of a recipe's value."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(weight)}" for name, weight in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Difference(NamedTuple):
    """A recipe key whose value differs between training runs.

    Attributes:
        reference: the value of the recipe that they are compared with.
        values: the value of each training run, in their order.
        differs: whether each value differs from the reference.
    """

    key: str
    reference: str
    values: list[str]
    differs: list[bool]


def differing(rows: Sequence[TrainingRow], reference: Mapping[str, Any]) -> list[Difference]:
    """The keys in which these runs differ from each other; for a single run, from the reference.

    Release, seed and writers, which are not part of a recipe, come first.

    Args:
        rows: at least one run.
        reference: the keys of a recipe, and optionally those others.
    """
    sides = [settings_of(row) for row in rows]
    found = []
    for key in dict.fromkeys(key for side in sides for key in side):
        values = [side.get(key, _MISSING) for side in sides]
        first = reference.get(key, values[0])
        if any(value != values[0] for value in values) or (len(rows) == 1 and values[0] != first):
            differs = [value != first for value in values]
            found.append(Difference(key, shown(first), [shown(value) for value in values], differs))
    return found


def alike(rows: Sequence[TrainingRow], preset: Preset) -> dict[str, Any]:
    """The values that these runs share but the preset does not have; {} for a single run."""
    if len(rows) < 2:
        return {}
    return {
        key: value
        for key, value in changes(rows[0].recipe, preset).items()
        if all(row.recipe.get(key) == value for row in rows)
    }


def settings_of(row: TrainingRow) -> dict[str, Any]:
    """Everything that determines a training run: release, seed, writers, and all recipe keys."""
    chosen = {"release": row.release, "seed": row.seed, "variants by": writers(row)}
    return chosen | row.recipe


def writers(row: TrainingRow) -> str:
    """A description of the writers whose variants a run was trained on."""
    return ", ".join(row.providers) or "all"


def figures(row: TrainingRow) -> dict[str, float]:
    """All metrics of a training run by their labels, in the order of the tables."""
    found = {}
    for figure, name in NAMES.items():
        if figure in row.after:
            if figure in row.before and figure != DRIFT:  # it is 0 before training
                found[f"{name}, before"] = row.before[figure]
            found[f"{name}, after" if figure != DRIFT else name] = row.after[figure]
    return found | {
        f"Figure 1, {role}": row.figure_1[role] for role in ROLES if role in row.figure_1
    }


HEADER = (
    "run",
    "requested (UTC)",
    "release",
    "study",
    "seed",
    "variants by",
    "triples",
    "steps",
    "minutes",
    "preset",
)


def as_table(rows: Sequence[TrainingRow]) -> tuple[list[str], list[list[Any]]]:
    """The header and rows of a file with every recipe key and every metric of these runs."""
    keys = list(dict.fromkeys(key for row in rows for key in row.recipe))
    names = list(dict.fromkeys(name for row in rows for name in figures(row)))
    lines = [
        [
            row.run,
            f"{row.when:%Y-%m-%d %H:%M:%S}",
            row.release,
            "" if row.study is None else row.study,
            row.seed,
            writers(row),
            row.triples,
            row.steps,
            "" if row.minutes is None else round(row.minutes, 2),
            row.preset or "",
            *(shown(row.recipe[key]) if key in row.recipe else "" for key in keys),
            *(
                round(value, 4) if (value := figures(row).get(name)) is not None else ""
                for name in names
            ),
        ]
        for row in rows
    ]
    return [*HEADER, *keys, *names], lines
