"""Export a release as a folder of files.

An export is written to a temporary folder next to the target and moved there when it is complete,
so that nobody uses an incomplete export. Its manifest, ``hedgerow.json``, names every file with its
SHA-256. The same release with the same overlap results gives the same bytes with the same version
of pyarrow, which writes its version into Parquet files.
"""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.orm import Session

from curation.decisions.roles import require
from curation.partial_files import OLD, clear_partials, new_partial
from curation.release.export.card_sections import writers_of
from curation.release.export.data_card import PLACE, card
from curation.release.export.export_formats import (
    Progress,
    ReleaseTables,
    export_format,
    write_tables,
)
from curation.release.freezing import get_release
from curation.release.overlap_results import OverlapWithTest, kept
from curation.release.question_pairs import Arm
from db.engine import reading
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Release, TeamRole
from db.named_files import resolved, sha256_of

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
    require(TeamRole.LEAD, session)
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
    changed = (name for name, path in paths if path.exists() and sha256_of(path) != hashes[name])
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
        "files": {path.relative_to(folder).as_posix(): sha256_of(path) for path in files},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


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


# -- The run that exports a release ---------------------------------------------------------------


def work(context: RunContext) -> dict[str, Any]:
    """Carry out a run of the kind 'export'.

    Its parameters are ``release``, a number (default: the newest); ``format`` (default: ``hf``);
    and ``folder`` (default: the run's own folder).

    Returns:
        ``release``, ``rows`` (table → split → count), ``notes`` (sentences), and ``folder`` and
        ``zip``, relative to the data folder if they are inside it.
    """
    format = export_format(context.parameters.get("format") or "hf").name
    with reading(context.engine) as session:
        release = get_release(session, context.parameters.get("release"))
        chosen = context.parameters.get("folder")
        own = context.folder / export_name(release, format)
        folder = context.settings.home / chosen if chosen else own
        place = export_release(
            session,
            release,
            folder,
            format=format,
            progress=context.update,
            compared=kept(context.settings.data_folder, release.content_hash),
        )
    context.check()
    packed = zip_export(place)
    manifest = read_manifest(place)
    return {
        "release": release.number,
        "rows": manifest["rows"],
        "notes": manifest.get("notes", []),
        "folder": _relative(place, context.settings.data_folder),
        "zip": _relative(packed, context.settings.data_folder),
    }


def _relative(path: Path, base: Path) -> str:
    base = base.resolve()
    return str(path.relative_to(base) if path.is_relative_to(base) else path)


# -- Packs a release folder into a zip file. Equal folders give equal bytes -----------------------


_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def zip_export(folder: Path) -> Path:
    """Pack an export into ``FOLDER.zip`` next to it, replacing an earlier one.

    The same export gives the same bytes: names are sorted, and times and permissions are fixed.

    Raises:
        HedgerowError: the folder is not an export; a file that is not the zip of an export is in
            the way; or the zip cannot be written.
    """
    folder = resolved(folder)
    target = _zip_of(folder)
    with explained(target):
        names = sorted(read_manifest(folder).get("files", ()))
        if not names:
            raise HedgerowError(f"Expected an export, but {folder} has no {MANIFEST}.")
        check_zip_place(folder)
        clear_partials(target)
        draft = new_partial(target)
        try:
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in (MANIFEST, *names):
                    _add(archive, folder / name, name)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    return target


def check_zip_place(folder: Path) -> None:
    """Check whether `zip_export` could write the zip of this folder.

    Raises:
        HedgerowError: a file that is not the zip of an export is in the way.
    """
    target = _zip_of(resolved(folder))
    with explained(target):
        if target.exists() and not _is_zipped_export(target):
            raise HedgerowError(f"{target} is not the zip file of an export; move it away.")


def _zip_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.zip")


def _is_zipped_export(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return MANIFEST in archive.namelist()


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    entry = zipfile.ZipInfo(name, _ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as sink:
        shutil.copyfileobj(source, sink)


def zipped(
    session: Session,
    release: Release,
    format: str,
    *,
    compared: Sequence[OverlapWithTest],
    progress: Progress | None = None,
) -> BinaryIO:
    """Return an export as an open, unnamed zip file that is deleted when closed.

    Args:
        compared, progress: as for ``export_release``.

    Raises:
        HedgerowError: there is not enough disk space.
    """
    with (
        explained(Path(tempfile.gettempdir())),
        tempfile.TemporaryDirectory(prefix="hedgerow-") as scratch,
    ):
        folder = Path(scratch) / export_name(release, format)
        export_release(
            session, release, folder, format=format, compared=compared, progress=progress
        )
        return zip_export(folder).open("rb")
