"""Correct only the cue of a variant: its text does not change, so it is the same variant.

Each correction belongs to the action of a decision, and an undo of that decision restores the cue.
The current cue follows from the rows: it is that of the latest correction whose decision was not
undone, or else the original one. It is stored on the variant.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.content_uids import canonical
from curation.diagnostics.measuring import measure_variants
from db.errors import HedgerowError
from db.models import CueCorrection, Decision, Variant, Verdict

MAX_CUE = 200
"""Longest cue, in characters."""


def checked_cue(cue: str | None) -> str | None:
    """The cue in canonical form; None if it is empty.

    Raises:
        HedgerowError: it is too long or not plain text.
    """
    clean = canonical(cue or "")
    if len(clean) > MAX_CUE:
        raise HedgerowError(
            f"Expected a cue of at most {MAX_CUE} characters, found {len(clean)}; shorten it."
        )
    return clean or None


def correct_cue(
    session: Session, variant: Variant, cue: str | None, *, reviewer_id: int, action_id: str
) -> None:
    """Correct the variant's cue, as part of an action whose decision the caller stores."""
    session.add(
        CueCorrection(
            variant_id=variant.id,
            reviewer_id=reviewer_id,
            action_id=action_id,
            before=variant.cue,
            after=cue,
        )
    )
    variant.cue = cue
    session.flush()


def restore_cues(session: Session, action_id: str, *, reviewer_id: int, undo_id: str) -> None:
    """Restore the cues that an action had corrected, after its decisions were undone.

    If somebody else has corrected a cue since then, their correction stays.
    """
    of_action = select(col(CueCorrection.variant_id)).where(
        col(CueCorrection.action_id) == action_id
    )
    variants = session.execute(select(Variant).where(col(Variant.id).in_(of_action))).scalars()
    for variant in variants.all():
        cue = _current_cue(session, variant.id)
        if cue != variant.cue:
            correct_cue(session, variant, cue, reviewer_id=reviewer_id, action_id=undo_id)
            measure_variants(session, [variant.id])


def _current_cue(session: Session, variant_id: int) -> str | None:
    """The variant's cue by its corrections. There must be at least one."""
    retract = aliased(Decision)
    valid = (
        select(col(Decision.id))
        .where(
            col(Decision.variant_id) == col(CueCorrection.variant_id),
            col(Decision.action_id) == col(CueCorrection.action_id),
            col(Decision.verdict) != Verdict.RETRACT,
            ~select(col(retract.id)).where(col(retract.retracts_id) == col(Decision.id)).exists(),
        )
        .exists()
    )
    of_variant = col(CueCorrection.variant_id) == variant_id
    latest = (
        select(col(CueCorrection.after))
        .where(of_variant, valid)
        .order_by(col(CueCorrection.id).desc())
        .limit(1)
    )
    first = select(col(CueCorrection.before)).where(of_variant).order_by(col(CueCorrection.id))
    row = session.execute(latest).first() or session.execute(first.limit(1)).one()
    return row[0]
