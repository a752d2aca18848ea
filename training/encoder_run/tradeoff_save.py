"""Saving a point of a measured trade-off as a separate model (run kind ``tradeoff-save``)."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.encoders.loading import fingerprint
from curation.release.freezing import get_release
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder, Run
from db.runs import create_run
from db.settings import Settings
from training.encoder_run.tradeoff import finished_training, require_no_other
from training.encoder_run.tradeoff_curve import Curve, SharePoint, curve_of, group_of, newest
from training.encoder_run.weight_changes import ends_of, load
from training.finetune.checkpoints import (
    MODEL_FOLDER,
    remove_partial,
    require_disk_space,
    save_model,
)
from training.model_card import card_of, write_card
from training.models.finetuned import finished_runs
from training.models.known import MAX_ENCODER_NAME, store_encoder
from training.recipe.schema import recipe_of

KIND = "tradeoff-save"


class Saved(NamedTuple):
    """A saved point.

    Attributes:
        share: of the finetuned weights.
        name: the name of the encoder, in all choices of encoders.
        folder: the folder of the model.
        encoder_id: the id of its row.
        run: the number of the run that saved it, for publishing.
    """

    share: float
    name: str
    folder: Path
    encoder_id: int
    run: int


def saved_models(session: Session, settings: Settings, training: int) -> list[Saved]:
    """The saved points of a trade-off that still exist, by share."""
    found: dict[float, Saved] = {}
    for run in reversed(finished_runs(session, KIND, group=group_of(training))):
        row = session.get(Encoder, run.result["encoder_id"])
        folder = settings.data_folder / run.result["model"]
        if row is not None and folder.is_dir():
            share = float(run.result["share"])
            found[share] = Saved(share, row.name, folder, row.id, run.id)
    return sorted(found.values())


class Tradeoff(NamedTuple):
    """The trade-off of a training run, and the runs for it.

    Attributes:
        curve: the latest measurement, if any.
        saved: the models saved from it.
        measuring, saving: the newest runs that measure it and save a model, in any state.
    """

    curve: Curve | None
    saved: list[Saved]
    measuring: Run | None
    saving: Run | None


def tradeoff_of(session: Session, settings: Settings, training: int) -> Tradeoff:
    """The trade-off of the training run with this number."""
    return Tradeoff(
        curve_of(session, training),
        saved_models(session, settings, training),
        newest(session, training),
        newest(session, training, kind=KIND),
    )


class SavePoint(Request):
    """Which point of a measured trade-off to save."""

    training: int = Field(ge=1, le=LARGEST_NUMBER)
    """The number of a training run."""

    share: float = Field(ge=0, le=1)
    """Share of the finetuned weights."""


def store(project: OpenProject, request: SavePoint) -> Run:
    """Store a run that saves the model with this share of the finetuned weights.

    Raises:
        HedgerowError: the training run does not exist, its trade-off was not measured with this
            share, a model with these weights already exists, or the recipe has another version.
    """
    settings, training = project.settings, request.training
    with writing(project.engine) as session:
        run = finished_training(session, training)
        recipe_of(run)  # the saved model's card needs all of it
        ends_of(session, settings, run)
        curve = curve_of(session, training)
        if curve is None:
            raise HedgerowError(f"Measure the trade-off of run {training} before you save a point.")
        point = _point(curve, request.share)
        if reason := why_not(curve, point.share, saved_models(session, settings, training)):
            raise HedgerowError(reason)
        require_no_other(session, kind=KIND, training=training)
        return create_run(
            session,
            kind=KIND,
            group=group_of(training),
            requested_by=project.author(session),
            parameters={"training": training, "share": point.share},
        )


SAVE_POINT = Action("save a point of a trade-off", SavePoint, store)


def _point(curve: Curve, share: float) -> SharePoint:
    point = curve.at(share)
    if point is None:
        known = ", ".join(f"{point.share:g}" for point in curve.points)
        raise HedgerowError(f"Expected one of the measured shares ({known}), found {share:g}.")
    return point


def why_not(curve: Curve, share: float, saved: Sequence[Saved]) -> str:
    """One sentence about why a point can't be saved; "" if it can."""
    if share == 0:
        return "With a share of 0, the weights are those of the base encoder. Choose another share."
    if math.isclose(share, curve.own_share):
        return (
            f"With a share of {share:g}, the weights are those of run {curve.training}'s own "
            "model; choose another share."
        )
    for model in saved:
        if math.isclose(model.share, share):
            return f"This point is already saved as {model.name!r}."
    return ""


def work(context: RunContext) -> dict[str, Any]:
    """Mix the weights and save them (run kind ``tradeoff-save``).

    Parameters of the run: ``training`` (the number of the training run), ``share``.
    """
    training, share = int(context.parameters["training"]), float(context.parameters["share"])
    shutil.rmtree(context.folder / MODEL_FOLDER, ignore_errors=True)  # from an earlier attempt
    with reading(context.engine) as session:
        run = finished_training(session, training)
        ends = ends_of(session, context.settings, run)
        curve = curve_of(session, training)
    if curve is None:
        raise HedgerowError(f"Measure the trade-off of run {training} before you save a point.")
    context.update(0, 2, "Loading both encoders.")
    model = load(ends).set_share(share)
    require_disk_space(model, context.folder)
    context.update(1, 2, "Saving the model.")
    try:
        save_model(model, context.folder)
        _write_card(context, run, curve, _point(curve, share))
        context.check()
        return _result(context, run, curve, share=share)
    except BaseException:
        shutil.rmtree(context.folder / MODEL_FOLDER, ignore_errors=True)
        raise
    finally:
        remove_partial(context.folder)


def _write_card(context: RunContext, run: Run, curve: Curve, point: SharePoint) -> None:
    """The run's card, with this model's metrics and the mixing of its weights."""
    figures = {"before": curve.points[0].figures, "after": point.figures, "of": curve.counts}
    facts = {key: run.result[key] for key in run.result if not key.endswith("encoder_id")}
    with reading(context.engine) as session:
        card = card_of(session, run, facts | {"held_out": figures}, note=note_of(point.share))
    write_card(context.folder / MODEL_FOLDER, card)


def note_of(share: float) -> str:
    """How the weights of a saved point were mixed, for its card."""
    return (
        f"The weights are {share:g} times the finetuned ones plus {1 - share:g} times the base "
        "model's (WiSE-FT), chosen after training."
    )


def _result(context: RunContext, run: Run, curve: Curve, *, share: float) -> dict[str, Any]:
    path = f"{context.run.folder}/{MODEL_FOLDER}"
    with writing(context.engine) as session:
        release = get_release(session, int(run.parameters["release"]))
        base = run.parameters["recipe"]["base_encoder"]
        name = f"run {run.id} at {share:g}: {base}, release {release.number}"
        row = store_encoder(
            session,
            context.settings,
            Encoder(
                name=name[:MAX_ENCODER_NAME],
                path=path,
                base_id=run.result["before_encoder_id"],
                fingerprint=fingerprint(context.folder / MODEL_FOLDER),
                run_id=context.run.id,
                release_id=release.id,
            ),
        )
        encoder_id, known_as = row.id, row.name
    return {
        "run": context.run.id,
        "training": run.id,
        "share": share,
        "model": path,
        "name": known_as,
        "encoder_id": encoder_id,
        "before_encoder_id": run.result["before_encoder_id"],
        "release": release.number,
        "triples": run.result["triples"],
        "held_out": {
            "before": curve.points[0].figures,
            "after": _point(curve, share).figures,
        },
    }
