"""Question pairs: a release as questions that a language model answers with Yes or No.

The paper turns each triple into two questions (HedgeTriple, §5.2): an anchor and its negation have
opposite meanings, an anchor and its hedge do not. So a family gives as many Yes as No, and each of
its variants occurs as often as the others of its side: with four negations and two hedges, in eight
triples, a negation twice and a hedge four times. The half of these 16 questions repeats the other,
so it is left out: of a family there are the fewest questions that keep these proportions, once
each negation and twice each hedge. With p positives and n negatives that is the least common
multiple of p and n questions of each answer, in place of p times n.

One anchor is held in memory at a time.
"""

from collections.abc import Iterator, Mapping
from math import lcm
from types import MappingProxyType
from typing import Literal, NamedTuple

from sqlalchemy.orm import Session

from curation.plurals import counted
from curation.release.portions import Portion, portion_of
from curation.release.triples import Family, FamilyVariant, families
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError
from db.models import Polarity, Release, Split

Arm = Literal["both", "paper", "negation", "hedging"]

ARMS: Mapping[Arm, Portion] = MappingProxyType(
    {"both": "all", "paper": "paper", "negation": "negation", "hedging": "hedging"}
)
"""Which of a release's variants are asked about: 'both' negations and hedges of any type, or those
of the paper's six types alone; the other two are the ablations of the paper's Table 3, as an
encoder's training has them."""

YES, NO = "Yes", "No"

PROMPT = """\
Sentence 1: {sentence_1}
Sentence 2: {sentence_2}
Do the two sentences have opposite meaning? Yes or No.
Answer:"""
"""The paper's question (HedgeTriple, §5.2)."""


class QuestionPair(NamedTuple):
    """A question about an anchor and one of its variants.

    Attributes:
        type: the variant's.
        sentence_1: the anchor.
        sentence_2: the variant.
        answer: 'Yes' where the variant contradicts the anchor, 'No' where it says the same.
    """

    anchor_uid: str
    variant_uid: str
    type: str
    sentence_1: str
    sentence_2: str
    answer: str
    split: Split

    @property
    def prompt(self) -> str:
        """The question, in the paper's words (`PROMPT`)."""
        return question(self.sentence_1, self.sentence_2)


class QuestionCounts(NamedTuple):
    """The number of questions of a release, and the number of anchors without questions.

    Attributes:
        pairs: by split, for splits that have any.
        left_out: anchors whose variants in the arm would all have the same answer, or of which
            none is in it.
    """

    pairs: dict[Split, int]
    left_out: int

    @property
    def total(self) -> int:
        """The questions of all splits."""
        return sum(self.pairs.values())


class _Sides(NamedTuple):
    """The variants of an anchor that are asked about, by uid."""

    negatives: list[FamilyVariant]
    positives: list[FamilyVariant]

    @property
    def questions(self) -> int:
        """Of each answer; 0 where one side is empty."""
        return lcm(len(self.negatives), len(self.positives))


def arm_of(name: str) -> Arm:
    """The arm of this name.

    Raises:
        HedgerowError: there is none.
    """
    found = next((arm for arm in ARMS if arm == name), None)
    if found is None:
        raise HedgerowError(f"Expected an arm ({', '.join(ARMS)}), found {name!r}.")
    return found


def question(sentence_1: str, sentence_2: str) -> str:
    """The question about two sentences, in the paper's words (HedgeTriple, §5.2)."""
    return PROMPT.format(sentence_1=sentence_1, sentence_2=sentence_2)


def question_pairs(
    session: Session, release_id: int, *, split: Split | None = None, arm: Arm = "both"
) -> Iterator[QuestionPair]:
    """The question pairs of a release, or of one of its splits: anchor by anchor in the order of
    their uids, Yes and No in turn, each going through the anchor's variants in the order of theirs.

    A family that gives only one answer gives none (see `count_questions`).
    """
    for family, sides in _asked(session, release_id, split, arm):
        for number in range(sides.questions):
            yield _pair(family, sides.negatives[number % len(sides.negatives)], YES)
            yield _pair(family, sides.positives[number % len(sides.positives)], NO)


def count_questions(session: Session, release_id: int, *, arm: Arm = "both") -> QuestionCounts:
    """How many question pairs there are of each split, and how many anchors give none."""
    pairs = dict.fromkeys(Split, 0)
    left_out = 0
    for family, sides in _asked(session, release_id, None, arm):
        pairs[family.split] += 2 * sides.questions
        left_out += not sides.questions
    return QuestionCounts({split: number for split, number in pairs.items() if number}, left_out)


def require_questions(release: Release, counts: QuestionCounts, arm: Arm) -> None:
    """Refuse a release without question pairs.

    Raises:
        HedgerowError: there are none.
    """
    if counts.total:
        return
    negatives, positives = _NEEDED[arm]
    raise HedgerowError(
        f"Expected anchors with {negatives} and {positives}, but no anchor of release "
        f"{release.number} has both; accept such variants and create a new release."
    )


def description_of(counts: QuestionCounts, arm: Arm) -> str:
    """The number of question pairs of an arm, and what is left out, as sentences."""
    answers = f"half of them with the answer {YES}"
    left_out = (
        f" {counted(counts.left_out, 'anchor')} left out, because all questions would have the "
        "same answer."
        if counts.left_out
        else ""
    )
    return f"{counts.total:,} question pairs, {answers}.{_SHOWN[arm]}{left_out}"


_SHOWN: Mapping[Arm, str] = MappingProxyType(
    {
        "both": "",
        "paper": " Only variants of the paper's six types are asked about.",
        "negation": " Only negations of the paper's types are asked about, with original "
        "entailments, or with other paraphrases if the anchor has none.",
        "hedging": " Only hedges of the paper's types are asked about, with original "
        "contradictions.",
    }
)

_NEEDED: Mapping[Arm, tuple[str, str]] = MappingProxyType(
    {
        "both": ("a negation", "a hedge or paraphrase"),
        "paper": ("a negation", "a hedge of the paper's types"),
        "negation": (
            "a negation of the paper's types",
            "an original entailment or another paraphrase",
        ),
        "hedging": ("an original contradiction", "a hedge of the paper's types"),
    }
)
"""The variants of an anchor with the answer Yes, and with No."""


def _asked(
    session: Session, release_id: int, split: Split | None, arm: Arm
) -> Iterator[tuple[Family, _Sides]]:
    roles = {entry.id: entry.role for entry in all_types(session).values()}
    for family in families(session, release_id, split=split):
        chosen = portion_of(family.variants, ARMS[arm], roles=roles)
        yield (
            family,
            _Sides(
                [one for one in chosen if one.polarity == Polarity.NEGATIVE],
                [one for one in chosen if one.polarity == Polarity.POSITIVE],
            ),
        )


def _pair(family: Family, variant: FamilyVariant, answer: str) -> QuestionPair:
    return QuestionPair(
        family.anchor_uid,
        variant.uid,
        variant.type_id,
        family.anchor,
        variant.text,
        answer,
        family.split,
    )
