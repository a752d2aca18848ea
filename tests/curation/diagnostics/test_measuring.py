"""Measuring: distances and flags immediately, cosines in a run that can be resumed."""

import numpy as np
import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.diagnostics import cosines, measuring
from curation.diagnostics.measures import MEASURES_VERSION, Flag
from curation.encoders.reading_pace import PACE
from curation.project.opening import active_encoder_id
from curation.review import actions
from curation.review.actions import shown
from curation.review.cards import card
from db.engine import reading, writing
from db.execution import execute
from db.models import Diagnostic, Encoder, Variant, VariantCosine
from db.runs import create_run, metrics
from db.settings import load_settings
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, add_variant, person

pytestmark = both_databases


class FakeEncoders:
    """Replaces the real encoder: the cosine is a function of the texts' lengths."""

    def __init__(self) -> None:
        self.pairs = 0

    def pair_cosines(self, model: object, pairs: list[tuple[str, str]], **more: object) -> object:
        self.pairs += len(pairs)
        return np.array([min(len(a), len(b)) / max(len(a), len(b)) for a, b in pairs])


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> FakeEncoders:
    fake = FakeEncoders()
    monkeypatch.setattr(measuring, "load_encoder", lambda name: None)
    monkeypatch.setattr(measuring, "fingerprint", lambda name: f"hash of {name}")
    monkeypatch.setattr(cosines, "pair_cosines", fake.pair_cosines)
    return fake


def run(engine: Engine, **parameters: object) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind="diagnose", parameters=parameters).id
    return execute(engine, load_settings(), run_id, {"diagnose": measuring.work})


@one_database
def test_measurements_of_an_older_version_are_repeated(
    engine: Engine, encoders: FakeEncoders
) -> None:
    with writing(engine) as session:
        add_family(session)
    run(engine)
    with writing(engine) as session:
        old = session.get_one(Diagnostic, 1)
        old.check_version, old.flags = MEASURES_VERSION - 1, int(Flag.UNCHANGED)
    with reading(engine) as session:
        assert measuring.count_without_measures(session) == 1
    assert run(engine)["measured"] == 1
    with reading(engine) as session:
        assert (card(session, 1).flags, measuring.count_without_measures(session)) == (0, 0)


@one_database
def test_a_run_says_how_fast_it_read_if_it_read_for_long_enough(
    engine: Engine, encoders: FakeEncoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(engine) as session:
        add_family(session)
    run(engine)
    monkeypatch.setattr(cosines, "TELLING_SECONDS", 0.0)
    run(engine, encoder="another")
    with reading(engine) as session:
        short, long = (metrics(session, run_id, name=PACE) for run_id in (1, 2))
    assert short == []
    ((_, pace),) = long
    assert pace > 0


def test_a_run_measures_everything_and_a_second_one_nothing(
    engine: Engine, encoders: FakeEncoders
) -> None:
    with writing(engine) as session:
        add_family(session)
    assert run(engine) == {"encoder": "all-MiniLM-L6-v2", "measured": 7, "cosines": 7}
    assert run(engine) == {"encoder": "all-MiniLM-L6-v2", "measured": 0, "cosines": 0}
    assert encoders.pairs == 7
    with reading(engine) as session:
        found = card(session, 1)
        assert (found.levenshtein, found.flags) == (4, Flag(0))
        assert found.cosine == pytest.approx(19 / 23)
        assert found.variant.hardness == pytest.approx((1 - 4 / 60) * 19 / 23)
        assert measuring.count_without_measures(session) == 0
        assert cosines.count_without_cosine(session, found.variant.id) == 0


def test_cosines_are_kept_per_encoder(engine: Engine, encoders: FakeEncoders) -> None:
    with writing(engine) as session:
        add_family(session)
    run(engine)
    run(engine, encoder="other")
    with reading(engine) as session:
        assert session.execute(select(func.count()).select_from(Encoder)).scalar_one() == 2
        assert session.execute(select(func.count()).select_from(VariantCosine)).scalar_one() == 14
        assert active_encoder_id(session) == 1


@one_database
def test_an_edited_variant_is_pending_until_the_next_run(
    engine: Engine, encoders: FakeEncoders
) -> None:
    with writing(engine) as session:
        variants = add_family(session)
    run(engine)
    with writing(engine) as session:
        child = actions.edit(
            session, shown(variants["verbal"]), reviewer_id=person(session), text="It isn't safe."
        ).child_id
    with reading(engine) as session:
        before = card(session, child or 0)
    assert before.levenshtein is not None
    assert before.cosine is None
    assert run(engine)["cosines"] == 1
    with reading(engine) as session:
        assert card(session, child or 0).cosine is not None


def test_flags_are_stored(engine: Engine) -> None:
    far = "Nobody could honestly say that it might ever carry so much as one single bicycle, dear."
    with writing(engine) as session:
        anchor = add_anchor(session)
        texts = ["The bridge is safe.", "The bridge is sturdy.", far]
        ids = [add_variant(session, anchor, text=text).id for text in texts]
        ids.append(add_variant(session, anchor, "lexical", "The bridge is sturdy.").id)
        measuring.measure_variants(session, ids)
    with reading(engine) as session:
        rows = session.execute(select(Diagnostic).order_by(col(Diagnostic.variant_id)))
        unchanged, same, distant, _ = [Flag(row.flags) for row in rows.scalars()]
        suspicion = [session.get_one(Variant, i).suspicion for i in ids]
    assert Flag.UNCHANGED in unchanged
    assert Flag.SAME_AS_SIBLING in same
    assert Flag.OVER_THRESHOLD in distant
    assert Flag.WRONG_SURFACE in unchanged & same
    assert min(suspicion) > 0
