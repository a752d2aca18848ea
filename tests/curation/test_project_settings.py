"""Changing the project's settings: what is stored, and what follows for every variant."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session, col

from curation import queue_keys
from curation.diagnostics import measure_variants, save_cosines
from curation.encoder_rows import register_encoder
from curation.measures import Flag
from curation.project import ACTIVE_ENCODER, THRESHOLD, get_setting
from curation.project_settings import change_threshold, count_over_threshold
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Diagnostic, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.factories import add_family

ANCHORS = ["The bridge is safe.", "The old bridge by the mill is safe for lorries."]


@pytest.fixture
def measured(engine: Engine) -> Engine:
    """Two families, measured; the cosines under the active encoder are all different."""
    with writing(engine) as session:
        ids = [v.id or 0 for text in ANCHORS for v in add_family(session, text).values()]
        measure_variants(session, ids)
        add_cosines(session, get_setting(session, ACTIVE_ENCODER), scale=0.05)
    return engine


def add_cosines(session: Session, name: str, *, scale: float) -> None:
    encoder = register_encoder(session, name=name, hash_=f"hash of {name}")
    ids = session.execute(select(col(Variant.id))).scalars()
    save_cosines(session, {i or 0: (i or 0) * scale for i in ids}, encoder_id=encoder.id or 0)


def kept(session: Session) -> dict[int, tuple[int, float, float]]:
    """(flags, hardness, suspicion) of every variant."""
    rows = session.execute(
        select(Diagnostic, Variant).join(Variant, col(Variant.id) == Diagnostic.variant_id)
    )
    return {d.variant_id: (d.flags, v.hardness, v.suspicion) for d, v in rows}


def measured_anew(session: Session) -> dict[int, tuple[int, float, float]]:
    """What measuring everything under the present settings gives."""
    measure_variants(session, list(kept(session)))
    session.expire_all()
    return kept(session)


def reorder(engine: Engine) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind=queue_keys.KIND, parameters={}).id or 0
    return execute(engine, load_settings(), run_id, {queue_keys.KIND: queue_keys.work})


def test_a_new_threshold_flags_and_orders_every_variant(measured: Engine) -> None:
    with writing(measured) as session:
        before = kept(session)
        assert count_over_threshold(session, 5) == (0, count_above(session, 5))
        assert change_threshold(session, 5)
        assert queue_keys.count_to_reorder(session) == 14
    assert reorder(measured)["variants"] == 14
    with writing(measured) as session:
        after = kept(session)
        over = [key for key, (flags, _, _) in after.items() if Flag.OVER_THRESHOLD & flags]
        assert len(over) == count_above(session, 5) > 0
        assert all(after[key][1] == 0 for key in over)
        assert after != before
        assert after == measured_anew(session)
        assert queue_keys.count_to_reorder(session) == 0


def count_above(session: Session, value: int) -> int:
    rows = session.execute(select(col(Diagnostic.levenshtein))).scalars()
    return sum(distance > value for distance in rows)


def test_the_same_threshold_again_changes_nothing(measured: Engine) -> None:
    with writing(measured) as session:
        assert not change_threshold(session, 60)
        assert queue_keys.count_to_reorder(session) == 0
    assert reorder(measured)["variants"] == 0


@pytest.mark.parametrize("value", [0, -3, 10_001])
def test_a_threshold_out_of_range_is_refused(measured: Engine, value: int) -> None:
    with pytest.raises(HedgerowError, match="1 to 10,000"), writing(measured) as session:
        change_threshold(session, value)
    with reading(measured) as session:
        assert get_setting(session, THRESHOLD) == 60


def test_a_reorder_that_was_cut_off_is_carried_on(
    measured: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_keys, "BLOCK", 4)
    with writing(measured) as session:
        change_threshold(session, 5)
    assert queue_keys.reorder_block(measured) == 4
    with reading(measured) as session:
        assert queue_keys.count_to_reorder(session) == 10
    assert reorder(measured)["variants"] == 10
    with writing(measured) as session:
        assert kept(session) == measured_anew(session)


def test_a_change_during_a_reorder_begins_anew(
    measured: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_keys, "BLOCK", 4)
    with writing(measured) as session:
        change_threshold(session, 5)
    queue_keys.reorder_block(measured)
    with writing(measured) as session:
        change_threshold(session, 12)
    assert reorder(measured)["variants"] == 14
    with writing(measured) as session:
        assert kept(session) == measured_anew(session)
