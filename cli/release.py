"""Releases: making, listing and exporting them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, ReleaseNumber, progress_bar, show
from curation.release.export import release_folder
from curation.release.export.table_rows import ExportFormat
from curation.release.freezing import create_release, get_release, list_releases
from db.engine import reading, writing
from db.models import Release
from db.named_files import resolved
from training.benchmarks.contamination import compare

release_app = typer.Typer(no_args_is_help=True, help="Freeze what is accepted.")


def release_facts(release: Release) -> dict[str, Any]:
    """What ``--json`` says of a release."""
    return {
        "release": release.number,
        "name": release.name,
        "hash": release.content_hash,
        "summary": release.summary,
        "created_at": release.created_at.isoformat(),
    }


@release_app.command("create")
def release_create(
    name: Annotated[str, typer.Option(help="A name for people.")] = "", as_json: AsJson = False
) -> None:
    """Freeze every accepted variant under the next number."""
    settings, engine = open_home()
    with writing(engine) as session:
        author = reviewer_id(session, settings, "") if settings.reviewer else None
        release, created = create_release(session, name=name, author_id=author)
        result = release_facts(release) | {"created": created}
    said = "is new" if created else "holds the same already"
    kept = f" It is still called {release.name!r}." if name not in ("", release.name) else ""
    show(result, as_json, f"Release {release.number} {said}.{kept}")


@release_app.command("list")
def release_list(as_json: AsJson = False) -> None:
    """Name all releases, the newest first."""
    _, engine = open_home()
    with reading(engine) as session:
        releases = [release_facts(release) for release in list_releases(session)]
    rows = ([r["release"], r["created_at"][:10], r["hash"][:12], r["name"]] for r in releases)
    table = table_of("release", "made", "hash", "name", rows=rows)
    show({"releases": releases}, as_json, table if releases else "There is no release yet.")


def export_release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New, or an earlier export.")],
    number: ReleaseNumber = None,
    form: Annotated[
        ExportFormat,
        typer.Option("--format", help="Hugging Face data set, JSON lines, or CSV of pairs."),
    ] = "hf",
    as_zip: Annotated[bool, typer.Option("--zip", help="Also pack it into DIR.zip.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a release to a folder."""
    settings, engine = open_home()
    if as_zip:
        release_folder.check_zip_place(folder)  # before anything is changed
    with reading(engine) as session, progress_bar() as report:
        release = get_release(session, number)
        compared = compare(session, settings.data_folder, release, report=report)
        place = release_folder.export_release(
            session, release, folder, format=form, compared=compared, progress=report
        )
    packed = release_folder.zip_export(place) if as_zip else None
    result = {
        "release": release.number,
        "format": form,
        "folder": str(resolved(place)),
        "zip": str(resolved(packed)) if packed else None,
    }
    packed_too = f", and packed in {result['zip']}" if packed else ""
    show(result, as_json, f"Release {release.number} is in {result['folder']}{packed_too}.")
