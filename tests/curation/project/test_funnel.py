"""The funnel's counts equal counts over all rows, and it names the next step."""

from collections import Counter

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from curation.anchors.changes import retire_anchor
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measuring import measure_variants
from curation.encoders.registered import register_encoder
from curation.project.funnel import _COLUMNS, FunnelRow, funnel, surplus_version
from curation.project.next_steps import NextStep, StepKind, next_steps
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.release.contents import count_triples_by_type, triples_by_type
from curation.release.freezing import create_release
from curation.release.selection import Selection
from curation.release.triples import triple_rows
from curation.review import actions
from curation.taxonomy.project_types import seed_taxonomy
from db.engine import reading, writing
from db.models import Anchor, Encoder, Run, Split, Variant
from tests.curation.support.deciding import MOMENT, Released, accept, card, edit, reject
from tests.support.databases import both_databases, one_database
from tests.support.factories import TEXTS, add_anchor, add_family, add_variant, person

pytestmark = both_databases


def row_of(session: Session, type_id: str) -> FunnelRow:
    rows = (row for row in funnel(session).rows if row.type_id == type_id)
    return next(rows, FunnelRow(type_id, "", ""))


def measure(session: Session, variants: list[Variant]) -> None:
    """Like a diagnose run, with made-up cosines."""
    measure_variants(session, [v.id for v in variants])
    name = get_setting(session, ACTIVE_ENCODER)
    encoder = register_encoder(session, name=name, hash_="f" * 64)
    save_cosines(session, {v.id: 0.5 for v in variants}, encoder_id=encoder.id)


def kinds(session: Session, **more: set[str]) -> list[StepKind]:
    return [step.kind for step in next_steps(session, funnel(session), **more)]


@one_database
def test_an_empty_database_asks_for_the_starter_corpus(engine: Engine) -> None:
    with writing(engine) as session:
        seed_taxonomy(session)
        state = funnel(session)
        assert state.total == FunnelRow("", "All types", "")
        assert state.rows == ()
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


@one_database
def test_two_persons_who_disagree_make_a_conflict_that_is_not_pending(engine: Engine) -> None:
    with writing(engine) as session:
        variant = add_family(session)["word"]
        accept(session, variant, person(session, "Ada"))
        session.refresh(variant)
        reject(session, variant, person(session, "Ben"))
        row = row_of(session, "word")
        assert (row.decided, row.conflict, row.accepted, row.pending) == (1, 1, 0, 0)


def test_an_edited_variant_counts_once_and_a_retyped_one_under_its_new_type(engine: Engine) -> None:
    with writing(engine) as session:
        ada, family = person(session), add_family(session)
        edit(session, family["verbal"], ada, "The bridge isn't safe.")
        actions.edit(session, card(session, family["affixal"]), reviewer_id=ada, type_id="lexical")
        assert (row_of(session, "verbal").variants, row_of(session, "verbal").accepted) == (1, 1)
        assert row_of(session, "affixal").variants == 0
        assert (row_of(session, "lexical").variants, row_of(session, "lexical").accepted) == (2, 1)


@one_database
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
        measure_variants(session, [v.id for v in variants])
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
        save_cosines(session, {variants[0].id: 0.1}, encoder_id=other.id)
        assert funnel(session).total.diagnosed == 7


@one_database
def test_a_variant_without_measures_shows_next_to_measured_ones(engine: Engine) -> None:
    with writing(engine) as session:
        measure(session, list(add_family(session).values()))
        late = add_variant(session, session.get_one(Anchor, 1), "word", "Perhaps it is safe.")
        assert row_of(session, "word").diagnosed == 1
        measure(session, [late])
        assert row_of(session, "word").diagnosed == 2


def test_triples_by_type_are_those_that_the_release_gives(released: Released) -> None:
    engine, _, release = released
    with reading(engine) as session:
        found = triples_by_type(session, release)
        rows = list(triple_rows(session, release.id))
        expected = Counter(row.positive_type for row in rows)
        expected += Counter(row.negative_type for row in rows)
        assert found == count_triples_by_type(session, release) == expected
        release.summary = {k: v for k, v in release.summary.items() if k != "triples_by_type"}
        assert triples_by_type(session, release) == expected  # by an old version
        state = funnel(session)
        assert {row.type_id: row.triples for row in state.rows if row.triples} == expected
        assert state.total.triples == len(rows)
        assert state.total.released == release.summary["variants"]


def test_anchors_are_counted_once_per_type_regardless_of_their_variants_status(
    released: Released,
) -> None:
    engine, families, _ = released
    with writing(engine) as session:
        before = surplus_version(session)
        reject(session, families[0]["verbal"], person(session))
        assert surplus_version(session) == before
        edit(session, families[1]["word"], person(session), "The bridge seems safe.")
        assert {row.anchors for row in funnel(session).rows if row.variants} == {12}
        assert surplus_version(session) != before
        before = surplus_version(session)
        retire_anchor(session, families[1]["word"].anchor_id)
        assert {row.anchors for row in funnel(session).rows if row.variants} == {11}
        assert surplus_version(session) != before


