"""Packs a release folder into a zip file. Equal folders give equal bytes."""

import shutil
import zipfile
from pathlib import Path

from curation.partial_files import clear_partials, new_partial
from curation.release.export.release_folder import MANIFEST, explained, read_manifest
from db.errors import HedgerowError
from db.named_files import resolved

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
