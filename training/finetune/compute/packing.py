"""Packing texts into one row without padding, for an encoder on a CPU.

Chunks of one length have little padding but are small, and for each of them the gradients of all
weights are added up: with MiniLM a step took half as long again. In one row the linear layers,
nearly all of the work, see every token once; only attention is computed text by text, in groups.
It is transformers' form for flash attention's variable lengths, which sentence-transformers pools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

TOKENS = 4096
"""Of a row, at most, but for a text that is longer."""

PADDING = 0.35
"""Share of a group's places that may be padding; that is in attention only."""

MULTIPLE = 64
"""Of which a row has tokens: for each new number oneDNN first has to write code for each product,
which took a twentieth of a step."""

FEWEST = 6
"""Maximum number of texts in a group, whatever its padding."""

_ATTENTION = "hedgerow_end_to_end"
_SPANS = "spans"
_NAMES = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", _SPANS)


class Span(NamedTuple):
    """A group of texts of about one length in a row of tokens.

    Attributes:
        start, end: of its tokens in the row.
        texts: how many there are.
        places: (texts, longest) of each text's tokens within the span, the rest its first one.
        bias: (texts, 1, longest): 0, or minus infinity where there is no token.
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
    """The model's input features for these texts, in their order. Sorting by length helps."""
    import torch

    limit = model.max_seq_length
    ids = model.tokenizer(
        list(texts),
        truncation=limit is not None,
        max_length=limit,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    lengths = [len(own) for own in ids]
    rest = -sum(lengths) % MULTIPLE  # padding tokens that nothing attends to, as one more text
    filler = [ids[0][0]] * rest
    ends = torch.tensor([0, *accumulate([*lengths, rest] if rest else lengths)], dtype=torch.int32)
    places = [*(torch.arange(length) for length in lengths), torch.zeros(rest, dtype=torch.long)]
    longest = max(*lengths, rest)
    return {
        "input_ids": torch.tensor([[token for own in (*ids, filler) for token in own]]),
        "position_ids": torch.cat(places)[None],
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
        _SPANS: _spans(lengths),
    }


def enable(model: SentenceTransformer) -> bool:
    """Prepare the model for such features, if it supports them."""
    transformer = model[0]
    inner = getattr(transformer, "auto_model", None)
    if model.device.type != "cpu" or not getattr(inner, "is_backend_compatible", bool)():
        return False
    passed = getattr(transformer, "model_forward_params", None)
    if passed is not None:
        passed |= set(_NAMES)
    _register()
    return True


def encoded(model: SentenceTransformer, given: Mapping[str, Any]) -> Tensor:
    """The embeddings of the texts in packed or ordinary features: (texts, dimensions)."""
    if _SPANS not in given:
        return cast("Tensor", model(given)["sentence_embedding"])
    config = model[0].auto_model.config
    before = config._attn_implementation
    model[0].auto_model.set_attn_implementation(_ATTENTION)
    try:
        found = cast("Tensor", model(given)["sentence_embedding"])
    finally:
        model[0].auto_model.set_attn_implementation(before)
    return found[: sum(span.texts for span in given[_SPANS])]


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

    heads = query.shape[1]
    sizes = [span.end - span.start for span in spans]
    sizes.append(query.shape[2] - sum(sizes))
    # Split in one step: each single slice would have a gradient as large as the row.
    scaled = query * (scaling or query.shape[-1] ** -0.5)
    split = [one.squeeze(0).split(sizes, dim=1) for one in (scaled, key, value)]
    *rows, rest = zip(*split, strict=True)
    found = []
    for span, row in zip(spans, rows, strict=True):
        q, k, v = (_texts(one, span) for one in row)
        scores = q @ k.transpose(1, 2)
        if span.bias is not None:
            scores = (scores.unflatten(0, (heads, -1)) + span.bias.to(scores.dtype)).flatten(0, 1)
        weights = torch.nn.functional.dropout(scores.softmax(dim=-1), dropout)
        tokens = (weights.to(v.dtype) @ v).view(heads, -1, v.shape[-1])
        if span.tokens is not None:
            tokens = tokens.index_select(1, span.tokens)
        found.append(tokens.transpose(0, 1))
    return torch.cat([*found, rest[-1].transpose(0, 1)])[None], None


def _texts(row: Tensor, span: Span) -> Tensor:
    """(heads * texts, longest, size of a head) of a span's tokens."""
    if span.places is not None:
        row = row.index_select(1, span.places.flatten())
    return row.reshape(row.shape[0] * span.texts, -1, row.shape[2])


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
    bias = torch.zeros(there.shape).masked_fill(~there, -torch.inf)[:, None]
    places = first[:, None] + torch.where(there, place, 0)
    return Span(start, end, texts, places, bias, there.flatten().nonzero()[:, 0])
