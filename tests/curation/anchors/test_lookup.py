"""Finding anchors: a search takes the text literally, and every filter narrows it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.anchors.lookup import (
    AnchorFilter,
    anchor_history,
    filter_choices,
    find_anchors,
    has_anchors,
    known_genres,
    known_sources,
    one_anchor,
    page_of_anchors,
)
from curation.review.actions import edit, shown
from db.engine import reading, writing
from db.models import Anchor, Source, Split
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, person

pytestmark = both_databases

TEXTS = ("Fifty% of it is sold.", "Fifty of it is sold.", "A_b is a name.", r"A back\slash is one.")


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """Four unrelated anchors, and a family."""
    with writing(engine) as session:
        for text in TEXTS:
            add_anchor(session, text)
        add_family(session)
    with reading(engine) as session:
        yield session


def texts(session: Session, **wanted: object) -> list[str]:
    return [a.text for a in find_anchors(session, AnchorFilter(**wanted)).anchors]  # type: ignore[arg-type]


def test_wildcards_mean_themselves(session: Session) -> None:
    expected = {
        "fifty%": TEXTS[:1],
        "FIFTY": TEXTS[:2],
        "a_b": TEXTS[2:3],
        "a b": TEXTS[3:],
        "k\\s": TEXTS[3:],
        "nowhere": (),
    }
    assert {typed: tuple(texts(session, text=typed)) for typed in expected} == expected


def test_pages_and_total_agree(session: Session) -> None:
    pages = [find_anchors(session, AnchorFilter(), limit=2, offset=at) for at in (0, 2, 4, 6)]
    assert [len(page.anchors) for page in pages] == [2, 2, 1, 0]
    assert {page.total for page in pages} == {5}
    uids = [anchor.uid for page in pages for anchor in page.anchors]
    assert len(set(uids)) == 5
    assert find_anchors(session, AnchorFilter(text=uids[0])).total == 1


@one_database
def test_a_page_beyond_the_last_is_the_last(session: Session) -> None:
    last = page_of_anchors(session, AnchorFilter(), number=3, size=2)
    assert (last.number, len(last.found.anchors), last.found.total) == (3, 1, 5)
    assert page_of_anchors(session, AnchorFilter(), number=9, size=2) == last
    none = page_of_anchors(session, AnchorFilter(text="nowhere"), number=2, size=2)
    assert (none.number, none.found.total) == (2, 0)


def test_filters_offer_what_anchors_have(session: Session) -> None:
    assert filter_choices(session) == (known_sources(session), known_genres(session))


@one_database
def test_a_project_whose_anchors_are_all_retired_has_none(engine: Engine) -> None:
    with writing(engine) as session:
        assert not has_anchors(session)
        anchor = add_anchor(session, TEXTS[0])
        assert has_anchors(session)
        retire_anchor(session, anchor.id)
        assert not has_anchors(session)


def test_filters_narrow(engine: Engine, session: Session) -> None:
    with writing(engine) as writer:
        other = Source(name="other")
        writer.add(other)
        writer.flush()
        for anchor_id, values in (
            (1, {"genre": "poem"}),
            (2, {"source_id": other.id}),
            (3, {"split": Split.TEST}),
        ):
            for name, value in values.items():
                setattr(writer.get_one(Anchor, anchor_id), name, value)
        for anchor_id in (1, 2, 4, 5):
            writer.get_one(Anchor, anchor_id).split = Split.TRAIN
        retire_anchor(writer, 4)
    with reading(engine) as reader:
        assert texts(reader, genre="poem") == [TEXTS[0]]
        assert texts(reader, source="other") == [TEXTS[1]]
        assert texts(reader, split=Split.TEST) == [TEXTS[2]]
        assert texts(reader, retired=True) == [TEXTS[3]]
        assert texts(reader, without_variants=True) == list(TEXTS[:3])
        assert texts(reader, genre="poem", source="other") == []
        assert known_genres(reader) == ["poem", "test"]
        assert known_sources(reader) == ["other", "test"]


def test_a_corrected_anchor_is_found_by_its_current_wording(engine: Engine) -> None:
    with writing(engine) as session:
        family, ada = add_family(session), person(session)
        edit(session, shown(family["verbal"]), reviewer_id=ada, text="It isn't safe.")
        correct_anchor(session, 1, "The gate is safe.", reviewer_id=ada, expected_revision=1)
    with reading(engine) as session:
        assert texts(session, text="bridge") == []
        (found,) = find_anchors(session, AnchorFilter(text="gate")).anchors
        # An edited variant counts once.
        assert (found.revision, found.variants, found.licence) == (2, 7, "CC BY 4.0")
        assert one_anchor(session, found.uid) == found
        assert one_anchor(session, "nope") is None
        assert [w.revision for w in anchor_history(session, 1)] == [1, 2]
