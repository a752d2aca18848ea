"""List, correct, describe, retire and restore anchors; list and load the bundled corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from cli.options import open_home
from cli.runs import carry_out_run, sentences
from cli.terminal import LARGEST_NUMBER, AsJson, show, table_of
from curation.anchors.lookup import AnchorFilter, FoundAnchor, find_anchors, source_named
from curation.corpora.corpus import CORPORA
from curation.formatting import counted
from curation.importing.corpora import KIND
from db.engine import reading
from db.models import Split
from hedgerow.anchors import correct as correct_anchor
from hedgerow.anchors import set_facts, set_retired
from hedgerow.corpora import states, store_loading

if TYPE_CHECKING:
    from hedgerow.anchors import Changed


# -- List anchors in use or retired anchors --------------------------------------------------------


TITLES = ("uid", "anchor", "source", "genre", "split", "variants")


def list_anchors(
    search: Annotated[str, typer.Option(help="Part of the text, or a uid.")] = "",
    source: Annotated[str, typer.Option(help="Only this source.")] = "",
    genre: Annotated[str, typer.Option(help="Only this genre.")] = "",
    split: Annotated[Split | None, typer.Option(help="Only this split.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Only retired anchors.")] = False,
    without_variants: Annotated[
        bool, typer.Option("--without-variants", help="Only anchors without variants.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_NUMBER, help="Maximum number of anchors.")
    ] = 50,
    offset: Annotated[
        int, typer.Option(min=0, max=LARGEST_NUMBER, help="Number of anchors to skip.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List anchors in use, or retired anchors, in the order in which they were added."""
    wanted = AnchorFilter(
        text=search,
        source=source,
        genre=genre,
        split=split,
        retired=retired,
        without_variants=without_variants,
    )
    _, engine = open_home()
    with reading(engine) as session:
        if source:
            source_named(session, source)
        page = find_anchors(session, wanted, limit=limit, offset=offset)
    rows = [(a.uid, a.text, a.source, a.genre, a.split.value, a.variants) for a in page.anchors]
    lines: list[str | Table] = [table_of(*TITLES, rows=rows)] if rows else []
    result = {"total": page.total, "anchors": [_as_json(anchor) for anchor in page.anchors]}
    show(result, as_json, *lines, f"{len(page.anchors):,} of {page.total:,} anchors.")


def _as_json(anchor: FoundAnchor) -> dict[str, object]:
    return {
        "uid": anchor.uid,
        "text": anchor.text,
        "revision": anchor.revision,
        "source": anchor.source,
        "licence": anchor.licence,
        "genre": anchor.genre,
        "language": anchor.language,
        "split": anchor.split.value,
        "document_id": anchor.document_id,
        "row_id": anchor.row_id,
        "retired": anchor.retired_at is not None,
        "variants": anchor.variants,
    }


# -- Anchors given by uid, and the report of a change to them --------------------------------------


Uid = Annotated[str, typer.Argument(help="The anchor's uid.")]

Uids = Annotated[list[str], typer.Argument(metavar="UID...", help="The anchors' uids.")]


def show_changed(
    done: Changed, as_json: bool, verb: str, before: str, wanted: dict[str, object]
) -> None:
    """Say how many anchors changed, and how many needed no change.

    Args:
        verb: what was done to the changed anchors.
        before: the state that the others already had.
        wanted: the state that all of them have now.
    """
    message = f"{counted(len(done.changed), 'anchor')} {verb}."
    if same := len(done.unchanged):
        message += f" {counted(same, 'anchor')} {'was' if same == 1 else 'were'} {before} already."
    show(done._asdict() | wanted, as_json, message)


# -- Correct the text of an anchor -----------------------------------------------------------------


def correct(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The corrected text.")],
    carry: Annotated[
        bool,
        typer.Option(
            "--carry-over",
            help="Make the same change in accepted variants, as your edits.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Save the text even if it is suspicious, such as a negated sentence."
        ),
    ] = False,
    reviewer: Annotated[
        str, typer.Option(help="Your reviewer name (default: HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Correct the text of an anchor. Its decided variants come back for a second look.

    With --carry-over, accepted variants that contain the corrected words are edited and stay
    accepted. 'hedgerow review undo' undoes these edits together.
    """
    done = correct_anchor(
        open_home(), uid, text, reviewer=reviewer, carry=carry, force=force, forced_by="--force"
    )
    result = {
        "anchor": uid,
        "revision": done.revision,
        "second_looks": done.second_looks,
        "carried_over": [{"variant": new.uid, "text": new.text} for new in done.carried],
    }
    summary = f"{uid} is now at revision {done.revision}. {_second_looks(done.second_looks)}"
    lines: list[str | Table] = [summary]
    if done.carried:
        lines += ["Applied to:", table_of("variant", "text", rows=done.carried)]
    elif done.left:
        lines.append(
            f"{counted(len(done.left), 'accepted variant')} also contain the corrected words. "
            "Open the anchor on the Anchors page to see the new texts."
        )
    show(result, as_json, *lines)


def _second_looks(number: int) -> str:
    if number == 1:
        return "1 decided variant comes back for a second look."
    return f"{number} decided variants come back for a second look."


# -- Set the genre or language of anchors ----------------------------------------------------------


def describe(
    uids: Uids,
    genre: Annotated[str | None, typer.Option(help="The new genre; '' for none.")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language tag such as 'en' or 'de-CH'.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set the genre or language of anchors, all of them or none."""
    done = set_facts(open_home(), uids, genre=genre, language=language)
    wanted = {"genre": genre, "language": language}
    given: dict[str, object] = {k: v for k, v in wanted.items() if v is not None}
    show_changed(done, as_json, "changed", "like that", given)


# -- Retire and restore anchors --------------------------------------------------------------------


def retire(uids: Uids, as_json: AsJson = False) -> None:
    """Retire anchors and their variants. Decisions and existing releases are kept."""
    _set_retired(uids, True, as_json)


def restore(uids: Uids, as_json: AsJson = False) -> None:
    """Restore retired anchors and their variants."""
    _set_retired(uids, False, as_json)


def _set_retired(uids: list[str], retired: bool, as_json: bool) -> None:
    done = set_retired(open_home(), uids, retired=retired)
    verb, before = ("retired", "retired") if retired else ("restored", "in use")
    show_changed(done, as_json, verb, before, {"retired": retired})


# -- List and load the bundled corpora -------------------------------------------------------------


def list_corpora(as_json: AsJson = False) -> None:
    """List the corpora with the number of their anchors in the project."""
    rows = [one._asdict() for one in states(open_home())]
    table = table_of(
        *("corpus", "loaded", "of", "licence", "about"),
        rows=[tuple(row.values()) for row in rows],
    )
    show({"corpora": rows}, as_json, table)


def add_corpus(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(CORPORA)}.")],
    accept_unflagged: Annotated[
        bool,
        typer.Option(
            "--accept-unflagged",
            help="Accept all unflagged variants by rule; one undo reverses it.",
        ),
    ] = False,
    reviewer: Annotated[str, typer.Option(help="The reviewer for --accept-unflagged.")] = "",
    as_json: AsJson = False,
) -> None:
    """Load a corpus. Variants that nobody has reviewed are pending.

    Run it again to add missing rows.
    """
    home = open_home()
    run = store_loading(home, name, accept_unflagged, reviewer)
    result = carry_out_run(*home, run)
    show(result, as_json, *sentences(KIND, result))
