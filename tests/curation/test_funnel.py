"""The funnel counts what a reader of the tables would count, and names what comes next."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, select

from curation import review
from curation.anchors import correct_anchor, restore_anchor, retire_anchor
from curation.diagnostics import measure_variants, save_cosines
from curation.encoder_rows import register_encoder
from curation.funnel import (
    FunnelRow,
    NextStep,
    StepKind,
    funnel,
    next_steps,
    surplus_version,
)
from curation.next_release import contents_now
from curation.project import ACTIVE_ENCODER, get_setting
from curation.release import create_release
from curation.release_contents import (
    changes_since,
    contents_of,
    count_triples_by_type,
    triples_by_type,
)
from curation.triples import triple_rows
from curation.types import seed_taxonomy
from db.engine import reading, writing
from db.models import Anchor, AnchorRevision, Encoder, Release, Run, Split, Variant
from tests.factories import TEXTS, add_anchor, add_family, add_variant, person

MOMENT = datetime(2026, 5, 4, 12, tzinfo=UTC)


def card(session: Session, variant: Variant) -> review.Shown:
    return review.shown(session.get_one(Variant, variant.id), at=MOMENT)


def accept(session: Session, variant: Variant, reviewer: int) -> None:
    review.accept(session, card(session, variant), reviewer_id=reviewer)


def reject(session: Session, variant: Variant, reviewer: int) -> None:
    review.reject(session, card(session, variant), reviewer_id=reviewer, reason="wrong_type")


def edit(session: Session, variant: Variant, reviewer: int, text: str) -> None:
    review.edit(session, card(session, variant), reviewer_id=reviewer, text=text)


def row_of(session: Session, type_id: str) -> FunnelRow:
    return next(row for row in funnel(session).rows if row.type_id == type_id)


def measure(session: Session, variants: list[Variant]) -> None:
    """As a diagnose run does, with made-up cosines."""
    measure_variants(session, [v.id or 0 for v in variants])
    name = get_setting(session, ACTIVE_ENCODER)
    encoder = register_encoder(session, name=name, hash_="f" * 64)
    save_cosines(session, {v.id or 0: 0.5 for v in variants}, encoder_id=encoder.id or 0)


def kinds(session: Session, **more: set[str]) -> list[StepKind]:
    return [step.kind for step in next_steps(session, funnel(session), **more)]


def test_an_empty_database_asks_for_the_starter_corpus(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        state = funnel(session)
        assert state.total == FunnelRow("", "All types", "")
        assert [row.variants for row in state.rows] == [0] * 7
        assert (state.newest, state.models, state.trained_release) == (None, 0, None)
        assert next_steps(session, state) == [NextStep(StepKind.LOAD)]


def test_every_stage_is_counted_per_type(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(3)]
        add_anchor(session, "This one has no variants yet.")
        accept(session, families[0]["verbal"], ada)
        reject(session, families[1]["verbal"], ada)
        row, total = row_of(session, "verbal"), funnel(session).total
        assert (row.anchors, row.variants, row.pending) == (3, 3, 1)
        assert (row.decided, row.accepted, row.rejected, row.conflict) == (2, 1, 1, 0)
        assert (total.anchors, total.variants, total.decided) == (4, 21, 2)


def test_two_persons_who_disagree_make_a_conflict_that_is_not_pending(engine: Engine) -> None:
    with writing(engine) as session:
        variant = add_family(session)["word"]
        accept(session, variant, person(session, "Ada"))
        session.refresh(variant)
        reject(session, variant, person(session, "Ben"))
        row = row_of(session, "word")
        assert (row.decided, row.conflict, row.accepted, row.pending) == (1, 1, 0, 0)


def test_an_edited_variant_counts_once_and_a_retyped_one_where_it_went(engine: Engine) -> None:
    with writing(engine) as session:
        ada, family = person(session), add_family(session)
        edit(session, family["verbal"], ada, "The bridge isn't safe.")
        review.edit(session, card(session, family["affixal"]), reviewer_id=ada, type_id="lexical")
        assert (row_of(session, "verbal").variants, row_of(session, "verbal").accepted) == (1, 1)
        assert row_of(session, "affixal").variants == 0
        assert (row_of(session, "lexical").variants, row_of(session, "lexical").accepted) == (2, 1)


def test_retired_variants_and_anchors_are_left_out(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        family["verbal"].retired = True
        other = add_anchor(session, "The road is safe.")
        other.retired_at = MOMENT
        session.flush()
        assert row_of(session, "verbal").variants == 0
        assert funnel(session).total.anchors == 1


def test_measured_means_flags_and_the_active_encoders_cosine(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        variants = list(family.values())
        assert funnel(session).total.diagnosed == 0
        measure_variants(session, [v.id or 0 for v in variants])
        assert funnel(session).total.diagnosed == 0  # the cosines are still missing
        measure(session, variants[:3])
        assert funnel(session).total.diagnosed == 3
        assert next_steps(session, funnel(session))[0] == NextStep(StepKind.MEASURE, 4)
        measure(session, variants[3:])
        state = funnel(session)
        assert [row.diagnosed for row in state.rows] == [row.variants for row in state.rows]
        other = Encoder(name="another", fingerprint="e" * 64)
        session.add(other)
        session.flush()
        save_cosines(session, {variants[0].id or 0: 0.1}, encoder_id=other.id or 0)
        assert funnel(session).total.diagnosed == 7


def test_a_variant_without_measures_shows_beside_measured_ones(engine: Engine) -> None:
    with writing(engine) as session:
        measure(session, list(add_family(session).values()))
        late = add_variant(session, session.get_one(Anchor, 1), "word", "Perhaps it is safe.")
        assert row_of(session, "word").diagnosed == 1
        measure(session, [late])
        assert row_of(session, "word").diagnosed == 2


@pytest.fixture
def released(engine: Engine) -> tuple[Engine, list[dict[str, Variant]], Release]:
    """Twelve families, most of them accepted, and a release of them."""
    with writing(engine) as session:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(12)]
        for at, family in enumerate(families):
            for type_id in list(TEXTS)[at % 3 :]:
                accept(session, family[type_id], ada)
        release, _ = create_release(session, name="one")
    return engine, families, release


Released = tuple[Engine, list[dict[str, Variant]], Release]


def test_triples_by_type_are_those_that_the_release_gives(released: Released) -> None:
    engine, _, release = released
    with reading(engine) as session:
        found = triples_by_type(session, release)
        rows = list(triple_rows(session, release.id or 0))
        expected = Counter(row.positive_type for row in rows)
        expected += Counter(row.negative_type for row in rows)
        assert found == count_triples_by_type(session, release) == expected
        release.summary = {k: v for k, v in release.summary.items() if k != "triples_by_type"}
        assert triples_by_type(session, release) == expected  # as one of the first Hedgerow
        state = funnel(session)
        assert {row.type_id: row.triples for row in state.rows} == expected
        assert state.total.triples == len(rows)
        assert state.total.released == release.summary["variants"]


def test_variants_made_for_two_wordings_of_an_anchor_meet_under_the_current_one(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        ada, family = person(session), add_family(session)
        anchor = session.get_one(Anchor, 1)
        session.add(AnchorRevision(anchor_id=1, revision=2, text="It is safe.", text_uid="x"))
        anchor.revision = family["word"].anchor_revision = 2
        session.flush()
        accept(session, family["word"], ada)
        accept(session, family["verbal"], ada)
        assert contents_now(session).triples == 1
        release, _ = create_release(session)
        assert triples_by_type(session, release) == {"word": 1, "verbal": 1}


def test_what_would_be_frozen_is_what_a_release_then_holds(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        assert contents_now(session) == contents_of(release)
        accept(session, families[2]["verbal"], person(session))
        session.get_one(Anchor, families[4]["verbal"].anchor_id).retired_at = MOMENT
        session.flush()
        before = contents_now(session)
        newer, created = create_release(session)
        assert created
        assert before == contents_of(newer)
        assert before.variants == release.summary["variants"] + 1 - 6


def test_what_is_carried_on_from_a_large_release_is_what_counting_anew_gives(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, families, release = released

    def agreed(session: Session) -> None:
        anew = contents_now(session)
        with monkeypatch.context() as patch:
            patch.setattr("curation.next_release.COUNTED_ANEW", 0)
            patch.setattr("curation.next_release._accepted_families", None)  # is not called
            assert contents_now(session) == anew

    with writing(engine) as session:
        ada = person(session)
        agreed(session)
        accept(session, families[1]["verbal"], ada)
        reject(session, families[0]["lexical"], ada)
        agreed(session)
        edit(session, families[0]["word"], ada, "The bridge seems safe.")
        review.edit(
            session, card(session, families[3]["verbal"]), reviewer_id=ada, type_id="lexical"
        )
        agreed(session)
        for variant in families[6].values():
            reject(session, variant, ada)
        retire_anchor(session, families[9]["word"].anchor_id)
        agreed(session)
        correct_anchor(
            session, families[5]["word"].anchor_id, "It is safe.", reviewer_id=ada,
            expected_revision=1,
        )  # fmt: skip
        agreed(session)
        assert contents_now(session).anchors == release.summary["anchors"] - 3


def test_a_restored_anchor_is_part_of_what_would_be_frozen(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, families, release = released
    monkeypatch.setattr("curation.next_release.COUNTED_ANEW", 0)
    with writing(engine) as session:
        retire_anchor(session, families[0]["word"].anchor_id)
        create_release(session)
        restore_anchor(session, families[0]["word"].anchor_id)
        assert contents_now(session) == contents_of(release)


def test_anchors_are_counted_once_per_type_whatever_became_of_their_variants(
    released: Released,
) -> None:
    engine, families, _ = released
    with writing(engine) as session:
        before = surplus_version(session)
        reject(session, families[0]["verbal"], person(session))
        assert surplus_version(session) == before
        edit(session, families[1]["word"], person(session), "The bridge seems safe.")
        assert {row.anchors for row in funnel(session).rows} == {12}
        assert surplus_version(session) != before
        before = surplus_version(session)
        retire_anchor(session, families[1]["word"].anchor_id)
        assert {row.anchors for row in funnel(session).rows} == {11}
        assert surplus_version(session) != before


def test_nothing_accepted_would_freeze_nothing(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session)
        assert contents_now(session) == (0, 0, 0, {}, {})


def aged(session: Session, release: Release) -> Release:
    """The release as if it had been made an hour later, long after every decision."""
    found = session.get_one(Release, release.id)
    session.expunge(found)
    found.created_at += timedelta(hours=1)
    return found


def test_changes_are_what_became_accepted_and_what_no_longer_is(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        assert changes_since(session, release) == ({}, {})
        accept(session, families[1]["verbal"], ada)  # new
        edit(session, families[0]["word"], ada, "The bridge seems safe.")  # one gone, one new
        reject(session, families[0]["lexical"], ada)  # gone
        reject(session, families[2]["verbal"], ada)  # never was in it
        added, gone = changes_since(session, release)
        assert added == {"verbal": 1, "word": 1}
        assert gone == {"word": 1, "lexical": 1}


def test_what_is_taken_back_is_no_change(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        accept(session, families[1]["verbal"], ada)
        edit(session, families[0]["word"], ada, "The bridge seems safe.")
        review.undo(session, reviewer_id=ada)
        review.undo(session, reviewer_id=ada)
        assert changes_since(session, release) == ({}, {})


def test_decisions_long_before_the_release_are_not_looked_at(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        accept(session, families[1]["verbal"], ada)
        reject(session, families[0]["verbal"], ada)
        assert changes_since(session, aged(session, release)) == ({}, {})
        assert changes_since(session, release) == ({"verbal": 1}, {"verbal": 1})


def test_a_corrected_anchor_takes_its_variants_out_until_they_are_accepted_again(
    released: Released,
) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        before = changes_since(session, release)
        correct_anchor(
            session, families[0]["word"].anchor_id, "It is safe.", reviewer_id=ada,
            expected_revision=1,
        )  # fmt: skip
        assert before == ({}, {})
        assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
        accept(session, families[0]["word"], ada)
        # With its new wording it is another row of the next release.
        assert changes_since(session, release) == ({"word": 1}, dict.fromkeys(TEXTS, 1))
        newer, created = create_release(session)
        assert created
        assert changes_since(session, newer) == ({}, {})


def test_a_corrected_cue_is_a_change(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        card = review.shown(session.get_one(Variant, families[0]["word"].id))
        review.edit(session, card, reviewer_id=person(session), cue="likely")
        assert changes_since(session, release) == ({"word": 1}, {"word": 1})


def test_retired_anchors_go_and_restored_ones_come(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        anchor_id = families[0]["word"].anchor_id
        retire_anchor(session, anchor_id)
        assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
        newer, _ = create_release(session)
        assert changes_since(session, newer) == ({}, {})
        restore_anchor(session, anchor_id)
        assert changes_since(session, newer) == (dict.fromkeys(TEXTS, 1), {})
        assert changes_since(session, release) == ({}, {})


def test_the_steps_follow_the_way_of_the_data(engine: Engine) -> None:
    with writing(engine) as session:
        ada, families = person(session), [add_family(session, f"Way {n}.") for n in range(2)]
        everything = [variant for family in families for variant in family.values()]
        reviews = [StepKind.REVIEW] * 7
        assert kinds(session) == [StepKind.MEASURE, *reviews]
        assert kinds(session, busy={"diagnose"}) == reviews
        measure(session, everything)
        steps = next_steps(session, funnel(session))
        assert [(step.type_id, step.count) for step in steps] == [(key, 2) for key in TEXTS]
        accept(session, everything[0], ada)
        release_step = next_steps(session, funnel(session))[-1]
        assert release_step == NextStep(StepKind.RELEASE, 1)
        for variant in everything[1:-1]:
            accept(session, variant, ada)
        assert kinds(session) == [StepKind.REVIEW, StepKind.RELEASE]


def test_a_release_is_trained_on_once_and_made_anew_after_changes(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        measure(session, list(session.execute(select(Variant)).scalars()))
        to_learn = release.summary["splits"][Split.TRAIN]["triples"]
        assert NextStep(StepKind.TRAIN, to_learn, release=1) in next_steps(session, funnel(session))
        assert StepKind.RELEASE not in kinds(session)
        assert StepKind.TRAIN not in kinds(session, busy={"train"})
        run = Run(kind="train", parameters={})
        session.add(run)
        session.flush()
        session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=release.id))
        session.flush()
        state = funnel(session)
        assert (state.models, state.trained_release) == (1, 1)
        parts = release.summary["types_by_split"]
        assert {row.type_id: row.trained for row in state.rows} == {
            key: parts[key].get(Split.TRAIN, 0) for key in TEXTS
        }
        assert StepKind.TRAIN not in kinds(session)
        reject(session, families[0]["lexical"], person(session))
        steps = next_steps(session, state)
        assert NextStep(StepKind.RELEASE, 0, gone=1, release=1) in steps
        assert steps[-1].kind is StepKind.EXPORT
        create_release(session)
        state = funnel(session)
        assert state.trained_release == 1
        assert [step.kind for step in next_steps(session, state)][-2:] == [
            StepKind.TRAIN,
            StepKind.EXPORT,
        ]
