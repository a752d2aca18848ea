"""Cards: a variant with what a reviewer needs to judge it, alone and with its family."""

from sqlalchemy import Engine

from curation.review import actions
from curation.review.actions import shown
from curation.review.cards import card, family
from db.engine import reading, writing
from db.models import Status
from tests.support.databases import both_databases
from tests.support.factories import ANCHOR, TEXTS, add_family, person

pytestmark = both_databases


def test_a_card_says_what_is_not_measured_yet(engine: Engine) -> None:
    with writing(engine) as session:
        found = card(session, add_family(session)["verbal"].id)
    assert (found.anchor, found.genre, found.source) == (ANCHOR, "test", "test")
    assert (found.levenshtein, found.cosine) == (None, None)


def test_a_family_has_the_taxonomys_order_with_replaced_texts_last(engine: Engine) -> None:
    with writing(engine) as session:
        variants = add_family(session)
        actions.edit(
            session, shown(variants["verbal"]), reviewer_id=person(session), text="It isn't safe."
        )
    with reading(engine) as session:
        cards = family(session, variants["verbal"].anchor_id)
    assert [c.variant.type_id for c in cards] == [*TEXTS, "verbal"]
    assert cards[-1].variant.status == Status.SUPERSEDED
    assert cards[0].variant.text == "It isn't safe."
