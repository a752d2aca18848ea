"""Costs and estimates, compared with the results of a small run."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from curation.generation.costs.estimate import estimate
from curation.generation.costs.prices import dollars, price_of, set_price
from curation.generation.costs.spent import cost_rows
from curation.generation.request import AnchorSelection, Price
from curation.generation.run import checked_request
from curation.review import actions
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, Variant
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out, unmeasured  # noqa: F401
from tests.support.databases import both_databases, one_database
from tests.support.factories import person

pytestmark = both_databases

PRICE = {"prompt": 1000.0, "completion": 2000.0}


@one_database
def test_an_estimate_rests_on_a_trial_and_comes_true(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat(delay=0.02)
    everything = {"model": "fake", "base_url": address, "price": PRICE, "concurrency": 4}
    with reading(anchors) as session:
        before = estimate(session, checked_request(everything))
    assert (before.anchors, before.total_calls, before.cost) == (40, 80, None)
    carry_out(anchors, home, **everything, selection=AnchorSelection(limit=3).model_dump())
    with reading(anchors) as session:
        estimated = estimate(session, checked_request(everything))
    assert (estimated.anchors, estimated.total_calls, estimated.based_on) == (37, 74, 6)
    _, result = carry_out(anchors, home, **everything)
    assert estimated.cost == pytest.approx(result["cost"], rel=0.15)
    assert estimated.seconds is not None and estimated.seconds > 74 * 0.02 / 4


def test_costs_add_up_and_are_reported_by_type_and_accepted_variant(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    run_id, result = carry_out(anchors, home, base_url=address, price=PRICE)
    with writing(anchors) as session:
        some = session.execute(
            select(Variant).where(Variant.type_id == "verbal").order_by(Variant.id).limit(10)
        ).scalars()
        for variant in some:
            actions.accept(session, actions.shown(variant), reviewer_id=person(session))
    with reading(anchors) as session:
        rows = {row.type_id: row for row in cost_rows(session)}
        spent = session.execute(select(func.sum(Answer.cost))).scalar_one()
        assert [row.type_id for row in cost_rows(session, run_id=run_id)] == list(rows)
        assert cost_rows(session, run_id=run_id + 1) == []
    assert sum(row.cost for row in rows.values()) == pytest.approx(spent)
    assert spent == pytest.approx(result["cost"], abs=1e-5)
    verbal = rows["verbal"]
    assert (verbal.calls, verbal.variants, verbal.accepted) == (40, 40, 10)
    assert verbal.per_accepted == pytest.approx(4 * (verbal.per_variant or 0))
    assert rows["word"].per_accepted is None


@one_database
def test_a_dated_model_costs_what_its_family_does_unless_the_project_knows_better(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        family = price_of(session, "gpt-4o-mini")
        assert family is not None and price_of(session, "gpt-4o-mini-2024-07-18") == family
        assert price_of(session, "gpt-4o") != family and price_of(session, "llama") is None
        online = checked_request({"model": "gpt-4o-mini", "price": family.model_dump()})
        batch = online.model_copy(update={"batch": True})
        assert online.charged == family and batch.charged.prompt == family.prompt / 2
        set_price(session, "gpt-4o-mini", Price(prompt=9))
        assert price_of(session, "gpt-4o-mini") == Price(prompt=9)
        set_price(session, "gpt-4o-mini", None)
        assert price_of(session, "gpt-4o-mini") == family
        with pytest.raises(HedgerowError, match="name"):
            set_price(session, " ", Price())


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.01, "$0.01"),
        (0.005, "$0.0050"),
        (0.0000412, "$0.000041"),
    ],
)
def test_an_amount_below_a_cent_does_not_read_as_nothing(amount: float, text: str) -> None:
    assert dollars(amount) == text
