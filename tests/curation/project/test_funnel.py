"""The funnel's counts equal counts over all rows, and it names the next step."""

from collections import Counter
from dataclasses import asdict

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measuring import measure_variants
from curation.editing.anchors import retire_anchor
from curation.encoders.registered import register_encoder
from curation.overview.funnel import FunnelRow, funnel, surplus_version
from curation.overview.next_steps import NextStep, StepKind, next_steps
from curation.project.settings import ACTIVE_ENCODER, get_setting
from curation.release.contents import count_triples_by_type, triples_by_type
from curation.release.selection import Selection
from curation.release.triples import triple_rows
from curation.review import deciding
from curation.taxonomy.project_types import seed_taxonomy
from db.models import Anchor, Encoder, Release, Run, Split, Variant
from tests.curation.support.deciding import MOMENT, Released, accept, card, edit, reject
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_anchor, add_family, add_variant, freeze, person


def row_of(session: Session, type_id: str) -> FunnelRow:
    rows = (row for row in funnel(session).rows if row.type_id == type_id)
    return next(rows, FunnelRow(type_id, "", ""))


def measure(session: Session, variants: list[Variant]) -> None:
    """Like a diagnose run, with made-up cosines."""
    measure_variants(session, [v.id for v in variants])
    encoder = register_encoder(session, name=get_setting(session, ACTIVE_ENCODER), hash_="f" * 64)
    save_cosines(session, {v.id: 0.5 for v in variants}, encoder_id=encoder.id)


def kinds(session: Session, **more: set[str]) -> list[StepKind]:
    return [step.kind for step in next_steps(session, funnel(session), **more)]


def trained(session: Session, release: Release) -> None:
    """A model of a run, trained on the release."""
    run = Run(kind="train", parameters={})
    session.add(run)
    session.flush()
    session.add(Encoder(name="m", fingerprint="a" * 64, run_id=run.id, release_id=release.id))
    session.flush()


def test_an_empty_database_asks_for_the_starter_corpus(session: Session) -> None:
    seed_taxonomy(session)
    state = funnel(session)
    assert (state.total, state.rows) == (FunnelRow("", "All types", ""), ())
    assert (state.newest, state.models, state.trained_release) == (None, 0, None)
    assert next_steps(session, state) == [NextStep(StepKind.LOAD)]


@both_databases
def test_every_stage_is_counted_per_type(session: Session) -> None:
    ada = person(session)
    families = [add_family(session, f"Bridge {n} is safe.") for n in range(3)]
    add_anchor(session, "This one has no variants yet.")
    accept(session, families[0]["verbal"], ada)
    reject(session, families[1]["verbal"], ada)
    row, total = row_of(session, "verbal"), funnel(session).total
    assert (row.anchors, row.variants, row.pending) == (3, 3, 1)
    assert (row.decided, row.accepted, row.rejected, row.conflict) == (2, 1, 1, 0)
    assert (total.anchors, total.variants, total.decided) == (4, 21, 2)
    # Two persons who disagree make a conflict, which is not pending.
    reject(session, families[0]["verbal"], person(session, "Ben"))
    row = row_of(session, "verbal")
    assert (row.decided, row.conflict, row.accepted, row.pending) == (2, 1, 0, 1)
    families[2]["word"].retired = True
    session.get_one(Anchor, families[1]["word"].anchor_id).retired_at = MOMENT
    session.flush()
    assert row_of(session, "word").variants == 2 and funnel(session).total.anchors == 3


@both_databases
def test_an_edited_variant_counts_once_and_a_retyped_one_under_its_new_type(
    session: Session,
) -> None:
    ada, family = person(session), add_family(session)
    edit(session, family["verbal"], ada, "The bridge isn't safe.")
    deciding.edit(session, card(session, family["affixal"]), reviewer_id=ada, type_id="lexical")
    rows = {row.type_id: (row.variants, row.accepted) for row in funnel(session).rows}
    assert (rows["verbal"], rows["lexical"]) == ((1, 1), (2, 1))
    assert row_of(session, "affixal").variants == 0


@both_databases
def test_measured_means_flags_and_the_active_encoders_cosine(session: Session) -> None:
    variants = list(add_family(session).values())
    assert funnel(session).total.diagnosed == 0
    measure_variants(session, [v.id for v in variants])
    assert funnel(session).total.diagnosed == 0  # the cosines are still missing
    measure(session, variants[:3])
    assert funnel(session).total.diagnosed == 3
    assert next_steps(session, funnel(session))[0] == NextStep(StepKind.MEASURE, 4)
    measure(session, variants[3:])
    other = register_encoder(session, name="another", hash_="e" * 64)
    save_cosines(session, {variants[0].id: 0.1}, encoder_id=other.id)
    assert {(row.diagnosed, row.variants) for row in funnel(session).rows} == {(1, 1)}
    late = add_variant(session, session.get_one(Anchor, 1), "word", "Perhaps it is safe.")
    for diagnosed in (1, 2):
        assert row_of(session, "word").diagnosed == diagnosed
        measure(session, [late])


@both_databases
def test_triples_by_type_are_those_that_the_release_gives(released: Released) -> None:
    session, _, release = released
    rows = list(triple_rows(session, release.id))
    expected = Counter(row.positive_type for row in rows)
    expected += Counter(row.negative_type for row in rows)
    assert triples_by_type(session, release) == expected
    assert count_triples_by_type(session, release) == expected
    release.summary = {k: v for k, v in release.summary.items() if k != "triples_by_type"}
    assert triples_by_type(session, release) == expected  # by an old version
    state = funnel(session)
    assert {row.type_id: row.triples for row in state.rows if row.triples} == expected
    assert state.total.triples == len(rows) and state.total.released == release.summary["variants"]


