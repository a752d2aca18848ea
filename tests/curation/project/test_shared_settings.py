"""Changing the project's settings: what is stored, and the effect on every variant."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub.errors import OfflineModeIsEnabled
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics import cosines, measuring, queue_order
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from curation.encoders.registered import encoder_source, known_encoders, register_encoder
from curation.project.opening import ACTIVE_ENCODER, THRESHOLD, active_encoder_id, get_setting
from curation.project.shared_settings import change_encoder, change_threshold, count_over_threshold
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Anchor, Diagnostic, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.support.checkpoints import checkpoint
from tests.support.databases import Fill, both_databases, one_database
from tests.support.factories import add_family, add_variant

pytestmark = both_databases

ANCHORS = ["The bridge is safe.", "The old bridge by the mill is safe for lorries."]


@pytest.fixture
def measured(engine: Engine, fill: Fill) -> Engine:
    """Two measured families. All cosines under the active encoder are different."""

    def made(session: Session) -> None:
        ids = [v.id for text in ANCHORS for v in add_family(session, text).values()]
        measure_variants(session, ids)
        add_cosines(session, get_setting(session, ACTIVE_ENCODER), scale=0.05)

    fill(engine, made)
    return engine


def add_cosines(session: Session, name: str, *, scale: float) -> None:
    encoder = register_encoder(session, name=name, hash_=f"hash of {name}")
    ids = session.execute(select(col(Variant.id))).scalars()
    save_cosines(session, {i: i * scale for i in ids}, encoder_id=encoder.id)


def kept(session: Session) -> dict[int, tuple[int, float, float]]:
    """(flags, hardness, suspicion) of every variant."""
    rows = session.execute(
        select(Diagnostic, Variant).join(Variant, col(Variant.id) == Diagnostic.variant_id)
    )
    return {d.variant_id: (d.flags, v.hardness, v.suspicion) for d, v in rows}


def measured_again(session: Session) -> dict[int, tuple[int, float, float]]:
    """The result of measuring everything with the current settings."""
    measure_variants(session, list(kept(session)))
    session.expire_all()
    return kept(session)


def reorder(engine: Engine) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind=queue_order.KIND, parameters={}).id
    return execute(engine, load_settings(), run_id, {queue_order.KIND: queue_order.work})


def test_a_new_threshold_flags_and_orders_every_variant(measured: Engine) -> None:
    with writing(measured) as session:
        before = kept(session)
        assert count_over_threshold(session, 5) == (0, count_above(session, 5))
        assert change_threshold(session, 5)
        assert queue_order.count_to_reorder(session) == 14
    assert reorder(measured)["variants"] == 14
    with writing(measured) as session:
        after = kept(session)
        over = [key for key, (flags, _, _) in after.items() if Flag.OVER_THRESHOLD & flags]
        assert len(over) == count_above(session, 5) > 0
        assert all(after[key][1] == 0 for key in over)
        assert after != before
        assert after == measured_again(session)
        assert queue_order.count_to_reorder(session) == 0


def count_above(session: Session, value: int) -> int:
    rows = session.execute(select(col(Diagnostic.levenshtein))).scalars()
    return sum(distance > value for distance in rows)


def test_free_form_types_and_retired_variants_are_not_above_the_threshold(
    measured: Engine,
) -> None:
    with writing(measured) as session:
        before = count_over_threshold(session, 5).then
        far = add_variant(
            session, session.get_one(Anchor, 1), "affirmation", "Nobody needs to fear for lorries."
        )
        measure_variants(session, [far.id])
        assert count_above(session, 5) == before + 1
        assert count_over_threshold(session, 5).then == before
        above = select(col(Diagnostic.variant_id)).where(col(Diagnostic.levenshtein) > 5)
        first = session.execute(above.order_by(col(Diagnostic.variant_id)).limit(1)).scalar_one()
        session.get_one(Variant, first).retired = True
        session.flush()
        assert count_over_threshold(session, 5).then == before - 1


def test_the_same_threshold_again_changes_nothing(measured: Engine) -> None:
    with writing(measured) as session:
        assert not change_threshold(session, 60)
        assert queue_order.count_to_reorder(session) == 0
    assert reorder(measured)["variants"] == 0


@one_database
@pytest.mark.parametrize("value", [0, -3, 10_001])
def test_a_threshold_out_of_range_is_refused(measured: Engine, value: int) -> None:
    with pytest.raises(HedgerowError, match="1 to 10,000"), writing(measured) as session:
        change_threshold(session, value)
    with reading(measured) as session:
        assert get_setting(session, THRESHOLD) == 60


def test_a_reorder_that_was_interrupted_is_carried_on(
    measured: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_order, "BLOCK", 4)
    with writing(measured) as session:
        change_threshold(session, 5)
    assert queue_order.reorder_block(measured) == 4
    with reading(measured) as session:
        assert queue_order.count_to_reorder(session) == 10
    assert reorder(measured)["variants"] == 10
    with writing(measured) as session:
        assert kept(session) == measured_again(session)


def test_a_change_during_a_reorder_starts_it_again(
    measured: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_order, "BLOCK", 4)
    with writing(measured) as session:
        change_threshold(session, 5)
    queue_order.reorder_block(measured)
    with writing(measured) as session:
        change_threshold(session, 12)
    assert reorder(measured)["variants"] == 14
    with writing(measured) as session:
        assert kept(session) == measured_again(session)


@pytest.fixture(autouse=True)
def _hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model hub with every model of one company, and no others."""

    def model_info(self: object, name: str, **options: object) -> SimpleNamespace:
        if not name.startswith("company/"):
            raise OfflineModeIsEnabled(name)
        return SimpleNamespace(config=None, siblings=[])

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)


