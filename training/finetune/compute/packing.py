"""Packing texts into one row without padding, for an encoder on a CPU.

Chunks of texts with one length have little padding but are small, and each adds to the gradients of
all weights: with MiniLM, a step took one and a half times as long. In one row, the linear layers,
which do nearly all of the work, process every token once. Only attention is computed text by text,
in groups. The features have transformers' format for flash attention with variable lengths, which
sentence-transformers can pool.
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
"""Maximum number of tokens in a row, unless a single text is longer."""

PADDING = 0.35
"""Maximum share of padding in a group. Only attention is padded."""

MULTIPLE = 64
"""The number of tokens in a row is a multiple of this. For each new number, oneDNN has to generate
code for each product, which took a twentieth of a step."""

FEWEST = 6
"""Maximum number of texts in a group, whatever its padding."""

_ATTENTION = "hedgerow_end_to_end"
_SPANS = "spans"
_NAMES = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", _SPANS)


class Span(NamedTuple):
    """A group of texts of about one length in a row of tokens.

    Attributes:
        start, end: the range of its tokens in the row.
        texts: the number of texts.
        places: (texts, longest): indices of each text's tokens within the span, padded with that of
            its first token.
        bias: (texts, 1, longest): 0 for a token, minus infinity for padding.
        tokens: the indices of the tokens among `texts` times `longest` positions.
        The last three are None if all texts are equally long.
    """

    start: int
    end: int
    texts: int
    places: Tensor | None = None
    bias: Tensor | None = None
    tokens: Tensor | None = None


def parts(lengths: Sequence[int], count: int) -> list[range]:
    """The texts of each row, from texts sorted by length. Each row gets texts of all lengths.

    Args:
        count: the number of rows; there are more if the rows would be too long.
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
        query, key, value: shape (1, heads, tokens, size of a head).
        spans: the spans of the row.

    Returns:
        Shape (1, tokens, heads, size of a head), and no attention weights.
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
    """The tokens of a span, shape (heads * texts, longest, size of a head)."""
    if span.places is not None:
        row = row.index_select(1, span.places.flatten())
    return row.reshape(row.shape[0] * span.texts, -1, row.shape[2])


def _spans(lengths: Sequence[int]) -> list[Span]:
    """Groups of consecutive texts, split if padding would exceed its share."""
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
