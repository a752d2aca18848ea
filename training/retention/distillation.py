"""Preventing forgetting: distillation from the base model, and interpolation with it.

Distillation (`retention` in the recipe) keeps the embeddings of unrelated texts, and the cosines
between them, close to the base model's. It includes slightly edited copies, so that similarity
stays graded. Interpolation (Wortsman et al. 2022, *Robust fine-tuning of zero-shot models*,
WiSE-FT) averages the weights of the base and the finetuned model after training, with a smaller
share of the finetuned weights in the upper layers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders.embeddings import characters, encode_distinct, length
from training.retention.texts import Document, Topic, documents, edited, topics

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


TEXTS_A_STEP = 12
"""Number of anchors and lines of the recipe's file in a step with retention. Half of them are
edited copies of the other half, so that slightly different texts stay as similar as they were."""

TOPICS_A_STEP = 8
"""Number of bundled topics (English) in such a step, each with all its sentences."""

DOCUMENTS_A_STEP = 8
"""Number of bundled documents (English) in such a step, each with some of its queries."""

EVERY = 2
"""Every this many steps includes such texts, with this many times the weight, to save time."""

EDITS = 4
"""Number of edited copies of a text. A step uses one; the base model must encode all of them."""


QUERIES_OF_A_DOCUMENT = 2
"""Number of queries per passage and step, out of its title, questions, need and query."""

SCALE = 20.0
"""Factor for cosines before the softmax over passages, as in the training of sentence-transformers'
own encoders."""

SOFT_TARGETS = 0.15
"""Weight of the soft targets relative to the cosines. Both measure the same change; the soft
targets emphasise the passages that rank first."""


class Reading(NamedTuple):
    """The amount of text that distillation reads, in characters.

    Attributes:
        a_step: the mean number per training step.
        before: the number for the base model's embeddings, of all texts at most.
    """

    a_step: float
    before: float


def reading(own: int, letters: float, *, steps: int) -> Reading:
    """The approximate amount that a run with this many steps reads for distillation.

    Args:
        own: the number of anchors and of lines in the recipe's file.
        letters: their mean length in characters.
    """
    of_own = length(letters)
    of_topic = characters_of_topics() / len(topics())
    of_document = sum(map(length, _letters_of_a_document()))
    a_step = (
        TEXTS_A_STEP * of_own + TOPICS_A_STEP * of_topic + DOCUMENTS_A_STEP * of_document
    ) / EVERY
    everything = own * (1 + EDITS) * of_own + characters_of_topics() + characters_of_documents()
    return Reading(a_step, min(steps * a_step, everything))


@cache
def characters_of_topics() -> int:
    """The characters of all bundled topics."""
    return characters(text for topic in topics() for text in topic.texts)


@cache
def characters_of_documents() -> int:
    """The characters of all bundled documents."""
    return characters(text for one in documents() for text in (one.passage, *one.queries))


@cache
def _letters_of_a_document() -> tuple[float, ...]:
    """The mean lengths of the texts of a document that a step uses."""
    passages = [len(one.passage) for one in documents()]
    queries = [len(text) for one in documents() for text in one.queries]
    of_query = sum(queries) / len(queries)
    return (sum(passages) / len(passages), *[of_query] * QUERIES_OF_A_DOCUMENT)


class Distillation:
    """Unrelated texts and their embeddings by the base model."""

    def __init__(
        self,
        base: SentenceTransformer,
        texts: Sequence[str],
        *,
        weight: float,
        texts_a_step: int,
        steps: int,
        seed: int,
        edits: bool = False,
        topics: Sequence[Topic] = (),
        topics_a_step: int = 0,
        documents: Sequence[Document] = (),
        documents_a_step: int = 0,
        every: int = 1,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Encode the texts that will be sampled with the base model.

        Args:
            base: the model before training.
            texts: any texts; duplicates count once.
            weight: the weight of this loss, relative to the contrastive loss.
            texts_a_step: the number of texts per step.
            steps: the number of training steps, in which only some of many texts may be sampled.
            seed: the seed of the sampling.
            edits: whether half of the texts of a step are edited copies of the other half.
            topics: texts that are about one thing each, to a different degree.
            topics_a_step: the number of topics per step, each with all its sentences.
            documents: passages with what they should be found by.
            documents_a_step: the number of documents per step.
            every: the number of steps from one that samples texts to the next; the weight is
                multiplied by it.
            check: called several times meanwhile; may raise to stop.
        """
        import torch

        self._own = frozenset(texts)
        self._texts = sorted(self._own)
        self._weight, self._count, self._seed = weight * every, texts_a_step, seed
        self._every = every
        self._edits = edits
        # None if none are sampled: otherwise the end of the data would never be noticed.
        self._topics = list(topics) if topics_a_step else []
        self._topics_a_step = min(topics_a_step, len(self._topics))
        self._topic = {
            text: number for number, topic in enumerate(self._topics) for text in topic.texts
        }
        self._rankings = Rankings(documents if documents_a_step else ())
        self._documents_a_step = documents_a_step
        self._original: dict[str, str] = {}
        sampled = self._sampled_in(steps)
        embeddings = encode_distinct(base, sampled, on_progress=lambda *_: check())
        self._embeddings = torch.from_numpy(embeddings).to(base.device)
        self._place = {text: number for number, text in enumerate(sampled)}

    def draw(self, step: int) -> list[str]:
        """The distinct texts of a step; empty for a step without retention."""
        if step % self._every:
            return []
        chance = random.Random(f"{self._seed}:distil:{step}")
        wanted = self._count // 2 if self._edits else self._count
        sampled = chance.sample(self._texts, min(max(1, wanted), len(self._texts)))
        if self._edits:
            sampled += [self._edit(text, chance.randrange(EDITS)) for text in sampled]
        for topic in chance.sample(self._topics, self._topics_a_step):
            sampled += topic.texts
        sampled += self._rankings.draw(self._documents_a_step, chance)
        return list(dict.fromkeys(sampled))

    def _edit(self, text: str, number: int) -> str:
        """An edited copy, or the text itself if editing failed or gave another text."""
        found = edited(text, self._texts, random.Random(f"{self._seed}:edit:{number}:{text}"))
        taken = found in self._own or found in self._topic
        if taken or self._original.setdefault(found, text) != text:
            return text
        return found

    def _sampled_in(self, steps: int) -> list[str]:
        """The texts that are sampled in this many steps."""
        found: set[str] = set()
        bundled = self._topic.keys() | self._rankings.texts
        all_there_are = len(self._texts) * (1 + EDITS if self._edits else 1) + len(bundled)
        for step in range(1, steps + 1):
            found.update(self.draw(step))
            if len(found) == all_there_are:
                break
        return sorted(found)

    def loss(self, embeddings: Tensor, texts: Sequence[str]) -> Tensor:
        """The change of the embeddings and cosines of the sampled texts, times the weight.

        The mean of 1 - cos(new, old) over the texts, plus the root mean square difference of
        their cosines to each other, plus that of the cosines of the texts and their edited copies,
        plus that of the cosines among texts about one topic.

        Args:
            embeddings: (texts, dimensions), of length 1.
        """
        old = self._embeddings[[self._place[text] for text in texts]]
        moved = (1 - (embeddings * old).sum(dim=1)).mean()
        total = moved + _root_mean_square(embeddings @ embeddings.T - old @ old.T)
        place = {text: number for number, text in enumerate(texts)}
        alike = self._of_one_topic(texts)
        if alike:
            one, other = zip(*alike, strict=True)
            new = (embeddings[list(one)] * embeddings[list(other)]).sum(dim=1)
            before = (old[list(one)] * old[list(other)]).sum(dim=1)
            total = total + _root_mean_square(new - before)
        copies = [text for text in texts if text in self._original]
        if copies:
            of = [place[self._original[text]] for text in copies]
            at = [place[text] for text in copies]
            new = (embeddings[of] * embeddings[at]).sum(dim=1)
            total = total + _root_mean_square(new - (old[of] * old[at]).sum(dim=1))
        total = total + self._rankings.loss(embeddings, old, texts)
        return self._weight * total

    def _of_one_topic(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """The indices of all pairs of texts on the same topic."""
        places = [place for place, text in enumerate(texts) if text in self._topic]
        return [
            (one, other)
            for one, other in combinations(places, 2)
            if self._topic[texts[one]] == self._topic[texts[other]]
        ]


def _root_mean_square(differences: Tensor) -> Tensor:
    return (differences.square().mean() + 1e-12).sqrt()


UPPER_SHARE = 1 / 3
"""Factor for the share of finetuned weights in the upper third of the layers. What training changes
there costs more retrieval than it brings (docs/recipe_search.md)."""


def interpolate(
    model: SentenceTransformer,
    base: Mapping[str, Tensor],
    tuned: Mapping[str, Tensor],
    share: float,
    *,
    upper: float = 1.0,
) -> None:
    """Set the weights to a mixture of the base model (0) and the finetuned model (1).

    No copy is made; `tuned` may be the model's own weights.

    Args:
        share: the share of the finetuned weights; values above 1 extrapolate.
        upper: the factor for the share in the upper third of the layers.
    """
    import torch

    weights = model.state_dict()
    above = _upper_third(weights) if upper != 1 else frozenset[str]()
    with torch.no_grad():
        for name, value in weights.items():
            if value.is_floating_point():
                part = share * upper if name in above else share
                torch.lerp(base[name], tuned[name], part, out=value)
            else:
                value.copy_(tuned[name])


_LAYER = re.compile(r"[a-z]\.(\d+)\.")
"""The number of a layer in a weight's name, as in '0.model.encoder.layer.5.output.dense.weight'."""


def _upper_third(names: Iterable[str]) -> frozenset[str]:
    """The weights of the last third of an encoder's layers; empty for one or two layers."""
    layers = {name: int(found[1]) for name in names if (found := _LAYER.search(name))}
    count = max(layers.values(), default=-1) + 1
    return frozenset(name for name, layer in layers.items() if layer >= count - count // 3)


# -- Keeping the base encoder's ranking of passages for queries -----------------------------------
#
# An encoder is used to find passages. Cosines among sentences say little about that: an encoder
# finetuned with these alone kept STS and lost retrieval (docs/recipe_search.md).


class Rankings:
    """Queries and passages of documents, and the change of the cosines between them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = list(documents)
        self._queries = {text for document in documents for text in document.queries}
        self._passages = {document.passage for document in documents}

    @property
    def texts(self) -> set[str]:
        """All texts that can be sampled."""
        return self._queries | self._passages

    def draw(self, count: int, chance: random.Random) -> list[str]:
        """The passages of this many documents, each with some of its queries."""
        chosen = chance.sample(self._documents, min(count, len(self._documents)))
        return [
            text
            for document in chosen
            for text in (
                document.passage,
                *chance.sample(document.queries, QUERIES_OF_A_DOCUMENT),
            )
        ]

    def loss(self, new: Tensor, old: Tensor, texts: Sequence[str]) -> Tensor:
        """The change of the cosines between all queries and all passages.

        Their root mean square change, plus `SOFT_TARGETS` times the mean Kullback-Leibler
        divergence of each query's distribution over the passages from the base encoder's.

        Args:
            new, old: the embeddings by the model and by the base encoder, shape (texts,
                dimensions), of length 1.
            texts: the texts of these rows; texts outside the documents are ignored.

        Returns:
            A scalar; 0 if there is no query or no passage.
        """
        queries = [place for place, text in enumerate(texts) if text in self._queries]
        passages = [place for place, text in enumerate(texts) if text in self._passages]
        if not queries or not passages:
            return new.new_zeros(())
        after, before = (rows[queries] @ rows[passages].T for rows in (new, old))
        moved = ((after - before).square().mean() + 1e-12).sqrt()
        found, wanted = ((SCALE * cosines).log_softmax(dim=1) for cosines in (after, before))
        divergence = (wanted.exp() * (wanted - found)).sum(dim=1).mean()
        return moved + SOFT_TARGETS * divergence