def model_folder(folder: Path) -> Path:
    """A folder that looks like a model's. Nothing loads it."""
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def use(engine: Engine, typed: str) -> bool:
    with writing(engine) as session:
        return change_encoder(session, load_settings(), typed)


def test_another_encoder_orders_by_its_own_cosines(measured: Engine) -> None:
    with writing(measured) as session:
        before = kept(session)
        add_cosines(session, "company/other", scale=0.01)
        assert kept(session) == before  # another encoder's measurements do not reorder
    assert use(measured, "company/other")
    reorder(measured)
    with writing(measured) as session:
        after = kept(session)
        assert all(after[key][1] < before[key][1] for key in before)
        assert all(after[key][2] > before[key][2] for key in before)
        assert after == measured_again(session)
    assert use(measured, "all-MiniLM-L6-v2")
    reorder(measured)
    with reading(measured) as session:
        assert kept(session) == before


@one_database
def test_an_encoder_without_cosines_leaves_hardness_open(measured: Engine) -> None:
    use(measured, "company/unheard-of")
    reorder(measured)
    with reading(measured) as session:
        assert {hard for _, hard, _ in kept(session).values()} == {0.0}
        assert active_encoder_id(session) is None


@one_database
@pytest.mark.parametrize(
    "typed",
    ["", "  ", "/no/such/folder", "./none", "x" * 301, "~/nothing", "nope/none", "./empty"],
)
def test_a_name_that_cannot_be_an_encoder_is_refused(measured: Engine, typed: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(HedgerowError):
        use(measured, typed)
    with reading(measured) as session:
        assert get_setting(session, ACTIVE_ENCODER) == "all-MiniLM-L6-v2"
        assert queue_order.count_to_reorder(session) == 0


@one_database
def test_a_trained_encoder_is_known_by_its_name_and_by_its_folder(measured: Engine) -> None:
    settings = load_settings()
    folder = model_folder(settings.data_folder / "runs/1/model")
    with writing(measured) as session:
        register_encoder(session, name="run 1: mine", hash_="e" * 64).path = "runs/1/model"
    assert use(measured, "run 1: mine")
    with reading(measured) as session:
        assert encoder_source(session, settings, "run 1: mine") == str(folder)
        assert known_encoders(session)[:2] == ["run 1: mine", "all-MiniLM-L6-v2"]
    assert not use(measured, str(folder))
    assert use(measured, "all-MiniLM-L6-v2")
    assert use(measured, str(folder))
    with reading(measured) as session:
        assert get_setting(session, ACTIVE_ENCODER) == "run 1: mine"


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces real encoders and records what was loaded, in order. Every cosine is one half."""
    loaded: list[str] = []
    monkeypatch.setattr(measuring, "load_encoder", loaded.append)
    monkeypatch.setattr(measuring, "fingerprint", lambda name: f"hash of {name.split('/')[-1]}")
    monkeypatch.setattr(cosines, "pair_cosines", lambda model, pairs, **_: [0.5] * len(pairs))
    return loaded


def diagnose(engine: Engine) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind="diagnose", parameters={}).id
    return execute(engine, load_settings(), run_id, {"diagnose": measuring.work})


def test_measuring_follows_when_the_active_encoder_is_changed_meanwhile(
    measured: Engine, encoders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(measured, "company/first")
    monkeypatch.setattr(cosines, "BLOCK", 5)

    def change(name: str) -> None:
        encoders.append(name)
        if name == "company/first":
            use(measured, "company/second")

    monkeypatch.setattr(measuring, "load_encoder", change)
    done = diagnose(measured)
    assert done == {"encoder": "company/second", "measured": 0, "cosines": 5 + 14}
    with writing(measured) as session:
        assert {hard > 0 for _, hard, _ in kept(session).values()} == {True}
        assert kept(session) == measured_again(session)


@one_database
def test_a_model_that_is_not_an_encoder_never_becomes_the_active_one(
    measured: Engine, tmp_path: Path
) -> None:
    folder = checkpoint("LlamaForCausalLM", tmp_path / "llama")
    with pytest.raises(HedgerowError, match="found LlamaForCausalLM"), writing(measured) as session:
        change_encoder(session, load_settings(), str(folder))
    with reading(measured) as session:
        assert get_setting(session, ACTIVE_ENCODER) == DEFAULT_ENCODER
        assert known_encoders(session) == [DEFAULT_ENCODER, TRAINED_ENCODER]


@one_database
def test_a_folder_that_holds_a_known_encoder_takes_its_name(
    measured: Engine, encoders: list[str], tmp_path: Path
) -> None:
    copy = model_folder(tmp_path / "all-MiniLM-L6-v2")
    use(measured, str(copy))
    diagnose(measured)
    with writing(measured) as session:
        assert get_setting(session, ACTIVE_ENCODER) == "all-MiniLM-L6-v2"
        assert kept(session) == measured_again(session)
    assert encoders == []  # nothing was missing, so nothing was loaded
