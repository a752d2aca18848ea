"""Comparison runs: with each encoder, nothing is measured twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from curation.encoders.embeddings import pair_cosines
from curation.encoders.loading import fingerprint, load_encoder
from curation.encoders.model_folders import BUILT_IN, DEFAULT_ENCODER, TRAINED_ENCODER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Encoder, Run
from db.runs import list_runs
from db.settings import Settings
from tests.support.checkpoints import checkpoint
from tests.training.support.trainings import perform, read, write
from training.evaluation import similarity_run
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import (
    BUNDLED,
    FIGURE_1_SET,
    GROUPS_SET,
    add_to_set,
    create_set,
    open_set,
)
from training.evaluation.similarity import ProbePair
from training.evaluation.similarity_run import (
    COMPARE,
    Compare,
    sentence_matrix,
    set_cosines,
    store_bundled,
    work,
)
from training.models.known import (
    clean_name,
    encoder_choice,
    find_encoder,
    list_encoders,
    named_encoder,
    newest_trained,
)
from training.runs.kinds import kind_of

SENTENCES = ["The door is open.", "The door is shut.", "The door is not open."]


@pytest.fixture
def model(tiny_encoder: Path, tmp_path: Path) -> Path:
    """The test's own model folder."""
    return Path(shutil.copytree(tiny_encoder, tmp_path / "model"))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were loaded, in order."""
    loaded: list[str] = []
    load = similarity_run.load_encoder

    def load_encoder(name: str) -> object:
        loaded.append(name)
        return load(name)

    monkeypatch.setattr(similarity_run, "load_encoder", load_encoder)
    return loaded


def measure(engine: Engine, settings: Settings, *models: object, **what: object) -> dict[str, int]:
    run = perform(engine, COMPARE, Compare(models=tuple(map(str, models)), **what))
    result = execute(engine, settings, run.id, {similarity_run.KIND: work})
    assert kind_of(similarity_run.KIND).sum_up(result).startswith("Compared ")
    return result["measured"]


def cosines_of(engine: Engine, name: str, set_name: str) -> list[float] | None:
    with reading(engine) as session:
        encoder = find_encoder(session, name)
        return set_cosines(session, encoder, open_set(session, set_name).probes)


def test_sentences_typed_or_in_a_set_share_a_matrix_that_is_measured_once(
    engine: Engine, settings: Settings, model: Path, loads: list[str]
) -> None:
    write(engine, create_set, name="Doors", content=Pasted([], SENTENCES), author_id=None)
    assert measure(engine, settings, model, set_name="Doors") == {str(model): 3}
    with reading(engine) as session:
        encoder = find_encoder(session, str(model))
        matrix = sentence_matrix(session, settings, encoder, SENTENCES)
        assert sentence_matrix(session, settings, encoder, SENTENCES[::-1]) is None
    assert matrix is not None and matrix.shape == (3, 3)
    assert np.array_equal(matrix, matrix.T) and (np.diag(matrix) == 1.0).all()
    assert measure(engine, settings, model, sentences=SENTENCES) == {str(model): 0}
    assert loads == [str(model)]
    for file in settings.data_folder.glob("runs/*/cosines-*.npy"):
        file.write_bytes(file.read_bytes()[:90])
    assert read(engine, sentence_matrix, settings, encoder, SENTENCES) is None
    assert measure(engine, settings, model, sentences=SENTENCES) == {str(model): 3}


def test_pairs_added_later_are_measured_alone(
    engine: Engine, settings: Settings, model: Path
) -> None:
    pairs = [ProbePair(SENTENCES[0], text, "") for text in SENTENCES[1:]]
    write(engine, create_set, name="Doors", content=Pasted(pairs, []), author_id=None)
    measure(engine, settings, model, set_name="Doors")
    write(engine, add_to_set, "Doors", Pasted([ProbePair("A.", "B.", "")], []))
    assert cosines_of(engine, str(model), "Doors") is None
    assert measure(engine, settings, model, set_name="Doors") == {str(model): 1}
    found = cosines_of(engine, str(model), "Doors")
    assert found is not None and len(found) == 3


def test_a_model_saved_again_in_its_folder_is_another_one(
    engine: Engine, settings: Settings, model: Path
) -> None:
    measure(engine, settings, model, set_name=FIGURE_1_SET)
    assert cosines_of(engine, str(model), FIGURE_1_SET) is not None
    config = model / "config_sentence_transformers.json"
    config.write_text(config.read_text("utf-8").replace("{", "{ ", 1), encoding="utf-8")
    assert cosines_of(engine, str(model), FIGURE_1_SET) is None
    assert measure(engine, settings, model, set_name=FIGURE_1_SET) == {str(model): 3}


def add_trained(engine: Engine, settings: Settings, model: Path) -> str:
    folder = "runs/00007-train/model"
    shutil.copytree(model, settings.data_folder / folder)
    with writing(engine) as session:
        name = "run 7: tiny, release 1"
        session.add(Encoder(name="base", fingerprint="b" * 64))
        session.add(Encoder(name=name, fingerprint=fingerprint(model), path=folder))
    return name


def test_a_trained_model_is_found_by_its_name_and_its_folder_and_must_not_be_exchanged(
    engine: Engine, settings: Settings, model: Path
) -> None:
    name = add_trained(engine, settings, model)
    with reading(engine) as session:
        assert list_encoders(session) == [DEFAULT_ENCODER, name, TRAINED_ENCODER, "base"]
        assert newest_trained(session) == name
        assert find_encoder(session, name) == find_encoder(session, str(model))
    measure(engine, settings, name, set_name=FIGURE_1_SET)
    assert cosines_of(engine, str(model), FIGURE_1_SET) is not None
    folder = settings.data_folder / "runs/00007-train/model"
    (folder / "modules.json").write_text("[]", "utf-8")
    with pytest.raises(HedgerowError, match="not those of the model that was trained"):
        measure(engine, settings, name, set_name=GROUPS_SET)
    shutil.rmtree(folder)
    assert cosines_of(engine, name, FIGURE_1_SET) is not None
    with pytest.raises(HedgerowError, match="00007-train/model; put it back"):
        measure(engine, settings, name, set_name=GROUPS_SET)


def test_the_run_with_the_highest_number_trained_last_whichever_ended_first(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        runs = [Run(kind="train", parameters={}) for _ in range(2)]
        session.add_all(runs)
        session.flush()
        earlier, later = runs
        for run in (later, earlier):  # stored in the order in which they ended
            name = f"run {run.id}: tiny, release 1"
            session.add(
                Encoder(name=name, fingerprint=f"{run.id:064}", path=f"{run.id}", run_id=run.id)
            )
            session.flush()
        first, last = (f"run {run.id}: tiny, release 1" for run in (earlier, later))
    with reading(engine) as session:
        assert newest_trained(session) == encoder_choice(session).after == last
        assert list_encoders(session) == [DEFAULT_ENCODER, last, first, TRAINED_ENCODER]


def test_the_first_model_s_figures_stay_when_the_second_cannot_be_loaded(
    engine: Engine, settings: Settings, model: Path
) -> None:
    with pytest.raises(HedgerowError, match="such-a-model"):
        measure(engine, settings, model, "nobody/such-a-model", set_name=FIGURE_1_SET)
    assert cosines_of(engine, str(model), FIGURE_1_SET) is not None


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused_before_a_run_is_stored(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    no_encoder = checkpoint("T5ForConditionalGeneration", tmp_path / "t5")
    with writing(engine) as session:
        for name in ("", "/no/such/folder", __file__, str(tmp_path / "empty"), "a/" * 3):
            with pytest.raises(HedgerowError):
                clean_name(session, name)
    with pytest.raises(HedgerowError, match="T5Fo"):
        perform(engine, COMPARE, Compare(models=(str(no_encoder),), sentences=tuple(SENTENCES)))
    for sentences in ([], ["One."], ["One.", "One."], [f"{n}." for n in range(201)]):
        with pytest.raises(HedgerowError, match="2 to 200"):
            perform(engine, COMPARE, Compare(models=(DEFAULT_ENCODER,), sentences=tuple(sentences)))
    assert read(engine, list_runs) == []


@pytest.mark.slow
def test_the_cosines_that_come_with_hedgerow_are_those_of_the_bundled_encoders(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        store_bundled(session)
        store_bundled(session)  # changes nothing
    for name in BUILT_IN:
        model = load_encoder(name)
        for set_name, probes in BUNDLED.items():
            with reading(engine) as session:
                encoder = named_encoder(session, name).row
                known = set_cosines(session, encoder, open_set(session, set_name).probes)
            assert encoder is not None and encoder.fingerprint == fingerprint(name)
            found = pair_cosines(model, [probe[:2] for probe in probes])
            assert known == pytest.approx([float(cosine) for cosine in found], abs=1e-4)
