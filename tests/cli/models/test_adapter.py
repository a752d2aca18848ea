"""`hedgerow adapter`: its output, and that the written adapter can be measured immediately."""

from pathlib import Path

import pytest
import torch

from curation.encoders.adapter_folders import ADAPTER_WEIGHTS
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from tests.cli.support.commands import ask, complaint, show


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """The built-in encoder with two changed weights, like after training."""
    model = load_encoder(DEFAULT_ENCODER, device="cpu")
    layer = model[0].model.encoder.layer[0].output
    with torch.no_grad():
        layer.dense.weight[0, 0] += 3.0
        layer.dense.bias[0] += 4.0
    model.save_pretrained(str(tmp_path / "trained"), create_model_card=False)
    return tmp_path / "trained"


@pytest.mark.slow
def test_an_adapter_of_a_folder_needs_no_project_and_is_a_model(trained: Path, home: Path) -> None:
    answer = ask("adapter", "out", "--model", str(trained))
    assert answer["folder"] == str(home / "out")
    assert answer["size"] == (home / "out" / ADAPTER_WEIGHTS).stat().st_size <= 5_000_000
    assert answer["layers"] == 1
    assert answer["share"] == pytest.approx(9 / 25, abs=1e-3)
    assert answer["share_of_layers"] == pytest.approx(1, abs=1e-3)
    measured = ask("similarity", "--model", "out", "--before", str(trained))
    assert measured["model"] == str(home / "out")
    output = show("adapter", "second", "--model", str(trained), "--rank", "1")
    assert "At rank 1 it contains 36.0% of the change of all weights" in output
    assert "already exists" in complaint("adapter", "out", "--model", str(trained))


def test_wrong_usage_is_explained_in_a_sentence(opened_home: Path) -> None:
    assert "There is no run 5" in complaint("adapter", "out", "--model", "5")
    assert "no model folder './nowhere'" in complaint("adapter", "out", "--model", "./nowhere")
    assert "run's number or a model folder" in complaint("adapter", "out", "--model", "ada/encoder")


def test_the_bundled_encoder_is_measured_by_its_name(home: Path) -> None:
    (home / TRAINED_ENCODER).mkdir()  # it does not mean a folder with this name
    answer = ask("similarity", "--model", TRAINED_ENCODER, "--before", DEFAULT_ENCODER)
    assert (answer["model"], answer["before"]) == (TRAINED_ENCODER, DEFAULT_ENCODER)
    contradicted, weakened, affirmed = (
        {row["series"]: row["cosine"] for row in answer["similarities"] if row["label"] == label}
        for label in ("contradicted", "weakened", "affirmed")
    )
    fall, *others = (pair["before"] - pair["after"] for pair in (contradicted, weakened, affirmed))
    assert fall > 0.1 and fall > 2 * max(others)
