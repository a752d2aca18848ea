"""Writing a release to a folder."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.options import one_of
from cli.shared.terminal import AsJson, ReleaseNumber, progress_bar, show
from curation.release.export import release_folder, zip_file
from curation.release.export.export_formats import format_names
from curation.release.freezing import get_release
from db.engine import reading
from db.named_files import resolved
from training.benchmarks.contamination import compare


def export_release(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New, or an earlier export.")],
    number: ReleaseNumber = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            callback=one_of(format_names),
            help=f"Hugging Face data set, JSON lines, CSV of pairs, or a plug-in's: "
            f"{', '.join(format_names())}.",
        ),
    ] = "hf",
    as_zip: Annotated[bool, typer.Option("--zip", help="Also pack it into DIR.zip.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a release to a folder."""
    settings, engine = open_home()
    if as_zip:
        zip_file.check_zip_place(folder)  # before anything is changed
    with reading(engine) as session, progress_bar() as report:
        release = get_release(session, number)
        compared = compare(session, settings.data_folder, release, report=report)
        place = release_folder.export_release(
            session, release, folder, format=form, compared=compared, progress=report
        )
    packed = zip_file.zip_export(place) if as_zip else None
    result = {
        "release": release.number,
        "format": form,
        "folder": str(resolved(place)),
        "zip": str(resolved(packed)) if packed else None,
    }
    packed_too = f", and packed in {result['zip']}" if packed else ""
    show(result, as_json, f"Release {release.number} is in {result['folder']}{packed_too}.")
