"""Evaluations during training on held-out families, with questions like SemAntoNeg's.

Every metric is a curve of the run. The names are defined here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from curation.encoders.embeddings import encode_distinct
from training.evaluation.general_ability import StsPair, spearman
from training.losses.families import POSITIVE, Family, Member, Role

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


RANKED = "ranked"
"""Share of triples whose positive is closer to the anchor than the negative; `RANKED:p>n` for each
pair of types p, n."""

FAMILIES = "families"
"""Share of anchors whose positives are all closer to them than all negatives."""

QUESTIONS = "questions"
"""Share of SemAntoNeg-style questions that are answered correctly."""

DRIFT = "drift"
"""Root mean square change of the cosines between unrelated sentences, from the base encoder's."""

STS = "sts"
"""Spearman's correlation with human scores, if there is an STS file."""

COSINE = {
    Role.NEGATION: "cosine:negation",
    Role.UNSUPPORTED: "cosine:unsupported",
    Role.HEDGE: "cosine:hedge",
    Role.PARAPHRASE: "cosine:paraphrase",
}
"""Mean cosine of the anchor with its variants of a role. The standard deviation is stored under the
name with the suffix `SPREAD` (NevIR's Figure 8)."""

SPREAD = ":sd"

MOST_FAMILIES = 300
"""Maximum number of anchors in an evaluation, which then takes eight seconds with the built-in
encoder on two cores. They are evenly spaced among the held-out anchors."""

MOST_UNRELATED = 200


Rows = Mapping[str, np.ndarray]
"""Text → its embedding, of length 1."""


