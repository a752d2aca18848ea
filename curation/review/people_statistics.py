"""Statistics about each person: verdicts, speed, and agreement with known correct verdicts.

Pages show them to leads only.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import func
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.coefficients import FEWEST, Estimate
from curation.decisions.history import decisions_with, is_persons_reading, not_retracted
from curation.decisions.reviewers import person_id_now, reviewer_names
from curation.decisions.storing import counts_still, rows_with
from curation.review.agreement.figures import as_text
from curation.review.agreement.overlap import Overlap, on_gold
from curation.review.browser_window.queue_position import PAUSE_SECONDS
from curation.review.calibration.figures import exact_share
from curation.review.gold.items import gold_items
from curation.review.gold.practice import Score, scores
from curation.taxonomy.project_types import all_types
from db.columns import seconds_between, whole
from db.models import Decision, GoldUse, Reviewer, ReviewerKind, Variant, Verdict

# -- statistics -----------------------------------------------------------------------------------


_TENTHS = 10
"""Times are counted in tenths of a second."""


class Share(NamedTuple):
    """A number of verdicts that agree or accept, out of all verdicts."""

    number: int = 0
    of: int = 0

    def estimate(self) -> Estimate:
        """The share with its exact 95% interval; undefined without verdicts."""
        return exact_share(self.number, self.of)

    def percentage(self) -> str:
        """'91.7% (61.5% to 99.8%)', without an interval below ``FEWEST`` verdicts."""
        value, *limits = self.estimate()
        shown = Estimate(value, *limits) if self.of >= FEWEST else Estimate(value)
        return as_text(shown, as_percent=True)

    def in_words(self) -> str:
        """'11 of 12, 91.7% (61.5% to 99.8%)', without a percentage below ``FEWEST`` verdicts."""
        if not self.of:
            return "–"
        counts = f"{self.number:,} of {self.of:,}"
        return f"{counts}, {self.percentage()}" if self.of >= FEWEST else counts

    def facts(self) -> dict[str, int | float | None]:
        """The numbers, the share and its interval, for JSON."""
        return self._asdict() | dict(zip(("share", "low", "high"), self.estimate(), strict=True))


class PersonFigures(NamedTuple):
    """One person's work.

    Attributes:
        decisions: their current verdicts on single variants, without settlements.
        accepted: how many of these accept, by type in taxonomy order.
        seconds: the median time from showing a card to the decision. Times over ``PAUSE_SECONDS``
            were breaks and are left out. None without a time.
        timed: decisions with a time.
        gold: their verdicts on gold items, and how many match.
        adjudicated: their last verdicts before somebody else settled the variant, and how many
            match the settlement.
        practice_round: the last practice round with an answer of theirs; 0 for none.
        practice: their score in that round.
    """

    reviewer_id: int
    name: str
    decisions: int
    accepted: Mapping[str, Share]
    seconds: float | None
    timed: int
    gold: Share
    adjudicated: Share
    practice_round: int
    practice: Score

    @property
    def acceptance(self) -> Share:
        """Accepting verdicts on all types."""
        return Share(sum(one.number for one in self.accepted.values()), self.decisions)


def person_figures(session: Session) -> list[PersonFigures]:
    """The figures of everybody who has decided or practised, the most verdicts first."""
    verdicts, times = _verdicts(session), _times(session)
    gold, settled, practised = _on_gold(session), _before_settlement(session), scores(session)
    everybody = verdicts.keys() | gold.keys() | settled.keys() | practised.keys()
    names = reviewer_names(session)
    found = []
    for person in everybody:
        accepted = verdicts.get(person, {})
        tenths = times.get(person, Counter())
        number, score = practised.get(person, (0, Score(0, 0)))
        found.append(
            PersonFigures(
                reviewer_id=person,
                name=names[person],
                decisions=sum(one.of for one in accepted.values()),
                accepted=accepted,
                seconds=statistics.median(tenths.elements()) / _TENTHS if tenths else None,
                timed=tenths.total(),
                gold=gold.get(person, Share()),
                adjudicated=settled.get(person, Share()),
                practice_round=number,
                practice=score,
            )
        )
    return sorted(found, key=lambda one: (-one.decisions, one.name))


def overlapping(found: Overlap) -> dict[int, int]:
    """By person, the number of their variants that somebody else has also decided on."""
    numbers: defaultdict[int, int] = defaultdict(int)
    for pattern in found.patterns:
        for vote in pattern.votes:
            numbers[vote.person] += pattern.variants
    return dict(numbers)


def _verdicts(session: Session) -> dict[int, dict[str, Share]]:
    """By person and type, how many verdicts are acceptances."""
    by = (person_id_now(), col(Variant.type_id), col(Decision.verdict))
    query = decisions_with(*by, func.count()).where(is_persons_reading()).group_by(*by)
    numbers: defaultdict[int, defaultdict[str, list[int]]]
    numbers = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for person, type_id, verdict, number in session.execute(query):
        pair = numbers[person][type_id]
        pair[0] += number if verdict is Verdict.ACCEPT else 0
        pair[1] += number
    order = list(all_types(session))
    return {
        person: {type_id: Share(*types[type_id]) for type_id in sorted(types, key=order.index)}
        for person, types in numbers.items()
    }


def _times(session: Session) -> dict[int, Counter[int]]:
    """By person: tenths of a second from showing to decision → actions."""
    seconds = seconds_between(col(Decision.shown_at), col(Decision.decided_at))
    tenths = whole(seconds * _TENTHS + 0.5)
    query = (
        decisions_with(person_id_now(), tenths, func.count(col(Decision.action_id).distinct()))
        .where(
            is_persons_reading(),
            col(Decision.shown_at) <= col(Decision.decided_at),
            seconds <= PAUSE_SECONDS,
        )
        .group_by(person_id_now(), tenths)
    )
    found: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for person, tenth, number in session.execute(query):
        found[person][tenth] = number
    return found


def _on_gold(session: Session) -> dict[int, Share]:
    """By person, how many of their verdicts on gold items match.

    For each item, the last verdict counts that they gave before they could see the right one.
    """
    return _shares((person, right) for (person, _), right in _gold_answers(session).items())


def answers_on_gold(session: Session) -> dict[int, Share]:
    """By gold item, how many people's verdicts match, as in `PersonFigures.gold`."""
    return _shares((variant_id, right) for (_, variant_id), right in _gold_answers(session).items())