def test_anchors_are_counted_once_per_type_regardless_of_their_variants_status(
    released: Released,
) -> None:
    session, families, _ = released

    def found() -> tuple[set[int], object]:
        anchors = {row.anchors for row in funnel(session).rows if row.variants}
        return anchors, surplus_version(session)

    before, ada = found(), person(session)
    reject(session, families[0]["verbal"], ada)
    assert found() == before == ({12}, before[1])
    edit(session, families[1]["word"], ada, "The bridge seems safe.")
    edited = found()
    retire_anchor(session, families[1]["word"].anchor_id)
    retired = found()
    assert (edited[0], retired[0]) == ({12}, {11}) and len({before[1], edited[1], retired[1]}) == 3


def test_the_steps_follow_the_way_of_the_data(session: Session) -> None:
    ada, families = person(session), [add_family(session, f"Way {n}.") for n in range(2)]
    everything = [variant for family in families for variant in family.values()]
    reviews = [StepKind.REVIEW] * 7
    assert kinds(session) == [StepKind.MEASURE, *reviews]
    assert kinds(session, busy={StepKind.MEASURE}) == reviews
    measure(session, everything)
    steps = next_steps(session, funnel(session))
    assert [(step.type_id, step.count) for step in steps] == [(key, 2) for key in TEXTS]
    accept(session, everything[0], ada)
    assert next_steps(session, funnel(session))[-1] == NextStep(StepKind.RELEASE, 1)
    reject(session, everything[1], ada)
    accept(session, everything[1], person(session, "Bert"))
    assert next_steps(session, funnel(session))[0] == NextStep(StepKind.SETTLE, 1)
    for variant in everything[1:-1]:
        accept(session, variant, ada)
    assert kinds(session) == [StepKind.REVIEW, StepKind.RELEASE]


@both_databases
def test_a_release_is_trained_on_once_and_replaced_after_changes(released: Released) -> None:
    session, families, release = released
    measure(session, list(session.execute(select(Variant)).scalars()))
    to_learn = release.summary["splits"][Split.TRAIN]["triples"]
    assert NextStep(StepKind.TRAIN, to_learn, release=1) in next_steps(session, funnel(session))
    assert StepKind.RELEASE not in kinds(session)
    assert StepKind.TRAIN not in kinds(session, busy={StepKind.TRAIN})
    trained(session, release)
    state = funnel(session)
    assert (state.models, state.trained_release) == (1, 1)
    parts = release.summary["types_by_split"]
    expected = {key: parts[key].get(Split.TRAIN, 0) for key in TEXTS}
    assert {row.type_id: row.trained for row in state.rows if row.variants} == expected
    assert StepKind.TRAIN not in kinds(session)
    reject(session, families[0]["lexical"], person(session))
    steps = next_steps(session, state)
    assert NextStep(StepKind.RELEASE, 0, gone=1, release=1) in steps
    assert steps[-1].kind is StepKind.EXPORT
    freeze(session)
    assert funnel(session).trained_release == 1
    assert kinds(session)[-2:] == [StepKind.TRAIN, StepKind.EXPORT]


@pytest.fixture
def two_sources(session: Session) -> tuple[int, list[dict[str, Variant]], Release]:
    """Ada, eight families of two sources with two accepted variants each, and a release."""
    families = [
        add_family(session, f"Bridge {n} is safe.", source="Another source" if n % 2 else "")
        for n in range(8)
    ]
    ada = person(session)
    for family in families:
        for type_id in ("verbal", "word"):
            accept(session, family[type_id], ada)
    return ada, families, freeze(session).release


Two = tuple[int, list[dict[str, Variant]], Release]


@pytest.mark.slow
@both_databases
def test_the_funnels_of_the_sources_add_up(session: Session, two_sources: Two) -> None:
    ada, families, release = two_sources
    reject(session, families[0]["phrase"], ada)
    retire_anchor(session, families[7]["word"].anchor_id)
    edit(session, families[2]["verbal"], ada, "It is not that safe.")
    trained(session, release)
    whole, *parts = (funnel(session, source_id=key) for key in (None, 1, 2))
    assert [part.total.anchors for part in parts] == [4, 3]
    assert parts[1].total.triples == release.summary["triples"] - parts[0].total.triples > 0
    for row, *of_sources in zip(*((*one.rows, one.total) for one in (whole, *parts)), strict=True):
        numbers = {name: value for name, value in asdict(row).items() if isinstance(value, int)}
        assert numbers == {n: sum(getattr(part, n) for part in of_sources) for n in numbers}


@pytest.mark.slow
@both_databases
def test_the_steps_of_the_sources_add_up(session: Session, two_sources: Two) -> None:
    ada, families, release = two_sources
    add_anchor(session, "Nothing is written for it.", source="Another source")
    accept(session, families[7]["phrase"], ada)  # from the second source
    reject(session, families[7]["word"], ada)
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
    for key, found in whole.items():
        parts = [part.get(key, (0, 0)) for part in (first, second)]
        assert found == tuple(map(sum, zip(*parts, strict=True))), key


def test_a_source_that_the_newest_release_leaves_out_is_to_be_released(session: Session) -> None:
    ada = person(session)
    accept(session, add_family(session)["verbal"], ada)
    accept(session, add_family(session, "It is safe.", source="Other")["word"], ada)
    freeze(session, selection=Selection(("test",)))
    steps = next_steps(session, funnel(session, source_id=2), source_id=2)
    assert NextStep(StepKind.RELEASE, 1, release=1) in steps
    assert StepKind.EXPORT not in [step.kind for step in steps]
    assert StepKind.RELEASE not in kinds(session)
