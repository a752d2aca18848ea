"""Accepting without a person what a judge accepts, of the types for which it can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review.bulk import Applied, BulkRule, apply_rule, find_matches, said_by
from curation.review.calibration.figures import PRECISION, Calibration, JudgeFigures, calibration
from db.errors import HedgerowError
from db.models import Verdict

ACCEPTED = "accepted"


class Trust(NamedTuple):
    """What can be accepted, and why.

    Attributes:
        rule: what matches.
        types: ids of the types that it is about.
        why: a sentence for the note of every decision.
    """

    rule: BulkRule
    types: tuple[str, ...]
    why: str


def trust(
    session: Session,
    judge: str,
    *,
    sample: int | None = None,
    types: Sequence[str] = (),
    precision: float = PRECISION,
) -> Trust:
    """The rule that accepts what a judge accepts.

    Args:
        sample: the number of the sample that it is measured by; None for the newest.
        types: only these of the recommended types; none for all of them.

    Raises:
        HedgerowError: the judge has not judged the sample, no type is recommended, or one of
            ``types`` is not.
    """
    found = calibration(session, sample)
    figures = found.judge(judge)
    if figures is None:
        known = ", ".join(f"'{one.name}'" for one in found.judges) or "none has judged it yet"
        raise HedgerowError(
            f"Expected the name of a judge of sample {found.sample.id} ({known}), found "
            f"{judge[:100]!r}."
        )
    trusted = figures.trusted(precision)
    if not trusted:
        raise HedgerowError(
            f"Of no type can what '{figures.name}' accepts be accepted without a person: see "
            f"'hedgerow review calibration show {found.sample.id}'."
        )
    if refused := [name for name in types if name not in trusted]:
        raise HedgerowError(
            f"Expected types that are recommended for '{figures.name}' ({', '.join(trusted)}), "
            f"found {refused[0][:100]!r}."
        )
    wanted = tuple(name for name in trusted if not types or name in types)
    return Trust(said_by(ACCEPTED, figures.name), wanted, _why(found, figures, wanted))


def _why(found: Calibration, figures: JudgeFigures, types: Sequence[str]) -> str:
    facts = [
        f"{row.type_id} {row.precision.value:.1%} right (at least {row.precision.low:.1%}) on "
        f"{row.accepted} it accepts"
        for row in figures.types
        if row.type_id in types and row.precision.low is not None
    ]
    return f"Blind sample {found.sample.id}: {'; '.join(facts)}."


def accept_trusted(session: Session, found: Trust, *, reviewer_id: int) -> Applied:
    """Accept every pending variant that the rule matches, as one action that one undo takes back.

    Raises:
        HedgerowError: as ``curation.review.bulk.apply_rule``.
    """
    return apply_rule(
        session,
        found.rule,
        verdict=Verdict.ACCEPT,
        reviewer_id=reviewer_id,
        note=found.why,
        types=found.types,
    )


def count_trusted(session: Session, found: Trust) -> dict[str, int]:
    """How many pending variants the rule matches now, by type."""
    return find_matches(session, found.rule, types=found.types).by_type
