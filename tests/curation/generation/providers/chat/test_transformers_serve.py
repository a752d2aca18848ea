"""A run with `transformers serve` and a model of a few thousand random weights.

Such a model writes nonsense, so all of its answers are handled as unreadable.
"""

import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sqlalchemy import Engine, select
from sqlmodel import col
from tokenizers import Tokenizer, models, pre_tokenizers

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Variant
from tests.curation.generation.test_run import carry_out, unmeasured  # noqa: F401
from tests.support.factories import add_anchor
from tests.support.servers.transformers_server import transformers_server

TEMPLATE = "{% for message in messages %}{{ message['content'] }} <end>{% endfor %}"
WIDTH = 16


def make_model(folder: Path) -> None:
    """Store a model that knows some fifty words without any meaning.

    The files are written one by one, because importing the library takes longer than the rest of
    the test.
    """
    random_numbers = random.Random(1)
    words = sorted(
        {"".join(random_numbers.choices(string.ascii_lowercase, k=5)) for _ in range(50)}
    )
    numbered = {word: number for number, word in enumerate(["<unk>", "<end>", *words])}
    tokenizer = Tokenizer(models.WordLevel(numbered, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    ends = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 1}
    files: dict[str, dict[str, Any]] = {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "<unk>",
            "eos_token": "<end>",
            "pad_token": "<end>",
            "chat_template": TEMPLATE,
        },
        "config.json": {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "dtype": "float32",
            "vocab_size": len(numbered),
            "n_positions": 1024,
            "n_embd": WIDTH,
            "n_layer": 1,
            "n_head": 2,
            **ends,
        },
        "generation_config.json": {"do_sample": True, **ends},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    save_file(weights(len(numbered)), folder / "model.safetensors", metadata={"format": "pt"})


def weights(words: int) -> dict[str, NDArray[np.float32]]:
    """Random weights of a GPT-2 with one layer."""
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (words, WIDTH),
        "wpe.weight": (1024, WIDTH),
        "h.0.attn.c_attn.weight": (WIDTH, 3 * WIDTH),
        "h.0.attn.c_attn.bias": (3 * WIDTH,),
        "h.0.attn.c_proj.weight": (WIDTH, WIDTH),
        "h.0.attn.c_proj.bias": (WIDTH,),
        "h.0.mlp.c_fc.weight": (WIDTH, 4 * WIDTH),
        "h.0.mlp.c_fc.bias": (4 * WIDTH,),
        "h.0.mlp.c_proj.weight": (4 * WIDTH, WIDTH),
        "h.0.mlp.c_proj.bias": (WIDTH,),
    }
    for norm in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        shapes |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    random_numbers = np.random.default_rng(1)
    return {
        f"transformer.{name}": random_numbers.normal(0, 0.02, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


@pytest.fixture
def served_model(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server with such a model, and the model's name there."""
    folder = tmp_path / "model"
    make_model(folder)
    with transformers_server(folder, log=tmp_path / "serve.txt") as address:
        yield address, str(folder)


@pytest.mark.slow
def test_nonsense_is_stored_and_reported_but_becomes_no_variant(
    engine: Engine, home: Path, served_model: tuple[str, str]
) -> None:
    with writing(engine) as session:
        for kind in ("road", "wall"):
            add_anchor(session, f"The {kind} is safe.")
    address, name = served_model
    with pytest.raises(HedgerowError, match="All 4 calls failed"):
        carry_out(
            engine, home, base_url=address, model=name, attempts=2, max_tokens=100, concurrency=2
        )
    with reading(engine) as session:
        assert session.execute(select(col(Variant.id))).first() is None
        assert set(session.execute(select(col(ModelCall.state))).scalars()) == {CallState.FAILED}
        answers = session.execute(select(Answer)).scalars().all()
    assert len(answers) == 8
    assert {answer.error for answer in answers} <= {"unreadable", "cut off"}
    assert any(answer.error == "unreadable" for answer in answers)
    assert any(answer.raw for answer in answers)
    assert all(answer.raw == answer.raw.lower() and answer.prompt_tokens for answer in answers)
