"""Verdicts of several people on the same variants, aggregated in the database.

A vote is a person's latest current verdict on a variant with its current text. These are not votes:

- a settlement, because the person who settles knows that others disagree;
- a decision by rule, because nobody read the variant;
- a verdict on one's own variant, such as the acceptance that comes with an edit;
- a verdict on a variant that still needs verdicts of more people by the assignment, because the
  figures would reveal it to them;
- a verdict on a gold item, because everybody gets these selected cards, and a few of them would
  outweigh all other variants. Verdicts from before it became a gold item count.

A verdict is *independent* unless the person may have known another one: their card was not blind
and somebody else had already decided, or they had looked at a model's opinion. Imports and the
command line show no verdicts. If people change their mind after seeing other verdicts, their first
verdict is the independent one. Otherwise, disagreements that were discussed would be missing.
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
    select,
)
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_sources
from curation.decisions.history import is_persons_reading
from curation.decisions.reviewers import person_id_now
from curation.decisions.storing import counts_still
from curation.diagnostics.model_verdicts import knew_opinion
from db.models import Decision, GoldItem, Reviewer, ReviewerKind, Variant, Verdict

_Number = TypeVar("_Number", int, ColumnElement[int])

VERDICTS = (Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT)
"""The possible verdicts of a vote."""

_CARD, _OPINION, _VERSION = 4, 8, 16
"""Bits of a vote's code: its card showed other verdicts; the person had seen an opinion."""
_ID = 1 << 24
"""A decision is packed into one number that starts with its id, so the maximum is the latest."""


class Vote(NamedTuple):
    """A person's verdict on a variant.

    Attributes:
        person: the reviewer's id; for a merged person, the id of the one they were merged into.
        independent: their verdict before they knew anybody else's; None if they always knew one.
    """

    person: int
    verdict: Verdict
    independent: Verdict | None

    @property
    def accepts(self) -> bool:
        """Whether the verdict accepts. An edit does not."""
        return self.verdict is Verdict.ACCEPT


Votes = tuple[Vote, ...]
"""The votes on one variant, sorted by the people's ids."""


class Pattern(NamedTuple):
    """Variants of one type, source and cue with the same votes.

    Attributes:
        variants: the number of variants.
        ids: the ids of the variants, joined by commas.
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
    """Variants with verdicts of at least two people."""

    patterns: tuple[Pattern, ...] = ()

    @cached_property
    def people(self) -> tuple[int, ...]:
        """The ids of the people with a vote, sorted."""
        return tuple(sorted({vote.person for votes in self._distinct for vote in votes}))

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of people who decided on the same variant, the pair with most variants first."""
        found: Counter[tuple[int, int]] = Counter()
        for votes, variants in self._distinct.items():
            for number, one in enumerate(votes):
                for other in votes[number + 1 :]:
                    found[one.person, other.person] += variants
        return tuple(sorted(found, key=lambda pair: (-found[pair], pair)))

    @cached_property
    def variants(self) -> int:
        """The number of variants."""
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
        """The variants with at least two votes that match.

        Args:
            independent: use independent verdicts only.
            pair: use the votes of these two people only.
            source_id: use variants of this source only.
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
    """The variants in use with verdicts of at least two people, and their votes.

    Args:
        sources: the names of the sources to include; empty for all.
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
    """SQL, over ``Decision``, ``Variant`` and ``Reviewer``: a verdict that is a vote."""
    return and_(
        is_persons_reading(),
        col(Variant.retired).is_(False),
        col(Variant.verdicts_by) == "",
        ~on_gold(),
        counts_still(),
    )


def on_gold() -> ColumnElement[bool]:
    """SQL, over ``Decision``: its variant was already a gold item."""
    return (
        select(col(GoldItem.decision_id))
        .where(
            col(GoldItem.variant_id) == col(Decision.variant_id),
            col(GoldItem.decision_id) < col(Decision.id),
        )
        .exists()
    )


def _patterns(sources: Collection[str]) -> Select[*tuple[Any, ...]]:
    """Type, source, cue and votes, with the number and ids of the variants that share them."""
    people = select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)
    several = (
        select(col(Decision.variant_id))
        .where(col(Decision.reviewer_id).in_(people))
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
            _joined(person_id_now(), unpacked(func.min(number)), unpacked(func.max(number))).label(
                "vote"
            ),
        )
        .select_from(several)
        .join(Variant, col(Variant.id) == several.c.variant_id)
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(is_vote(), of_sources(sources))
        .group_by(col(Variant.id), person_id_now())
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


def packed() -> ColumnElement[int]:
    """SQL, over ``Decision``: one number with its id and code; the maximum is the latest one."""
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
    """The code of a decision: a `packed` number without the id."""
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
    """The votes in a string from ``_patterns``, which is in any order."""
    people = {
        int(person): (int(first), int(latest))
        for person, first, latest in (part.split(":") for part in text.split(","))
    }
    return tuple(_vote(person, people) for person in sorted(people))


def _vote(person: int, people: Mapping[int, tuple[int, int]]) -> Vote:
    """A person's vote, from the first and latest decisions of all people."""
    first, latest = people[person]
    others = [other for key, (other, _) in people.items() if key != person]
    unaware = [code for code in (latest, first) if not knew(code, others)]
    independent = VERDICTS[unaware[0] % _CARD] if unaware else None
    return Vote(person, VERDICTS[latest % _CARD], independent)


def knew(code: int, others: Iterable[int]) -> bool:
    """Whether the person may have known another verdict when they decided.

    Args:
        code: the code of the decision, see `unpacked`.
        others: the codes of everybody else's first decision. Each decision makes a new version of
            the variant, so that a card with a later version shows it.
    """
    version = code // _VERSION
    saw = bool(code & _CARD) and any(other // _VERSION < version for other in others)
    return saw or bool(code & _OPINION)
