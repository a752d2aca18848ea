"""Encoders: what is loaded, what is refused, and what identifies an encoder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from curation.encoders import loading, model_folders
from curation.encoders.embeddings import encode_distinct
from curation.encoders.loading import fingerprint, load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, resolve_encoder
from db.errors import HedgerowError


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A copy of the default model's folder that a test may damage."""
    folder = tmp_path / "copy"
    shutil.copytree(resolve_encoder(DEFAULT_ENCODER), folder)
    return folder


def test_a_folder_is_loaded_and_has_the_same_fingerprint(model_copy):
    copy = load_encoder(str(model_copy), device="cpu")
    texts = ["No.", "Global warming is real."]
    default = load_encoder(DEFAULT_ENCODER, device="cpu")
    np.testing.assert_array_equal(encode_distinct(copy, texts), encode_distinct(default, texts))
    assert fingerprint(model_copy) == fingerprint(DEFAULT_ENCODER)


@pytest.mark.parametrize(
    "changed", ["model.safetensors", "1_Pooling/config.json", "modules.json", "vocab.txt"]
)
def test_fingerprint_changes_with_what_decides_the_embeddings(model_copy, changed):
    before = fingerprint(model_copy)
    with (model_copy / changed).open("ab") as file:
        file.write(b"\n")
    assert fingerprint(model_copy) != before


def test_fingerprint_ignores_the_model_card(model_copy):
    before = fingerprint(model_copy)
    (model_copy / "README.md").write_text("another card", encoding="utf-8")
    assert fingerprint(model_copy) == before


def test_weights_other_than_the_known_ones_are_refused_as_the_default(model_copy, monkeypatch):
    with (model_copy / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x01")
    monkeypatch.setattr(model_folders, "_default_folder", lambda: model_copy)
    with pytest.raises(HedgerowError, match="SHA-256.*reinstall"):
        load_encoder(DEFAULT_ENCODER)


def test_a_pickle_is_refused(model_copy):
    (model_copy / "model.safetensors").rename(model_copy / "pytorch_model.bin")
    with pytest.raises(HedgerowError, match="safetensors"):
        load_encoder(str(model_copy))
    with pytest.raises(HedgerowError, match="safetensors"):
        fingerprint(model_copy)


def test_a_pickle_in_a_later_module_is_refused(model_copy):
    (model_copy / "1_Pooling" / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(HedgerowError, match="pickle"):
        load_encoder(str(model_copy))


def test_code_in_a_model_folder_is_not_run(model_copy):
    modules = model_copy / "modules.json"
    listing = modules.read_text(encoding="utf-8")
    modules.write_text(
        listing.replace("sentence_transformers.models.Transformer", "evil.Transformer"),
        encoding="utf-8",
    )
    flag = model_copy / "ran"
    (model_copy / "evil.py").write_text(f"open({str(flag)!r}, 'w')", encoding="utf-8")
    with pytest.raises(HedgerowError, match="Could not load"):
        load_encoder(str(model_copy))
    assert not flag.exists()


def test_damaged_weights_give_one_sentence(model_copy):
    (model_copy / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(HedgerowError, match="Could not load the encoder") as caught:
        load_encoder(str(model_copy))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "empty"),
        ("/no/such/folder", "no model folder"),
        ("./nowhere", "no model folder"),
        ("owner/never-downloaded", "cannot be reached"),
        ("not a name?", "neither a local folder"),
        ("x" * 5000, "neither a local folder"),
    ],
)
def test_a_missing_encoder_gives_one_sentence(name, sentence):
    with pytest.raises(HedgerowError, match=sentence) as caught:
        load_encoder(name)
    assert "\n" not in str(caught.value)


def test_importing_the_modules_leaves_torch_alone():
    import subprocess
    import sys

    modules = "curation.encoders.embeddings, curation.encoders.loading"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(loading.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "False"