def _gold_answers(session: Session) -> dict[tuple[int, int], bool]:
    """(person, gold item) → whether the verdict matches."""
    items = {item.variant_id: item for item in gold_items(session, use=GoldUse.MIXED)}
    latest: dict[tuple[int, int], bool] = {}
    query = (
        decisions_with(
            col(Decision.id), col(Decision.variant_id), person_id_now(), col(Decision.verdict)
        )
        .where(
            col(Reviewer.kind) == ReviewerKind.PERSON,
            col(Decision.blind),
            ~col(Decision.adjudicates),
            not_retracted(),
            counts_still(),
        )
        .order_by(col(Decision.id))
    )
    rows: Iterator[Any] = rows_with(session, query, col(Decision.variant_id), items)
    for key, variant_id, person, verdict in rows:
        item = items[variant_id]
        if key > item.id and person != item.maker_id:
            latest[person, variant_id] = item.is_matched_by(verdict)
    return latest


def _before_settlement(session: Session) -> dict[int, Share]:
    """By person, how many of their last verdicts before a settlement match it.

    If a variant was settled several times, the last settlement counts. A person's own settlements
    are left out. An edit counts as a rejection, as in the agreement. Verdicts on gold items are
    counted only there.
    """
    every = decisions_with(
        col(Decision.variant_id), col(Decision.id), person_id_now(), col(Decision.verdict)
    ).order_by(col(Decision.id))
    query = every.where(
        col(Decision.adjudicates),
        col(Reviewer.kind) == ReviewerKind.PERSON,
        not_retracted(),
        counts_still(),
    )
    settlements = {row[0]: tuple(row[1:]) for row in session.execute(query)}
    latest: dict[tuple[int, int], bool] = {}
    verdicts = every.where(is_persons_reading(), ~on_gold(), counts_still())
    rows: Iterator[Any] = rows_with(session, verdicts, col(Decision.variant_id), settlements)
    for variant_id, key, person, verdict in rows:
        settlement, settler, right = settlements[variant_id]
        if key < settlement and person != settler:
            match = (verdict is Verdict.ACCEPT) == (right is Verdict.ACCEPT)
            latest[person, variant_id] = match
    return _shares((person, right) for (person, _), right in latest.items())


def _shares(matches: Iterable[tuple[int, bool]]) -> dict[int, Share]:
    found: defaultdict[int, Share] = defaultdict(Share)
    for person, match in matches:
        before = found[person]
        found[person] = Share(before.number + match, before.of + 1)
    return dict(found)


COLUMNS = (
    "reviewer",
    "type",
    "decisions",
    "accepted",
    "acceptance",
    "low",
    "high",
    "median_seconds",
    "also_decided_by_others",
    "gold",
    "gold_matched",
    "adjudicated",
    "adjudicated_matched",
    "practice_round",
    "practice_answers",
    "practice_right",
)
"""The columns of `table`. ``low`` and ``high`` are the 95% interval of the acceptance."""

ALL = "all"
"""Used in place of a type for all types."""


def table(
    found: Iterable[PersonFigures], overlaps: Mapping[int, int]
) -> Iterator[tuple[str | int | float | None, ...]]:
    """For each person a row for all types and one per type, with the columns `COLUMNS`."""
    for one in found:
        of_person = (
            one.seconds,
            overlaps.get(one.reviewer_id, 0),
            one.gold.of,
            one.gold.number,
            one.adjudicated.of,
            one.adjudicated.number,
            one.practice_round,
            one.practice.answered,
            one.practice.right,
        )
        yield (one.name, ALL, *_acceptance(one.acceptance), *of_person)
        for type_id, share in one.accepted.items():
            yield (one.name, type_id, *_acceptance(share), *(None for _ in of_person))


def _acceptance(share: Share) -> tuple[int | float | None, ...]:
    return share.of, share.number, *share.estimate()


def facts(one: PersonFigures, overlaps: Mapping[int, int]) -> dict[str, Any]:
    """One person's figures, for JSON."""
    return {
        "name": one.name,
        "decisions": one.decisions,
        "median_seconds": one.seconds,
        "timed": one.timed,
        "also_decided_by_others": overlaps.get(one.reviewer_id, 0),
        "accepted": one.acceptance.facts(),
        "types": {type_id: share.facts() for type_id, share in one.accepted.items()},
        "gold": one.gold.facts(),
        "adjudicated": one.adjudicated.facts(),
        "practice": one.practice._asdict() | {"round": one.practice_round},
    }
