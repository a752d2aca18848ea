"""A family with decisions."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.diagnostics.measuring import measure_variants
from curation.review import actions
from curation.review.actions import shown
from tests.support.databases import Fill
from tests.support.factories import add_family, person


@pytest.fixture
def ada(engine: Engine, fill: Fill) -> int:
    """A family. Ada has accepted the first three variants and rejected the fourth."""

    def made(session: Session) -> int:
        who, family = person(session), add_family(session)
        measure_variants(session, [v.id for v in family.values()])
        for type_id in ("verbal", "absolute", "affixal"):
            actions.accept(session, shown(family[type_id]), reviewer_id=who)
        actions.reject(session, shown(family["lexical"]), reviewer_id=who, reason="wrong_scope")
        return who

    return fill(engine, made)
