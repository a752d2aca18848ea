"""Several windows: each has its own cards, and the next one finds a lost window's position and
drafts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import update

from curation.decisions import leases
from curation.review.browser_window.adjudicating import AdjudicationState
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.selection import VariantSelection
from curation.review.drafts import DraftKind, Place, drafted_variants, find_draft
from curation.review.queue import Order, Queue
from db.columns import now
from db.engine import writing
from db.models import Decision, ReviewPosition, Status
from tests.curation.review.desk import Desk, statements
from tests.support.databases import both_databases
from tests.support.reviewing import colleague, draw, draw_same, status

OLD = {"text": "The bridge is not safe.", "type": "verbal", "note": ""}
TYPED = OLD | {"text": "The bridge isn't"}


@pytest.fixture
def restart(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Ends this server, from the point of view of its windows."""
    return lambda: monkeypatch.setattr(leases, "_SERVER", f"{leases._SERVER}x")


def opened(
    state: ReviewState, *, go_there: bool = True, is_open: bool = True, who: int | None = None
) -> ReviewState:
    """A new window, of the same reviewer if no other is given."""
    who = who or state.reviewer_id
    new = ReviewState(engine=state.engine, reviewer_id=who, types=state.types)
    new.recount()
    new.drafts.read()
    new.find_left(lambda window: is_open, go_there=go_there)
    new.resume()
    return new


def type_in(state: ReviewState, variant_id: int, kind: DraftKind = DraftKind.EDIT) -> None:
    """Do what the editor does when the browser sends a text."""
    state.drafts.begin(state.form_id, variant_id, kind)
    state.drafts.keep(variant_id, kind, TYPED, untouched=OLD)


def draft(state: ReviewState, kind: DraftKind, variant_id: int = 1) -> dict[str, str]:
    who = state.reviewer_id
    return Desk(state.engine).read(find_draft, variant_id, kind, reviewer_id=who)


def go_on(state: ReviewState) -> int:
    """Decide on a card. Returns the one that is shown then."""
    state.accept(draw(state))
    return draw(state).variant_id


def move(state: ReviewState, **values: object) -> None:
    """Change what is stored about the windows' places."""
    with writing(state.engine) as session:
        session.execute(update(ReviewPosition).values(**values))


# -- places ------------------------------------------------------------------------------------


@pytest.mark.slow
@both_databases
def test_after_a_restart_a_new_window_shows_the_same_card_of_the_same_queue(
    state: ReviewState, desk: Desk, restart: Callable[[], None]
) -> None:
    state.go_to(Place(Queue.PENDING, "affixal", None, Order.RANDOM, by_family=True))
    here = go_on(state)
    restart()
    new = opened(state)
    assert (new.type_id, new.order, new.by_family) == ("affixal", Order.RANDOM, True)
    assert (draw(new).variant_id, new.message) == (here, "")
    assert len(desk.rows(ReviewPosition)) == 1


