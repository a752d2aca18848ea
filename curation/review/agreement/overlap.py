"""What several people have decided on the same variants, aggregated in the database.

A vote is a person's latest verdict that stands on a variant as it is worded now. These are none:

- a settlement, which somebody makes because they know that others disagree;
- what a rule over measures decided, since nobody read the variant;
- a verdict on a wording of one's own, as an edit leaves it;
- a verdict on a variant that more people are to decide on by the assignment: shown before, it would
  tell them what others said;
- a verdict on a gold item: somebody chose it, and everybody gets it, so that a few gold items would
  outweigh all other variants. What people had said before it became one counts.

A verdict is *independent* unless the person may have known somebody's: their card was not blind and
somebody else had decided already, or they had looked at a model's opinion. Imports and the command
line show no verdicts. Who changes their mind after seeing others' keeps what they had said before
as their independent verdict: otherwise the disagreements that were talked over would be missing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    String,
    and_,
    case,
    cast,
    func,
    or_,
    select,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.sources import of_sources
from curation.review.decisions import counts_still, made_by_rule
from curation.review.history import stands
from curation.review.opinions.looks import knew_opinion
from curation.review.people.reviewers import whose
from db.models import Decision, GoldItem, Reviewer, ReviewerKind, Variant, Verdict

_Number = TypeVar("_Number", int, ColumnElement[int])

VERDICTS = (Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT)
"""What a vote can be."""

_CARD, _OPINION, _VERSION = 4, 8, 16
"""Bits of a vote's code: its card showed what others had decided; an opinion was looked at."""
_ID = 1 << 24
"""A decision is packed into one number, its id first: the greatest one is the latest."""


class Vote(NamedTuple):
    """A person's verdict on a variant.

    Attributes:
        person: id of the reviewer; of a merged one, whom they were merged into.
        independent: what they had said before they knew anybody's verdict; None if they knew one
            from the start.
    """

    person: int
    verdict: Verdict
    independent: Verdict | None

    @property
    def accepts(self) -> bool:
        """Whether it takes the variant as it stands; an edit does not."""
        return self.verdict is Verdict.ACCEPT


Votes = tuple[Vote, ...]
"""The votes on one variant, in the order of the people's ids."""


class Pattern(NamedTuple):
    """Variants of one type, source and cue that got the same votes.

    Attributes:
        ids: of the variants, joined by commas.
    """

    type_id: str
    source_id: int
    cue: str | None
    votes: Votes
    variants: int
    ids: str

    def variant_ids(self) -> list[int]:
        """The ids of the variants."""
        return [int(number) for number in self.ids.split(",")]


