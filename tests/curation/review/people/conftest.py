"""A project with a person of each role."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.generation.prompts import seed_prompts
from curation.review import actions
from curation.review.people.roles import Role, guard, set_role, set_who_acts
from db.models import Reviewer, Variant
from db.runs import create_run
from tests.curation.review.people.support.acting import Ids
from tests.support.databases import Fill
from tests.support.factories import add_family, person


@pytest.fixture
def people(engine: Engine, fill: Fill) -> Iterator[Ids]:
    """The ids of a lead, a reviewer and a viewer, of a variant of each type, and of a run."""

    def made(session: Session) -> Ids:
        ids = {key: variant.id for key, variant in add_family(session).items()}
        ids |= {role: person(session, role) for role in Role}
        for role in Role:
            set_role(session, session.get_one(Reviewer, ids[role]), role)
        seed_prompts(session)
        variant = session.get_one(Variant, ids["lexical"])
        actions.accept(session, actions.shown(variant), reviewer_id=ids[Role.REVIEWER])
        ids["run"] = create_run(session, kind="measure", parameters={}).id
        return ids

    ids = fill(engine, made)
    guard(engine)
    yield ids
    set_who_acts(None)
