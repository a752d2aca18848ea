"""Packed texts: the same embeddings as for separate texts, and the same gradients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from curation.encoders.loading import load_encoder
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import run
from training.finetune import trainer
from training.finetune.compute import packing, text_encoding
from training.finetune.compute.text_encoding import can_pack, embed
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = [f"{'very ' * (number % 7 * 4)}good {number}" for number in range(60)]


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    return load_encoder(str(tiny_encoder), device="cpu").eval()


@given(st.lists(st.integers(1, 600), min_size=1, max_size=200).map(sorted), st.integers(1, 4))
def test_each_row_has_its_part_of_all_texts(lengths: list[int], count: int) -> None:
    rows = packing.parts(lengths, count)
    assert sorted(place for row in rows for place in row) == list(range(len(lengths)))
    assert all(list(row) == sorted(row) and len(row) for row in rows)
    sums = [sum(lengths[place] for place in row) for row in rows]
    assert len(rows) >= min(count, len(lengths))
    assert max(sums) <= packing.TOKENS + max(lengths)
    assert max(sums) - min(sums) <= max(lengths), "and about as much work as the others"


@given(st.lists(st.integers(1, 600), min_size=1, max_size=100))
def test_groups_follow_each_other_with_a_place_for_each_token(lengths: list[int]) -> None:
    spans = packing._spans(lengths)
    end = 0
    for span in spans:
        assert span.start == end
        end = span.end
        if span.tokens is None or span.places is None or span.bias is None:
            assert (span.end - span.start) % span.texts == 0
            continue
        assert span.places.shape == (span.texts, span.bias.shape[-1])
        there = span.places.flatten()[span.tokens]
        assert there.tolist() == list(range(span.end - span.start))
        assert (span.bias == 0).sum() == len(there)
        assert span.places.numel() <= packing.TOKENS
        padding = 1 - len(there) / span.places.numel()
        assert span.texts <= packing.FEWEST or padding <= packing.PADDING
    assert end == sum(lengths) and sum(span.texts for span in spans) == len(lengths)


def test_embeddings_and_gradients_are_those_of_chunks(model: SentenceTransformer) -> None:
    assert can_pack(model)
    found = {}
    for packed in (True, False):
        embeddings = embed(model, TEXTS, packed=packed)
        (embeddings @ embeddings.T).pow(3).sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        found[packed] = {"embeddings": embeddings.detach()} | gradients
        model.zero_grad(set_to_none=True)
    assert found[True].keys() == found[False].keys()
    for name, value in found[False].items():
        torch.testing.assert_close(found[True][name], value, rtol=1e-3, atol=1e-4)


def test_rows_are_cut_if_they_would_be_too_long(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert can_pack(model)
    expected, checks = embed(model, TEXTS), []
    monkeypatch.setattr(packing, "TOKENS", 100)
    found = embed(model, TEXTS, packed=True, check=lambda: checks.append(1))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert len(checks) > 3


@pytest.mark.parametrize("count", [1, 7, 60])
def test_rows_have_one_of_few_lengths(model: SentenceTransformer, count: int) -> None:
    assert can_pack(model)
    row = packing.features(model, TEXTS[:count])
    assert row["input_ids"].numel() == row["position_ids"].numel() == row["cu_seq_lens_q"][-1]
    assert row["input_ids"].numel() % packing.MULTIPLE == 0
    assert len(packing.encoded(model, row)) == count


def test_texts_are_cut_at_the_longest_input(model: SentenceTransformer) -> None:
    assert can_pack(model)
    model.max_seq_length = 8
    expected = embed(model, TEXTS)
    torch.testing.assert_close(embed(model, TEXTS, packed=True), expected, atol=1e-5, rtol=0)
    assert torch.equal(expected[6], expected[13]), "the differing part was cut off"


def test_the_model_computes_all_else_as_before(model: SentenceTransformer) -> None:
    before = model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
    attention = model[0].auto_model.config._attn_implementation
    model.train()
    assert can_pack(model) and model.training
    embed(model, TEXTS, packed=True)
    assert model[0].auto_model.config._attn_implementation == attention
    model.eval()
    after = model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
    assert torch.equal(before, after)


def test_attention_has_dropout_only_if_it_is_asked_for(model: SentenceTransformer) -> None:
    assert can_pack(model)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    attention = model[0].auto_model.encoder.layer[0].attention.self
    model.train()
    same = embed(model, TEXTS, packed=True), embed(model, TEXTS, packed=True)
    attention.dropout.p = 0.5
    assert torch.equal(*same) and not torch.equal(embed(model, TEXTS, packed=True), same[0])


@pytest.mark.parametrize("fault", ["refuses", "differs"])
def test_a_model_that_cannot_pack_is_trained_in_chunks(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    own = packing.features

    def faulty(*given: object) -> dict[str, object]:
        if fault == "refuses":
            raise TypeError("forward() got an unexpected keyword argument")
        found = own(*given)  # type: ignore[arg-type]
        return found | {"position_ids": found["position_ids"] + 1}

    monkeypatch.setattr(packing, "features", faulty)
    assert not can_pack(model)


def test_a_training_packs_where_the_model_can(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[bool] = []

    def seen(*given: object, packed: bool, **settings: object) -> torch.Tensor:
        used.append(packed)
        return text_encoding.embed(*given, packed=packed, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(trainer, "embed", seen)
    run(tmp_path / "a", recipe, progress=Recorder())
    assert set(used) == {True}
    monkeypatch.setattr(trainer, "can_pack", lambda model: False)
    run(tmp_path / "b", recipe, progress=Recorder())
    assert set(used) == {True, False}
