"""The queues: their orders, what is left out, and that an index serves each of them."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, select

from curation import review
from curation.queue import (
    _PENDING,
    Order,
    _keys,
    card,
    family,
    history,
    next_variant,
    status_counts,
)
from curation.review import shown
from db.engine import reading, writing
from db.models import Status, Variant, Verdict
from tests.factories import ANCHOR, TEXTS, add_anchor, add_family, add_variant, person


@pytest.fixture
def ids(engine: Engine) -> list[int]:
    """Three verbal variants whose orders differ."""
    with writing(engine) as session:
        anchor = add_anchor(session)
        found = []
        for number, (suspicion, hardness, key) in enumerate(
            [(0.1, 0.9, 0.5), (0.9, 0.1, 0.7), (0.5, 0.5, 0.2)]
        ):
            variant = add_variant(session, anchor, text=f"Text {number}.")
            variant.suspicion, variant.hardness, variant.random_key = suspicion, hardness, key
            found.append(variant.id or 0)
        return found


def order_of(session: Session, order: Order, **more: object) -> list[int]:
    """The whole queue, by skipping one after the other."""
    skipped: list[int] = []
    while variant := next_variant(
        session, type_ids=["verbal", "word"], order=order, skipped=skipped
    ):
        skipped.append(variant.id or 0)
    return skipped


@pytest.mark.parametrize(
    ("order", "positions"),
    [
        (Order.OLDEST, [0, 1, 2]),
        (Order.SUSPICIOUS, [1, 2, 0]),
        (Order.HARDEST, [0, 2, 1]),
        (Order.RANDOM, [2, 0, 1]),
    ],
)
def test_each_order(engine: Engine, ids: list[int], order: Order, positions: list[int]) -> None:
    with reading(engine) as session:
        assert order_of(session, order) == [ids[i] for i in positions]


def test_decided_retired_and_other_types_are_left_out(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        session.get_one(Variant, ids[0]).retired = True
        card_ = shown(session.get_one(Variant, ids[1]))
        review.accept(session, card_, reviewer_id=person(session))
    with reading(engine) as session:
        assert order_of(session, Order.OLDEST) == [ids[2]]
        assert next_variant(session, type_ids=["word"]) is None


@pytest.mark.parametrize("order", list(Order))
def test_an_index_serves_the_order(home: object, order: Order) -> None:
    from sqlalchemy.engine import URL

    from db.engine import create_engine
    from db.migrate import upgrade

    engine = create_engine(URL.create("sqlite", database="hedgerow.db"))
    upgrade(engine)
    query = (
        select(Variant.id)
        .where(_PENDING, Variant.type_id == "verbal")
        .order_by(*_keys(order))
        .limit(1)
    )
    sql = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        plan = " ".join(str(row) for row in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}")))
    assert "INDEX ix_variant_" in plan
    assert "TEMP B-TREE" not in plan
    engine.dispose()


def test_a_card_says_what_is_not_measured_yet(engine: Engine, ids: list[int]) -> None:
    with reading(engine) as session:
        found = card(session, ids[0])
    assert (found.anchor, found.genre, found.source) == (ANCHOR, "test", "test")
    assert (found.levenshtein, found.cosine) == (None, None)


def test_a_family_stands_in_the_taxonomys_order_with_replaced_wordings_last(engine: Engine) -> None:
    with writing(engine) as session:
        variants = add_family(session)
        review.edit(
            session, shown(variants["verbal"]), reviewer_id=person(session), text="It isn't safe."
        )
    with reading(engine) as session:
        cards = family(session, variants["verbal"].anchor_id)
    assert [c.variant.type_id for c in cards] == [*TEXTS, "verbal"]
    assert cards[-1].variant.status == Status.SUPERSEDED
    assert cards[0].variant.text == "It isn't safe."


def test_the_history_tells_what_was_taken_back(engine: Engine, ids: list[int]) -> None:
    with writing(engine) as session:
        ada = person(session)
        review.accept(session, shown(session.get_one(Variant, ids[0])), reviewer_id=ada, note="ok")
        review.undo(session, reviewer_id=ada)
        review.reject(
            session, shown(session.get_one(Variant, ids[0])), reviewer_id=ada, reason="wrong_type"
        )
    with reading(engine) as session:
        found = history(session, ids[0])
    assert [(d.reviewer, d.verdict, d.retracted) for d in found] == [
        ("Ada", Verdict.ACCEPT, True),
        ("Ada", Verdict.REJECT, False),
    ]
    assert found[0].note == "ok"


def test_counts_are_by_type_and_status(engine: Engine, ids: list[int]) -> None:
    with reading(engine) as session:
        assert status_counts(session)["verbal"][Status.PENDING] == 3
