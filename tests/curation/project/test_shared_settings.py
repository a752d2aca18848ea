"""Opening a project, and changing its settings: their effect on every variant."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub.errors import OfflineModeIsEnabled
from sqlalchemy import Engine, select
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics import cosines, measuring, queue_order
from curation.diagnostics.cosines import save_cosines
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from curation.encoders.registered import encoder_source, known_encoders, register_encoder
from curation.overview.project_settings import (
    change_encoder,
    change_threshold,
    count_over_threshold,
)
from curation.project.settings import ACTIVE_ENCODER, THRESHOLD, active_encoder_id, get_setting
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Work, execute
from db.models import Anchor, Diagnostic, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_family, add_variant

OPEN = """
from curation.overview.project_settings import open_project
from db.settings import load_settings
open_project(load_settings()).dispose()
"""
ANCHORS = ["The bridge is safe.", "The old bridge by the mill is safe for lorries."]


@pytest.mark.slow
@both_databases
def test_processes_that_open_a_new_project_at_once_all_find_it_made(
    url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url.render_as_string(hide_password=False))
    command = [sys.executable, "-c", OPEN]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in started]
    assert ended == [("", 0)] * 2


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


Kept = dict[int, tuple[int, float, float]]


def kept(session: Session) -> Kept:
    """(flags, hardness, suspicion) of every variant."""
    rows = session.execute(
        select(Diagnostic, Variant).join(Variant, col(Variant.id) == Diagnostic.variant_id)
    )
    return {d.variant_id: (d.flags, v.hardness, v.suspicion) for d, v in rows}


def now_kept(engine: Engine) -> Kept:
    """The same, after a check that it is the result of measuring with the current settings."""
    with writing(engine) as session:
        before = kept(session)
        measure_variants(session, list(before))
        session.expire_all()
        assert kept(session) == before
    return before


def work(engine: Engine, kind: str, worker: Work) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind=kind, parameters={}).id
    return execute(engine, load_settings(), run_id, {kind: worker})


def reorder(engine: Engine) -> object:
    return work(engine, queue_order.KIND, queue_order.work)["variants"]


def count_above(session: Session, value: int) -> int:
    return sum(d > value for d in session.execute(select(col(Diagnostic.levenshtein))).scalars())


@pytest.mark.slow
@both_databases
def test_a_new_threshold_flags_and_orders_every_variant(measured: Engine) -> None:
    with writing(measured) as session:
        before, above = kept(session), count_above(session, 5)
        assert not change_threshold(session, 60)  # the same
        assert queue_order.count_to_reorder(session) == 0
        assert count_over_threshold(session, 5) == (0, above) and change_threshold(session, 5)
        assert queue_order.count_to_reorder(session) == 14
    assert reorder(measured) == 14
    after = now_kept(measured)
    over = [key for key, (flags, _, _) in after.items() if Flag.OVER_THRESHOLD & flags]
    assert len(over) == above > 0 and after != before
    assert all(after[key][1] == 0 for key in over) and reorder(measured) == 0


@both_databases
def test_free_form_types_and_retired_variants_are_not_above_the_threshold(
    measured: Engine,
) -> None:
    with writing(measured) as session:
        before, above = count_over_threshold(session, 5).then, count_above(session, 5)
        text = "Nobody needs to fear for lorries."
        far = add_variant(session, session.get_one(Anchor, 1), "affirmation", text)
        measure_variants(session, [far.id])
        assert count_above(session, 5) == above + 1
        assert count_over_threshold(session, 5).then == before
        query = select(col(Diagnostic.variant_id)).where(col(Diagnostic.levenshtein) > 5)
        session.get_one(Variant, min(session.execute(query).scalars())).retired = True
        session.flush()
        assert count_over_threshold(session, 5).then == before - 1


@pytest.mark.parametrize("value", [0, -3, 10_001])
def test_a_threshold_out_of_range_is_refused(session: Session, value: int) -> None:
    with pytest.raises(HedgerowError, match="1 to 10,000"):
        change_threshold(session, value)
    assert get_setting(session, THRESHOLD) == 60


@pytest.mark.parametrize(("meanwhile", "left"), [(5, 10), (12, 14)])
def test_a_reorder_that_was_interrupted_goes_on_or_starts_again_after_a_change(
    measured: Engine, monkeypatch: pytest.MonkeyPatch, meanwhile: int, left: int
) -> None:
    monkeypatch.setattr(queue_order, "BLOCK", 4)
    with writing(measured) as session:
        change_threshold(session, 5)
    assert queue_order.reorder_block(measured) == 4
    with writing(measured) as session:
        change_threshold(session, meanwhile)
        assert queue_order.count_to_reorder(session) == left
    assert reorder(measured) == left
    now_kept(measured)


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


def change(session: Session, typed: str) -> bool:
    return change_encoder(session, load_settings(), typed)


def use(engine: Engine, typed: str) -> bool:
    with writing(engine) as session:
        return change(session, typed)


@both_databases
def test_another_encoder_orders_by_its_own_cosines(measured: Engine) -> None:
    with writing(measured) as session:
        before = kept(session)
        add_cosines(session, "company/other", scale=0.01)
        assert kept(session) == before  # another encoder's measurements do not reorder
    assert use(measured, "company/other")
    reorder(measured)
    after = now_kept(measured)
    assert all(after[key][1] < before[key][1] and after[key][2] > before[key][2] for key in before)
    assert use(measured, "all-MiniLM-L6-v2")
    reorder(measured)
    assert now_kept(measured) == before
    # Without cosines, hardness is open.
    use(measured, "company/unheard-of")
    reorder(measured)
    with reading(measured) as session:
        assert {hard for _, hard, _ in kept(session).values()} == {0.0}
        assert active_encoder_id(session) is None


@pytest.mark.parametrize(
    "typed",
    ["", "  ", "/no/such/folder", "./none", "x" * 301, "~/nothing", "nope/none", "./empty"],
)
def test_a_name_that_cannot_be_an_encoder_is_refused(session: Session, typed: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(HedgerowError):
        change(session, typed)
    assert get_setting(session, ACTIVE_ENCODER) == "all-MiniLM-L6-v2"


def test_a_trained_encoder_is_known_by_its_name_and_by_its_folder(engine: Engine) -> None:
    settings, name = load_settings(), "run 1: mine"
    folder = model_folder(settings.data_folder / "runs/1/model")
    with writing(engine) as session:
        register_encoder(session, name=name, hash_="e" * 64).path = "runs/1/model"
    changed = [use(engine, typed) for typed in (name, str(folder), "all-MiniLM-L6-v2", str(folder))]
    assert changed == [True, False, True, True]
    with reading(engine) as session:
        assert get_setting(session, ACTIVE_ENCODER) == name
        assert encoder_source(session, settings, name) == str(folder)
        assert known_encoders(session)[:2] == [name, "all-MiniLM-L6-v2"]


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces real encoders and records what was loaded, in order. Every cosine is one half."""
    loaded: list[str] = []
    monkeypatch.setattr(measuring, "load_encoder", loaded.append)
    monkeypatch.setattr(measuring, "fingerprint", lambda name: f"hash of {name.split('/')[-1]}")
    monkeypatch.setattr(
        "curation.encoders.embeddings.pair_cosines", lambda model, pairs, **_: [0.5] * len(pairs)
    )
    return loaded


