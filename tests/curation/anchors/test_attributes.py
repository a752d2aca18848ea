"""Changing the genre and language of one or several anchors."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.attributes import MAX_GENRE, set_facts
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Anchor, Diagnostic
from tests.support.factories import add_anchor, add_variant

GERMAN = "Der Hund schläft nicht."


@pytest.fixture
def two(engine: Engine) -> Engine:
    with writing(engine) as session:
        variant = add_variant(session, add_anchor(session, GERMAN), text="Der Hund schläft.")
        measure_variants(session, [variant.id])
        add_anchor(session, "The road is safe.")
    return engine


def facts(session: Session) -> list[tuple[str, str]]:
    return [(a.genre, a.language) for a in (session.get_one(Anchor, 1), session.get_one(Anchor, 2))]


def flags(engine: Engine) -> Flag:
    with reading(engine) as session:
        return Flag(session.get_one(Diagnostic, 1).flags)


def test_genre_and_language_of_several_anchors_are_set_at_once(two: Engine) -> None:
    with writing(two) as session:
        assert set_facts(session, [1, 2], genre=" news  paper ") == [1, 2]
        assert set_facts(session, [1, 2], genre="news paper") == []
        assert set_facts(session, [1], language="de-CH") == [1]
    with reading(two) as session:
        assert facts(session) == [("news paper", "de-CH"), ("news paper", "en")]
    with writing(two) as session:
        set_facts(session, [2], genre="")
        assert facts(session)[1] == ("", "en")


def test_another_language_measures_the_variants_again(two: Engine) -> None:
    assert Flag.ANCHOR_NOT_AFFIRMATIVE in flags(two)
    with writing(two) as session:
        set_facts(session, [1, 2], language="de")
    assert Flag.ANCHOR_NOT_AFFIRMATIVE not in flags(two)
    with writing(two) as session:
        set_facts(session, [1], language="en")
    assert Flag.ANCHOR_NOT_AFFIRMATIVE in flags(two)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "found neither"),
        ({"genre": "x" * (MAX_GENRE + 1)}, "at most 80"),
        ({"genre": "fine", "language": "Deutsch!"}, "'en' or 'en-GB'"),
        ({"genre": "a\x1bb"}, "control character"),
    ],
)
def test_a_refused_fact_changes_nothing(two: Engine, values: dict[str, str], message: str) -> None:
    with pytest.raises(HedgerowError, match=message), writing(two) as session:
        set_facts(session, [1, 2], **values)
    with reading(two) as session:
        assert facts(session) == [("test", "en")] * 2
