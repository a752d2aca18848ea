"""Encoding a step's texts in chunks of about one length, with the model's own results."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.encoders.embeddings import token_counts
from curation.encoders.loading import load_encoder
from hedgerow.losses.families import flatten
from tests.training.support.starter import starter_families
from tests.training.support.trainings import FAMILIES
from training.data.sampling import FamilyBatches
from training.finetune.compute.text_encoding import (
    FEWEST,
    MOST,
    PADDING,
    chunks_of_one_length,
    embed,
)


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


@pytest.mark.parametrize("passages", [0.0, 0.3, 1.0])
def test_less_than_a_tenth_of_a_batchs_tokens_is_padding(
    tiny_encoder: Path, passages: float
) -> None:
    """Families of 32 anchors of the starter corpus, with MiniLM's tokenizer. In some of them, each
    text has two more sentences."""
    model = load_encoder(str(tiny_encoder), device="cpu")
    model.max_seq_length = 128
    families = starter_families()
    around = [family[0].text for family in families]
    longer = [
        [m._replace(text=f"{around[n - 1]} {m.text} {around[n - 2]}") for m in family]
        if n < passages * len(families)
        else family
        for n, family in enumerate(families)
    ]
    batches = FamilyBatches(longer, size=32, seed=1)
    for step in range(1, 6):
        texts = flatten(batches.of(step)).texts
        lengths = sorted(token_counts(model, texts).tolist())
        chunks = chunks_of_one_length(lengths)
        assert padding(lengths, chunks) < 0.1
        assert len(lengths) / len(chunks) > 2 * FEWEST  # but not in tiny chunks


def test_embeddings_are_the_models_own_in_the_order_of_the_texts(tiny_encoder: Path) -> None:
    import torch

    model = load_encoder(str(tiny_encoder), device="cpu").eval()
    texts = flatten(FAMILIES).texts[::-1]
    looks: list[None] = []
    found = embed(model, texts, check=lambda: looks.append(None))
    expected = model.encode(
        texts,
        batch_size=1,
        convert_to_tensor=True,
        normalize_embeddings=True,
        show_progress_bar=False,
    )
    torch.testing.assert_close(found.detach(), expected, atol=1e-5, rtol=0)
    assert looks
    found[:, 0].sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert any(bool(gradient.abs().sum() > 0) for gradient in gradients)


def test_gradients_are_those_of_the_texts_encoded_one_by_one(tiny_encoder: Path) -> None:
    """Chunks of different lengths share one look-up of their words."""
    import torch

    model = load_encoder(str(tiny_encoder), device="cpu").eval()
    texts = [f"{'very ' * (number % 5 * 6)}good {number}" for number in range(30)]
    lengths = sorted(token_counts(model, texts).tolist())
    assert len(chunks_of_one_length(lengths)) > 1
    direction = torch.linspace(-1, 1, model.get_embedding_dimension() or 0)
    (embed(model, texts) @ direction).sum().backward()
    found = {name: weights.grad for name, weights in model.named_parameters()}
    model.zero_grad()
    for text in texts:
        (embed(model, [text]) @ direction).sum().backward()
    for name, weights in model.named_parameters():
        assert (weights.grad is None) == (found[name] is None)
        if weights.grad is not None:
            torch.testing.assert_close(found[name], weights.grad, rtol=1e-4, atol=1e-5)
    assert not model[0].auto_model.get_input_embeddings()._forward_hooks