@one_database
def test_the_steps_follow_the_way_of_the_data(engine: Engine) -> None:
    with writing(engine) as session:
        ada, families = person(session), [add_family(session, f"Way {n}.") for n in range(2)]
        everything = [variant for family in families for variant in family.values()]
        reviews = [StepKind.REVIEW] * 7
        assert kinds(session) == [StepKind.MEASURE, *reviews]
        assert kinds(session, busy={StepKind.MEASURE}) == reviews
        measure(session, everything)
        steps = next_steps(session, funnel(session))
        assert [(step.type_id, step.count) for step in steps] == [(key, 2) for key in TEXTS]
        accept(session, everything[0], ada)
        release_step = next_steps(session, funnel(session))[-1]
        assert release_step == NextStep(StepKind.RELEASE, 1)
        reject(session, everything[1], ada)
        accept(session, everything[1], person(session, "Bert"))
        conflict, *_ = next_steps(session, funnel(session))
        assert conflict == NextStep(StepKind.SETTLE, 1)
        for variant in everything[1:-1]:
            accept(session, variant, ada)
        assert kinds(session) == [StepKind.REVIEW, StepKind.RELEASE]


def test_a_release_is_trained_on_once_and_replaced_after_changes(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        measure(session, list(session.execute(select(Variant)).scalars()))
        to_learn = release.summary["splits"][Split.TRAIN]["triples"]
        assert NextStep(StepKind.TRAIN, to_learn, release=1) in next_steps(session, funnel(session))
        assert StepKind.RELEASE not in kinds(session)
        assert StepKind.TRAIN not in kinds(session, busy={StepKind.TRAIN})
        run = Run(kind="train", parameters={})
        session.add(run)
        session.flush()
        session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=release.id))
        session.flush()
        state = funnel(session)
        assert (state.models, state.trained_release) == (1, 1)
        parts = release.summary["types_by_split"]
        assert {row.type_id: row.trained for row in state.rows if row.variants} == {
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


def test_the_funnels_of_the_sources_add_up(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        for number in range(6):
            source = "Another source" if number % 2 else ""
            family = add_family(session, f"Bridge {number} is safe.", source=source)
            for type_id in ("verbal", "word", "lexical"):
                accept(session, family[type_id], ada)
            reject(session, family["phrase"], ada)
        retire_anchor(session, family["word"].anchor_id)
        edit(session, add_family(session, "It is safe.")["verbal"], ada, "It is not that safe.")
        release = create_release(session).release
        run = Run(kind="train", parameters={})
        session.add(run)
        session.flush()
        session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=release.id))
        session.flush()
        whole, *parts = (funnel(session, source_id=key) for key in (None, 1, 2))
    assert [part.total.anchors for part in parts] == [4, 2]
    assert parts[1].total.triples == release.summary["triples"] - parts[0].total.triples > 0
    for row, *of_sources in zip(
        (*whole.rows, whole.total),
        *((*part.rows, part.total) for part in parts),
        strict=True,
    ):
        for name in _COLUMNS:
            found = sum(getattr(part, name) for part in of_sources)
            assert found == getattr(row, name), (row.type_id, name)


def test_the_steps_of_the_sources_add_up(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        for number in range(8):
            source = "Another source" if number % 2 else ""
            family = add_family(session, f"Bridge {number} is safe.", source=source)
            for type_id in ("verbal", "word"):
                accept(session, family[type_id], ada)
        release = create_release(session).release
        add_anchor(session, "Nothing is written for it.", source="Another source")
        accept(session, family["phrase"], ada)  # from the second source
        reject(session, family["word"], ada)
        whole, first, second = (
            {
                (step.kind, step.type_id): (step.count, step.gone)
                for step in next_steps(session, funnel(session, source_id=key), source_id=key)
            }
            for key in (None, 1, 2)
        )
    assert (StepKind.RELEASE, "") not in first and (StepKind.WRITE, "") not in first
    assert second[StepKind.RELEASE, ""] == (1, 1) and second[StepKind.WRITE, ""] == (1, 0)
    assert second[StepKind.EXPORT, ""] == first[StepKind.EXPORT, ""] == (8, 0)
    assert whole[StepKind.EXPORT, ""] == (release.summary["variants"], 0) == (16, 0)
    for key, (count, gone) in whole.items():
        parts = [part.get(key, (0, 0)) for part in (first, second)]
        assert (count, gone) == tuple(map(sum, zip(*parts, strict=True))), key


def test_a_source_that_the_newest_release_leaves_out_is_to_be_released(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        accept(session, add_family(session)["verbal"], ada)
        accept(session, add_family(session, "It is safe.", source="Other")["word"], ada)
        create_release(session, selection=Selection(("test",)))
        steps = next_steps(session, funnel(session, source_id=2), source_id=2)
        assert NextStep(StepKind.RELEASE, 1, release=1) in steps
        assert StepKind.EXPORT not in [step.kind for step in steps]
        assert StepKind.RELEASE not in kinds(session)
