"""Anchors that are there: found, corrected, retired, restored."""

from typing import Annotated

import typer
from rich.table import Table

from cli.anchors import anchors_app
from cli.home import open_home, reviewer_id
from cli.tables import table_of
from cli.terminal import LARGEST_NUMBER, AsJson, show
from curation.anchor_search import AnchorFilter, FoundAnchor, find_anchors
from curation.anchors import correct_anchor, get_anchor, restore_anchor, retire_anchor
from db.engine import reading, writing
from db.models import Split

Uid = Annotated[str, typer.Argument(help="The anchor's uid.")]

TITLES = ("uid", "anchor", "source", "genre", "split", "variants")


@anchors_app.command("list")
def list_anchors(
    search: Annotated[str, typer.Option(help="Part of the text, or a uid.")] = "",
    source: Annotated[str, typer.Option(help="The name of a source.")] = "",
    genre: Annotated[str, typer.Option(help="A genre.")] = "",
    split: Annotated[Split | None, typer.Option(help="A part of a release.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Only retired ones.")] = False,
    without_variants: Annotated[
        bool, typer.Option("--without-variants", help="Only those nothing was written for.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_NUMBER, help="At most so many.")] = 50,
    offset: Annotated[
        int, typer.Option(min=0, max=LARGEST_NUMBER, help="Without the first so many.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List anchors in use, or retired ones, in the order in which they were added."""
    wanted = AnchorFilter(
        text=search, source=source, genre=genre, split=split, retired=retired,
        without_variants=without_variants,
    )  # fmt: skip
    _, engine = open_home()
    with reading(engine) as session:
        page = find_anchors(session, wanted, limit=limit, offset=offset)
    rows = [(a.uid, a.text, a.source, a.genre, a.split.value, a.variants) for a in page.anchors]
    lines: list[str | Table] = [table_of(*TITLES, rows=rows)] if rows else []
    result = {"total": page.total, "anchors": [_as_json(anchor) for anchor in page.anchors]}
    show(result, as_json, *lines, f"{len(page.anchors)} of {page.total} anchors.")


def _as_json(anchor: FoundAnchor) -> dict[str, object]:
    return {
        "uid": anchor.uid, "text": anchor.text, "revision": anchor.revision,
        "source": anchor.source, "licence": anchor.licence, "genre": anchor.genre,
        "language": anchor.language, "split": anchor.split.value,
        "retired": anchor.retired_at is not None, "variants": anchor.variants,
    }  # fmt: skip


@anchors_app.command()
def correct(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The better wording.")],
    reviewer: Annotated[
        str, typer.Option(help="Who corrects it (otherwise HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Give an anchor a better wording; its decided variants come back for a second look."""
    settings, engine = open_home()
    with writing(engine) as session:
        anchor = get_anchor(session, uid)
        done = correct_anchor(
            session, anchor.id or 0, text, expected_revision=anchor.revision,
            reviewer_id=reviewer_id(session, settings, reviewer),
        )  # fmt: skip
    result = {"anchor": uid, "revision": done.revision, "second_looks": done.second_looks}
    again = f"{done.second_looks} decided variants come back for a second look."
    show(result, as_json, f"{uid} has its wording {done.revision} now; {again}")


@anchors_app.command()
def retire(uid: Uid, as_json: AsJson = False) -> None:
    """Take an anchor and its variants out of use; decisions and earlier releases stay."""
    _set_retired(uid, True, as_json)


@anchors_app.command()
def restore(uid: Uid, as_json: AsJson = False) -> None:
    """Take a retired anchor and its variants into use again, as they were."""
    _set_retired(uid, False, as_json)


def _set_retired(uid: str, retired: bool, as_json: bool) -> None:
    _, engine = open_home()
    with writing(engine) as session:
        anchor_id = get_anchor(session, uid).id or 0
        changed = (retire_anchor if retired else restore_anchor)(session, anchor_id)
    state = "retired" if retired else "in use"
    result = {"anchor": uid, "retired": retired, "changed": changed}
    show(result, as_json, f"{uid} {'is' if changed else 'was'} {state}{' now' * changed}.")
