"""Shared helpers of the tests of exports: a release, and reading its export."""

from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from db.models import Release
from tests.curation.support.families import add_plain_family
from tests.support.factories import freeze


def tables_in(folder: Path) -> list[str]:
    """The tables that ``datasets`` finds."""
    from datasets import get_dataset_config_names

    return list(get_dataset_config_names(str(folder)))


def opened(folder: Path, table: str | None, cache: Path) -> dict[str, list[dict[str, Any]]]:
    """Split → rows of a table, as read by ``datasets``; None means the first table."""
    from datasets import load_dataset

    found = load_dataset(str(folder), table, cache_dir=str(cache))
    return {name: list(split) for name, split in found.items()}


def ten_anchors(session: Session) -> Release:
    """A release of thirty variants. By their hashes, they are in train and test, none in
    validation."""
    for number in range(30, 40):
        add_plain_family(session, number)
    return freeze(session, name="Ten doors").release


def body(folder: Path) -> str:
    """The card of an export, without its header."""
    return (folder / "README.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
