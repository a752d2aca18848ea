"""Write a release to a folder."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.options import one_of
from cli.shared.terminal import AsJson, ReleaseNumber, show
from curation.release.export.export_formats import format_names
from db.named_files import resolved
from hedgerow.data.releases import export


def export_release(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder, or an earlier export.")
    ],
    number: ReleaseNumber = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            callback=one_of(format_names),
            help="Hugging Face data set, JSON Lines, CSV of pairs, question pairs for language "
            "models (same as 'hedgerow llm pairs'), or a format from a plug-in: "
            f"{', '.join(format_names())}.",
        ),
    ] = "hf",
    as_zip: Annotated[bool, typer.Option("--zip", help="Also pack it into DIR.zip.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a release to a folder."""
    done = export(open_home(), number, folder, format=form, zipped=as_zip)
    result = {
        "release": done.release,
        "format": form,
        "folder": str(resolved(done.folder)),
        "zip": str(resolved(done.zip)) if done.zip else None,
    }
    zip_file = f" The zip file is {result['zip']}." if done.zip else ""
    show(result, as_json, f"Release {done.release} is in {result['folder']}.{zip_file}")