class HeldOut:
    """The sentences of every evaluation."""

    def __init__(
        self,
        base: SentenceTransformer,
        families: Sequence[Family],
        *,
        sts: Sequence[StsPair] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Measure the base encoder; the unrelated sentences are the anchors.

        Args:
            check: called several times during each measurement; may raise to stop it.
        """
        count = min(len(families), MOST_FAMILIES)
        self._families = [families[place * len(families) // count] for place in range(count)]
        self._sts, self._check = sts, check
        self._questions = questions(self._families)
        self._unrelated = [family[0].text for family in self._families][:MOST_UNRELATED]
        texts = [member.text for family in self._families for member in family]
        texts += [text for pair in sts for text in (pair.first, pair.second)]
        self._texts = list(dict.fromkeys(texts))
        rows = self._encoded(base)
        self._unrelated_before = self._among_unrelated(rows)
        self.before = self._figures(rows)

    def figures(self, model: SentenceTransformer) -> dict[str, float]:
        """All metrics that have sentences. Shares are in [0, 1], cosines in [-1, 1]."""
        return self._figures(self._encoded(model))

    def _encoded(self, model: SentenceTransformer) -> Rows:
        rows = encode_distinct(model, self._texts, on_progress=lambda *_: self._check())
        return dict(zip(self._texts, rows, strict=True))

    def _figures(self, rows: Rows) -> dict[str, float]:
        found = _rankings(self._families, rows)
        if self._questions:
            found[QUESTIONS] = share_right(self._questions, rows)
        found |= _cosines(self._families, rows)
        if len(self._unrelated) > 1:
            change = self._among_unrelated(rows) - self._unrelated_before
            found[DRIFT] = float(np.sqrt(np.square(change).mean()))
        if self._sts:
            cosines = [float(rows[pair.first] @ rows[pair.second]) for pair in self._sts]
            found[STS] = spearman(self._sts, cosines)
        return found

    def _among_unrelated(self, rows: Rows) -> np.ndarray:
        """The cosines of all pairs of different unrelated sentences."""
        if not self._unrelated:
            return np.zeros(0)
        matrix = np.stack([rows[text] for text in self._unrelated])
        return (matrix @ matrix.T)[np.triu_indices(len(matrix), k=1)]

    @property
    def counts(self) -> dict[str, int]:
        """The number of triples, anchors, questions, pairs or sentences behind each metric."""
        found = Counter(
            {QUESTIONS: len(self._questions), DRIFT: len(self._unrelated), STS: len(self._sts)}
        )
        for _, *variants in self._families:
            found.update(COSINE[member.role] for member in variants if member.role in COSINE)
            negative = [member.type_id for member in variants if member.role == Role.NEGATION]
            positive = [member.type_id for member in variants if member.role in POSITIVE]
            pairs = [f"{RANKED}:{good}>{bad}" for good in positive for bad in negative]
            found.update(pairs)
            found[RANKED] += len(pairs)
            found[FAMILIES] += bool(pairs)
        return {name: count for name, count in found.items() if count}


def _rankings(families: Sequence[Family], rows: Rows) -> dict[str, float]:
    right: dict[str, list[bool]] = {}
    whole: list[bool] = []
    for anchor, *variants in families:
        positive = [member for member in variants if member.role in POSITIVE]
        negative = [member for member in variants if member.role == Role.NEGATION]
        if not positive or not negative:
            continue
        near, far = (_to(anchor, side, rows) for side in (positive, negative))
        whole.append(bool(near.min() > far.max()))
        for good, cosine in zip(positive, near, strict=True):
            for bad, other in zip(negative, far, strict=True):
                name = f"{RANKED}:{good.type_id}>{bad.type_id}"
                right.setdefault(name, []).append(bool(cosine > other))
    if not whole:
        return {}
    every = [hit for hits in right.values() for hit in hits]
    shares = {name: float(np.mean(hits)) for name, hits in sorted(right.items())}
    return {RANKED: float(np.mean(every)), FAMILIES: float(np.mean(whole)), **shares}


def _cosines(families: Sequence[Family], rows: Rows) -> dict[str, float]:
    found = {}
    for role, name in COSINE.items():
        values = [
            value
            for anchor, *variants in families
            for value in _to(anchor, [m for m in variants if m.role == role], rows)
        ]
        if values:
            found[name] = float(np.mean(values))
            found[name + SPREAD] = float(np.std(values))
    return found


def _to(anchor: Member, others: Sequence[Member], rows: Rows) -> np.ndarray:
    """The anchor's cosine with each of the others, in [-1, 1]: rounding can go beyond it."""
    cosines = [float(rows[anchor.text] @ rows[member.text]) for member in others]
    return np.clip(cosines, -1.0, 1.0)


# -- SemAntoNeg-style questions (*It Is Not Easy To Detect Paraphrases*) from families ------------
#
# A sentence has four forms: itself, its negation, its opposite, and both at once. Each form is the
# input of a question. Of the other three, the one with both changes is its paraphrase.


NEGATION, ANTONYM, BOTH = "verbal", "lexical", "negated_antonym"
"""The variant types that provide the three other forms of an anchor."""


class Forms(NamedTuple):
    """The four forms of a sentence.

    Attributes:
        negation: the original with its negator removed, or with one added.
        antonym: the original with a word replaced by its antonym.
        both: both changes at once, which say the same as the original.
    """

    original: str
    negation: str
    antonym: str
    both: str


class CandidateQuestion(NamedTuple):
    """An input, its paraphrase, and the two candidates that say the opposite."""

    input: str
    right: str
    wrong: tuple[str, str]


def forms_of(families: Iterable[Family]) -> list[Forms]:
    """The forms of each family that has four different ones. The first variant of a type is
    used."""
    found = []
    for anchor, *variants in families:
        texts: dict[str, str] = {}
        for member in variants:
            texts.setdefault(member.type_id, member.text)
        if {NEGATION, ANTONYM, BOTH} <= texts.keys():
            forms = Forms(anchor.text, texts[NEGATION], texts[ANTONYM], texts[BOTH])
            if len(set(forms)) == len(forms):
                found.append(forms)
    return found


def questions(families: Iterable[Family]) -> list[CandidateQuestion]:
    """Four questions for each family with all four forms."""
    found = []
    for original, negation, antonym, both in forms_of(families):
        affirmed, denied = (original, both), (negation, antonym)
        for (first, second), wrong in ((affirmed, denied), (denied, affirmed)):
            found += [
                CandidateQuestion(first, second, wrong),
                CandidateQuestion(second, first, wrong),
            ]
    return found


def share_right(asked: Iterable[CandidateQuestion], embeddings: Mapping[str, np.ndarray]) -> float:
    """The share, in [0, 1], of questions whose paraphrase is the most similar. A tie counts as
    wrong.

    Args:
        asked: at least one question.
        embeddings: the embedding of each text, of length 1.
    """
    return float(
        np.mean(
            [
                embeddings[input_] @ embeddings[right]
                > max(embeddings[input_] @ embeddings[text] for text in wrong)
                for input_, right, wrong in asked
            ]
        )
    )
