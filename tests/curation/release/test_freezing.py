"""Releases: which variants are frozen. Later work does not change them."""

import pytest
from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.measuring import measure_variants
from curation.release.contents import Changes, changes_since, contents_of
from curation.release.export.contributors import review_statement
from curation.release.freezing import create_release, get_release, list_releases
from curation.release.selection import Selection, default_selection, selection_of
from curation.release.upcoming import contents_now
from curation.review.bulk import apply_rule, parse_rule
from curation.taxonomy.built_in import TAXONOMY_VERSION
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Release,
    ReleaseItem,
    Split,
    TypeVersion,
    Variant,
    Verdict,
)
from tests.curation.support.families import (
    add_anchor,
    add_family,
    add_plain_family,
    add_variant,
    decide,
    model,
    person,
)
from tests.support.databases import both_databases


def items(session: Session, release: Release) -> dict[str, ReleaseItem]:
    query = select(ReleaseItem).where(col(ReleaseItem.release_id) == release.id)
    return {item.text: item for item in session.execute(query).scalars()}


def frozen(session: Session, release: Release) -> list[dict[str, object]]:
    rows = items(session, release).values()
    return sorted((row.model_dump() for row in rows), key=lambda row: str(row["variant_uid"]))


@both_databases
def test_only_accepted_variants_in_use_are_released(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_family(session, "It rains.", {"verbal": ["It does not rain."]})
        add_variant(session, anchor, "word", "Perhaps it rains.")
        rejected = add_variant(session, anchor, "lexical", "It shines.")
        decide(session, rejected, person(session), Verdict.REJECT, reason="other")
        retired = add_variant(session, anchor, "absolute", "It never rains.")
        decide(session, retired, person(session))
        retired.retired = True
        given_up = add_family(session, "It snows.", {"verbal": ["It does not snow."]})
        given_up.retired_at = now()
        release, created = create_release(session, name="  First ")
        assert created
        assert release.number == 1
        assert release.name == "First"
        assert list(items(session, release)) == ["It does not rain."]


def test_an_item_holds_everything_about_its_variant(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session, "It rains.", split=Split.TEST, source="News", licence="CC0")
        original = add_variant(session, anchor, "word", "Maybe rains.", cue="maybe")
        ada = person(session)
        child = add_variant(
            session, anchor, "word", "Maybe it rains.", cue="maybe", parent=original, author=ada
        )
        decide(session, original, ada, Verdict.EDIT, child=child)
        decide(session, child, ada)
        item = items(session, create_release(session).release)["Maybe it rains."]
        assert (item.anchor, item.type_id, item.polarity, item.cue, item.split) == (
            "It rains.",
            "word",
            "positive",
            "maybe",
            "test",
        )
        assert (item.genre, item.language, item.source, item.licence) == (
            "news",
            "en",
            "News",
            "CC0",
        )
        assert (item.anchor_uid, item.variant_uid) == (anchor.uid, child.uid)
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
def test_no_person_has_read_variants_accepted_only_by_a_rule(engine: Engine) -> None:
    with writing(engine) as session:
        ada, anchor = person(session, "Ada"), add_anchor(session, "It rains.")
        texts = ("It does not rain.", "It doesn't rain.", "It is not raining.", "It isn't raining.")
        variants = [add_variant(session, anchor, "verbal", text) for text in texts]
        measure_variants(session, [variant.id for variant in variants])
        rule = parse_rule("levenshtein >= 0")
        assert (
            apply_rule(session, rule, verdict=Verdict.ACCEPT, reviewer_id=ada.id).matches.total == 4
        )
        decide(session, variants[0], person(session, "Ben"))
        release = create_release(session).release
        found = {
            text: (item.provenance["decided_by"], item.provenance["persons"])
            for text, item in items(session, release).items()
        }
    assert found == dict.fromkeys(texts, ("rule", 0)) | {texts[0]: ("person", 1)}
    assert release.summary["decided_by"] == {"person": 1, "rule": 3}
    statement = review_statement(release.summary)
    assert "Of the 4 accepted variants, a person accepted 1 (25.0%)" in statement
    assert "3 (75.0%) were accepted by a rule over their measurements" in statement


@both_databases
def test_the_deciding_reviewer_follows_the_status_rule(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session, "It rains.")
        llm, off = model(session), model(session, "switched-off")
        off.counts = False
        session.flush()
        by_model = add_variant(session, anchor, "verbal", "by a model")
        by_both = add_variant(session, anchor, "verbal", "by both")
        settled = add_variant(session, anchor, "verbal", "settled")
        returned = add_variant(session, anchor, "verbal", "changed her mind")
        for variant in (by_model, by_both):
            decide(session, variant, llm)
            decide(session, variant, off)
        decide(session, by_both, person(session, "Ada"))
        decide(session, by_both, person(session, "Ben"))
        decide(session, settled, person(session, "Ada"))
        decide(session, settled, person(session, "Ben"), Verdict.REJECT, reason="other")
        decide(session, settled, person(session, "Cem"), adjudicates=True)
        decide(session, returned, person(session, "Ada"), Verdict.REJECT, reason="other")
        decide(session, returned, person(session, "Ada"))
        release = create_release(session).release
        seen = {
            text: [item.provenance[k] for k in ("decided_by", "persons", "models", "adjudicated")]
            for text, item in items(session, release).items()
        }
        assert seen == {
            "by a model": ["model", 0, 1, False],
            "by both": ["person", 2, 1, False],
            "settled": ["person", 2, 0, True],
            "changed her mind": ["person", 1, 0, False],
        }
        assert release.summary["decided_by"] == {"model": 1, "person": 3}
        assert release.summary["adjudicated"] == 1


@both_databases
def test_all_items_of_a_corrected_anchor_have_its_current_wording(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_family(session, "It rain.", {"verbal": ["It does not rain."]})
        correction = AnchorRevision(anchor_id=anchor.id, revision=2, text="It rains.", text_uid="x")
        session.add(correction)
        anchor.revision = 2
        session.flush()
        decide(
            session,
            add_variant(session, anchor, "word", "Maybe it rains.", revision=2),
            model(session),
        )
        release = create_release(session).release
        found = items(session, release)
        assert {item.anchor for item in found.values()} == {"It rains."}
        # The provenance says which text each was made for.
        assert found["It does not rain."].provenance["anchor_revision"] == 1
        assert found["Maybe it rains."].provenance["anchor_revision"] == 2
        assert release.summary["triples"] == 1
        assert release.summary["anchors"] == 1


@both_databases
def test_later_work_does_not_reach_a_release(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_plain_family(session, 1)
        release = create_release(session).release
    with reading(engine) as session:
        before = frozen(session, get_release(session, 1))
    with writing(engine) as session:
        for variant in session.execute(select(Variant)).scalars().all():
            decide(session, variant, person(session), Verdict.REJECT, reason="other")
        session.execute(update(Variant).values(text="changed", cue="changed"))
        session.execute(update(AnchorRevision).values(text="changed"))
        session.execute(update(Anchor).values(split=Split.TEST, genre="changed"))
        session.execute(update(TypeVersion).values(definition="changed"))
        session.merge(anchor)
        add_plain_family(session, 2)
        assert create_release(session).release.number == 2
    with reading(engine) as session:
        after = get_release(session, 1)
        assert frozen(session, after) == before
        assert after.model_dump() == release.model_dump()


@both_databases
@pytest.mark.parametrize(
    "statement",
    [
        update(ReleaseItem).values(text="forged"),
        delete(ReleaseItem),
    ],
)
def test_the_database_refuses_to_change_an_item(engine: Engine, statement: object) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        create_release(session)
    with pytest.raises(DatabaseError, match="append-only"), writing(engine) as session:
        session.execute(statement)
    with reading(engine) as session:
        assert len(items(session, get_release(session))) == 3


def test_nothing_accepted_is_one_sentence_and_leaves_no_trace(engine: Engine) -> None:
    with writing(engine) as session:
        add_variant(session, add_anchor(session, "It rains."), "word", "Maybe it rains.")
        with pytest.raises(HedgerowError, match="no variant is accepted"):
            create_release(session)
        # The session continues, and what it commits contains no incomplete release.
    with reading(engine) as session:
        assert list_releases(session) == []
        assert session.execute(select(func.count()).select_from(Variant)).scalar() == 1


def test_the_summary_counts_what_was_released(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        add_plain_family(session, 2, split=Split.TRAIN)
        add_plain_family(session, 3, split=Split.TEST)
        lone = add_family(session, "It is late.", {"verbal": ["It is not late."]}, split=Split.TEST)
        ada = person(session)
        rejected = add_variant(session, lone, "word", "It is surely late.")
        decide(session, rejected, ada, Verdict.REJECT, reason="not_a_hedge")
        edited = add_variant(session, lone, "absolute", "No late.")
        child = add_variant(
            session, lone, "absolute", "It is never late.", parent=edited, author=ada
        )
        decide(session, edited, ada, Verdict.EDIT, reason="ungrammatical", child=child)
        decide(session, child, ada)
        add_variant(session, lone, "lexical", "It is early.")
        summary = create_release(session).release.summary
    assert (summary["anchors"], summary["variants"], summary["triples"]) == (4, 11, 6)
    assert summary["anchors_without_triples"] == 1
    assert summary["types"] == {"word": 3, "verbal": 4, "lexical": 3, "absolute": 1}
    assert summary["splits"] == {
        "train": {"anchors": 2, "variants": 6, "triples": 4, "without_triples": 0},
        "test": {"anchors": 2, "variants": 5, "triples": 2, "without_triples": 1},
    }
    assert summary["review"]["word"] == {
        "as_written": 3,
        "edited": 0,
        "rejected": 1,
        "conflict": 0,
        "pending": 0,
    }
    assert summary["review"]["absolute"]["edited"] == 1
    assert summary["review"]["absolute"]["as_written"] == 0
    assert summary["review"]["lexical"]["pending"] == 1
    assert summary["reasons"] == {"rejected": {"not_a_hedge": 1}, "edited": {"ungrammatical": 1}}
    assert summary["edited_by"] == {"person": 1}
    assert summary["words"]["anchors"]["median"] == 4


def test_the_taxonomy_is_kept_as_it_was(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        taxonomy = create_release(session).release.taxonomy
    assert taxonomy["verbal"]["polarity"] == "negative"
    assert taxonomy["verbal"]["version"] == TAXONOMY_VERSION
    assert "head of the clause" in taxonomy["verbal"]["definition"]


def test_releases_are_found_by_number_or_as_the_newest(engine: Engine) -> None:
    with reading(engine) as session, pytest.raises(HedgerowError, match="no release yet"):
        get_release(session)
    with writing(engine) as session:
        for number in (1, 2):
            add_plain_family(session, number)
            create_release(session)
    with reading(engine) as session:
        assert get_release(session).number == 2
        assert get_release(session, 1).number == 1
        assert [release.number for release in list_releases(session)] == [2, 1]
        with pytest.raises(HedgerowError, match="no release 7; the newest is release 2"):
            get_release(session, 7)


def test_a_name_that_is_too_long_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        with pytest.raises(HedgerowError, match="at most 200 characters, found 201"):
            create_release(session, name="x" * 201)


@both_databases
def test_a_release_of_some_sources_says_so_and_holds_nothing_else(engine: Engine) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1)
        other = add_anchor(session, "It rains.", source="Another")
        decide(session, add_variant(session, other, "verbal", "It does not rain."), person(session))
        whole = create_release(session).release
        part, created = create_release(session, selection=Selection(("Another",)))
        assert created and set(items(session, part)) == {"It does not rain."}
        assert selection_of(part) == Selection(("Another",))
        assert selection_of(whole) == default_selection(session)
        assert set(part.summary["review"]) == {"verbal"}
        assert changes_since(session, part) == Changes({}, {})
        assert contents_now(session, Selection(("Another",))) == contents_of(part)
        assert contents_now(session).variants == whole.summary["variants"] == 4
        assert not create_release(session, selection=Selection(("Another",))).created
        again = create_release(session, selection=Selection(("A corpus", "Another"))).release
        assert again.content_hash == whole.content_hash != part.content_hash
        decide(session, add_variant(session, other, "word", "Maybe it rains."), person(session))
        assert changes_since(session, part) == Changes({"word": 1}, {})
        with pytest.raises(HedgerowError, match=r"Expected a source .*found Nowhere"):
            create_release(session, selection=Selection(("Nowhere",)))
