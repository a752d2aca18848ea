"""Which checkpoints count as text encoders."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.encoders.checkpoint_kind import require_encoder, what_else
from curation.encoders.loading import check_encoder, load_encoder
from db.errors import HedgerowError
from tests.support.checkpoints import ENCODERS, NO_ENCODERS, checkpoint, packaged


@pytest.mark.parametrize("architecture", NO_ENCODERS)
def test_a_checkpoint_that_is_not_an_encoder_is_refused_with_one_sentence(
    architecture: str, tmp_path: Path
) -> None:
    folder = checkpoint(architecture, tmp_path)
    with pytest.raises(HedgerowError) as refusal:
        load_encoder(str(folder), device="cpu")
    message = str(refusal.value)
    assert message.startswith(f"Expected a text encoder in {str(folder)!r}, found {architecture}: ")
    assert message.endswith(
        "; choose an encoder, or a sentence-transformers model made from this one (a folder with "
        "modules.json)."
    )
    with pytest.raises(HedgerowError, match=architecture):
        check_encoder(str(folder))


@pytest.mark.parametrize("architecture", ENCODERS)
def test_a_bare_encoder_is_taken(architecture: str, tmp_path: Path) -> None:
    folder = checkpoint(architecture, tmp_path)
    check_encoder(str(folder))
    assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.parametrize("architecture", ["T5EncoderModel", "Qwen2ForCausalLM"])
def test_a_sentence_transformers_folder_is_an_encoder(architecture: str, tmp_path: Path) -> None:
    folder = packaged(architecture, tmp_path)
    transformer = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(transformer | {"architectures": [architecture]}))
    check_encoder(str(folder))
    assert load_encoder(str(folder), device="cpu").encode(["It is open."]).shape == (1, 16)


@pytest.mark.parametrize("kind", ["CrossEncoder", "SparseEncoder", "MultiVectorEncoder"])
def test_another_class_of_sentence_transformers_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(HedgerowError, match=f"found a {kind}; choose"):
        require_encoder(tmp_path)


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ({"architectures": ["BertLMHeadModel"]}, True),
        ({"architectures": ["BertForTokenClassification"]}, True),
        ({"architectures": ["WhisperForAudioClassification"]}, True),
        ({"architectures": ["HF_ColBERT"]}, True),
        ({"architectures": ["BartModel"], "is_encoder_decoder": True}, True),
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


def test_a_model_of_the_hub_is_looked_up_there(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["config.json", "model.safetensors"]

    def model_info(self: object, name: str, **options: object) -> SimpleNamespace:
        assert name == "castorini/monot5-base-msmarco"
        return SimpleNamespace(
            config={"architectures": ["T5ForConditionalGeneration"]},
            siblings=[SimpleNamespace(rfilename=file) for file in files],
        )

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
    with pytest.raises(HedgerowError, match="found T5ForConditionalGeneration: a sequence"):
        check_encoder("castorini/monot5-base-msmarco")
    files.append("modules.json")
    check_encoder("castorini/monot5-base-msmarco")


def test_without_a_hub_only_loading_a_model_decides() -> None:
    check_encoder("castorini/monot5-base-msmarco")
