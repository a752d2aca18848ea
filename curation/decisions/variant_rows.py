"""Imported variants as database rows, and the names of writers other than language models."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import CHUNK, rows_with
from curation.splits import RANDOM_SALT, bucket
from db.columns import now
from db.models import Variant

PROVIDER = "imported"
"""The provider of variants whose file names no provider; their model is the file name."""

_LONGEST_NAME = 200


def imported_row(
    uid: str,
    *,
    anchor_id: int,
    anchor_revision: int,
    source_id: int,
    type_id: str,
    text: str,
    run_id: int,
    file: str,
    cue: str | None = None,
    provider: str = "",
    model: str = "",
) -> dict[str, Any]:
    """A variant as a row.

    Args:
        uid: uid of the variant.
        source_id: source of the anchor.
        run_id: run of the import.
        file: its name, stored with each variant that has no model.
        provider: '' if the file names none.
    """
    return {
        "uid": uid,
        "anchor_id": anchor_id,
        "anchor_revision": anchor_revision,
        "source_id": source_id,
        "type_id": type_id,
        "text": text,
        "cue": cue,
        "run_id": run_id,
        "provider": provider or PROVIDER,
        "model": model if provider else file[:_LONGEST_NAME],
        "random_key": bucket(uid, salt=RANDOM_SALT),
        "created_at": now(),
    }


def ids_by_uid(session: Session, uids: Iterable[str], *, at_once: int = CHUNK) -> dict[str, int]:
    """Uid → id of the variants that exist in the database.

    Args:
        at_once: the number of uids per query.
    """
    query = select(col(Variant.uid), col(Variant.id))
    return dict(rows_with(session, query, col(Variant.uid), uids, at_once=at_once))


PERSON = "person"
"""A reviewer."""

RULES = "rules"
"""The rules of `curation.generation.providers.rules`."""
