"""Finding, correcting, retiring and describing anchors, and what this does to their variants."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

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
from curation.anchors.revisions import MAX_ANCHOR
from curation.decisions.history import history
from curation.decisions.status import Standing
from curation.decisions.storing import compute_standing
from curation.diagnostics.cosines import save_cosines, variant_texts
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.editing.anchors import (
    SuspiciousText,
    carry_over,
    correct_anchor,
    count_second_looks,
    get_anchor,
    proposals,
    restore_anchor,
    restore_anchors,
    retire_anchor,
    retire_anchors,
)
from curation.editing.attributes import MAX_GENRE, set_facts
from curation.encoders.registered import register_encoder
from curation.overview.funnel import funnel
from curation.review import deciding
from curation.review.cards import card
from curation.review.deciding import ShownCard, accept, edit, reject, reject_family, shown, undo
from curation.review.queue import next_variant
from curation.review.rules import apply_rule, find_matches, parse_rule
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Anchor,
    Decision,
    Diagnostic,
    ReleaseItem,
    Source,
    Split,
    Status,
    Variant,
    VariantCosine,
    Verdict,
)
from tests.support.databases import Fill, both_databases
from tests.support.factories import (
    TEXTS,
    add_anchor,
    add_family,
    add_variant,
    engine_of,
    freeze,
    person,
)


@pytest.fixture
def ada(engine: Engine, fill: Fill) -> int:
    """A family. Ada has accepted the first three variants and rejected the fourth."""

    def made(session: Session) -> int:
        who, family = person(session), add_family(session)
        measure_variants(session, [v.id for v in family.values()])
        for type_id in ("verbal", "absolute", "affixal"):
            deciding.accept(session, shown(family[type_id]), reviewer_id=who)
        deciding.reject(session, shown(family["lexical"]), reviewer_id=who, reason="wrong_scope")
        return who

    return fill(engine, made)


NEW = "The old bridge is safe."
UNRELATED = (
    "Fifty% of it is sold.",
    "Fifty of it is sold.",
    "A_b is a name.",
    r"A back\slash is one.",
)


def correct(session: Session, who: int, text: str = NEW, *, seen: int = 1) -> int:
    """The number of second looks that the correction causes."""
    return correct_anchor(session, 1, text, reviewer_id=who, expected_revision=seen).second_looks


def standings(session: Session) -> dict[str, tuple[Status, bool]]:
    """Type → status of its variant, and whether it needs a second look."""
    found = session.execute(select(Variant).order_by(col(Variant.id))).scalars()
    return {v.type_id: (v.status, v.second_look) for v in found}


def variant(session: Session, type_id: str = "verbal") -> Variant:
    """The first variant of this type."""
    query = select(Variant).where(col(Variant.type_id) == type_id).order_by(col(Variant.id))
    return session.execute(query).scalars().first() or pytest.fail("no such variant")


def texts(session: Session, **wanted: object) -> list[str]:
    return [a.text for a in find_anchors(session, AnchorFilter(**wanted)).anchors]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The bridge isn't safe.", "already negated"),
        ("The bridge is hardly safe.", "contains a near-negator"),
        ("Bridge.", "a single word"),
        ("Is the bridge safe?", "a question"),
        ("Cross the bridge.", "a command"),
        ("Die Brücke ist sicher.", "not look like English"),
        ("The bridge is safe. It is new.", "several sentences"),
    ],
)
def test_a_suspicious_wording_is_taken_only_on_insistence(
    session: Session, ada: int, text: str, message: str
) -> None:
    with pytest.raises(SuspiciousText, match=message):
        correct(session, ada, text)
    assert session.get_one(Anchor, 1).revision == 1
    done = correct_anchor(session, 1, text, reviewer_id=ada, expected_revision=1, insist=True)
    assert done.revision == 2


@pytest.mark.slow
def test_an_anchor_of_another_language_is_not_checked_for_english(
    session: Session, ada: int
) -> None:
    set_facts(session, [1], language="de")
    assert correct(session, ada, "Die Brücke ist sicher.") == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The  bridge is safe. ", "current"),
        (" ", "write one"),
        ("x" * (MAX_ANCHOR + 1), "shorten"),
        ("A bell \x07.", "control character"),
        ("Trains are late.", "already"),
        ("Trains run.", "already"),
        *(
            (f"The {c}new bridge is safe.", "plain text")
            for c in "\u202e\u202d\u2066\u2069\x1b\x00"
        ),
    ],
)
def test_a_refused_correction_changes_nothing(
    session: Session, ada: int, text: str, fact: str
) -> None:
    other = add_anchor(session, "Trains run.")
    correct_anchor(session, other.id, "Trains are late.", reviewer_id=ada, expected_revision=1)
    before = standings(session)
    with pytest.raises(HedgerowError, match=fact):
        correct_anchor(session, 1, text, reviewer_id=ada, expected_revision=1, insist=True)
    assert standings(session) == before and session.get_one(Anchor, 1).revision == 1


@both_databases
def test_several_anchors_are_retired_and_restored_together(session: Session, ada: int) -> None:
    add_anchor(session, "The road is safe.")
    retire_anchor(session, 2)
    assert retire_anchors(engine_of(session), [2, 1]) == [1] and variant(session).retired
    assert restore_anchors(engine_of(session), [1]) == [1] and not variant(session).retired
    retired = [session.get_one(Anchor, number).retired_at is not None for number in (1, 2)]
    assert retired == [False, True]


def test_variants_are_measured_against_the_new_wording_at_once(session: Session, ada: int) -> None:
    encoder = register_encoder(session, name="e", hash_="a" * 64)
    save_cosines(session, {1: 0.5, 2: 0.5}, encoder_id=encoder.id)
    before = session.get_one(Diagnostic, 1).levenshtein
    correct(session, ada)
    session.expire_all()
    assert session.get_one(Diagnostic, 1).levenshtein == before + len("old ")
    assert session.execute(select(VariantCosine)).first() is None and card(session, 1).anchor == NEW
    assert variant_texts(session, [1]) == {1: (NEW, TEXTS["verbal"])}


def test_cosines_to_a_wording_that_was_corrected_meanwhile_are_left_out(
    session: Session, ada: int
) -> None:
    seen = variant_texts(session, [1, 2])
    session.get_one(Variant, 2).anchor_id = add_anchor(session, "Trains are late.").id
    seen[2] = ("Trains are late.", TEXTS["absolute"])
    encoder = register_encoder(session, name="e", hash_="a" * 64)
    correct(session, ada)
    save_cosines(session, {1: 0.5, 2: 0.6}, encoder_id=encoder.id, texts=seen)
    query = select(col(VariantCosine.variant_id), col(VariantCosine.cosine))
    assert session.execute(query).all() == [(2, 0.6)]


@both_databases
def test_the_second_corrector_learns_of_the_first(session: Session, ada: int) -> None:
    correct(session, ada)
    with pytest.raises(HedgerowError, match="corrected by Ada meanwhile"):
        correct(session, person(session, "Bert"), "The bridge is quite safe.")
    assert [w.text for w in anchor_history(session, 1)] == ["The bridge is safe.", NEW]


def test_an_earlier_wording_can_be_taken_up_again(session: Session, ada: int) -> None:
    correct(session, ada)
    deciding.accept(session, shown(variant(session)), reviewer_id=ada)
    assert correct(session, ada, "The bridge is safe.", seen=2) == 1
    assert standings(session)["verbal"] == (Status.PENDING, True)
    assert card(session, 1).anchor == "The bridge is safe."


def test_a_retired_anchor_is_out_of_use_until_it_is_restored(session: Session, ada: int) -> None:
    def used() -> tuple[object, ...]:
        state = funnel(session).total
        found = next_variant(session, type_ids=list(TEXTS)) is not None
        matches = find_matches(session, parse_rule("levenshtein < 1000")).total
        return matches, state.variants, state.anchors, found, has_anchors(session)

    assert used() == (3, 7, 1, True, True)
    assert [retire_anchor(session, 1), retire_anchor(session, 1)] == [True, False]
    assert used() == (0, 0, 0, False, False)
    with pytest.raises(HedgerowError, match="nothing to release"):
        freeze(session)
    assert [restore_anchor(session, 1), restore_anchor(session, 1)] == [True, False]
    assert used() == (3, 7, 1, True, True)
    assert freeze(session).release.summary["variants"] == 3


@both_databases
def test_no_decision_is_lost_or_changed(session: Session, ada: int) -> None:
    def rows() -> list[tuple[object, ...]]:
        columns = (Decision.id, Decision.variant_id, Decision.verdict, Decision.variant_version)
        return [tuple(r) for r in session.execute(select(*columns).order_by(col(Decision.id)))]

    before = rows()
    correct(session, ada)
    retire_anchor(session, 1)
    restore_anchor(session, 1)
    assert rows() == before


@pytest.fixture
def two(session: Session) -> None:
    german = add_anchor(session, "Der Hund schläft nicht.")
    measure_variants(session, [add_variant(session, german, text="Der Hund schläft.").id])
    add_anchor(session, "The road is safe.")


def facts(session: Session) -> list[tuple[str, str]]:
    return [(a.genre, a.language) for a in (session.get_one(Anchor, 1), session.get_one(Anchor, 2))]


def test_genre_and_language_of_several_anchors_are_set_at_once(session: Session, two: None) -> None:
    assert set_facts(session, [1, 2], genre=" news  paper ") == [1, 2]
    assert set_facts(session, [1, 2], genre="news paper") == []
    assert set_facts(session, [1], language="de-CH") == [1]
    assert facts(session) == [("news paper", "de-CH"), ("news paper", "en")]
    set_facts(session, [2], genre="")
    assert facts(session)[1] == ("", "en")


def test_another_language_measures_the_variants_again(session: Session, two: None) -> None:
    for language, flagged in (("en", True), ("de", False), ("en", True)):
        set_facts(session, [1], language=language)
        session.expire_all()
        flags = Flag(session.get_one(Diagnostic, 1).flags)
        assert (Flag.ANCHOR_NOT_AFFIRMATIVE in flags) is flagged


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({}, "found neither"),
        ({"genre": "x" * (MAX_GENRE + 1)}, "at most 80"),
        ({"genre": "fine", "language": "Deutsch!"}, "'en-GB'"),
        ({"genre": "a\x1bb"}, "control character"),
    ],
)
def test_a_refused_fact_changes_nothing(
    session: Session, two: None, values: dict[str, str], fact: str
) -> None:
    with pytest.raises(HedgerowError, match=fact):
        set_facts(session, [1, 2], **values)
    assert facts(session) == [("test", "en")] * 2


@pytest.fixture
def found(engine: Engine) -> Iterator[Session]:
    """Four unrelated anchors, and a family."""
    with writing(engine) as session:
        for text in UNRELATED:
            add_anchor(session, text)
        add_family(session)
    with writing(engine) as session:
        yield session


@both_databases
def test_a_search_takes_wildcards_literally(found: Session) -> None:
    expected = {
        "fifty%": UNRELATED[:1],
        "FIFTY": UNRELATED[:2],
        "a_b": UNRELATED[2:3],
        "a b": UNRELATED[3:],
        "k\\s": UNRELATED[3:],
        "nowhere": (),
    }
    assert {typed: tuple(texts(found, text=typed)) for typed in expected} == expected


def test_pages_and_total_agree_and_a_page_beyond_the_last_is_the_last(found: Session) -> None:
    pages = [find_anchors(found, AnchorFilter(), limit=2, offset=at) for at in (0, 2, 4, 6)]
    assert [(len(page.anchors), page.total) for page in pages] == [(2, 5), (2, 5), (1, 5), (0, 5)]
    uids = {anchor.uid for page in pages for anchor in page.anchors}
    assert len(uids) == 5 and find_anchors(found, AnchorFilter(text=uids.pop())).total == 1
    last = page_of_anchors(found, AnchorFilter(), number=3, size=2)
    assert (last.number, last.found) == (3, pages[2])
    assert page_of_anchors(found, AnchorFilter(), number=9, size=2) == last
    none = page_of_anchors(found, AnchorFilter(text="nowhere"), number=2, size=2)
    assert (none.number, none.found.total) == (2, 0)


@both_databases
def test_filters_narrow_and_offer_what_anchors_have(found: Session) -> None:
    other = Source(name="other")
    found.add(other)
    found.flush()
    anchors = [found.get_one(Anchor, number) for number in range(1, 6)]
    for anchor in anchors:
        anchor.split = Split.TRAIN
    anchors[0].genre, anchors[1].source_id, anchors[2].split = "poem", other.id, Split.TEST
    retire_anchor(found, 4)
    for wanted, expected in (
        ({"genre": "poem"}, UNRELATED[:1]),
        ({"source": "other"}, UNRELATED[1:2]),
        ({"split": Split.TEST}, UNRELATED[2:3]),
        ({"retired": True}, UNRELATED[3:]),
        ({"without_variants": True}, UNRELATED[:3]),
        ({"genre": "poem", "source": "other"}, ()),
    ):
        assert tuple(texts(found, **wanted)) == expected
    assert filter_choices(found) == (["other", "test"], ["poem", "test"])
    assert (known_sources(found), known_genres(found)) == filter_choices(found)


@both_databases
def test_a_corrected_anchor_is_found_by_its_current_wording(engine: Engine) -> None:
    with writing(engine) as session:
        family, ada = add_family(session), person(session)
        edit(session, shown(family["verbal"]), reviewer_id=ada, text="It isn't safe.")
        correct(session, ada, "The gate is safe.")
    with reading(engine) as session:
        assert texts(session, text="bridge") == []
        (found,) = find_anchors(session, AnchorFilter(text="gate")).anchors
        # An edited variant counts once.
        assert (found.revision, found.variants, found.licence) == (2, 7, "CC BY 4.0")
        assert (one_anchor(session, found.uid), one_anchor(session, "nope")) == (found, None)
        assert [w.revision for w in anchor_history(session, 1)] == [1, 2]
        with pytest.raises(HedgerowError, match="'nope'"):
            get_anchor(session, "nope")


@both_databases
def test_decided_variants_of_a_corrected_anchor_come_back(session: Session, ada: int) -> None:
    assert count_second_looks(session, 1) == 4 and correct(session, ada) == 4
    decided = {"verbal", "absolute", "affixal", "lexical"}
    assert standings(session) == {t: (Status.PENDING, t in decided) for t in TEXTS}
    assert [past.verdict for past in history(session, variant(session).id)] == ["accept"]
    assert next_variant(session, type_ids=["verbal"]) is not None
    assert [w.author for w in anchor_history(session, 1)] == [None, "Ada"]
    assert [w.text for w in anchor_history(session, 1)] == ["The bridge is safe.", NEW]
    with pytest.raises(HedgerowError, match="nothing to release"):
        freeze(session)


def test_variants_after_a_second_look_are_released_with_the_new_text(
    session: Session, ada: int
) -> None:
    bert = person(session, "Bert")
    accept(session, shown(variant(session)), reviewer_id=bert)
    correct(session, ada)
    accept(session, shown(variant(session)), reviewer_id=bert)
    freeze(session)
    (item,) = session.execute(select(ReleaseItem)).scalars()
    assert (item.anchor, item.text) == (NEW, TEXTS["verbal"])
    assert item.provenance["persons"] == 1, "Ada's verdict was on the old text"
    assert standings(session)["verbal"] == (Status.ACCEPTED, False)


def test_a_card_shown_before_the_correction_decides_nothing(session: Session, ada: int) -> None:
    cards = {name: shown(variant(session, name)) for name in ("lexical", "word")}
    correct(session, ada)
    for name, seen in cards.items():
        late = accept(session, seen, reviewer_id=ada)
        assert late.recorded and late.outdated
        assert standings(session)[name] == (Status.PENDING, True)
    assert not accept(session, shown(variant(session, "lexical")), reviewer_id=ada).outdated
    assert standings(session)["lexical"] == (Status.ACCEPTED, False)


def test_an_edit_on_a_card_shown_before_the_correction_needs_a_second_look(
    session: Session, ada: int
) -> None:
    cards = [shown(variant(session)), shown(variant(session, "absolute"))]
    correct(session, ada)
    new = edit(session, cards[0], reviewer_id=ada, text="The bridge isn't safe.")
    known = edit(session, cards[1], reviewer_id=ada, type_id="affixal", text=TEXTS["affixal"])
    for outcome in (new, known):
        child = session.get_one(Variant, outcome.child_id)
        assert (child.status, child.second_look) == (Status.PENDING, True)
    assert session.get_one(Variant, new.child_id).anchor_revision == 1
    assert variant(session).status == Status.SUPERSEDED


def test_a_family_rejected_on_an_outdated_card_comes_back(session: Session, ada: int) -> None:
    seen = shown(variant(session))
    correct(session, ada)
    assert reject_family(session, seen, reviewer_id=ada).outdated
    assert set(standings(session).values()) == {(Status.PENDING, True)}


def test_an_edited_original_stays_superseded_and_its_child_gets_the_second_look(
    session: Session, ada: int
) -> None:
    card_ = shown(variant(session))
    child_id = edit(session, card_, reviewer_id=ada, text="It isn't safe.").child_id
    correct(session, ada)
    child = session.get_one(Variant, child_id)
    assert (child.status, child.second_look) == (Status.PENDING, True)
    assert (variant(session).status, variant(session).second_look) == (Status.SUPERSEDED, False)
    # After an undo, nothing needs a second look, as if the text had never been written.
    undo(session, reviewer_id=ada)
    assert child.status == Status.SUPERSEDED
    assert standings(session)["absolute"] == (Status.PENDING, True)


def test_taking_back_a_decision_from_before_the_correction_is_harmless(
    session: Session, ada: int
) -> None:
    correct(session, ada)
    undone = undo(session, reviewer_id=ada)
    assert undone is not None and undone.variant_id == variant(session, "lexical").id
    found = standings(session)
    assert (found["lexical"], found["verbal"]) == ((Status.PENDING, False), (Status.PENDING, True))


def test_a_rule_over_pending_variants_counts_as_the_second_look(session: Session, ada: int) -> None:
    correct(session, ada)
    rule = parse_rule("levenshtein < 1000")
    assert find_matches(session, rule).total == 7
    apply_rule(engine_of(session), rule, verdict=Verdict.ACCEPT, reviewer_id=ada)
    assert set(standings(session).values()) == {(Status.ACCEPTED, False)}


def test_a_card_from_before_two_corrections_does_not_count_either(
    session: Session, ada: int
) -> None:
    seen = shown(variant(session, "word"))
    between = ShownCard(seen.variant_id, seen.version + 1, "between")
    correct(session, ada)
    assert variant(session, "word").version == between.version
    correct(session, ada, "The new bridge is safe.", seen=2)
    assert all(accept(session, late, reviewer_id=ada).outdated for late in (seen, between))
    assert standings(session)["word"] == (Status.PENDING, True)


@pytest.mark.slow
def test_a_decision_that_waits_for_a_correction_is_on_the_old_wording(
    engine: Engine, ada: int
) -> None:
    """Two writers at once: the stored status follows from the decisions, whoever comes first."""
    with reading(engine) as session:
        seen = shown(variant(session, "word"))

    def decide() -> bool:
        with writing(engine) as session:
            return accept(session, seen, reviewer_id=ada).recorded

    with ThreadPoolExecutor() as other:
        with writing(engine) as session:
            correct(session, ada)
            late = other.submit(decide)
            with pytest.raises(TimeoutError):
                late.result(timeout=0.5)
        assert late.result(timeout=30)
    with reading(engine) as session:
        assert standings(session)["word"] == (Status.PENDING, True)
        every = session.execute(select(Variant)).scalars()
        kept = {v.id: Standing(v.status, v.second_look, v.model_only) for v in every}
        assert kept == compute_standing(session, list(kept))


def chosen(session: Session, *type_ids: str) -> dict[int, str]:
    """Variant → proposed text."""
    return {p.variant_id: p.new_text for p in proposals(session, 1) if p.type_id in type_ids}


def states(session: Session) -> dict[str, Status]:
    return {one.text: one.status for one in session.execute(select(Variant)).scalars()}


@pytest.fixture
def corrected(session: Session) -> int:
    """Ada, who has corrected an anchor. She had accepted two variants and rejected one."""
    who, family = person(session), add_family(session)
    for type_id in ("verbal", "phrase"):
        accept(session, shown(family[type_id]), reviewer_id=who)
    reject(session, shown(family["lexical"]), reviewer_id=who, reason="wrong_scope")
    correct(session, who, "The footbridge is safe.")
    return who


def test_new_texts_are_proposed_for_what_was_not_rejected(session: Session, corrected: int) -> None:
    found = {found.type_id: (found.new_text, found.was) for found in proposals(session, 1)}
    assert found == {
        "verbal": ("The footbridge is not safe.", Status.ACCEPTED),
        "absolute": ("No part of the footbridge is safe.", Status.PENDING),
        "affixal": ("The footbridge is unsafe.", Status.PENDING),
        "word": ("The footbridge is probably safe.", Status.PENDING),
        "phrase": ("I'm not entirely sure, but the footbridge seems safe.", Status.ACCEPTED),
        "negated_antonym": ("The footbridge is not dangerous.", Status.PENDING),
    }
    assert carry_over(session, 1, {}, reviewer_id=corrected).action_id is None


@pytest.mark.slow
def test_a_correction_of_variants_is_an_edit_and_has_one_undo(
    session: Session, corrected: int
) -> None:
    new = chosen(session, "verbal", "phrase")
    done = carry_over(session, 1, new, reviewer_id=corrected)
    after = states(session)
    assert {after[text] for text in new.values()} == {Status.ACCEPTED} and len(done.children) == 2
    assert after["The bridge is not safe."] is Status.SUPERSEDED
    assert after["The bridge is unsafe."] is Status.PENDING
    child = session.get_one(Variant, done.children[1])
    assert (child.cue, child.anchor_revision) == ("not entirely sure", 2)
    assert session.get_one(Diagnostic, child.id).flags == 0
    assert chosen(session, "verbal", "phrase") == {}
    undone = undo(session, reviewer_id=corrected)
    assert undone is not None and undone.variants == 2
    after = states(session)
    assert after["The bridge is not safe."] is Status.PENDING
    assert {after[text] for text in new.values()} == {Status.SUPERSEDED}
    assert len(chosen(session, "verbal", "phrase")) == 2


@both_databases
def test_a_variant_decided_meanwhile_is_not_corrected(session: Session, corrected: int) -> None:
    new = chosen(session, "verbal", "word")
    accept(session, shown(variant(session)), reviewer_id=person(session, "Bo"))
    session.commit()
    with pytest.raises(HedgerowError, match="again"):
        carry_over(session, 1, new, reviewer_id=corrected)
    session.rollback()
    assert "The footbridge is probably safe." not in states(session)
