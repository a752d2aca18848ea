"""Conflicts, and variants marked for discussion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from curation.anchors.revisions import source_in_use
from curation.review import discussing
from curation.review.actions import find_variant
from curation.review.adjudication import ConflictOrder, GivenVerdict
from curation.review.adjudication import conflicts as find_conflicts
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from db.errors import HedgerowError
from hedgerow.asked import names
from hedgerow.asked import uid as one_uid
from hedgerow.home import Home, reviewer_id

if TYPE_CHECKING:
    import pandas as pd

_CONFLICT = ("uid", "type", "source", "anchor", "text", "people", "dispute", "since", "verdicts")
_MARK = ("uid", "type", "status", "anchor", "text", "reviewer", "remark", "marked_at")


def conflicts(
    home: Home, type_name: str | tuple[str, ...], source: str, order: str
) -> pd.DataFrame:
    """See `hedgerow.Project.conflicts`."""
    import pandas as pd

    wanted = next((one for one in ConflictOrder if one.value == order), None)
    if wanted is None:
        raise HedgerowError(f"Expected an order ({', '.join(ConflictOrder)}), found {order!r}.")
    with reading(home.engine) as session:
        types, source_id = _scope(session, type_name, source)
        found = find_conflicts(session, type_ids=types or None, source_id=source_id, order=wanted)
    rows = [
        (
            *(one.uid, one.type_id, one.source, one.anchor, one.text),
            *(len(one.verdicts), one.dispute, one.since),
            [_verdict(given) for given in one.verdicts],
        )
        for one in found
    ]
    return pd.DataFrame(rows, columns=list(_CONFLICT), dtype=object)


def _verdict(given: GivenVerdict) -> dict[str, Any]:
    return {
        "reviewer": given.reviewer,
        "verdict": given.verdict.value,
        "reason": given.reason,
        "note": given.note,
        "at": given.decided_at.isoformat(),
        "seconds": given.seconds,
        "wording": given.wording and given.wording.text,
    }


def _scope(
    session: Session, type_name: str | tuple[str, ...], source: str
) -> tuple[tuple[str, ...], int | None]:
    types = names(type_name, what="types")
    for name in types:
        known_type(list(all_types(session).values()), name)
    return types, source_in_use(session, source) if source else None


def marked(home: Home, type_name: str | tuple[str, ...], source: str) -> pd.DataFrame:
    """See `hedgerow.Project.marked`."""
    import pandas as pd

    with reading(home.engine) as session:
        types, source_id = _scope(session, type_name, source)
        found = discussing.open_marks(session, source_id=source_id)
    rows = [
        (
            *(one.uid, one.type_id, one.status.value, one.anchor, one.text),
            *(one.reviewer, one.remark, one.marked_at),
        )
        for one in found
        if not types or one.type_id in types
    ]
    return pd.DataFrame(rows, columns=list(_MARK), dtype=object)


def discuss(home: Home, uid: str, remark: str, *, lift: bool, reviewer: str) -> bool:
    """See `hedgerow.Project.discuss`."""
    with writing(home.engine) as session:
        variant_id = find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        if lift:
            discussing.lift(session, variant_id, reviewer_id=who)
        else:
            discussing.mark(session, variant_id, reviewer_id=who, remark=remark)
        return not lift
