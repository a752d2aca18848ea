"""A project with a release, for tests of what comes after one."""

import pytest
from sqlalchemy import Engine

from curation.release.freezing import create_release
from db.engine import writing
from tests.curation.support.deciding import Released, accept
from tests.support.factories import TEXTS, add_family, person


@pytest.fixture
def released(engine: Engine) -> Released:
    """Twelve families, most of them accepted, and a release of them."""
    with writing(engine) as session:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(12)]
        for at, family in enumerate(families):
            for type_id in list(TEXTS)[at % 3 :]:
                accept(session, family[type_id], ada)
        release, _ = create_release(session, name="one")
    return engine, families, release