@pytest.mark.slow
def test_another_requested_queue_starts_at_its_first_card(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    go_on(state)
    restart()
    new = opened(state, go_there=False)
    assert new.type_id is None
    new.go_to(Place(Queue.PENDING, "word", None, Order.OLDEST, by_family=False))
    new.resume()
    assert draw(new).variant_id == 5


def test_an_open_window_keeps_its_place(state: ReviewState) -> None:
    here = go_on(state)
    new = opened(state)
    new.type_id = state.type_id
    assert draw(new).variant_id != here
    assert draw(state).variant_id == here
    assert "another window" not in state.message


def test_a_closed_window_is_continued(state: ReviewState) -> None:
    here = go_on(state)
    assert draw(opened(state, is_open=False)).variant_id == here


def test_two_lost_windows_are_continued_one_by_one(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    first, second = go_on(state), draw(colleague(state, "Ada")).variant_id
    assert first != second
    restart()
    assert [draw(opened(state)).variant_id for _ in range(2)] == [second, first]


def test_another_persons_place_and_drafts_are_theirs(
    state: ReviewState, desk: Desk, restart: Callable[[], None]
) -> None:
    here = go_on(state)
    type_in(state, here)
    restart()
    other = opened(state, is_open=False, who=desk.who("Bert"))
    assert not other.left_at and other.drafts.begin(other.form_id, here, DraftKind.EDIT) == {}


def test_a_card_that_somebody_decided_meanwhile_is_skipped_unless_it_has_a_draft(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    here = draw(state).variant_id
    restart()
    other = colleague(state)
    other.pin(here)
    other.accept(draw(other))
    assert draw(opened(state)).variant_id != here
    other.pin(here)
    draw(other)
    move(state, variant_id=here)
    type_in(state, here)
    restart()
    new = opened(state)
    assert (new.pinned, new.panel) == (here, Panel.EDIT)


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "lapsed"), [(True, False), (False, True), (False, False)])
def test_a_window_of_another_server_is_continued_for_a_draft_or_after_its_lease(
    state: ReviewState, typed: bool, lapsed: bool
) -> None:
    state.screen.window = f"{'0' * 32}/another/1/elsewhere"
    here = go_on(state)
    if typed:
        type_in(state, here)
    if lapsed:
        move(state, seen_at=now() - leases.LEASE - timedelta(seconds=1))
    new = opened(state)
    new.type_id = state.type_id
    assert (draw(new).variant_id == here) == (typed or lapsed)


def test_the_review_page_does_not_continue_in_the_conflicts_of_the_adjudicate_page(
    state: ReviewState, desk: Desk, restart: Callable[[], None]
) -> None:
    other = AdjudicationState(engine=state.engine, reviewer_id=state.reviewer_id, types=state.types)
    other.recount()
    other.view()
    restart()
    assert opened(state).queue is Queue.PENDING
    assert desk.rows(ReviewPosition) == []


def test_a_place_that_another_version_stored_is_skipped(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    go_on(state)
    move(state, place={"queue": "hardest-first"})
    restart()
    assert not opened(state).left_at


def test_a_decision_costs_one_write_more_and_drafts_on_other_cards_none(state: ReviewState) -> None:
    type_in(state, 14)  # a variant of another family
    shown = draw(state)
    with statements(state.engine) as made:
        state.accept(shown)
        draw(state)
    assert len([one for one, _ in made if "review_position" in one.split("\n")[0]]) == 1
    assert not [one for one, _ in made if "draft" in one.split("\n")[0]]


# -- drafts ------------------------------------------------------------------------------------


@both_databases
def test_the_typed_text_is_restored_in_an_open_editor(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    here = go_on(state)
    state.toggle(Panel.EDIT)
    type_in(state, here)
    state.toggle(Panel.EDIT)
    state.toggle(Panel.EDIT)
    assert state.drafts.begin(state.form_id, here, DraftKind.EDIT) == TYPED
    restart()
    new = opened(state)
    assert (draw(new).variant_id, new.panel) == (here, Panel.EDIT)
    assert new.drafts.begin(new.form_id, here, new.draft_kind) == TYPED


def test_a_rejection_is_restored_with_its_reason(
    state: ReviewState, restart: Callable[[], None]
) -> None:
    here = draw(state).variant_id
    fields = {"reason": "not_fluent", "text": "odd word order"}
    state.drafts.begin(state.form_id, here, DraftKind.REJECT)
    state.drafts.keep(here, DraftKind.REJECT, fields, untouched=fields | {"text": ""})
    restart()
    new = opened(state)
    assert (new.panel, new.reason) == (Panel.REJECT, "not_fluent")


def test_a_draft_is_forgotten_once_its_card_is_decided(state: ReviewState) -> None:
    shown = draw(state)
    for kind in DraftKind:
        type_in(state, 1, kind)
    state.accept(shown)
    left = {kind for kind in DraftKind if draft(state, kind)}
    assert left == {DraftKind.NOTE, DraftKind.WRITE, DraftKind.DISCUSS}  # these decide nothing


def test_a_draft_is_forgotten_once_it_is_saved_or_discarded_or_undone_by_hand(
    state: ReviewState, desk: Desk
) -> None:
    shown = draw(state)
    own = {"type_id": "verbal", "text": "The bridge isn't safe at all.", "cue": None}
    for panel, kind, finish in (
        (Panel.NOTE, DraftKind.NOTE, lambda: state.note(shown, "odd")),
        (Panel.WRITE, DraftKind.WRITE, lambda: state.write(shown, **own)),
        (Panel.EDIT, DraftKind.EDIT, lambda: state.discard(shown)),
        (
            Panel.EDIT,
            DraftKind.EDIT,
            lambda: state.drafts.keep(1, DraftKind.EDIT, OLD, untouched=OLD),
        ),
    ):
        state.toggle(panel)
        type_in(state, 1, kind)
        assert draft(state, kind) == TYPED
        finish()
        assert draft(state, kind) == {}
    assert desk.read(drafted_variants, reviewer_id=state.reviewer_id) == set()


def test_a_draft_holds_whatever_is_typed_and_is_stored_once_for_each_change(
    state: ReviewState,
) -> None:
    draw(state)
    state.drafts.begin(state.form_id, 1, DraftKind.NOTE)
    typed = "<b>\u202e{}'\"\\\0 \N{GRINNING FACE}"
    state.drafts.keep(1, DraftKind.NOTE, {"text": typed}, untouched={"text": ""})
    assert draft(state, DraftKind.NOTE) == {"text": typed.replace("\0", "")}
    type_in(state, 1)
    with statements(state.engine) as made:
        state.drafts.keep(1, DraftKind.EDIT, TYPED, untouched=OLD)
    assert made == []


def shows(state: ReviewState) -> int:
    return draw(state).variant_id


def decided(desk: Desk) -> list[int]:
    return sorted(row.variant_id for row in desk.rows(Decision))


@pytest.mark.slow
@both_databases
@pytest.mark.parametrize("name", ["Bert", "Ada"])
def test_two_windows_decide_no_card_twice(state: ReviewState, desk: Desk, name: str) -> None:
    """Windows of two reviewers, or of one."""
    windows = state, colleague(state, name)
    desk.families(5)
    for window in windows:
        window.recount()
    for _ in range(4):
        cards = [draw(window) for window in windows]
        assert cards[0].variant_id != cards[1].variant_id
        for window, card in zip(windows, cards, strict=True):
            window.accept(card)
            assert "Ada" not in window.message and "Bert" not in window.message
    assert decided(desk) == [7 * number + 1 for number in range(8)]


@pytest.mark.slow
@both_databases
def test_two_windows_at_the_same_moment_decide_no_card_twice(
    state: ReviewState, desk: Desk
) -> None:
    def decide_all(window: ReviewState) -> None:
        while window.view().focus is not None:
            window.accept(draw(window))

    desk.families(6)
    windows = [state, colleague(state), colleague(state, "Ada")]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(decide_all, windows))
    assert decided(desk) == [7 * number + 1 for number in range(9)]


def test_another_queue_gives_the_card_back(state: ReviewState) -> None:
    first = shows(state)
    state.go_to(Place(Queue.PENDING, "lexical", None, Order.OLDEST, by_family=False))
    draw(state)
    other = colleague(state)
    other.type_id = "verbal"
    assert shows(other) == first


@pytest.mark.slow
@both_databases
def test_a_lease_is_renewed_while_somebody_works_and_passes_on_when_not(
    state: ReviewState, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, bert = shows(state), colleague(state)
    desk.let_leases_expire()
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.0)
    assert shows(state) == first  # renews the lease
    assert shows(bert) != first
    desk.let_leases_expire()
    assert shows(colleague(state, "Cleo")) == first
    assert shows(state) == first  # it stays, and says who has it now
    assert "Cleo" in state.message


@both_databases
def test_a_late_decision_is_stored_and_both_people_get_a_message(
    state: ReviewState, desk: Desk
) -> None:
    mine, bert = draw(state), colleague(state)
    desk.let_leases_expire()
    theirs = draw(bert)
    assert theirs.variant_id == mine.variant_id
    state.reject(mine, "wrong_scope")
    assert "Bert also" in state.message
    bert.accept(theirs)
    assert "Ada had rejected it (wrong scope)" in bert.message
    assert status(state, mine.variant_id) == Status.CONFLICT
    draw(state)
    for fact in ("Bert also", "The bridge is not safe.", "accepted it after you", "in conflict"):
        assert fact in state.message
    state.toggle_details()
    state.say("")
    draw(state)
    assert state.message == ""  # once is enough


@pytest.mark.parametrize("blind", [False, True])
def test_a_redraw_says_that_the_card_was_decided_meanwhile(state: ReviewState, blind: bool) -> None:
    """In blind mode, who decided and not what."""
    state.blind = blind
    mine, bert = draw(state), colleague(state)
    bert.accept(draw_same(bert, mine))
    assert shows(state) == mine.variant_id
    assert "Meanwhile, Bert" in state.message
    assert ("accepted" in state.message) is not blind


@pytest.mark.parametrize(("name", "said"), [("Bert", "Bert had rejected"), ("Ada", "you had")])
def test_a_decision_in_another_window_is_reported(state: ReviewState, name: str, said: str) -> None:
    other, mine = colleague(state, name), draw(state)
    other.reject(draw_same(other, mine), "wrong_type")
    state.accept(mine)
    assert said in state.message and "Ada" not in state.message


def test_a_permalink_says_who_has_the_card(state: ReviewState) -> None:
    first = draw(state)
    for name, said in (("Bert", "Ada also"), ("Ada", "another of your windows")):
        other = colleague(state, name)
        draw_same(other, first)
        assert said in other.message


def test_cards_on_other_screens_are_counted(state: ReviewState) -> None:
    for window in (state, colleague(state), colleague(state, "Cleo")):
        draw(window)
    late = colleague(state, "Dora")
    assert (late.view().focus, late.elsewhere) == (None, 3)
    late.take(VariantSelection((state.focus_id or 0,), "one"))
    assert (late.view().focus, late.elsewhere) == (None, 1)
    state.leave()
    assert late.view().focus is not None


@pytest.mark.slow
@both_databases
def test_a_family_is_one_windows_alone(state: ReviewState) -> None:
    state.by_family = True
    mine, single, other = draw(state), colleague(state), colleague(state, "Cleo")
    single.type_id, other.by_family = "lexical", True
    shown = [mine.variant_id, shows(single), shows(other)]
    assert sorted((variant_id - 1) // 7 for variant_id in shown) == [0, 1, 2]
    state.accept(mine)
    assert shows(state) in {card.variant.id for card in state.view().cards}
