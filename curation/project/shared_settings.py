"""Changing what is the same for all who work in the project, and what follows from a change.

A change is stored at once; the variants' flags and places in the queues follow in the background
(see ``curation.diagnostics.queue_order``), so that a change never holds up the people who review.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.cosines import count_without_cosine
from curation.diagnostics.measuring import count_without_measures
from curation.diagnostics.queue_order import count_to_reorder, request_reorder
from curation.encoders.registered import encoder_name
from curation.project.opening import (
    ACTIVE_ENCODER,
    THRESHOLD,
    active_encoder_id,
    get_setting,
    put_setting,
)
from db.errors import HedgerowError
from db.models import Diagnostic, Run
from db.runs import list_runs
from db.settings import Settings

LARGEST_THRESHOLD = 10_000
"""Characters; more than any variant has."""


class Consequences(NamedTuple):
    """What follows from changes of the settings, and how far it has come.

    Attributes:
        waiting: variants without a place in the queues by the settings in force.
        runs: the last runs of any kind, the newest first.
        newest: the newest run of each kind that was asked for.
    """

    waiting: int
    runs: list[Run]
    newest: list[Run]


def consequences(session: Session, kinds: Iterable[str], *, looked_at: int) -> Consequences:
    """What is at work or waits because of a change.

    Args:
        kinds: of the runs that a change starts.
        looked_at: the number of last runs.
    """
    return Consequences(
        count_to_reorder(session),
        list_runs(session, limit=looked_at),
        [run for kind in kinds for run in list_runs(session, kind=kind, limit=1)],
    )


class OverThreshold(NamedTuple):
    """How many measured variants are over the threshold in force, and over another one."""

    now: int
    then: int


def count_over_threshold(session: Session, value: int) -> OverThreshold:
    """What a threshold of ``value`` characters would flag, and what the present one does."""
    now, then = (
        func.count().filter(col(Diagnostic.levenshtein) > limit)
        for limit in (int(get_setting(session, THRESHOLD)), value)
    )
    return OverThreshold(*session.execute(select(now, then)).one())


def change_threshold(session: Session, value: int) -> bool:
    """Set the Levenshtein threshold, in characters; all variants are flagged and ordered again.

    A run of the kind ``reorder`` does the latter: start one once this is committed.

    Returns:
        Whether this is another value than before; an equal one changes nothing.

    Raises:
        HedgerowError: it is out of range.
    """
    if not 1 <= value <= LARGEST_THRESHOLD:
        raise HedgerowError(
            f"Expected a Levenshtein threshold of 1 to {LARGEST_THRESHOLD:,} characters, "
            f"found {value}."
        )
    if value == get_setting(session, THRESHOLD):
        return False
    put_setting(session, THRESHOLD, value)
    request_reorder(session)
    return True


def count_without_active_cosine(session: Session) -> int:
    """How many variants lack a cosine under the active encoder."""
    return count_without_cosine(session, active_encoder_id(session))


class EncoderChange(NamedTuple):
    """What making another encoder the active one comes to.

    Attributes:
        changed: whether it is another one than before.
        missing: variants that lack its cosine, and variants that lack other measures.
    """

    changed: bool
    missing: int


def switch_encoder(session: Session, settings: Settings, typed: str) -> EncoderChange:
    """As ``change_encoder``; says what is left to measure.

    Raises:
        HedgerowError: as ``change_encoder``.
    """
    changed = change_encoder(session, settings, typed)
    missing = count_without_active_cosine(session)
    return EncoderChange(changed, missing + count_without_measures(session))


def change_encoder(session: Session, settings: Settings, typed: str) -> bool:
    """Make another encoder the active one: a known one, a folder, or a name on the model hub.

    The queues follow its cosines as far as they are stored (a run of the kind ``reorder``); what
    lacks one is measured by a run of the kind ``diagnose``. Start both once this is committed.

    Returns:
        Whether this is another encoder than before.

    Raises:
        HedgerowError: it cannot be a text encoder (its files are looked at, not loaded).
    """
    name = encoder_name(session, settings, typed)
    if name == get_setting(session, ACTIVE_ENCODER):
        return False
    put_setting(session, ACTIVE_ENCODER, name)
    request_reorder(session)
    return True
