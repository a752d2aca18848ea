"""One search over anchors, variants and notes, for any query."""

import itertools

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors import search
from curation.anchors.search import SearchKind, find, marked
from curation.decisions.notes import add_note, retract_note
from curation.editing.anchors import correct_anchor, retire_anchor
from db.engine import reading, writing
from db.models import Status
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person

TEXTS = (
    "Die BRÜCKE ist nicht sicher.",
    "Fifty% of it isn't sold.",
    "Fifty of it isn't sold.",
    "An a_b is not a name.",
    r"A back\slash is not one.",
    'He did not say "yes".',
    "Мост не БЕЗОПАСЕН.",
)


def texts(
    session: Session, query: str, kind: SearchKind = SearchKind.VARIANTS, limit: int = 50
) -> list[str]:
    return [hit.text for hit in find(session, query, kind, limit=limit).hits]


FOUND = [
    ("brücke", TEXTS[:1]),
    ("BRÜCKE", TEXTS[:1]),
    ("bru\N{COMBINING DIAERESIS}cke", TEXTS[:1]),
    ("Ü", TEXTS[:1]),
    ("ü", TEXTS[:1]),
    ("безопасен", TEXTS[6:]),
    ("не", TEXTS[6:]),
    ("НЕ", TEXTS[6:]),
    ("fifty%", TEXTS[1:2]),
    ("y%", TEXTS[1:2]),
    ("%", TEXTS[1:2]),
    ("a_b", TEXTS[3:4]),
    ("_", TEXTS[3:4]),
    ("k\\s", TEXTS[4:5]),
    ("\\", TEXTS[4:5]),
    ('say "yes', TEXTS[5:6]),
    ('"', TEXTS[5:6]),
    ("of   it  isn't", TEXTS[1:3]),
    (" SOLD. ", TEXTS[1:3]),
]
"""Queries, and what each of them finds."""
HOSTILE = [
    "",
    "   ",
    "*",
    "NEAR(",
    'NEAR("a" "b", 5)',
    "not* OR",
    "text:",
    "-not",
    "^An",
    "'",
    "';--",
    '""',
    '"""',
    "\0",
    "no\0t",
    "\ud800",
    "\u200f",
    "\u202enot",
    "\u200b",
    "%%%",
    "___",
    "\\\\",
    "{",
    "(",
    "a" * 1000,
    "a" * 100_000,
    "not " * 50_000,
    "🙈",
    ":x",
    "%s",
    "%(x)s",
    "?",
]


@pytest.fixture
def filled(engine: Engine, fill: Fill) -> Engine:
    """An unrelated anchor with variants."""

    def made(session: Session) -> None:
        anchor = add_anchor(session)
        for text in TEXTS:
            add_variant(session, anchor, text=text)

    fill(engine, made)
    return engine


pytestmark = both_databases


def test_case_does_not_matter_and_every_character_means_itself(filled: Engine) -> None:
    with reading(filled) as session:
        assert [(typed, tuple(texts(session, typed))) for typed, _ in FOUND] == FOUND


def test_hostile_queries_find_something_or_nothing(filled: Engine) -> None:
    with reading(filled) as session:
        for typed, kind in itertools.product(HOSTILE, SearchKind):
            for hit in find(session, typed, kind, limit=5).hits:
                shown = "".join(piece for piece, _ in marked(hit.text, typed))
                assert shown == hit.text, typed[:20]


def test_whole_words_come_before_parts_of_words(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
        for text in ("Partly.", "No art.", "Start.", "ART!", "Artful."):
            add_variant(session, anchor, text=text)
    with reading(engine) as session:
        assert texts(session, "art") == ["No art.", "ART!", "Partly.", "Start.", "Artful."]
        assert texts(session, "art", limit=1) == ["No art."]
        found = find(session, "art", SearchKind.VARIANTS, limit=1)
        assert (found.rows, found.more) == ((2, 4, 1, 3, 5), False)
        monkeypatch.setattr(search, "RANKED", 2)
        found = find(session, "art", SearchKind.VARIANTS, limit=5)
        assert (len(found.hits), len(found.rows), found.more) == (2, 2, True)


def test_a_hit_has_its_kind_and_status(engine: Engine) -> None:
    with writing(engine) as session:
        verbal, ada = add_family(session)["verbal"], person(session)
        add_note(session, verbal.id, reviewer_id=ada, text="See the BRIDGE.")
        new = "The old bridge is safe."
        correct_anchor(session, 1, new, reviewer_id=ada, expected_revision=1)
    with reading(engine) as session:
        (hit,) = find(session, "not safe", SearchKind.VARIANTS, limit=9).hits
        assert (hit.variant_id, hit.variant_uid, hit.type_id) == (verbal.id, verbal.uid, "verbal")
        assert (hit.status, hit.retired) == (Status.PENDING, False)
        (note,) = find(session, "bridge", SearchKind.NOTES, limit=9).hits
        assert (note.text, note.about) == ("See the BRIDGE.", verbal.text)
        assert (note.variant_uid, note.anchor_uid) == (verbal.uid, hit.anchor_uid)
        (now,) = find(session, "bridge", SearchKind.ANCHORS, limit=9).hits
        assert (now.text, now.variant_id) == (new, None)
        # A uid finds what it names.
        assert find(session, verbal.uid.upper(), SearchKind.VARIANTS, limit=9).hits == [hit]
        assert find(session, hit.anchor_uid, SearchKind.ANCHORS, limit=9).hits == [now]
    with writing(engine) as session:
        retire_anchor(session, 1)
        for kind, typed in ((SearchKind.ANCHORS, "bridge"), (SearchKind.VARIANTS, "not safe")):
            assert find(session, typed, kind, limit=9).hits[0].retired


def test_every_note_counts_until_it_is_undone(engine: Engine) -> None:
    with writing(engine) as session:
        verbal, ada = add_family(session)["verbal"].id, person(session)
        first, _ = (
            add_note(session, verbal, reviewer_id=ada, text=text)
            for text in ("Too long.", "Much too long.")
        )
    with writing(engine) as session:
        found = find(session, "too long", SearchKind.NOTES, limit=9)
        assert (len(found.hits), found.rows) == (2, (verbal, verbal))
        retract_note(session, first.id)
        assert texts(session, "long", SearchKind.NOTES) == ["Much too long."]


def test_the_match_is_marked() -> None:
    assert marked("Die BRÜCKE, die Brücke", "brücke") == [
        ("Die ", False),
        ("BRÜCKE", True),
        (", die ", False),
        ("Brücke", True),
    ]
    assert marked("<b>", "<") == [("<", True), ("b>", False)]
    assert marked("as it is", "\0") == [("as it is", False)]
