"""Encoders: where they come from, what is refused, and embeddings of distinct texts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from curation import encoders
from curation.encoders import (
    DEFAULT_ENCODER,
    encode_distinct,
    fingerprint,
    load_encoder,
    pair_cosines,
    resolve_encoder,
)
from db.errors import HedgerowError

TEXTS = [
    "Global warming is real.",
    "Global warming is a hoax.",
    "The bridesmaids are smiling at the photographer, who has forgotten to take off the lens cap.",
    "No.",
    "Global warming is real.",
]


@pytest.fixture(scope="module")
def minilm():
    return load_encoder(DEFAULT_ENCODER, device="cpu")


class CountingEncoder:
    """The real model, noting each call of encode."""

    def __init__(self, model) -> None:
        self._model = model
        self.batches: list[list[str]] = []

    def __getattr__(self, name: str):
        return getattr(self._model, name)

    def encode(self, texts: list[str], **options):
        self.batches.append(list(texts))
        return self._model.encode(texts, **options)


@pytest.fixture
def counting(minilm) -> CountingEncoder:
    return CountingEncoder(minilm)


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A copy of the default model's folder that a test may damage."""
    folder = tmp_path / "copy"
    shutil.copytree(resolve_encoder(DEFAULT_ENCODER), folder)
    return folder


def test_known_cosine_of_the_papers_pair(minilm):
    """The value measured for this model in the reference tables (Figure 1)."""
    (cosine,) = pair_cosines(minilm, [("Global warming is real.", "Global warming is a hoax.")])
    assert cosine == pytest.approx(0.872, abs=0.001)


def test_embeddings_are_unit_length_and_equal_the_models_own(minilm):
    embeddings = encode_distinct(minilm, TEXTS)
    expected = minilm.encode(TEXTS, batch_size=1, normalize_embeddings=True)
    assert embeddings.shape == (5, 384)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(embeddings, expected, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_a_texts_embedding_does_not_depend_on_its_company(minilm, batch_size):
    alone = np.vstack([encode_distinct(minilm, [text]) for text in TEXTS])
    backwards = encode_distinct(minilm, TEXTS[::-1], batch_size=batch_size)[::-1]
    np.testing.assert_allclose(backwards, alone, atol=1e-5)


def test_each_distinct_text_is_encoded_once_and_longest_first(counting):
    pairs = [(TEXTS[0], text) for text in TEXTS] * 3
    pair_cosines(counting, pairs, batch_size=2)
    encoded = [text for batch in counting.batches for text in batch]
    assert sorted(encoded) == sorted(set(TEXTS))
    assert [len(batch) for batch in counting.batches] == [2, 2]
    assert encoded[0] == max(TEXTS, key=len) and encoded[-1] == min(TEXTS, key=len)


def test_progress_counts_distinct_texts(minilm):
    seen: list[tuple[int, int]] = []
    encode_distinct(
        minilm, TEXTS, batch_size=2, on_progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(0, 4), (2, 4), (4, 4)]


def test_a_raising_progress_callback_stops_the_encoding(counting):
    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_distinct(counting, TEXTS, batch_size=1, on_progress=stop)
    assert len(counting.batches) == 1


def test_cosines_come_in_the_order_of_the_pairs_and_in_chunks(minilm, monkeypatch):
    monkeypatch.setattr(encoders, "COSINE_CHUNK", 2)
    pairs = [(TEXTS[i], TEXTS[j]) for i in range(5) for j in range(5)]
    embeddings = encode_distinct(minilm, TEXTS)
    cosines = pair_cosines(minilm, pairs)
    np.testing.assert_allclose(cosines.reshape(5, 5), embeddings @ embeddings.T, atol=1e-5)
    assert cosines.max() <= 1.0


def test_nothing_to_encode_gives_empty_arrays(minilm):
    assert encode_distinct(minilm, []).shape == (0, 384)
    assert pair_cosines(minilm, []).shape == (0,)


def test_not_finite_embeddings_are_refused(model_copy):
    import torch

    broken = load_encoder(str(model_copy), device="cpu")
    with torch.no_grad():
        broken[0].auto_model.embeddings.LayerNorm.bias.fill_(float("nan"))
    with pytest.raises(HedgerowError, match="not finite"):
        encode_distinct(broken, TEXTS)


def test_a_folder_is_loaded_and_has_the_same_fingerprint(model_copy, minilm):
    copy = load_encoder(str(model_copy), device="cpu")
    np.testing.assert_array_equal(encode_distinct(copy, TEXTS), encode_distinct(minilm, TEXTS))
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
    monkeypatch.setattr(encoders, "_default_folder", lambda: model_copy)
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
        ("owner/never-downloaded", "can't be reached"),
        ("not a name?", "neither a folder"),
        ("x" * 5000, "neither a folder"),
    ],
)
def test_a_missing_encoder_is_told_in_one_sentence(name, sentence):
    with pytest.raises(HedgerowError, match=sentence) as caught:
        load_encoder(name)
    assert "\n" not in str(caught.value)


def test_a_file_is_not_a_model(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    with pytest.raises(HedgerowError, match="name its folder"):
        resolve_encoder(str(file))


def test_names_resolve_to_package_folder_or_hub(tmp_path, monkeypatch):
    (tmp_path / DEFAULT_ENCODER).mkdir()
    monkeypatch.chdir(tmp_path)
    default = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(default, Path) and encoders.DEFAULT_PACKAGE in default.parts
    assert resolve_encoder(str(tmp_path)) == tmp_path
    assert resolve_encoder("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert resolve_encoder("owner/model") == "owner/model"


def test_importing_the_module_leaves_torch_alone():
    import subprocess
    import sys

    code = "import sys, curation.encoders; print('torch' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(encoders.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "False"
