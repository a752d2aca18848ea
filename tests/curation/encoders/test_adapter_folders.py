"""Adapters: merging into their base encoder, identity by files, and refusal if they don't fit."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.encoders import model_folders
from curation.encoders.adapter_folders import ADAPTER_CONFIG, ADAPTER_WEIGHTS, DOWN, PREFIX, UP
from curation.encoders.embeddings import encode_distinct, pair_cosines
from curation.encoders.loading import check_encoder, fingerprint, load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER, resolve_encoder
from db.errors import HedgerowError
from tests.training.conftest import tiny_encoder as tiny_encoder

LAYER = "encoder.layer.0.attention.self.query"
TEXTS = ["No.", "The door is open.", "The door is not open."]


@pytest.fixture
def adapter(tiny_encoder: Path, tmp_path: Path) -> Path:
    """An adapter of rank 2 for one layer of the tiny encoder, with a scale of one half."""
    import torch
    from safetensors.torch import save_file

    folder = tmp_path / "adapter"
    folder.mkdir()
    torch.manual_seed(3)
    names = f"{PREFIX}{LAYER}{DOWN}", f"{PREFIX}{LAYER}{UP}"
    tensors = dict(zip(names, (torch.randn(2, 32), torch.ones(32, 2)), strict=True))
    save_file(tensors, folder / ADAPTER_WEIGHTS)
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 1, "target_modules": [LAYER]}
    configure(folder, **config, base_model_name_or_path=str(tiny_encoder))
    return folder


def configure(folder: Path, **values: Any) -> None:
    """Change an adapter's configuration."""
    path = folder / ADAPTER_CONFIG
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(known | values), encoding="utf-8")


def rename(folder: Path, old: str, new: str) -> None:
    """Change the names of an adapter's weights."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / ADAPTER_WEIGHTS)
    save_file({k.replace(old, new): v for k, v in tensors.items()}, folder / ADAPTER_WEIGHTS)


def test_an_adapter_is_added_to_the_weights_of_its_base(adapter: Path, tiny_encoder: Path) -> None:
    import torch
    from safetensors.torch import load_file

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
    configure(adapter, lora_alpha=2)
    assert fingerprint(adapter) != known
    base = shutil.copytree(tiny_encoder, tmp_path / "base")
    configure(adapter, lora_alpha=1, base_model_name_or_path=str(base))
    of_a_copy = fingerprint(adapter)
    (base / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert fingerprint(adapter) != of_a_copy


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        ({"use_rslora": True}, "without extensions"),
        ({"rank_pattern": {LAYER: 1}}, "without extensions"),
        ({"peft_type": "IA3"}, "without extensions"),
        ({"r": 0}, "without extensions"),
        ({"base_model_name_or_path": DEFAULT_ENCODER}, "does not fit its base"),
        ({"base_model_name_or_path": TRAINED_ENCODER}, "another adapter"),
        ({"base_model_name_or_path": None}, "base encoder"),
        ({"base_model_name_or_path": "/no/such/folder"}, "/no/such/folder"),
        ((UP, ".lora_magnitude_vector"), "without extensions"),
        (("layer.0", "layer.9"), "does not fit its base"),
        ("damaged", "weights"),
        ("pickle", "safetensors"),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_refused_with_one_sentence(
    adapter: Path, values: Any, fact: str
) -> None:
    weights = adapter / ADAPTER_WEIGHTS
    if isinstance(values, dict):
        configure(adapter, **values)
    elif isinstance(values, tuple):
        rename(adapter, *values)
    elif values == "damaged":
        weights.write_bytes(b"damaged")
    else:
        weights.rename(adapter / "adapter_model.bin")
    with pytest.raises(HedgerowError, match=fact) as caught:
        load_encoder(str(adapter))
    assert "\n" not in str(caught.value)


def test_an_adapter_of_another_model_is_refused_before_it_is_loaded(
    adapter: Path, tmp_path: Path
) -> None:
    check_encoder(str(adapter), must_exist=True)
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    configure(adapter, base_model_name_or_path=str(tmp_path))
    with pytest.raises(HedgerowError, match="LlamaForCausalLM"):
        check_encoder(str(adapter))


@pytest.mark.slow
def test_the_bundled_encoder_moves_a_negation_away_and_keeps_a_hedge() -> None:
    names = DEFAULT_ENCODER, TRAINED_ENCODER
    default, bundled = (load_encoder(name, device="cpu") for name in names)
    assert bundled.get_embedding_dimension() == default.get_embedding_dimension() == 384
    assert bundled.max_seq_length == default.max_seq_length
    assert np.abs(encode_distinct(bundled, TEXTS) - encode_distinct(default, TEXTS)).max() > 0.01
    assert fingerprint(TRAINED_ENCODER) != fingerprint(DEFAULT_ENCODER)
    pairs = [(TEXTS[1], TEXTS[2]), (TEXTS[1], "The door is probably open.")]
    before, after = (pair_cosines(encoder, pairs) for encoder in (default, bundled))
    assert after[0] < after[1] and after[0] - after[1] < before[0] - before[1]


def test_the_bundled_adapter_is_small_and_other_weights_are_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(resolve_encoder(TRAINED_ENCODER), tmp_path / "copy")
    weights = folder / ADAPTER_WEIGHTS
    assert weights.stat().st_size <= 5_000_000
    assert not [path for path in folder.iterdir() if path.suffix in (".bin", ".pt", ".py")]
    monkeypatch.setattr(model_folders, "_TRAINED_FOLDER", folder)
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(HedgerowError, match="SHA-256"):
        load_encoder(TRAINED_ENCODER)
