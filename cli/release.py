"""Create, list and describe releases."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home, this_project
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, ReleaseNumber, out, show
from curation.plurals import counted
from curation.release.freezing import get_release
from curation.release.report.sections import report
from curation.release.report.writing import Form, text
from db.engine import reading
from db.named_files import resolved


def release_create(
    name: Annotated[str, typer.Option(help="A name for the release.")] = "",
    source: Annotated[
        list[str], typer.Option(help="Only include this source. Repeat for several.")
    ] = [],  # noqa: B006 - typer reads it and passes its own list
    any_distance: Annotated[
        bool,
        typer.Option(
            "--any-distance", help="Include variants above the project's Levenshtein threshold."
        ),
    ] = False,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete", help="Only include anchors with all six types of the HedgeTriple paper."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Freeze the accepted variants as the next release."""
    release = this_project().release(
        name, sources=source, any_distance=any_distance, complete=complete
    )
    result = {**release.facts, "created": release.created}
    outcome = "is new" if release.created else "already has the same content"
    kept = f" It is still called {release.name!r}." if name not in ("", release.name) else ""
    left_out = release.summary.get("left_out")
    out = f" Left out: {counted(left_out, 'accepted variant')}." if left_out else ""
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
