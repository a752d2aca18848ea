"""The run that exports a release."""

from pathlib import Path
from typing import Any

from curation.release.export.export_formats import export_format
from curation.release.export.release_folder import export_name, export_release, read_manifest
from curation.release.export.zip_file import zip_export
from curation.release.freezing import get_release
from curation.release.overlap_results import kept
from db.engine import reading
from db.execution import RunContext


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
