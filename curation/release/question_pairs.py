"""Question pairs: a release as questions that a language model answers with Yes or No.

The paper turns each triple into two questions (HedgeTriple, §5.2): an anchor and its negation have
opposite meanings; an anchor and its hedge do not. So a family has an equal number of Yes and No
questions, and all variants on the same side occur equally often. Four negations and two hedges make
eight triples, in which a negation occurs twice and a hedge four times. Half of these 16 questions
are duplicates. We therefore ask the fewest questions with the same proportions: here, once about
each negation and twice about each hedge. With p positives and n negatives, there are lcm(p, n)
questions for each answer instead of p times n.

One anchor is in memory at a time.
"""

from collections.abc import Iterator, Mapping
from math import lcm
from types import MappingProxyType
from typing import Literal, NamedTuple

from sqlalchemy.orm import Session

from curation.formatting import counted
from curation.release.triples import Family, FamilyVariant, Portion, families, portion_of
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError
from db.models import Polarity, Release, Split

Arm = Literal["both", "paper", "negation", "hedging"]

ARMS: Mapping[Arm, Portion] = MappingProxyType(
    {"both": "all", "paper": "paper", "negation": "negation", "hedging": "hedging"}
)
"""Which of a release's variants to ask about.

'both': negations and hedges of all types. 'paper': only the paper's six types. The other two are
the ablations in the paper's Table 3, as for training an encoder.
"""

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
        type: the variant's type.
        sentence_1: the anchor.
        sentence_2: the variant.
        answer: 'Yes' if the variant contradicts the anchor, 'No' if it makes the same claim.
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
    """The number of questions for a release, and the number of anchors without questions.

    Attributes:
        pairs: by split, for splits that have any.
        left_out: anchors whose variants in the arm would all have the same answer, or that have
            none.
    """

    pairs: dict[Split, int]
    left_out: int

    @property
    def total(self) -> int:
        """The number of questions in all splits."""
        return sum(self.pairs.values())


class _Sides(NamedTuple):
    """The variants of an anchor that are asked about, by uid."""

    negatives: list[FamilyVariant]
    positives: list[FamilyVariant]

    @property
    def questions(self) -> int:
        """The number of questions for each answer; 0 if one side is empty."""
        return lcm(len(self.negatives), len(self.positives))


def arm_of(name: str) -> Arm:
    """Return the arm with this name.

    Raises:
        HedgerowError: there is no such arm.
    """
    found = next((arm for arm in ARMS if arm == name), None)
    if found is None:
        raise HedgerowError(f"Expected an arm ({', '.join(ARMS)}), found {name!r}.")
    return found


def question(sentence_1: str, sentence_2: str) -> str:
    """Return the question about two sentences, in the paper's words (HedgeTriple, §5.2)."""
    return PROMPT.format(sentence_1=sentence_1, sentence_2=sentence_2)


def question_pairs(
    session: Session, release_id: int, *, split: Split | None = None, arm: Arm = "both"
) -> Iterator[QuestionPair]:
    """Yield the question pairs of a release, or of one of its splits.

    Anchors are in the order of their uids. Within an anchor, Yes and No alternate, each going
    through the variants in the order of their uids. A family with only one answer has no questions
    (see `count_questions`).
    """
    for family, sides in _asked(session, release_id, split, arm):
        for number in range(sides.questions):
            yield _pair(family, sides.negatives[number % len(sides.negatives)], YES)
            yield _pair(family, sides.positives[number % len(sides.positives)], NO)


def count_questions(session: Session, release_id: int, *, arm: Arm = "both") -> QuestionCounts:
    """Count the question pairs of each split, and the anchors without any."""
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
    """Describe the number of an arm's question pairs, and what is left out, in sentences."""
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
"""The variants of an anchor with the answer Yes, and those with the answer No."""


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
