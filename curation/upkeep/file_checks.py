"""Checks of the data folder against the rows that refer to its files."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.upkeep.found import Check, Found
from db.models import BenchmarkResult, Encoder, Run
from db.settings import Settings

_RUNS = "runs"
"""The subfolder of the data folder with one folder per run (see ``db.runs.create_run``)."""


def _named_files(session: Session) -> Iterator[str]:
    """Files in rows, relative to the data folder: models, and rows of benchmark results."""
    for column in (col(Encoder.path), col(BenchmarkResult.file)):
        yield from session.execute(select(column).where(column != "")).scalars()


def _missing(session: Session, settings: Settings) -> Found:
    gone = [name for name in _named_files(session) if not (settings.data_folder / name).exists()]
    return Found(len(gone), gone[0] if gone else "")


def _ownerless(session: Session, settings: Settings) -> Found:
    owned = set(session.execute(select(col(Run.folder))).scalars())
    folder = settings.data_folder / _RUNS
    folders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    left = [path for path in folders if f"{_RUNS}/{path.name}" not in owned and _is_a_runs(path)]
    return Found(len(left), str(left[0]) if left else "")


def _is_a_runs(path: Path) -> bool:
    """Whether the folder has the name of a run's folder. Others belong to users."""
    return path.name.partition("-")[0].isdigit()


CHECKS = (
    Check(
        id="missing-files",
        title="Files that the database refers to",
        find=_missing,
        advice="Restore them from a backup, or delete the run ('hedgerow runs delete ID').",
    ),
    Check(
        id="ownerless-folders",
        title="Folders of runs that are not in the database",
        find=_ownerless,
        advice="Check them, and delete those that nobody needs.",
    ),
)
