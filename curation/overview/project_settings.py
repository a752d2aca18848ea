"""Open the project's database, and change its settings with what depends on them."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.roles import guard
from curation.decisions.unfinished import interrupted
from curation.diagnostics.cosines import count_without_cosine
from curation.diagnostics.distributions import EVERYTHING
from curation.diagnostics.measuring import count_without_measures
from curation.diagnostics.queue_order import count_to_reorder, request_reorder
from curation.encoders.registered import encoder_name
from curation.project.settings import (
    ACTIVE_ENCODER,
    THRESHOLD,
    active_encoder_id,
    get_setting,
    put_setting,
)
from curation.taxonomy.project_types import all_types, needs_seeding, seed_taxonomy
from db.engine import create_engine, one_at_a_time, reading, writing
from db.errors import HedgerowError
from db.migrate import require_tables, upgrade
from db.models import Diagnostic, Run, Variant
from db.run_process import make_folder
from db.runs import list_runs, under_way
from db.settings import Settings

# -- Change the project's shared settings and update what depends on them -------------------------


LARGEST_THRESHOLD = 10_000
"""Maximum threshold in characters, longer than any variant."""


class Consequences(NamedTuple):
    """The state of the updates after a change of settings.

    Attributes:
        waiting: variants not yet sorted into the queues by the current settings.
        unfinished: the queued and running runs of the requested kinds.
        newest: the newest run of each requested kind.
    """

    waiting: int
    unfinished: list[Run]
    newest: list[Run]


def consequences(session: Session, kinds: Iterable[str]) -> Consequences:
    """The updates that are running or waiting after a change.

    Args:
        kinds: kinds of the runs that a change starts.
    """
    return Consequences(
        count_to_reorder(session),
        [run for kind in kinds for run in reversed(under_way(session, kind))],
        [run for kind in kinds for run in list_runs(session, kind=kind, limit=1)],
    )


class OverThreshold(NamedTuple):
    """Numbers of variants that the current threshold flags, and that another one would flag."""

    now: int
    then: int


def count_over_threshold(session: Session, value: int) -> OverThreshold:
    """Count the variants that the current threshold and one of ``value`` characters flag.

    As on the Diagnostics page: measured variants in use, without free-form types.
    """
    now, then = (
        func.count().filter(col(Diagnostic.levenshtein) > limit)
        for limit in (int(get_setting(session, THRESHOLD)), value)
    )
    types = [one.id for one in all_types(session).values() if one.surface_check.keeps_words]
    query = (
        select(now, then)
        .select_from(Diagnostic)
        .join(Variant, col(Variant.id) == col(Diagnostic.variant_id))
        .where(EVERYTHING.condition(), col(Variant.type_id).in_(types))
    )
    return OverThreshold(*session.execute(query).one())


def change_threshold(session: Session, value: int) -> bool:
    """Set the Levenshtein threshold in characters; all variants need new flags and queue positions.

    A run of the kind ``reorder`` updates them: start one after this is committed.

    Returns:
        Whether the value changed.

    Raises:
        HedgerowError: it is out of range.
    """
    if not 1 <= value <= LARGEST_THRESHOLD:
        raise HedgerowError(
            f"Expected a Levenshtein threshold of 1 to {LARGEST_THRESHOLD:,} characters, "
            f"found {value}."
        )
    if changed := put_setting(session, THRESHOLD, value):
        request_reorder(session)
    return changed


def count_without_active_cosine(session: Session) -> int:
    """Number of variants without a cosine from the active encoder."""
    return count_without_cosine(session, active_encoder_id(session))


class EncoderChange(NamedTuple):
    """The result of changing the active encoder.

    Attributes:
        changed: whether the encoder changed.
        missing: number of variants without its cosine, plus variants without other measures.
    """

    changed: bool
    missing: int


def switch_encoder(session: Session, settings: Settings, typed: str) -> EncoderChange:
    """Change the active encoder and count what is left to measure.

    Raises:
        HedgerowError: as in ``change_encoder``.
    """
    changed = change_encoder(session, settings, typed)
    missing = count_without_active_cosine(session)
    return EncoderChange(changed, missing + count_without_measures(session))


def change_encoder(session: Session, settings: Settings, typed: str) -> bool:
    """Change the active encoder to a known one, a folder, or a name on the model hub.

    A run of the kind ``reorder`` sorts the queues by the stored cosines, and a run of the kind
    ``diagnose`` computes missing cosines. Start both after this is committed.

    Returns:
        Whether the encoder changed.

    Raises:
        HedgerowError: it is not a text encoder, judging by its files, which are not loaded.
    """
    name = encoder_name(session, settings, typed)
    if changed := put_setting(session, ACTIVE_ENCODER, name):
        request_reorder(session)
    return changed


# -- Open the project's database ------------------------------------------------------------------


_opening = threading.Lock()
"""Alembic keeps global state, and two threads would both upgrade an old database."""


def open_project(settings: Settings, *, create: bool = True) -> Engine:
    """Open the project's database; create it if it is missing, and upgrade it if it is older.

    Args:
        create: create it if it is missing or empty.

    Raises:
        HedgerowError: the database cannot be created, read or upgraded, or is missing or empty
            without ``create``. Nothing is changed.
    """
    with _opening:
        if settings.url.get_backend_name() == "sqlite" and settings.url.database:
            make_folder(Path(settings.url.database).parent)
        engine = create_engine(settings.url, create=create)
        with one_at_a_time(engine):
            if not create:
                require_tables(engine)
            upgrade(engine)
            with reading(engine) as session:
                outdated, left = needs_seeding(session), interrupted(session)
            if outdated:
                with writing(engine) as session:
                    seed_taxonomy(session)
        guard(engine)
        if left:
            from curation.review.large_actions import finish_interrupted  # noqa: PLC0415

            finish_interrupted(engine)
        return engine
