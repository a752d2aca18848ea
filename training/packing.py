"""Texts end to end in one row, without padding, for an encoder on a CPU.

Chunks of one length have little padding but are small, and for each of them the gradients of all
weights are added up: with MiniLM a step took half as long again. In one row the linear layers,
nearly all of the work, see every token once; only attention is computed text by text, in groups.
It is transformers' form for flash attention's variable lengths, which sentence-transformers pools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

TOKENS = 4096
"""Of a row, at most, but for a text that is longer."""

PADDING = 0.35
"""Share of a group's places that may be padding; that is in attention only."""

FEWEST = 6
"""Texts of a group, however much padding it has then."""

_ATTENTION = "hedgerow_end_to_end"
_SPANS = "spans"
_NAMES = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", _SPANS)


class Span(NamedTuple):
    """A group of texts of about one length in a row of tokens.

    Attributes:
        start, end: of its tokens in the row.
        texts: how many there are.
        places: (texts, longest) of each text's tokens within the span, the rest its first one.
        bias: (texts, 1, 1, longest): 0, or minus infinity where there is no token.
        tokens: where the tokens are among `texts` times `longest` places.
        The last three are None where all texts are equally long.
    """

    start: int
    end: int
    texts: int
    places: Tensor | None = None
    bias: Tensor | None = None
    tokens: Tensor | None = None


def parts(lengths: Sequence[int], count: int) -> list[range]:
    """Which texts each row has, of texts sorted by length: each row some of all lengths.

    Args:
        count: rows that there shall be, or more where these would be too long.
    """
    count = max(count, -(-sum(lengths) // TOKENS))
    return [range(number, len(lengths), count) for number in range(min(count, len(lengths)))]


def features(model: SentenceTransformer, texts: Sequence[str]) -> dict[str, Any]:
    """What the model takes for these texts, in their order: best sorted by length."""
    import torch

    limit = model.max_seq_length
    ids = model.tokenizer(
        list(texts), truncation=limit is not None, max_length=limit,
        return_attention_mask=False, return_token_type_ids=False,
    )["input_ids"]  # fmt: skip
    lengths = [len(own) for own in ids]
    ends = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
    return {
        "input_ids": torch.tensor([[token for own in ids for token in own]]),
        "position_ids": torch.cat([torch.arange(length) for length in lengths])[None],
        "cu_seq_lens_q": ends, "cu_seq_lens_k": ends,
        "max_length_q": max(lengths), "max_length_k": max(lengths),
        _SPANS: _spans(lengths),
    }  # fmt: skip


def enable(model: SentenceTransformer) -> bool:
    """Have the model accept such features, if it is made for it at all."""
    transformer = model[0]
    inner = getattr(transformer, "auto_model", None)
    if model.device.type != "cpu" or not getattr(inner, "is_backend_compatible", bool)():
        return False
    passed = getattr(transformer, "model_forward_params", None)
    if passed is not None:
        passed |= set(_NAMES)
    _register()
    return True


@contextmanager
def attention_for(model: SentenceTransformer, given: Mapping[str, Any]) -> Iterator[None]:
    """The attention that such features need, as long as the model computes them."""
    if _SPANS not in given:
        yield
        return
    inner = model[0].auto_model
    before = inner.config._attn_implementation
    inner.set_attn_implementation(_ATTENTION)
    try:
        yield
    finally:
        inner.set_attn_implementation(before)


@cache
def _register() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(_ATTENTION, _attention)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    spans: Sequence[Span],
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of each token to those of its own text.

    Args:
        query, key, value: (1, heads, tokens, size of a head).
        spans: of the row.

    Returns:
        (1, tokens, heads, size of a head), and no attention weights.
    """
    import torch

    rows = [
        one[0].transpose(0, 1) for one in (query * (scaling or query.shape[-1] ** -0.5), key, value)
    ]
    found = []
    for span in spans:
        q, k, v = (_texts(row[span.start : span.end], span).transpose(1, 2) for row in rows)
        scores = q @ k.transpose(2, 3)
        if span.bias is not None:
            scores = scores + span.bias.to(scores.dtype)
        weights = torch.nn.functional.dropout(scores.softmax(dim=-1), dropout)
        tokens = (weights.to(v.dtype) @ v).transpose(1, 2).flatten(0, 1)
        found.append(tokens if span.tokens is None else tokens.index_select(0, span.tokens))
    return torch.cat(found)[None], None


def _texts(row: Tensor, span: Span) -> Tensor:
    """(texts, longest, heads, size of a head) of a span's tokens."""
    if span.places is None:
        return row.unflatten(0, (span.texts, -1))
    return row.index_select(0, span.places.flatten()).unflatten(0, span.places.shape)


def _spans(lengths: Sequence[int]) -> list[Span]:
    """Texts that follow each other, cut where padding would exceed its share."""
    groups: list[list[int]] = []
    for length in lengths:
        group = groups[-1] if groups else []
        longest, count = max([length, *group]), len(group) + 1
        wasteful = sum(group) + length < (1 - PADDING) * longest * count
        if not group or longest * count > TOKENS or (count > FEWEST and wasteful):
            groups.append([length])
        else:
            group.append(length)
    starts = accumulate((sum(group) for group in groups), initial=0)
    return [_span(start, group) for start, group in zip(starts, groups, strict=False)]


def _span(start: int, lengths: Sequence[int]) -> Span:
    import torch

    end, texts = start + sum(lengths), len(lengths)
    if len(set(lengths)) == 1:
        return Span(start, end, texts)
    own = torch.tensor(lengths)
    first = own.cumsum(0) - own
    place = torch.arange(max(lengths))
    there = place < own[:, None]
    bias = torch.zeros(there.shape).masked_fill(~there, -torch.inf)[:, None, None]
    places = first[:, None] + torch.where(there, place, 0)
    return Span(start, end, texts, places, bias, there.flatten().nonzero()[:, 0])
