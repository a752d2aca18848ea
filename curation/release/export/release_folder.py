"""Exports: a release as a folder of files, and that folder as a zip.

An export is written beside its place and moved there when it is whole, so that a half one is never
taken for one. Its manifest, ``hedgerow.json``, names every file with its SHA-256. The same release,
compared with the same tests, gives the same bytes with the same version of pyarrow, which writes
its version into Parquet files.
"""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from sqlalchemy.orm import Session

from curation.partial_files import OLD, clear_partials, new_partial
from curation.release.export.contributors import writers_of
from curation.release.export.data_card import card
from curation.release.export.data_card_text import PLACE
from curation.release.export.file_formats import Record, write_csv, write_jsonl, write_parquet
from curation.release.export.table_rows import (
    TABLES,
    TABLES_OF,
    ExportFormat,
    Rows,
    Table,
    parquet_path,
    read_table,
)
from curation.release.freezing import get_release
from curation.release.overlap_results import OverlapWithTest, kept
from db.engine import reading
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Release, Split
from db.named_files import resolved

MANIFEST = "hedgerow.json"
_REPORT_EVERY = 1_000
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)

Progress = Callable[[int, int, str], None]
"""Called with the rows written, all rows, and what is going on; may raise to stop the export."""


def export_release(
    session: Session,
    release: Release,
    folder: Path,
    *,
    format: ExportFormat = "hf",
    place: str = PLACE,
    compared: Sequence[OverlapWithTest] = (),
    progress: Progress | None = None,
) -> Path:
    """Write a release to ``folder``, in place of an earlier export there.

    Args:
        format: ``hf``: a Hugging Face data set with the configurations ``triples`` and
            ``variants`` in Parquet; ``jsonl``: both as JSON lines; ``pairs``: a CSV file of
            labelled pairs. Each with a card, ``README.md``.
        place: what the card says that it is opened from.
        compared: with tests, for the card.

    Returns:
        The folder, absolute.

    Raises:
        HedgerowError: the format is unknown; the place is a file, or a folder with something else
            than an export in it; or it cannot be written. The place is left as it was.
    """
    format = export_format(format)
    target = resolved(folder)
    with _explained(target):
        _check_target(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_partials(target)
        draft = new_partial(target)
        try:
            draft.mkdir()
            rows = _write_tables(session, release, draft, format=format, progress=progress)
            text = card(
                release,
                format=format,
                rows=rows,
                place=place,
                compared=compared,
                writers=writers_of(session, release),
            )
            (draft / "README.md").write_text(text, encoding="utf-8", newline="\n")
            _write_manifest(release, draft, format=format, rows=rows)
            _check_target(target)  # somebody may have used the place meanwhile
            _move(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


def export_format(name: str) -> ExportFormat:
    """The format of this name.

    Raises:
        HedgerowError: there is none.
    """
    for known in TABLES_OF:
        if known == name:
            return known
    raise HedgerowError(
        f"Expected a format ({', '.join(get_args(ExportFormat))}), but found {name!r}."
    )


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HedgerowError(
            f"The export {place} cannot be written ({error.strerror or error}); make room, check "
            "the folder's rights, or name another place."
        ) from error


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise HedgerowError(
            f"Expected a folder to export to, but {target} is a file; name another."
        )
    manifest = _read_manifest(target)
    ours = {MANIFEST, *manifest["files"]} if manifest else set()
    found = (path for path in sorted(target.rglob("*")) if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(target).as_posix() for path in found)
    foreign = next((name for name in names if name not in ours), None)
    if foreign is not None:
        raise HedgerowError(
            f"Expected a new or empty folder, or an earlier export, but {target} holds "
            f"'{foreign}'; name another folder."
        )
    hashes = manifest.get("files", {})
    paths = ((name, target / name) for name in hashes)
    changed = (name for name, path in paths if path.exists() and _sha256(path) != hashes[name])
    if name := next(changed, None):
        raise HedgerowError(
            f"Expected an earlier export as it was written, but '{name}' in {target} has been "
            "changed since; name another folder, or move that file away."
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of an export; empty where there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    files = manifest.get("files") if isinstance(manifest, dict) else None
    ours = isinstance(files, dict) and "hedgerow_export" in manifest
    return manifest if ours else {}


def _write_tables(
    session: Session,
    release: Release,
    folder: Path,
    *,
    format: ExportFormat,
    progress: Progress | None,
) -> Rows:
    """Write every table of the format; the rows that each table and split should have."""
    expected = {table: _expected(release, table) for table in TABLES_OF[format]}
    counter = _Counter(sum(sum(splits.values()) for splits in expected.values()), progress)
    for table, splits in expected.items():
        columns = TABLES[table]
        if format == "hf":
            for split in splits:  # load_dataset refuses a Parquet file without rows
                rows = read_table(session, release.id, table, split=Split(split))
                path = folder / parquet_path(table, split)
                path.parent.mkdir(exist_ok=True)
                write_parquet(path, columns, counter.count(rows, f"Writing {table}, {split}."))
        else:
            rows = read_table(session, release.id, table)
            write, ending = (write_csv, "csv") if table == "pairs" else (write_jsonl, "jsonl")
            write(folder / f"{table}.{ending}", columns, counter.count(rows, f"Writing {table}."))
    assert counter.done == counter.total, "the release's summary and its rows disagree"
    counter.report("Finishing.")
    return expected


def _expected(release: Release, table: Table) -> dict[str, int]:
    """Split → rows of the table, for splits that have any."""
    key = "triples" if table == "triples" else "variants"
    splits = release.summary["splits"]
    return {split.value: splits[split][key] for split in Split if splits.get(split, {}).get(key)}


class _Counter:
    """Counts rows on their way to a file, and reports now and then."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done = 0
        self.total = total
        self._progress = progress

    def count(self, rows: Iterator[Record], message: str) -> Iterator[Record]:
        for row in rows:
            if self.done % _REPORT_EVERY == 0:
                self.report(message)
            self.done += 1
            yield row

    def report(self, message: str) -> None:
        if self._progress is not None:
            self._progress(self.done, self.total, message)


def _write_manifest(release: Release, folder: Path, *, format: ExportFormat, rows: Rows) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "hedgerow_export": 1,
        "format": format,
        "release": release.number,
        "content_hash": release.content_hash,
        "rows": rows,
        "files": {path.relative_to(folder).as_posix(): _sha256(path) for path in files},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8", newline="\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move(draft: Path, target: Path) -> None:
    """Put the draft in the target's place; on failure the target is as it was."""
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


def zip_export(folder: Path) -> Path:
    """Pack an export into ``FOLDER.zip`` beside it, in place of an earlier one.

    The same export gives the same bytes: names are sorted, and times and rights are fixed.

    Raises:
        HedgerowError: the folder is not an export, a file that is not the zip of one is in the
            way, or the place cannot be written.
    """
    folder = resolved(folder)
    target = _zip_of(folder)
    with _explained(target):
        names = sorted(_read_manifest(folder).get("files", ()))
        if not names:
            raise HedgerowError(f"Expected an export, but {folder} has no {MANIFEST} of one.")
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
    """Whether `zip_export` could put the zip of this folder in its place.

    Raises:
        HedgerowError: a file that is not the zip of an export is in the way.
    """
    target = _zip_of(resolved(folder))
    with _explained(target):
        if target.exists() and not _is_zipped_export(target):
            raise HedgerowError(f"{target} is not the zip of an export; move it out of the way.")


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


def work(context: RunContext) -> dict[str, Any]:
    """What a run of the kind 'export' does.

    Its parameters: ``release``, a number, the newest without one; ``format``, ``hf`` without one;
    ``folder``, the run's own folder without one.

    Returns:
        ``release`` and ``rows`` (table → split → count), and ``folder`` and ``zip``, relative to
        the data folder where they lie in it.
    """
    format = export_format(context.parameters.get("format") or "hf")
    with reading(context.engine) as session:
        release = get_release(session, context.parameters.get("release"))
        chosen = context.parameters.get("folder")
        own = context.folder / f"hedgerow-release-{release.number}-{format}"
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
    return {
        "release": release.number,
        "rows": _read_manifest(place)["rows"],
        "folder": _relative(place, context.settings.data_folder),
        "zip": _relative(packed, context.settings.data_folder),
    }


def _relative(path: Path, base: Path) -> str:
    base = base.resolve()
    return str(path.relative_to(base) if path.is_relative_to(base) else path)
