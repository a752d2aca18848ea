"""Encoding a step's texts: in chunks of about one length, packed, or by several threads.

Each way gives the model's own embeddings, and the same gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.encoders.embeddings import token_counts
from curation.encoders.loading import load_encoder
from db.errors import RunCancelled
from tests.training.support.lazily import Lazily
from tests.training.support.starter import starter_families
from tests.training.support.trainings import run, weights
from training.data.sampling import FamilyBatches
from training.finetune.compute import packing, replicas, text_encoding
from training.finetune.compute.devices import computing
from training.finetune.compute.replicas import Threads, threads_for
from training.finetune.compute.text_encoding import (
    FEWEST,
    MOST,
    PADDING,
    can_pack,
    chunks_of_one_length,
    embed,
)
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

torch = Lazily("torch")

TEXTS = [f"{'very ' * (number % 7 * 4)}good {number}" for number in range(60)]


@pytest.fixture
def model(tiny_encoder: Path) -> SentenceTransformer:
    return load_encoder(str(tiny_encoder), device="cpu").eval()


@pytest.fixture
def still(model: SentenceTransformer) -> SentenceTransformer:
    """In training, without dropout."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model.train()


@pytest.fixture
def three(still: SentenceTransformer) -> Iterator[Threads]:
    with closing(Threads(still, 3)) as three:
        yield three


@pytest.fixture
def two_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def computed(
    model: SentenceTransformer, *, one_by_one: bool = False, bf16: bool = False, **how: Any
) -> dict[str, torch.Tensor]:
    """The embeddings, and the gradients of a loss in which every text is compared with each."""
    with computing(model, bf16=bf16):
        parts = [[text] for text in TEXTS] if one_by_one else [TEXTS]
        found = torch.cat([embed(model, part, **how) for part in parts])
    (found @ found.T).pow(3).sum().backward()
    grown = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return {"embeddings": found.detach()} | grown


def assert_close(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-4)


def test_each_way_gives_the_embeddings_and_gradients_of_the_texts_one_by_one(
    still: SentenceTransformer, three: Threads
) -> None:
    lengths = sorted(token_counts(still, TEXTS).tolist())
    assert can_pack(still) and len(chunks_of_one_length(lengths)) > 1
    expected, looks = computed(still, one_by_one=True), []
    for how in ({}, {"packed": True}, {"threads": three}):
        assert_close(computed(still, check=lambda: looks.append(1), **how), expected)
        assert looks or "threads" in how  # these are asked after some time
        looks.clear()
    own = still.encode(TEXTS, batch_size=1, convert_to_tensor=True, normalize_embeddings=True)
    torch.testing.assert_close(expected["embeddings"], own, atol=1e-5, rtol=0)
    assert not still[0].auto_model.get_input_embeddings()._forward_hooks


def padding(lengths: list[int], chunks: list[slice]) -> float:
    """The share of padding in the computed tokens."""
    computed = sum(max(lengths[chunk]) * len(lengths[chunk]) for chunk in chunks)
    return 1 - sum(lengths) / computed


@given(st.lists(st.integers(1, 512), max_size=400).map(sorted))
def test_chunks_cover_all_texts_in_order_with_little_padding(lengths: list[int]) -> None:
    chunks = chunks_of_one_length(lengths)
    assert [length for chunk in chunks for length in lengths[chunk]] == lengths
    for chunk in chunks:
        inside = lengths[chunk]
        assert 1 <= len(inside) <= MOST
        assert len(inside) <= FEWEST or padding(inside, [slice(None)]) <= PADDING
    assert all(len(lengths[chunk]) >= FEWEST for chunk in chunks[:-1])


@pytest.mark.slow
def test_less_than_a_tenth_of_a_batchs_tokens_is_padding(model: SentenceTransformer) -> None:
    """Families of 32 anchors of the starter corpus, with MiniLM's tokenizer. In a third of them,
    each text has two more sentences."""
    model.max_seq_length = 128
    families = starter_families()
    for n in range(0, len(families), 3):
        before, after = families[n - 1][0].text, families[n - 2][0].text
        families[n] = [m._replace(text=f"{before} {m.text} {after}") for m in families[n]]
    batches = FamilyBatches(families, size=32, seed=1)
    for step in range(1, 6):
        texts = list(dict.fromkeys(m.text for family in batches.rows_at(step) for m in family))
        lengths = sorted(token_counts(model, texts).tolist())
        chunks = chunks_of_one_length(lengths)
        assert padding(lengths, chunks) < 0.1
        assert len(lengths) / len(chunks) > 2 * FEWEST  # but not in tiny chunks


@given(st.lists(st.integers(1, 600), min_size=1, max_size=200).map(sorted), st.integers(1, 4))
def test_each_row_has_its_part_of_all_texts(lengths: list[int], count: int) -> None:
    rows = packing.parts(lengths, count)
    assert sorted(place for row in rows for place in row) == list(range(len(lengths)))
    assert all(list(row) == sorted(row) and len(row) for row in rows)
    sums = [sum(lengths[place] for place in row) for row in rows]
    assert len(rows) >= min(count, len(lengths)) and max(sums) <= packing.TOKENS + max(lengths)
    assert max(sums) - min(sums) <= max(lengths), "and about as much work as the others"


@pytest.mark.slow
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
        assert (span.bias == 0).sum() == len(there) and span.places.numel() <= packing.TOKENS
        padding = 1 - len(there) / span.places.numel()
        assert span.texts <= packing.FEWEST or padding <= packing.PADDING
    assert end == sum(lengths) and sum(span.texts for span in spans) == len(lengths)


