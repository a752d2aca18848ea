"""Adapters: merging into their base encoder, identity by files, and refusal if they don't fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from curation.encoders import model_folders
from curation.encoders.adapter_folders import ADAPTER_CONFIG, ADAPTER_WEIGHTS, DOWN, PREFIX, UP
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER, resolve_encoder
from db.errors import HedgerowError
from tests.training.conftest import tiny_encoder as tiny_encoder

LAYER = "encoder.layer.0.attention.self.query"
TEXTS = ["No.", "The door is open.", "The door is not open."]

Change = Callable[[Path], None]


@pytest.fixture
def adapter(tiny_encoder: Path, tmp_path: Path) -> Path:
    """An adapter of rank 2 for one layer of the tiny encoder, with a scale of one half."""
    folder = tmp_path / "adapter"
    folder.mkdir()
    torch.manual_seed(3)
    tensors = {
        f"{PREFIX}{LAYER}{DOWN}": torch.randn(2, 32),
        f"{PREFIX}{LAYER}{UP}": torch.ones(32, 2),
    }
    save_file(tensors, folder / ADAPTER_WEIGHTS)
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 1, "target_modules": [LAYER]}
    write(folder, config | {"base_model_name_or_path": str(tiny_encoder)})
    return folder


def write(folder: Path, config: dict[str, object]) -> None:
    (folder / ADAPTER_CONFIG).write_text(json.dumps(config), encoding="utf-8")


def configured(**values: object) -> Change:
    """Changes an adapter's configuration."""

    def change(folder: Path) -> None:
        write(folder, json.loads((folder / ADAPTER_CONFIG).read_text("utf-8")) | values)

    return change


def renamed(old: str, new: str) -> Change:
    """Changes the names of an adapter's weights."""

    def change(folder: Path) -> None:
        tensors = load_file(folder / ADAPTER_WEIGHTS)
        save_file({k.replace(old, new): v for k, v in tensors.items()}, folder / ADAPTER_WEIGHTS)

    return change


def damaged(folder: Path) -> None:
    (folder / ADAPTER_WEIGHTS).write_bytes(b"damaged")


def pickled(folder: Path) -> None:
    (folder / ADAPTER_WEIGHTS).rename(folder / "adapter_model.bin")


def test_an_adapter_is_added_to_the_weights_of_its_base(adapter: Path, tiny_encoder: Path) -> None:
    tensors = load_file(adapter / ADAPTER_WEIGHTS)
    change = tensors[f"{PREFIX}{LAYER}{UP}"] @ tensors[f"{PREFIX}{LAYER}{DOWN}"] / 2
    base = load_encoder(str(tiny_encoder), device="cpu").state_dict()
    merged = load_encoder(str(adapter), device="cpu").state_dict()
    assert merged.keys() == base.keys()
    for name, value in merged.items():
        expected = base[name] + change if LAYER in name and "weight" in name else base[name]
        assert torch.allclose(value, expected, atol=1e-6), name


def test_an_adapters_hash_depends_on_its_files_and_its_base(
    adapter: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    known = fingerprint(adapter)
    assert known not in ("", fingerprint(tiny_encoder))
    (adapter / "README.md").write_text("a card", encoding="utf-8")
    assert fingerprint(adapter) == known
    configured(lora_alpha=2)(adapter)
    assert fingerprint(adapter) != known
    shutil.copytree(tiny_encoder, tmp_path / "base")
    configured(lora_alpha=1, base_model_name_or_path=str(tmp_path / "base"))(adapter)
    of_a_copy = fingerprint(adapter)
    (tmp_path / "base" / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert fingerprint(adapter) != of_a_copy


REFUSED = {
    "scaled by rank": (configured(use_rslora=True), "without extensions"),
    "other ranks": (configured(rank_pattern={LAYER: 1}), "without extensions"),
    "other method": (configured(peft_type="IA3"), "without extensions"),
    "no rank": (configured(r=0), "without extensions"),
    "other weights": (renamed(UP, ".lora_magnitude_vector"), "without extensions"),
    "no such layer": (renamed("layer.0", "layer.9"), "does not fit its base"),
    "other size": (configured(base_model_name_or_path=DEFAULT_ENCODER), "does not fit its base"),
    "of an adapter": (configured(base_model_name_or_path=TRAINED_ENCODER), "another adapter"),
    "no base": (configured(base_model_name_or_path=None), "name of a base encoder"),
    "base gone": (configured(base_model_name_or_path="/no/such/folder"), "no model folder"),
    "damaged": (damaged, "Could not read the adapter's weights"),
    "pickle": (pickled, "safetensors"),
}


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED)
def test_an_adapter_that_cannot_be_merged_is_refused_with_one_sentence(
    adapter: Path, change: Change, sentence: str
) -> None:
    change(adapter)
    with pytest.raises(HedgerowError, match=sentence) as caught:
        load_encoder(str(adapter))
    assert "\n" not in str(caught.value)


def test_an_adapter_of_another_model_is_refused_before_it_is_loaded(
    adapter: Path, tmp_path: Path
) -> None:
    check_encoder(str(adapter), must_exist=True)
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    configured(base_model_name_or_path=str(tmp_path))(adapter)
    with pytest.raises(HedgerowError, match="causal language model"):
        check_encoder(str(adapter))


def test_the_bundled_encoder_is_the_default_one_with_other_weights() -> None:
    bundled, default = (
        load_encoder(name, device="cpu") for name in (TRAINED_ENCODER, DEFAULT_ENCODER)
    )
    assert bundled.get_embedding_dimension() == default.get_embedding_dimension() == 384
    assert bundled.max_seq_length == default.max_seq_length
    rows = encode_distinct(bundled, TEXTS)
    assert np.abs(rows - encode_distinct(default, TEXTS)).max() > 0.01
    assert fingerprint(TRAINED_ENCODER) != fingerprint(DEFAULT_ENCODER)


def test_the_bundled_encoder_moves_a_negation_away_and_keeps_a_hedge() -> None:
    pairs = [(TEXTS[1], TEXTS[2]), (TEXTS[1], "The door is probably open.")]
    before, after = (
        pair_cosines(load_encoder(name), pairs) for name in (DEFAULT_ENCODER, TRAINED_ENCODER)
    )
    assert after[0] < after[1]
    assert after[0] - after[1] < before[0] - before[1]


def test_the_bundled_adapter_is_small() -> None:
    folder = resolve_encoder(TRAINED_ENCODER)
    assert isinstance(folder, Path)
    assert (folder / ADAPTER_WEIGHTS).stat().st_size <= 5_000_000
    assert not [path for path in folder.iterdir() if path.suffix in (".bin", ".pt", ".py")]


def test_other_weights_than_the_known_ones_are_refused_as_the_bundled_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(resolve_encoder(TRAINED_ENCODER), tmp_path / "copy")
    monkeypatch.setattr(model_folders, "_TRAINED_FOLDER", folder)
    load_encoder(TRAINED_ENCODER)
    with (folder / ADAPTER_WEIGHTS).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    with pytest.raises(HedgerowError, match="SHA-256.*reinstall the package hedgerow"):
        load_encoder(TRAINED_ENCODER)
