"""Second opinions from models, and the agreement of models with people."""

from __future__ import annotations

from curation.diagnostics import opinions
from curation.diagnostics.opinion_agreement import Agreement, agreement
from curation.diagnostics.opinions import GivenOpinion, Judge, judges
from db.engine import reading, writing
from hedgerow.asked import uid as one_uid
from hedgerow.home import Home, reviewer_id


def show_opinions(home: Home, uid: str, reviewer: str) -> list[GivenOpinion]:
    """See `hedgerow.Project.opinions`."""
    from curation.review.actions import find_variant  # not needed for the agreement

    with writing(home.engine) as session:
        variant_id = find_variant(session, one_uid(uid)).id
        who = reviewer_id(session, home.settings, reviewer)
        return opinions.show_opinions(session, variant_id, reviewer_id=who, own_first=False)


def agreements(home: Home) -> list[tuple[Judge, list[Agreement]]]:
    """Each model that has given opinions, with its agreement with people by variant type."""
    with reading(home.engine) as session:
        return [(judge, agreement(session, judge.id)) for judge in judges(session)]
