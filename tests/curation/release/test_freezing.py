"""Releases: what is frozen, selected and hashed. Later work does not change them."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, select, update
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measuring import measure_variants
from curation.overview.project_settings import change_threshold
from curation.release.contents import Changes, changes_since, contents_of, count_accepted
from curation.release.export.card_sections import review_statement
from curation.release.freezing import get_release, list_releases
from curation.release.selection import Selection, default_selection, selection_of
from curation.release.upcoming import contents_now
from curation.review.rules import apply_rule, parse_rule
from curation.taxonomy.built_in import TAXONOMY, TAXONOMY_VERSION
from curation.taxonomy.project_types import list_types, seed_taxonomy
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Diagnostic,
    Release,
    ReleaseItem,
    Reviewer,
    Split,
    TypeVersion,
    Variant,
    Verdict,
)
from tests.curation.support.families import add_family, add_plain_family, add_variant, decide
from tests.support.databases import both_databases, start_over
from tests.support.factories import add_anchor, engine_of, freeze, model, person


def items(session: Session, release: Release) -> dict[str, ReleaseItem]:
    query = select(ReleaseItem).where(col(ReleaseItem.release_id) == release.id)
    return {item.text: item for item in session.execute(query).scalars()}


@both_databases
def test_only_accepted_variants_in_use_are_released(session: Session) -> None:
    anchor = add_family(session, "It rains.", {"verbal": ["It does not rain."]})
    add_variant(session, anchor, "word", "Perhaps it rains.")
    rejected = add_variant(session, anchor, "lexical", "It shines.")
    decide(session, rejected, person(session), Verdict.REJECT, reason="other")
    retired = add_variant(session, anchor, "absolute", "It never rains.")
    decide(session, retired, person(session))
    retired.retired = True
    add_family(session, "It snows.", {"verbal": ["It does not snow."]}).retired_at = now()
    release, created = freeze(session, name="  First ")
    assert created and (release.number, release.name) == (1, "First")
    assert list(items(session, release)) == ["It does not rain."]


def test_an_item_holds_everything_about_its_variant(session: Session) -> None:
    anchor = add_anchor(session, "It rains.", split=Split.TEST, source="News", licence="CC0")
    original = add_variant(session, anchor, "word", "Maybe rains.", cue="maybe")
    ada, text = person(session), "Maybe it rains."
    child = add_variant(session, anchor, "word", text, cue="maybe", parent=original, author=ada)
    decide(session, original, ada, Verdict.EDIT, child=child)
    decide(session, child, ada)
    item = items(session, freeze(session).release)[text]
    expected = {
        "anchor": "It rains.",
        "type_id": "word",
        "polarity": "positive",
        "cue": "maybe",
        "split": "test",
        "genre": "test",
        "language": "en",
        "source": "News",
        "licence": "CC0",
        "anchor_uid": anchor.uid,
        "variant_uid": child.uid,
    }
    assert {name: getattr(item, name) for name in expected} == expected
    assert item.provenance == {
        "provider": "openai",
        "model": "gpt-x",
        "prompt": None,
        "run": None,
        "parent_uid": original.uid,
        "anchor_revision": 1,
        "author": "Ada",
        "author_kind": "person",
        "decided_by": "person",
        "persons": 1,
        "models": 0,
        "adjudicated": False,
    }


@both_databases
def test_no_person_has_read_variants_accepted_only_by_a_rule(session: Session) -> None:
    anchor = add_anchor(session, "It rains.")
    texts = ("It does not rain.", "It doesn't rain.", "It is not raining.", "It isn't raining.")
    variants = [add_variant(session, anchor, "verbal", text) for text in texts]
    measure_variants(session, [variant.id for variant in variants])
    rule, ada = parse_rule("levenshtein >= 0"), person(session)
    assert (
        apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=ada).matches.total
        == 4
    )
    decide(session, variants[0], person(session, "Ben"))
    release = freeze(session).release
    found = {
        text: (item.provenance["decided_by"], item.provenance["persons"])
        for text, item in items(session, release).items()
    }
    assert found == dict.fromkeys(texts, ("rule", 0)) | {texts[0]: ("person", 1)}
    assert release.summary["decided_by"] == {"person": 1, "rule": 3}
    statement = review_statement(release.summary)
    for fact in ("Of the 4 ", "1 (25.0%)", "3 (75.0%)"):
        assert fact in statement


@both_databases
def test_the_deciding_reviewer_follows_the_status_rule(session: Session) -> None:
    anchor = add_anchor(session, "It rains.")
    llm, off = model(session), model(session, "switched-off")
    session.get_one(Reviewer, off).counts = False
    ada, ben, cem = (person(session, name) for name in ("Ada", "Ben", "Cem"))
    accept, reject = Verdict.ACCEPT, Verdict.REJECT
    for text, decisions in {
        "by a model": [(llm, accept), (off, accept)],
        "by both": [(llm, accept), (off, accept), (ada, accept), (ben, accept)],
        "settled": [(ada, accept), (ben, reject), (cem, accept)],
        "changed her mind": [(ada, reject), (ada, accept)],
    }.items():
        variant = add_variant(session, anchor, "verbal", text)
        for who, verdict in decisions:
            decide(session, variant, who, verdict, adjudicates=who == cem)
    release = freeze(session).release
    names = ("decided_by", "persons", "models", "adjudicated")
    found = {t: [i.provenance[k] for k in names] for t, i in items(session, release).items()}
    assert found == {
        "by a model": ["model", 0, 1, False],
        "by both": ["person", 2, 1, False],
        "settled": ["person", 2, 0, True],
        "changed her mind": ["person", 1, 0, False],
    }
    assert release.summary["decided_by"] == {"model": 1, "person": 3}
    assert release.summary["adjudicated"] == 1


@both_databases
def test_all_items_of_a_corrected_anchor_have_its_current_wording(session: Session) -> None:
    anchor = add_family(session, "It rain.", {"verbal": ["It does not rain."]})
    session.add(AnchorRevision(anchor_id=anchor.id, revision=2, text="It rains.", text_uid="x"))
    anchor.revision = 2
    later = add_variant(session, anchor, "word", "Maybe it rains.", revision=2)
    decide(session, later, model(session))
    release = freeze(session).release
    # The provenance says which text each was made for.
    assert {
        text: (item.anchor, item.provenance["anchor_revision"])
        for text, item in items(session, release).items()
    } == {"It does not rain.": ("It rains.", 1), "Maybe it rains.": ("It rains.", 2)}
    assert (release.summary["triples"], release.summary["anchors"]) == (1, 1)


@pytest.mark.slow
@both_databases
def test_later_work_does_not_reach_a_release(engine: Engine) -> None:
    def frozen() -> tuple[dict[str, object], dict[str, dict[str, object]]]:
        with reading(engine) as session:
            found = get_release(session, 1)
            rows = items(session, found).items()
            return found.model_dump(), {text: item.model_dump() for text, item in rows}

    with writing(engine) as session:
        add_plain_family(session, 1)
        freeze(session)
    before = frozen()
    with writing(engine) as session:
        for variant in session.execute(select(Variant)).scalars().all():
            decide(session, variant, person(session), Verdict.REJECT, reason="other")
        session.execute(update(Variant).values(text="changed", cue="changed"))
        session.execute(update(AnchorRevision).values(text="changed"))
        session.execute(update(Anchor).values(split=Split.TEST, genre="changed"))
        session.execute(update(TypeVersion).values(definition="changed"))
        add_plain_family(session, 2)
        assert freeze(session).release.number == 2
    assert frozen() == before


@both_databases
@pytest.mark.parametrize("statement", [update(ReleaseItem).values(text="x"), delete(ReleaseItem)])
def test_the_database_refuses_to_change_an_item(session: Session, statement: object) -> None:
    add_plain_family(session, 1)
    release = freeze(session).release
    session.commit()
    with pytest.raises(DatabaseError, match="append-only"):
        session.execute(statement)
    session.rollback()
    assert len(items(session, release)) == 3


def test_nothing_accepted_gives_no_release_and_leaves_no_trace(session: Session) -> None:
    add_variant(session, add_anchor(session, "It rains."), "word", "Maybe it rains.")
    with pytest.raises(HedgerowError, match="no variant is accepted"):
        freeze(session)
    # The session continues, and what it commits contains no incomplete release.
    session.commit()
    assert list_releases(session) == [] and len(session.execute(select(Variant)).all()) == 1


def test_the_summary_counts_what_was_released(session: Session) -> None:
    for number, split in enumerate((Split.TRAIN, Split.TRAIN, Split.TEST)):
        add_plain_family(session, number, split=split)
    lone = add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TEST)
    ada = person(session)
    rejected = add_variant(session, lone, "word", "It is surely late.")
    decide(session, rejected, ada, Verdict.REJECT, reason="not_a_hedge")
    edited = add_variant(session, lone, "absolute", "No late.")
    child = add_variant(session, lone, "absolute", "It is never late.", parent=edited, author=ada)
    decide(session, edited, ada, Verdict.EDIT, reason="ungrammatical", child=child)
    decide(session, child, ada)
    add_variant(session, lone, "lexical", "It is early.")
    release = freeze(session).release
    summary = release.summary
    assert (summary["anchors"], summary["variants"], summary["triples"]) == (4, 11, 6)
    assert summary["anchors_without_triples"] == 1
    assert summary["types"] == {"word": 3, "verbal": 4, "lexical": 3, "absolute": 1}
    assert summary["splits"] == {
        "train": {"anchors": 2, "variants": 6, "triples": 4, "without_triples": 0},
        "test": {"anchors": 2, "variants": 5, "triples": 2, "without_triples": 1},
    }
    none = {"as_written": 0, "edited": 0, "rejected": 0, "conflict": 0, "pending": 0}
    assert summary["review"] == {
        "word": none | {"as_written": 3, "rejected": 1},
        "verbal": none | {"as_written": 4},
        "lexical": none | {"as_written": 3, "pending": 1},
        "absolute": none | {"edited": 1},
    }
    assert summary["reasons"] == {"rejected": {"not_a_hedge": 1}, "edited": {"ungrammatical": 1}}
    assert summary["edited_by"] == {"person": 1} and summary["words"]["anchors"]["median"] == 4
    # The taxonomy is kept as it was.
    verbal = release.taxonomy["verbal"]
    assert (verbal["polarity"], verbal["version"]) == ("negative", TAXONOMY_VERSION)
    assert "head of the clause" in verbal["definition"]


@pytest.mark.slow
def test_releases_are_found_by_number_or_as_the_newest(session: Session) -> None:
    with pytest.raises(HedgerowError, match="no release yet"):
        get_release(session)
    for number in (1, 2):
        add_plain_family(session, number)
        freeze(session)
    assert (get_release(session).number, get_release(session, 1).number) == (2, 1)
    assert [release.number for release in list_releases(session)] == [2, 1]
    with pytest.raises(HedgerowError, match="no release 7; .* release 2"):
        get_release(session, 7)
    with pytest.raises(HedgerowError, match="at most 200 characters, found 201"):
        freeze(session, name="x" * 201)


@pytest.mark.slow
@both_databases
def test_a_release_of_some_sources_says_so_and_holds_nothing_else(session: Session) -> None:
    add_plain_family(session, 1)
    other = add_anchor(session, "It rains.", source="Another")
    decide(session, add_variant(session, other, "verbal", "It does not rain."), person(session))
    whole = freeze(session).release
    part, created = freeze(session, selection=Selection(("Another",)))
    assert created and set(items(session, part)) == {"It does not rain."}
    assert selection_of(part) == Selection(("Another",))
    assert selection_of(whole) == default_selection(session)
    assert set(part.summary["review"]) == {"verbal"}
    assert changes_since(session, part) == Changes({}, {})
    assert contents_now(session, Selection(("Another",))) == contents_of(part)
    assert contents_now(session).variants == whole.summary["variants"] == 4
    assert not freeze(session, selection=Selection(("Another",))).created
    again = freeze(session, selection=Selection(("A corpus", "Another"))).release
    assert again.content_hash == whole.content_hash != part.content_hash
    decide(session, add_variant(session, other, "word", "Maybe it rains."), person(session))
    assert changes_since(session, part) == Changes({"word": 1}, {})
    with pytest.raises(HedgerowError, match=r"Expected a source .*found Nowhere"):
        freeze(session, selection=Selection(("Nowhere",)))


@pytest.mark.slow
def test_only_equal_content_with_an_equal_provenance_is_the_same_release(session: Session) -> None:
    anchor = add_plain_family(session, 1)
    first = freeze(session, name="one").release
    again, created = freeze(session, name="two")
    assert not created and (again.number, again.name) == (1, "one")
    decide(session, session.execute(select(Variant)).scalars().first(), person(session))  # type: ignore[arg-type]
    second, created = freeze(session)
    assert created and (second.number, second.content_hash) == (2, first.content_hash)
    assert second.summary["decided_by"] == {"model": 2, "person": 1}
    extra = add_variant(session, anchor, "phrase", "It seems that door 1 is open.")
    decide(session, extra, person(session))
    assert freeze(session).release.content_hash != first.content_hash
    decide(session, extra, person(session), Verdict.REJECT, reason="other")
    fourth, created = freeze(session)  # an older one is not returned
    assert created and (fourth.number, fourth.content_hash) == (4, first.content_hash)


@pytest.mark.slow
@both_databases
def test_two_at_once_get_one_number_each(engine: Engine) -> None:
    def create(_: int) -> tuple[int, bool]:
        with writing(engine) as session:
            release, created = freeze(session)
            return release.number, created

    with writing(engine) as session:
        add_plain_family(session, 1)
    with ThreadPoolExecutor() as threads:
        assert sorted(threads.map(create, range(3))) == [(1, False), (1, False), (1, True)]


FAMILIES = {
    "It rains.": {"word": ["Maybe it rains."], "verbal": ["It does not rain."]},
    "It snows.": {
        "phrase": ["It seems to snow."],
        "verbal": ["It does not snow.", "It won't snow."],
    },
    "It is warm.": {"lexical": ["It is cold."]},
}


def build(session: Session, order: Sequence[str], *, who: str, reverse: bool) -> str:
    for text in order:
        variants = list(FAMILIES[text].items())
        chosen = dict(reversed(variants) if reverse else variants)
        add_family(session, text, chosen, by=person(session, who), cue="maybe")
    return freeze(session, name=who).release.content_hash


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(list(FAMILIES)),
    who=st.sampled_from(["Ada", "Ben"]),
    reverse=st.booleans(),
    noise=st.integers(min_value=0, max_value=2),
)
def test_the_hash_does_not_depend_on_ids_order_or_names(
    session: Session, order: list[str], who: str, reverse: bool, noise: int
) -> None:
    if not list_types(session):
        seed_taxonomy(session)
        session.commit()
    for number in range(noise):  # uses up ids and is not released
        add_variant(session, add_anchor(session, f"Noise {number}."), "word", "Maybe noise.")
    found = build(session, order, who=who, reverse=reverse)
    start_over(session)
    assert found == "d27575411f6f94eba6854ce594d70d5b17f0b66a52886c904c873cb42a027e17"


@pytest.mark.slow
@both_databases
def test_the_hash_is_the_documented_one_and_depends_on_what_a_reader_sees(session: Session) -> None:
    texts = {"word": ["Maybe it rains."], "verbal": ["It doesn't, “no”."]}
    add_family(session, "It rains.", texts, split=Split.TRAIN, cue="maybe")
    found = freeze(session).release.content_hash
    lines = (
        '["It rains.","It doesn\'t, “no”.","verbal","maybe","train"]\n'
        '["It rains.","Maybe it rains.","word","maybe","train"]\n'
    )
    assert found == hashlib.sha256(lines.encode()).hexdigest()
    hashes = {found}
    word = session.execute(select(Variant).where(col(Variant.type_id) == "word")).scalar_one()
    for name, value in (
        ("text", "Perhaps it rains."),
        ("type_id", "phrase"),
        ("cue", "perhaps"),
        ("cue", None),
    ):
        setattr(word, name, value)
        session.flush()
        hashes.add(freeze(session).release.content_hash)
    assert len(hashes) == 5


FAR = "The bridge is, as far as anybody in this part of the country can possibly say, maybe open."
SIX = {entry.id: [f"{entry.label}."] for entry in TAXONOMY if entry.of_paper}
WHOLE = Selection(max_distance=60, complete=True)


@pytest.fixture
def selectable(session: Session) -> Session:
    """A complete family, and one family per kind of type with a variant far from its anchor."""
    seed_taxonomy(session)
    add_family(session, "The door is open.", SIX)
    far = {"word": [FAR], "free_hedge": [FAR], "verbal": ["No."]}
    add_family(session, "The bridge is open.", far)
    return session


def types_of(session: Session, release: Release) -> list[str]:
    query = select(col(ReleaseItem.type_id)).where(col(ReleaseItem.release_id) == release.id)
    return sorted(session.execute(query).scalars())


@pytest.mark.slow
@both_databases
def test_variants_over_the_threshold_stay_out_unless_free_form(selectable: Session) -> None:
    assert selectable.execute(select(Diagnostic)).first() is None
    release = freeze(selectable).release
    assert types_of(selectable, release) == sorted([*SIX, "free_hedge", "verbal"])
    assert (release.summary["left_out"], selection_of(release)) == (1, Selection((), 60))
    assert contents_of(release) == contents_now(selectable)
    every = freeze(selectable, selection=Selection()).release
    assert types_of(selectable, every) == sorted([*types_of(selectable, release), "word"])
    assert every.summary["left_out"] == 0
    change_threshold(selectable, 100)  # the project's
    assert default_selection(selectable) == Selection(max_distance=100)
    assert freeze(selectable).release.summary["left_out"] == 0


@pytest.mark.slow
@both_databases
def test_incomplete_families_stay_out_on_request(selectable: Session) -> None:
    release = freeze(selectable, selection=WHOLE).release
    assert types_of(selectable, release) == sorted(SIX) and release.summary["left_out"] == 3
    assert contents_of(release) == contents_now(selectable, WHOLE)
    assert count_accepted(selectable, WHOLE) == len(SIX)
    # A family is only complete with variants that are near enough.
    add_family(selectable, "The gate is open.", {**SIX, "phrase": [FAR]})
    assert freeze(selectable, selection=WHOLE).release.id == release.id
    add_family(selectable, "The lid is open.", {"verbal": ["The lid isn't open."]}, source="Lids")
    for selection, fact in ((WHOLE, r"\(1\) .*incomplete"), (Selection(max_distance=1), r"far")):
        with pytest.raises(HedgerowError, match=fact):
            freeze(selectable, selection=selection._replace(sources=("Lids",)))


@pytest.mark.slow
@both_databases
def test_changes_count_by_what_the_release_takes(selectable: Session) -> None:
    release = freeze(selectable, selection=Selection(max_distance=60)).release
    assert changes_since(selectable, release) == ({}, {})
    add_family(selectable, "The gate is open.", {"verbal": ["The gate isn't open."], "word": [FAR]})
    # Variants that nobody has measured yet may be near enough.
    assert changes_since(selectable, release) == ({"verbal": 1, "word": 1}, {})
    again = freeze(selectable).release
    assert types_of(selectable, again).count("word") == 1
    assert changes_since(selectable, again) == ({}, {})


def test_a_release_says_what_is_left_out() -> None:
    assert Selection().sentences() == ""
    sentences = Selection(("A", "B"), 60, True).sentences()
    assert "A, B" in sentences and " 60 " in sentences and len(sentences.split(". ")) == 3