def test_measuring_follows_when_the_active_encoder_is_changed_meanwhile(
    measured: Engine, encoders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(measured, "company/first")
    monkeypatch.setattr(cosines, "BLOCK", 5)

    def change(name: str) -> None:
        if name == "company/first":
            use(measured, "company/second")

    monkeypatch.setattr(measuring, "load_encoder", change)
    done = work(measured, "diagnose", measuring.work)
    assert done == {"encoder": "company/second", "measured": 0, "cosines": 5 + 14}
    assert {hard > 0 for _, hard, _ in now_kept(measured).values()} == {True}


def test_a_model_that_is_not_an_encoder_never_becomes_the_active_one(
    engine: Engine, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path / "llama")
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    with pytest.raises(HedgerowError, match="LlamaForCausalLM"):
        use(engine, str(folder))
    with reading(engine) as session:
        assert get_setting(session, ACTIVE_ENCODER) == DEFAULT_ENCODER
        assert known_encoders(session) == [DEFAULT_ENCODER, TRAINED_ENCODER]


def test_a_folder_that_holds_a_known_encoder_takes_its_name(
    measured: Engine, encoders: list[str], tmp_path: Path
) -> None:
    use(measured, str(model_folder(tmp_path / "all-MiniLM-L6-v2")))
    work(measured, "diagnose", measuring.work)
    with reading(measured) as session:
        assert get_setting(session, ACTIVE_ENCODER) == "all-MiniLM-L6-v2"
    now_kept(measured)
    assert encoders == []  # nothing was missing, so nothing was loaded
