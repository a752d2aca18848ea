"""A release as question pairs, in file formats for finetuning programs."""

from pathlib import Path
from typing import Annotated

import typer

from cli.llm.options import ArmName
from cli.shared.home import open_home
from cli.shared.terminal import AsJson, ReleaseNumber, show
from curation.release.export.release_folder import read_manifest
from curation.release.export.table_rows import QuestionTable
from db.named_files import resolved
from hedgerow.data.releases import export


def pairs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder, or one of an earlier export.")
    ],
    number: ReleaseNumber = None,
    form: Annotated[
        QuestionTable,
        typer.Option(
            "--format",
            help="Chat messages, prompts and completions, or files for OpenAI's finetuning.",
        ),
    ] = "messages",
    arm: ArmName = "both",
    as_json: AsJson = False,
) -> None:
    """Write a release as Yes/No questions for finetuning a language model."""
    done = export(open_home(), number, folder, format=form, zipped=False, arm=arm)
    manifest = read_manifest(done.folder)
    result = {
        "release": done.release,
        "format": form,
        "arm": arm,
        "folder": str(resolved(done.folder)),
        "pairs": manifest["rows"][form],
        "notes": manifest["notes"],
    }
    where = f"The question pairs of release {done.release} are in {result['folder']}."
    show(result, as_json, where, *manifest["notes"])
