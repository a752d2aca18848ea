"""Models that a finetuning run can start from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from db.errors import HedgerowError
from tests.support.checkpoints import checkpoint
from training.llm.base import (
    check_base,
    clean_base,
    has_chat_template,
    load_base,
    require_causal,
    require_four_bit,
)


def test_a_causal_model_is_known_by_its_files(small_llama: Path, without_template: Path) -> None:
    require_causal(small_llama)
    assert clean_base(f" {small_llama} ") == str(small_llama.resolve())
    assert clean_base("gpt2") == "gpt2", "a name on the hub may have no owner"
    assert has_chat_template(small_llama) and not has_chat_template(without_template)


def test_an_older_tokenizer_has_its_template_in_its_configuration(
    without_template: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "older"
    shutil.copytree(without_template, folder)
    place = folder / "tokenizer_config.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"chat_template": "{{ x }}"}))
    assert has_chat_template(folder)


@pytest.mark.parametrize("architecture", ["BertForMaskedLM", "T5ForConditionalGeneration"])
def test_another_kind_of_model_is_refused(tmp_path: Path, architecture: str) -> None:
    folder = checkpoint(architecture, tmp_path / "model")
    with pytest.raises(HedgerowError, match=f"Expected a causal .* found {architecture}"):
        clean_base(str(folder))


def test_encoders_adapters_and_pickles_are_refused(
    small_llama: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    with pytest.raises(HedgerowError, match="found a sentence-transformers model"):
        clean_base(str(tiny_encoder))
    with pytest.raises(HedgerowError, match="found a sentence-transformers model"):
        clean_base("all-MiniLM-L6-v2")
    adapter = tmp_path / "adapter"
    shutil.copytree(small_llama, adapter)
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(HedgerowError, match="Expected a whole language model .* an adapter"):
        clean_base(str(adapter))
    pickled = tmp_path / "pickled"
    shutil.copytree(small_llama, pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(HedgerowError, match=r"as \*.safetensors"):
        clean_base(str(pickled))


def test_missing_models_are_reported(tmp_path: Path) -> None:
    with pytest.raises(HedgerowError, match="Expected the folder or name .* found nothing"):
        clean_base("  ")
    with pytest.raises(HedgerowError, match="There is no model folder"):
        clean_base(str(tmp_path / "nowhere"))
    with pytest.raises(HedgerowError, match="'nobody/llama' is not on this machine, and the model"):
        check_base("nobody/llama", chat_template=True)


def test_a_model_that_lacks_weights_is_reported(small_llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "model"
    shutil.copytree(small_llama, folder)
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HedgerowError, match="found none for model.norm.weight"):
        load_base(folder)


def test_four_bits_need_their_package() -> None:
    with pytest.raises(HedgerowError, match="four_bit needs"):
        require_four_bit()
