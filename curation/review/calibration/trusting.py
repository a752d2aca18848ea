"""Accept what a judge accepts without human review, for types where it can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review.bulk import Applied, BulkRule, apply_rule, find_matches, opinion_rule
from curation.review.calibration.figures import PRECISION, Calibration, JudgeFigures, calibration
from db.errors import HedgerowError
from db.models import Verdict

ACCEPTED = "accepted"


class Trust(NamedTuple):
    """Which variants can be accepted, and why.

    Attributes:
        rule: the rule that selects them.
        types: the ids of their types.
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
        sample: the number of the sample to measure it on; None for the newest.
        types: only these; empty for all types that qualify.

    Raises:
        HedgerowError: the judge has no opinion on the sample, no type qualifies, or one of
            ``types`` does not.
    """
    found = calibration(session, sample)
    figures = found.judge(judge)
    if figures is None:
        known = ", ".join(f"'{one.name}'" for one in found.judges) or "there is none yet"
        raise HedgerowError(
            f"Expected the name of a judge of sample {found.sample.id} ({known}), found "
            f"{judge[:100]!r}."
        )
    trusted = figures.trusted(precision)
    if not trusted:
        raise HedgerowError(
            f"No type qualifies for '{figures.name}'. 'hedgerow review calibration show "
            f"{found.sample.id}' shows why."
        )
    if refused := [name for name in types if name not in trusted]:
        raise HedgerowError(
            f"Expected types that qualify for '{figures.name}' ({', '.join(trusted)}), "
            f"found {refused[0][:100]!r}."
        )
    wanted = tuple(name for name in trusted if not types or name in types)
    return Trust(opinion_rule(ACCEPTED, figures.name), wanted, _why(found, figures, wanted))


def _why(found: Calibration, figures: JudgeFigures, types: Sequence[str]) -> str:
    facts = [
        f"{row.type_id} {row.precision.value:.1%} right (at least {row.precision.low:.1%}) on "
        f"{row.accepted} accepted items"
        for row in figures.types
        if row.type_id in types and row.precision.low is not None
    ]
    return f"Blind sample {found.sample.id}: {'; '.join(facts)}."


def accept_trusted(session: Session, found: Trust, *, reviewer_id: int) -> Applied:
    """Accept every pending variant that the rule matches. One undo takes this back.

    Raises:
        HedgerowError: as in ``curation.review.bulk.apply_rule``.
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
    """The number of pending variants that the rule matches now, by type."""
    return find_matches(session, found.rule, types=found.types).by_type
