"""Export a release as a folder of files.

An export is written to a temporary folder next to the target and moved there when it is complete,
so that nobody uses an incomplete export. Its manifest, ``hedgerow.json``, names every file with its
SHA-256. The same release with the same overlap results gives the same bytes with the same version
of pyarrow, which writes its version into Parquet files.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from curation.partial_files import OLD, clear_partials, new_partial
from curation.release.export.contributors import writers_of
from curation.release.export.data_card import card
from curation.release.export.data_card_text import PLACE
from curation.release.export.export_formats import (
    Progress,
    ReleaseTables,
    export_format,
    write_tables,
)
from curation.release.overlap_results import OverlapWithTest
from curation.release.question_pairs import Arm
from curation.review.people.roles import Role, require
from db.errors import HedgerowError
from db.models import Release
from db.named_files import resolved

MANIFEST = "hedgerow.json"


def export_release(
    session: Session,
    release: Release,
    folder: Path,
    *,
    format: str = "hf",
    place: str = PLACE,
    arm: Arm = "both",
    compared: Sequence[OverlapWithTest] = (),
    progress: Progress | None = None,
) -> Path:
    """Write a release to ``folder``, replacing an earlier export there.

    Args:
        format: ``hf``: a Hugging Face data set with the configurations ``triples`` and ``variants``
            in Parquet; ``jsonl``: both as JSON Lines; ``pairs``: a CSV file of labelled pairs;
            ``messages``, ``completion``, ``openai``: question pairs for language models; or a
            plug-in's name. Each has a card, ``README.md``.
        place: where the card says to load the export from.
        arm: which variants question pairs ask about.
        compared: comparisons with benchmarks, for the card.

    Returns:
        The folder's absolute path.

    Raises:
        HedgerowError: the format is unknown, or a plug-in that fails; the release has no question
            pairs, or too few for the format; the target is a file, or a folder that contains
            anything but an export; or it cannot be written. The target is then unchanged.
    """
    require(Role.LEAD, session)
    form = export_format(format)
    target = resolved(folder)
    with explained(target):
        _check_target(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_partials(target)
        draft = new_partial(target)
        try:
            draft.mkdir()
            written = write_tables(session, release, draft, form=form, progress=progress, arm=arm)
            text = card(
                release,
                form=form,
                rows=written.counts,
                notes=written.notes,
                place=place,
                compared=compared,
                writers=writers_of(session, release),
            )
            (draft / "README.md").write_text(text, encoding="utf-8", newline="\n")
            _write_manifest(release, draft, format=format, written=written)
            _check_target(target)  # something else may have taken the target meanwhile
            _move(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


def export_name(release: Release, format: str) -> str:
    """The default name of an export."""
    return f"hedgerow-release-{release.number}-{format}"


@contextmanager
def explained(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HedgerowError(
            f"The export {place} cannot be written ({error.strerror or error}); free some space, "
            "check the permissions of the folder, or choose another folder."
        ) from error


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise HedgerowError(
            f"Expected a folder to export to, but {target} is a file; choose another."
        )
    manifest = read_manifest(target)
    ours = {MANIFEST, *manifest["files"]} if manifest else set()
    found = (path for path in sorted(target.rglob("*")) if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(target).as_posix() for path in found)
    foreign = next((name for name in names if name not in ours), None)
    if foreign is not None:
        raise HedgerowError(
            f"Expected a new or empty folder, or an earlier export, but {target} contains "
            f"'{foreign}'; choose another folder."
        )
    hashes = manifest.get("files", {})
    paths = ((name, target / name) for name in hashes)
    changed = (name for name, path in paths if path.exists() and _sha256(path) != hashes[name])
    if name := next(changed, None):
        raise HedgerowError(
            f"Expected an unmodified earlier export, but '{name}' in {target} has been changed; "
            "choose another folder, or move that file away."
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an export; empty if there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    files = manifest.get("files") if isinstance(manifest, dict) else None
    ours = isinstance(files, dict) and "hedgerow_export" in manifest
    return manifest if ours else {}


def _write_manifest(release: Release, folder: Path, *, format: str, written: ReleaseTables) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "hedgerow_export": 1,
        "format": format,
        "release": release.number,
        "content_hash": release.content_hash,
        "rows": written.counts,
        **({"notes": written.notes} if written.notes else {}),
        "files": {path.relative_to(folder).as_posix(): _sha256(path) for path in files},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move(draft: Path, target: Path) -> None:
    """Replace the target by the draft; on failure the target is not changed."""
    if not target.exists():
        draft.rename(target)
        return
    old = draft.with_suffix(OLD)
    target.rename(old)
    try:
        draft.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
