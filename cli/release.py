"""Create, list, describe and export releases; publish releases and models on the Hub."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import one_of, open_home, takes, this_project
from cli.runs import carry_out_run
from cli.terminal import AsJson, DryRun, ReleaseNumber, out, show, table_of
from curation.formatting import counted
from curation.release.contents import release_facts
from curation.release.creating import CREATE_RELEASE, CreateRelease, plan
from curation.release.export.export_formats import format_names
from curation.release.freezing import get_release
from curation.release.report.sections import report
from curation.release.report.writing import Form, text
from db.engine import reading
from db.named_files import resolved
from hedgerow.home import acting
from hedgerow.releases import export
from training.hub.push_run import KIND, PUSH, Push
from training.runs.kinds import kind_of


@takes(
    CreateRelease,
    sources=Annotated[list[str], typer.Option("--source")],
)
def release_create(
    request: CreateRelease, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Freeze the accepted variants as the next release."""
    project = acting(open_home())
    if dry_run:
        planned = plan(project, request)
        facts = planned.contents._asdict() | {"left_out": planned.left_out, "dry_run": True}
        show(facts, as_json, *planned.sentences())
        return
    release, created = CREATE_RELEASE.perform(project, request)
    outcome = "is new" if created else "already has the same content"
    kept = (
        f" It is still called {release.name!r}." if request.name not in ("", release.name) else ""
    )
    left_out = release.summary.get("left_out")
    out = f" Left out: {counted(left_out, 'accepted variant')}." if left_out else ""
    result = release_facts(release) | {"created": created}
    show(result, as_json, f"Release {release.number} {outcome}.{out}{kept}")


def release_list(as_json: AsJson = False) -> None:
    """List all releases, the newest first."""
    releases = [release.facts for release in this_project().releases()]
    rows = ([r["release"], r["created_at"][:10], r["hash"][:12], r["name"]] for r in releases)
    table = table_of("release", "made", "hash", "name", rows=rows)
    show({"releases": releases}, as_json, table if releases else "There is no release yet.")


def release_report(
    number: ReleaseNumber = None,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.LATEX,
    output: Annotated[
        Path | None, typer.Option(help="Write to this file instead of the terminal.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the data section of a paper about a release: counts, types, writers, review, agreement,
    licences."""
    with reading(open_home().engine) as session:
        found = report(session, get_release(session, number))
    written = text(found, form)
    if output is not None:
        output.write_text(written, encoding="utf-8", newline="\n")
    result = found.facts() | {"file": None if output is None else str(resolved(output))}
    if output is not None:
        show(result, as_json, f"The report on release {found.release} is in {result['file']}.")
    elif as_json:
        show(result, as_json)
    else:
        out.print(written, end="", soft_wrap=True)


# -- Write a release to a folder -------------------------------------------------------------------


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


# -- Publishing a model or a release on the Hub ----------------------------------------------------


@takes(
    Push,
    run=Annotated[int | None, typer.Argument(metavar="ID")],
    repo=Annotated[str, typer.Option(metavar="OWNER/NAME")],
    release=Annotated[int | None, typer.Option(metavar="N")],
    private=Annotated[bool, typer.Option("--private/--public")],
)
def push_to_hub(request: Push, as_json: AsJson = False) -> None:
    """Publish a trained model, or a release, on the Hugging Face Hub.
    The access token comes from HF_TOKEN or 'hf auth login'. HF_ENDPOINT sets another hub.
    """
    home = open_home()
    result = carry_out_run(*home, PUSH.perform(acting(home), request).id)
    show(result, as_json, kind_of(KIND).sum_up(result))