def test_rows_are_cut_if_they_would_be_too_long(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert can_pack(model)
    expected, checks = embed(model, TEXTS), []
    monkeypatch.setattr(packing, "TOKENS", 100)
    found = embed(model, TEXTS, packed=True, check=lambda: checks.append(1))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert len(checks) > 3


def test_rows_have_one_of_few_lengths(model: SentenceTransformer) -> None:
    assert can_pack(model)
    for count in (1, 7, 60):
        row = packing.features(model, TEXTS[:count])
        tokens = row["input_ids"].numel()
        assert tokens == row["position_ids"].numel() == row["cu_seq_lens_q"][-1]
        assert tokens % packing.MULTIPLE == 0 and len(packing.encoded(model, row)) == count


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


def test_attention_has_dropout_only_if_it_is_asked_for(still: SentenceTransformer) -> None:
    assert can_pack(still)
    same = embed(still, TEXTS, packed=True), embed(still, TEXTS, packed=True)
    still[0].auto_model.encoder.layer[0].attention.self.dropout.p = 0.5
    assert torch.equal(*same) and not torch.equal(embed(still, TEXTS, packed=True), same[0])


@pytest.mark.parametrize("fault", ["refuses", "differs"])
def test_a_model_that_cannot_pack_is_trained_in_chunks(
    model: SentenceTransformer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    own = packing.features

    def faulty(*given: object) -> dict[str, object]:
        if fault == "refuses":
            raise TypeError("forward() got an unexpected keyword argument")
        found = own(*given)
        return found | {"position_ids": found["position_ids"] + 1}

    monkeypatch.setattr(packing, "features", faulty)
    assert not can_pack(model)


def test_a_training_packs_where_the_model_can(
    tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[bool] = []

    def seen(*given: object, packed: bool, **settings: object) -> torch.Tensor:
        used.append(packed)
        return text_encoding.embed(*given, packed=packed, **settings)

    monkeypatch.setattr("training.finetune.step.embed", seen)
    run(tmp_path / "a", recipe)
    assert set(used) == {True}
    monkeypatch.setattr("training.finetune.step.can_pack", lambda model: False)
    run(tmp_path / "b", recipe)
    assert set(used) == {True, False}


def test_threads_give_the_same_each_time_and_bfloat16_stays_within_the_callers_block(
    still: SentenceTransformer, three: Threads
) -> None:
    plain, half = (computed(still, threads=three, bf16=bf16) for bf16 in (False, True))
    assert not torch.equal(plain["embeddings"], half["embeddings"])
    for _ in range(3):  # whichever thread takes which part of the backward pass
        for first, bf16 in ((plain, False), (half, True)):
            again = computed(still, threads=three, bf16=bf16)
            assert all(torch.equal(again[name], value) for name, value in first.items())


def test_replicas_follow_the_weights_and_frozen_ones_get_no_gradient(
    still: SentenceTransformer,
) -> None:
    frozen = next(name for name, _ in still.named_parameters())
    still.get_parameter(frozen).requires_grad = False
    with closing(Threads(still, 3)) as three:
        before = computed(still, threads=three)
        with torch.no_grad():
            for weight in still.parameters():
                weight *= 0.9
        after = computed(still, threads=three)
    assert frozen not in after
    assert_close(after, computed(still))
    changed = [name for name, value in after.items() if bool(value.abs().max() > 1e-3)]
    assert changed and not any(torch.equal(before[name], after[name]) for name in changed)


def test_stopping_and_failures_stop_all_threads(
    still: SentenceTransformer, three: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "CHECK_SECONDS", 0.0)
    before = torch.get_num_threads()
    forward, asked = type(still).forward, Event()

    def patient(self: SentenceTransformer, features: dict[str, torch.Tensor]) -> object:
        assert asked.wait(60)  # otherwise all may be done before the check
        return forward(self, features)

    def stop() -> None:
        asked.set()
        raise RunCancelled

    with monkeypatch.context() as patch:
        patch.setattr(type(still), "forward", patient)
        with pytest.raises(RunCancelled):
            embed(still, TEXTS, threads=three, check=stop)
    assert torch.get_num_threads() == before
    assert computed(still, threads=three), "they can be used again"

    def fails(self: object, features: object) -> None:
        raise RuntimeError("not enough memory")

    monkeypatch.setattr(type(still), "forward", fails)
    with pytest.raises(RuntimeError, match="not enough memory"):
        embed(still, TEXTS, threads=three)


def test_there_are_as_many_as_have_something_to_do(
    still: SentenceTransformer, two_cores: None
) -> None:
    several = threads_for(still, Recipe())
    assert several is not None and several.count == 2
    several.close()
    for dropout in (0.1, None):  # threads would use the generator in any order
        assert threads_for(still, Recipe(dropout=dropout)) is None
    torch.set_num_threads(1)
    assert threads_for(still, Recipe()) is None


def test_a_training_with_threads_has_equal_weights_each_time(
    tmp_path: Path, recipe: Recipe, two_cores: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    together = Threads.encode

    def seen(self: Threads, *given: object) -> list[torch.Tensor]:
        used.append(self.count)
        return together(self, *given)

    monkeypatch.setattr(Threads, "encode", seen)
    steady = recipe.with_overrides(["dropout=0", "batch_size=4"])
    first = run(tmp_path / "a", steady)
    again = run(tmp_path / "b", steady)
    assert set(used) == {2} and weights(first) == weights(again)