@dataclass(frozen=True)
class Overlap:
    """The variants that at least two people have decided on."""

    patterns: tuple[Pattern, ...] = ()

    @cached_property
    def people(self) -> tuple[int, ...]:
        """The ids of the people with a vote, in order."""
        return tuple(sorted({vote.person for votes in self._distinct for vote in votes}))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Any two people who have decided on the same variant, those with most variants first."""
        found: Counter[tuple[int, int]] = Counter()
        for votes, variants in self._distinct.items():
            for number, one in enumerate(votes):
                for other in votes[number + 1 :]:
                    found[one.person, other.person] += variants
        return tuple(sorted(found, key=lambda pair: (-found[pair], pair)))

    @cached_property
    def variants(self) -> int:
        """How many variants there are."""
        return sum(self._distinct.values())

    @cached_property
    def _distinct(self) -> Counter[Votes]:
        found: Counter[Votes] = Counter()
        for pattern in self.patterns:
            found[pattern.votes] += pattern.variants
        return found

    def narrowed(
        self,
        *,
        independent: bool = False,
        pair: tuple[int, int] | None = None,
        source_id: int | None = None,
    ) -> "Overlap":
        """The variants that keep at least two votes.

        Args:
            independent: what people had said before they knew anybody's verdict.
            pair: only the votes of these two people.
            source_id: only variants of this source.
        """
        kept = {votes: _kept(votes, independent, pair) for votes in self._distinct}
        return Overlap(
            tuple(
                pattern._replace(votes=kept[pattern.votes])
                for pattern in self.patterns
                if len(kept[pattern.votes]) > 1 and source_id in (None, pattern.source_id)
            )
        )


def overlap(session: Session | Connection, sources: Collection[str] = ()) -> Overlap:
    """The variants in use that at least two people have decided on, with their votes.

    Args:
        sources: names of the sources to look at; none means all.
    """
    known: dict[str, Votes] = {}
    found: Counter[tuple[str, int, str | None, Votes]] = Counter()
    ids: dict[tuple[str, int, str | None, Votes], list[str]] = {}
    for type_id, source_id, cue, text, variants, some in session.execute(_patterns(sources)):
        if text not in known:
            known[text] = _votes(text)
        key = (type_id, source_id, cue, known[text])
        found[key] += variants
        ids.setdefault(key, []).append(some)
    return Overlap(tuple(Pattern(*key, found[key], ",".join(ids[key])) for key in found))


def is_vote() -> ColumnElement[bool]:
    """SQL, over ``Decision``, ``Variant`` and ``Reviewer``: a verdict that counts here."""
    author = aliased(Reviewer)
    writer = select(func.coalesce(author.merged_into_id, author.id)).where(
        col(author.id) == col(Variant.author_id)
    )
    return and_(
        col(Reviewer.kind) == ReviewerKind.PERSON,
        col(Variant.retired).is_(False),
        ~col(Decision.adjudicates),
        ~made_by_rule(),
        col(Variant.verdicts_by) == "",
        or_(col(Variant.author_id).is_(None), whose() != writer.scalar_subquery()),
        ~on_gold(),
        counts_still(),
        stands(),
    )


def on_gold() -> ColumnElement[bool]:
    """SQL, over ``Decision``: its variant was a gold item by then."""
    return (
        select(col(GoldItem.decision_id))
        .where(
            col(GoldItem.variant_id) == col(Decision.variant_id),
            col(GoldItem.decision_id) < col(Decision.id),
        )
        .exists()
    )


def _patterns(sources: Collection[str]) -> Select[*tuple[Any, ...]]:
    """Type, source, cue and votes, with how many variants they have in common, and which."""
    several = (
        select(col(Decision.variant_id))
        .where(col(Decision.reviewer_id).in_(_people()))
        .group_by(col(Decision.variant_id))
        .having(func.min(Decision.reviewer_id) != func.max(Decision.reviewer_id))
        .subquery("several")
    )
    number = packed()
    of_person = (
        select(
            col(Variant.id),
            col(Variant.type_id),
            col(Variant.source_id),
            col(Variant.cue),
            _joined(whose(), unpacked(func.min(number)), unpacked(func.max(number))).label("vote"),
        )
        .select_from(several)
        .join(Variant, col(Variant.id) == several.c.variant_id)
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(is_vote(), of_sources(sources))
        .group_by(col(Variant.id), whose())
    )
    votes = of_person.subquery("votes")
    variant = votes.c.id, votes.c.type_id, votes.c.source_id, votes.c.cue
    of_variant = (
        select(*variant, func.aggregate_strings(votes.c.vote, ",").label("pattern"))
        .group_by(*variant)
        .having(func.count() > 1)
        .subquery("patterns")
    )
    alike = of_variant.c.type_id, of_variant.c.source_id, of_variant.c.cue, of_variant.c.pattern
    ids = func.aggregate_strings(cast(of_variant.c.id, String), ",")
    return select(*alike, func.count(), ids).group_by(*alike)


def _people() -> Select[int]:
    return select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)


def packed() -> ColumnElement[int]:
    """SQL, over ``Decision``: its id and what else is to be known of it, in one number, so that the
    greatest of several is the latest decision's."""
    verdict = case(
        *((col(Decision.verdict) == verdict, code) for code, verdict in enumerate(VERDICTS))
    )
    on_card = and_(~col(Decision.blind), col(Decision.shown_at).is_not(None))
    return (
        cast(col(Decision.id), BigInteger) * _ID
        + col(Decision.variant_version) * _VERSION
        + verdict
        + case((on_card, _CARD), else_=0)
        + case((knew_opinion(), _OPINION), else_=0)
    )


def unpacked(number: _Number) -> _Number:
    """All of a `packed` number but the id: the code of a decision."""
    return number % _ID


def _joined(*numbers: ColumnElement[int]) -> ColumnElement[str]:
    texts: list[ColumnElement[str]] = [cast(number, String) for number in numbers]
    return reduce(lambda one, other: one + ":" + other, texts)


def _kept(votes: Votes, independent: bool, pair: tuple[int, int] | None) -> Votes:
    some = (vote for vote in votes if pair is None or vote.person in pair)
    if not independent:
        return tuple(some)
    return tuple(
        vote._replace(verdict=vote.independent) for vote in some if vote.independent is not None
    )


def _votes(text: str) -> Votes:
    """The votes that ``_patterns`` wrote into a string, in whatever order."""
    people = {
        int(person): (int(first), int(latest))
        for person, first, latest in (part.split(":") for part in text.split(","))
    }
    return tuple(_vote(person, people) for person in sorted(people))


def _vote(person: int, people: Mapping[int, tuple[int, int]]) -> Vote:
    """One of several people's, who each have a first and a latest decision."""
    first, latest = people[person]
    others = [other for key, (other, _) in people.items() if key != person]
    unaware = [code for code in (latest, first) if not knew(code, others)]
    independent = VERDICTS[unaware[0] % _CARD] if unaware else None
    return Vote(person, VERDICTS[latest % _CARD], independent)


def knew(code: int, others: Iterable[int]) -> bool:
    """Whether a decision was made in the knowledge of another verdict.

    Args:
        code: the decision's, see `unpacked`.
        others: of the first decision of everybody else. Each decision makes a new version of the
            variant, so that a card of a later version shows it.
    """
    version = code // _VERSION
    saw = bool(code & _CARD) and any(other // _VERSION < version for other in others)
    return saw or bool(code & _OPINION)
