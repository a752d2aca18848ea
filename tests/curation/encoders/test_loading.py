"""Encoders: which folders, checkpoints and models of the hub are loaded, and how they are known."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curation.encoders import model_folders
from curation.encoders.checkpoint_kind import require_encoder, what_else
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, DEFAULT_PACKAGE, resolve_encoder
from db.errors import HedgerowError
from tests.support.checkout import ROOT
from tests.support.checkpoints import ENCODERS, checkpoint, packaged
from tests.training.conftest import tiny_encoder as tiny_encoder

MONOT5 = "castorini/monot5-base-msmarco"


def refusal(name: object) -> str:
    """The one sentence with which an encoder is refused."""
    with pytest.raises(HedgerowError) as refused:
        load_encoder(str(name), device="cpu")
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def model_copy(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A copy of a model's folder that a test may damage."""
    return Path(shutil.copytree(tiny_encoder, tmp_path / "copy"))


def test_a_folder_is_loaded_and_known_by_what_decides_the_embeddings(
    model_copy: Path, tiny_encoder: Path
) -> None:
    texts = ["No.", "Global warming is real."]
    copy, original = (load_encoder(str(name), device="cpu") for name in (model_copy, tiny_encoder))
    np.testing.assert_array_equal(encode_distinct(copy, texts), encode_distinct(original, texts))
    known = fingerprint(tiny_encoder)
    (model_copy / "README.md").write_text("another card", encoding="utf-8")
    assert fingerprint(model_copy) == known
    for name in ("model.safetensors", "1_Pooling/config.json", "modules.json", "tokenizer.json"):
        before = (model_copy / name).read_bytes()
        (model_copy / name).write_bytes(before + b"\n")
        assert fingerprint(model_copy) != known, name
        (model_copy / name).write_bytes(before)


def test_weights_other_than_the_known_ones_are_refused_as_the_default(
    model_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_folders, "_default_folder", lambda: model_copy)
    assert "SHA-256" in refusal(DEFAULT_ENCODER)


def test_pickles_and_damaged_weights_are_refused(model_copy: Path) -> None:
    weights, pickle = model_copy / "model.safetensors", model_copy / "pytorch_model.bin"
    (model_copy / "1_Pooling" / "pytorch_model.bin").write_bytes(b"anything")
    assert "pickle" in refusal(model_copy)
    (model_copy / "1_Pooling" / "pytorch_model.bin").unlink()
    weights.rename(pickle)
    assert "safetensors" in refusal(model_copy)
    with pytest.raises(HedgerowError, match="safetensors"):
        fingerprint(model_copy)
    pickle.unlink()
    weights.write_bytes(b"not weights")
    assert str(model_copy) in refusal(model_copy)


def test_code_in_a_model_folder_is_not_run(model_copy: Path) -> None:
    modules, flag = json.loads((model_copy / "modules.json").read_text()), model_copy / "ran"
    modules[0]["type"] = "evil.Transformer"
    (model_copy / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (model_copy / "evil.py").write_text(f"open({str(flag)!r}, 'w')", encoding="utf-8")
    assert str(model_copy) in refusal(model_copy)
    assert not flag.exists()


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("", "empty"),
        ("/no/such/folder", "/no/such/folder"),
        ("./nowhere", "./nowhere"),
        ("owner/never-downloaded", "cannot be reached"),
        ("not a name?", "neither"),
        ("x" * 5000, "neither"),
    ],
)
def test_a_missing_encoder_gives_one_sentence(name: str, fact: str) -> None:
    assert fact in refusal(name)


def test_names_resolve_to_package_folder_or_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / DEFAULT_ENCODER).mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    default = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(default, Path) and DEFAULT_PACKAGE in default.parts
    assert resolve_encoder(str(tmp_path)) == tmp_path
    assert resolve_encoder("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert resolve_encoder("owner/model") == "owner/model"
    with pytest.raises(HedgerowError, match="folder"):
        resolve_encoder(str(tmp_path / "file"))


def test_importing_the_modules_leaves_torch_alone() -> None:
    modules = "curation.encoders.embeddings, curation.encoders.loading"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment) == b"False\n"


# -- kinds of checkpoints -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["T5ForConditionalGeneration", "DPRQuestionEncoder"])
def test_a_checkpoint_that_is_not_an_encoder_is_refused(architecture: str, tmp_path: Path) -> None:
    folder = checkpoint(architecture, tmp_path)
    assert f" in {str(folder)!r}, found {architecture}: " in refusal(folder)
    with pytest.raises(HedgerowError, match=architecture):
        check_encoder(str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ENCODERS)
def test_a_bare_encoder_is_taken(architecture: str, tmp_path: Path) -> None:
    folder = checkpoint(architecture, tmp_path)
    check_encoder(str(folder))
    assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.slow
def test_a_sentence_transformers_folder_is_an_encoder_whatever_its_architecture(
    tmp_path: Path,
) -> None:
    folder = packaged("T5EncoderModel", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    for architecture in ("T5EncoderModel", "Qwen2ForCausalLM"):
        (folder / "config.json").write_text(json.dumps(config | {"architectures": [architecture]}))
        check_encoder(str(folder))
        assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.parametrize("kind", ["CrossEncoder", "SparseEncoder", "MultiVectorEncoder"])
def test_another_class_of_sentence_transformers_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(HedgerowError, match=kind):
        require_encoder(tmp_path)


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ({"architectures": ["BertLMHeadModel"]}, True),
        ({"architectures": ["BertForTokenClassification"]}, True),
        ({"architectures": ["BertForSequenceClassification"]}, True),
        ({"architectures": ["WhisperForAudioClassification"]}, True),
        ({"architectures": ["LlamaForCausalLM"]}, True),
        ({"architectures": ["DPRContextEncoder"]}, True),
        ({"architectures": ["HF_ColBERT"]}, True),
        ({"architectures": ["BartModel"], "is_encoder_decoder": True}, True),
        ({"architectures": ["T5Model"], "is_encoder_decoder": True}, True),
        ({"architectures": ["T5EncoderModel"], "is_encoder_decoder": True}, False),
        ({"architectures": ["LongformerModel"]}, False),
        ({"architectures": ["BertForPreTraining"]}, False),
        ({"architectures": ["XLMWithLMHeadModel"]}, False),
        ({"architectures": "BertModel"}, False),
        ({"architectures": [None]}, False),
        ({}, False),
        (None, False),
    ],
)
def test_the_architecture_in_the_configuration_decides(config: Any, refused: bool) -> None:
    assert bool(what_else(config)) is refused


def test_a_model_of_the_hub_is_looked_up_there_unless_it_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_encoder(MONOT5)  # loading it will decide
    files = ["config.json", "model.safetensors"]

    def model_info(self: object, name: str, **options: object) -> SimpleNamespace:
        assert name == MONOT5
        siblings = [SimpleNamespace(rfilename=file) for file in files]
        config = {"architectures": ["T5ForConditionalGeneration"]}
        return SimpleNamespace(config=config, siblings=siblings)

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    with pytest.raises(HedgerowError, match="T5ForConditionalGeneration"):
        check_encoder(MONOT5)
    files.append("modules.json")
    check_encoder(MONOT5)
