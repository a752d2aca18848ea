"""Anchors that are there: found, corrected, retired, restored."""

from typing import Annotated

import typer
from rich.table import Table
from sqlalchemy.orm import Session

from cli.anchors.add import anchors_app
from cli.shared.home import open_home, reviewer_id
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.anchors.attributes import set_facts
from curation.anchors.carry_over import carry_over, proposals
from curation.anchors.changes import (
    SuspiciousWording,
    correct_anchor,
    get_anchor,
    restore_anchors,
    retire_anchors,
)
from curation.anchors.lookup import AnchorFilter, FoundAnchor, find_anchors
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split, Status

Uid = Annotated[str, typer.Argument(help="The anchor's uid.")]
Uids = Annotated[list[str], typer.Argument(metavar="UID...", help="The anchors' uids.")]

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
    offset: Annotated[int, typer.Option(min=0, max=LARGEST_NUMBER, help="How many to skip.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List anchors in use, or retired ones, in the order in which they were added."""
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
        page = find_anchors(session, wanted, limit=limit, offset=offset)
    rows = [(a.uid, a.text, a.source, a.genre, a.split.value, a.variants) for a in page.anchors]
    lines: list[str | Table] = [table_of(*TITLES, rows=rows)] if rows else []
    result = {"total": page.total, "anchors": [_as_json(anchor) for anchor in page.anchors]}
    show(result, as_json, *lines, f"{len(page.anchors)} of {page.total} anchors.")


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
        "retired": anchor.retired_at is not None,
        "variants": anchor.variants,
    }


@anchors_app.command()
def correct(
    uid: Uid,
    text: Annotated[str, typer.Argument(help="The better wording.")],
    carry: Annotated[
        bool,
        typer.Option(
            "--carry-over",
            help="Make the same change in the variants that were accepted, as edits of yours.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Take a suspicious wording, such as a negated sentence."),
    ] = False,
    reviewer: Annotated[
        str, typer.Option(help="Who corrects it (otherwise HEDGEROW_REVIEWER).")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Give an anchor a better wording; its decided variants come back for a second look.

    With --carry-over, accepted variants that have the corrected words are edited and stay accepted.
    'hedgerow review undo' takes these edits back together.
    """
    settings, engine = open_home()
    with writing(engine) as session:
        anchor = get_anchor(session, uid)
        who = reviewer_id(session, settings, reviewer)
        anchor_id = anchor.id
        try:
            done = correct_anchor(
                session,
                anchor_id,
                text,
                expected_revision=anchor.revision,
                reviewer_id=who,
                insist=force,
            )
        except SuspiciousWording as suspicious:
            raise HedgerowError(
                f"Nothing was changed. {suspicious} Word it differently, or insist with --force."
            ) from None
        found = [p for p in proposals(session, anchor_id) if p.was is Status.ACCEPTED]
        if carry:
            chosen = {proposal.variant_id: proposal.new_text for proposal in found}
            carry_over(session, anchor_id, chosen, reviewer_id=who)
        looks = done.second_looks - len(found) * carry
    carried = [{"variant": p.uid, "text": p.new_text} for p in found] if carry else []
    result = {
        "anchor": uid,
        "revision": done.revision,
        "second_looks": looks,
        "carried_over": carried,
    }
    lines: list[str | Table] = [f"{uid} now has wording {done.revision}. {_looks(looks)}"]
    if carried:
        rows = [new.values() for new in carried]
        lines += ["Carried over to:", table_of("variant", "text", rows=rows)]
    elif found:
        lines.append(
            f"{_counted(len(found), 'accepted variant')} could take the correction over; open the "
            "anchor on the Anchors page to look at the new texts."
        )
    show(result, as_json, *lines)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _looks(number: int) -> str:
    if number == 1:
        return "1 decided variant comes back for a second look."
    return f"{number} decided variants come back for a second look."


@anchors_app.command("set")
def set_of(
    uids: Uids,
    genre: Annotated[str | None, typer.Option(help="Another genre; '' for none.")] = None,
    language: Annotated[str | None, typer.Option(help="A tag such as 'en' or 'de-CH'.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give anchors another genre or language, all of them or none."""
    _, engine = open_home()
    with writing(engine) as session:
        ids = _ids(session, uids)
        changed = set(set_facts(session, ids.values(), genre=genre, language=language))
    wanted = {"genre": genre, "language": language}
    given: dict[str, object] = {k: v for k, v in wanted.items() if v is not None}
    _told(ids, changed, as_json, "changed", "like that", given)


@anchors_app.command()
def retire(uids: Uids, as_json: AsJson = False) -> None:
    """Take anchors and their variants out of use; decisions and earlier releases stay."""
    _set_retired(uids, True, as_json)


@anchors_app.command()
def restore(uids: Uids, as_json: AsJson = False) -> None:
    """Take retired anchors and their variants into use again, as they were."""
    _set_retired(uids, False, as_json)


def _set_retired(uids: list[str], retired: bool, as_json: bool) -> None:
    _, engine = open_home()
    with writing(engine) as session:
        ids = _ids(session, uids)
        changed = set((retire_anchors if retired else restore_anchors)(session, ids.values()))
    done, before = ("retired", "retired") if retired else ("restored", "in use")
    _told(ids, changed, as_json, done, before, {"retired": retired})


def _ids(session: Session, uids: list[str]) -> dict[str, int]:
    """Uid → id of the anchors named.

    Raises:
        HedgerowError: there is no anchor with one of these uids.
    """
    return {uid: get_anchor(session, uid).id for uid in uids}


def _told(
    ids: dict[str, int],
    changed: set[int],
    as_json: bool,
    done: str,
    before: str,
    wanted: dict[str, object],
) -> None:
    """Say which anchors were changed, and how many needed no change."""
    named = [uid for uid, anchor_id in ids.items() if anchor_id in changed]
    same = [uid for uid in ids if uid not in named]
    said = f"{_counted(len(named), 'anchor')} {done}."
    if same:
        verb = "was" if len(same) == 1 else "were"
        said += f" {_counted(len(same), 'anchor')} {verb} {before} already."
    show({"changed": named, "unchanged": same} | wanted, as_json, said)
