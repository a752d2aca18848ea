"""Actions and releases written in pieces are there as a whole or not at all."""

import pytest
from sqlalchemy import Engine, func, select

from curation.release.freezing import create_release, list_releases
from curation.review import undo
from curation.review.large_actions import finish_interrupted, undo_action
from curation.review.rules import Applied, apply_rule, parse_rule
from db.engine import write_in_pieces
from db.models import Decision, ReleaseItem, Setting, Status
from tests.curation.review.desk import A, Desk
from tests.support.databases import both_databases
from tests.support.dying import dies, small_pieces

RULE = parse_rule("source = test")


@pytest.fixture
def pieces(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Fourteen variants, and pieces of three rows."""
    small_pieces(monkeypatch)
    monkeypatch.setattr(undo, "AT_ONCE", 3)
    desk = Desk(engine)
    desk.families(2)
    desk.who("Ann")
    return desk


def accept(desk: Desk, engine: Engine) -> Applied:
    return apply_rule(engine, RULE, verdict=A, reviewer_id=desk.who("Ann"))


def statuses(desk: Desk) -> set[Status]:
    return {one.status for one in desk.standings().values()}


def marks(desk: Desk) -> list[str]:
    return [row.key for row in desk.rows(Setting)]


def assert_untouched(desk: Desk) -> None:
    assert statuses(desk) == {Status.PENDING} and marks(desk) == []


@both_databases
@pytest.mark.parametrize("after", [0, 2])
def test_a_rule_whose_process_is_killed_is_undone_when_the_project_is_opened(
    pieces: Desk, after: int
) -> None:
    dies(pieces.engine, lambda engine: accept(pieces, engine), after=after)
    assert len(pieces.rows(Decision)) == 3 * after
    finish_interrupted(pieces.engine)
    assert_untouched(pieces)
    assert accept(pieces, pieces.engine).matches.total == 14  # as if nothing had been


@both_databases
def test_an_undo_whose_process_is_killed_is_finished_when_the_project_is_opened(
    pieces: Desk,
) -> None:
    action = accept(pieces, pieces.engine).action_id or ""
    ann = pieces.who("Ann")
    dies(pieces.engine, lambda engine: undo_action(engine, action, reviewer_id=ann), after=1)
    assert statuses(pieces) == {Status.PENDING, Status.ACCEPTED}
    finish_interrupted(pieces.engine)
    assert_untouched(pieces)
    undone = {row.action_id for row in pieces.rows(Decision) if row.retracts_id is not None}
    assert len(undone) == 1, "its pieces are one action"


def test_an_error_between_two_pieces_leaves_nothing(
    pieces: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = undo.bulk_store_decisions, []

    def fail_at_third(session: object, rows: object) -> object:
        calls.append(rows)
        if len(calls) == 3:
            raise OSError("No space left on device")
        return real(session, rows)  # type: ignore[arg-type]

    monkeypatch.setattr("curation.review.rules.bulk_store_decisions", fail_at_third)
    with pytest.raises(OSError, match="space"):
        accept(pieces, pieces.engine)
    assert_untouched(pieces)


def test_what_somebody_decides_between_two_pieces_is_left_to_them(
    pieces: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(engine: Engine, rows: object, do: object, **more: object) -> None:
        pieces.decide("Bert", 14, A)
        write_in_pieces(engine, rows, do, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("curation.review.rules.write_in_pieces", write)
    done = accept(pieces, pieces.engine)
    by = {row.variant_id: row.reviewer_id for row in pieces.rows(Decision)}
    assert (done.matches.total, by[14], len(by)) == (13, pieces.who("Bert"), 14)


@both_databases
@pytest.mark.parametrize("after", [1, 3])
def test_a_release_whose_process_is_killed_is_not_there(pieces: Desk, after: int) -> None:
    accept(pieces, pieces.engine)
    dies(pieces.engine, create_release, after=after)
    assert pieces.read(list_releases) == []
    release = create_release(pieces.engine).release
    assert (release.number, release.summary["variants"]) == (1, 14)
    items = select(func.count()).select_from(ReleaseItem)
    assert pieces.read(lambda session: session.execute(items).scalar()) == 14
