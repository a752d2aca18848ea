"""Push runs (kind ``push``), which publish a trained model or a release on the Hub.

The access token is not stored in a run. Its process finds it in its environment.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.encoders.model_folders import HUB_FILES
from curation.release.export.release_folder import export_release
from curation.release.freezing import get_release
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Encoder, Run, RunState
from db.runs import create_run, get_run, list_runs, refuse_equal
from db.settings import HUB_TOKEN
from training.benchmarks.contamination import compare
from training.hub.publishing import Repo, checked_repo, push, require_token
from training.model_card import CARD, card_of, published
from training.models.finetuned import RANKER_KIND as RANKERS
from training.models.known import ModelLocation
from training.ranking.card import ranking_card
from training.runs.kinds import kind_of

KIND = "push"
DATASET = "dataset"
"""The subfolder of a run's folder for the exported release."""

SHOWN = 20
"""Number of newest pushes of a model or release that are checked."""


class Subject(NamedTuple):
    """The model of a run or the release to push.

    Attributes:
        run: the number of a run that has made a model.
        release: the number of a release.
    """

    run: int | None = None
    release: int | None = None

    @property
    def group(self) -> str:
        """The parameters that identify the runs that push it."""
        return f"push-release-{self.release}" if self.run is None else f"push-run-{self.run}"


class Push(Request):
    """What to publish, and where."""

    run: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """The training run whose model to publish."""

    repo: str
    """Repository on the Hub; created if it does not exist."""

    release: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    """Publish this release as a data set, instead of a model."""

    private: bool = True
    """Whether the repository is private."""


def store(project: OpenProject, request: Push) -> Run:
    """Store a run that publishes a model or a release.

    Raises:
        HedgerowError: the request names both or neither, the run or release does not exist, the run
            has no model, the Hub would refuse the name, there is no access token, or the same push
            is in progress.
    """
    if (request.run is None) == (request.release is None):
        found = "neither" if request.run is None else "both"
        raise HedgerowError(f"Expected a run's number or a release, found {found}; give one.")
    subject = Subject(request.run, request.release)
    parameters = {**subject._asdict(), "repo": checked_repo(request.repo)}
    with writing(project.engine) as session:
        if subject.run is not None:
            inputs = {"model": _fingerprint(session, model_run(session, subject.run))}
        else:
            inputs = {"release": get_release(session, subject.release).content_hash}
        if HUB_TOKEN not in project.keys:
            require_token()
        run = create_run(
            session,
            kind=KIND,
            group=subject.group,
            inputs=inputs,
            requested_by=project.author(session),
            parameters={**parameters, "private": request.private},
        )
        refuse_equal(session, run, doing="pushing the same; wait until it has ended")
        return run


PUSH = Action("push", Push, store)


def model_run(session: Session, number: int) -> Run:
    """The run with this number, if it has a model.

    Raises:
        HedgerowError: there is no such run, or it has no model.
    """
    run = get_run(session, number)
    known = "encoder_id" in run.result or "fingerprint" in run.result  # the latter of a reranker
    if run.state != RunState.DONE or not known or "model" not in run.result:
        raise HedgerowError(
            f"Expected a finished training run, but run {number} ({kind_of(run.kind).title}, "
            f"{run.state}) has no model; choose another run."
        )
    return run


def pushes(session: Session, subject: Subject) -> list[Run]:
    """The runs that push it, newest first."""
    return list_runs(session, kind=KIND, group=subject.group, limit=SHOWN)


def card_to_publish(session: Session, run: Run, folder: Path) -> str:
    """The card in a model's folder, which may be edited; a new one if it is missing."""
    try:
        return (folder / CARD).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if "recipe" in run.parameters:
            return card_of(session, run, run.result)
        if run.kind == RANKERS:
            return ranking_card(run, run.result)
        raise HedgerowError(  # a saved trade-off point: its run does not know the card's content
            f"The model card {str(folder / CARD)!r} no longer exists; save this point again."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HedgerowError(
            f"The model card {str(folder / CARD)!r} cannot be read; repair or remove it."
        ) from error


def work(context: RunContext) -> dict[str, Any]:
    """Publish (run kind ``push``).

    Parameters of the run: ``run`` (the number of the run with the model) or ``release`` (its
    number); ``repo``, ``private``.

    Returns:
        ``url``, ``commit``, ``private``, ``files``, ``size`` (bytes), ``repo``, and ``pushed``,
        such as 'run 3' or 'release 2'.
    """
    require_token()  # before a release is exported for it
    given = context.parameters
    subject = Subject(given.get("run"), given.get("release"))
    repo = Repo(
        checked_repo(str(given["repo"])),
        "dataset" if subject.run is None else "model",
        bool(given["private"]),
    )
    if subject.run is None:
        what, files = f"release {subject.release}", _release_files(context, subject, repo)
    else:
        what, files = f"the model of run {subject.run}", _model_files(context, subject.run, repo)
    try:
        made = push(repo, files, message=f"Hedgerow: {what}", progress=context)
    finally:
        shutil.rmtree(context.folder / DATASET, ignore_errors=True)
    return {"run": context.run.id, "pushed": what, "repo": repo.name} | made._asdict()


def _model_files(context: RunContext, number: int, repo: Repo) -> dict[str, Path | bytes]:
    """A model's files by path, and its card."""
    context.update(0, 0, "Reading the model's files.")
    with reading(context.engine) as session:
        run = model_run(session, number)
        folder = context.settings.data_folder / run.result["model"]
        if not folder.is_dir():
            raise HedgerowError(f"The model is no longer at {folder}; put it back.")
        ModelLocation(str(folder), _fingerprint(session, run)).checked()
        card = published(card_to_publish(session, run, folder), repo.name)
    found = {path for pattern in HUB_FILES for path in folder.rglob(pattern) if path.is_file()}
    files: dict[str, Path | bytes] = {p.relative_to(folder).as_posix(): p for p in sorted(found)}
    return {name: file for name, file in files.items() if not _hidden(name)} | {CARD: card.encode()}


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _fingerprint(session: Session, run: Run) -> str:
    """The hash of a run's model; '' if its row is gone."""
    if "encoder_id" not in run.result:
        return str(run.result["fingerprint"])
    row = session.get(Encoder, run.result["encoder_id"])
    return row.fingerprint if row is not None else ""


def _release_files(context: RunContext, subject: Subject, repo: Repo) -> dict[str, Path | bytes]:
    """The release as a Hugging Face data set, in the run's folder until it is pushed."""
    with reading(context.engine) as session:
        release = get_release(session, subject.release)
        compared = compare(session, context.settings.data_folder, release, report=context.update)
        folder = export_release(
            session,
            release,
            context.folder / DATASET,
            place=repo.name,
            compared=compared,
            progress=context.update,
        )
    return {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
