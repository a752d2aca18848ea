"""A session for tests of one transaction, and a project with a release for those that need one."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.decisions.storing import store_decisions
from db.engine import writing
from db.models import Release, Variant
from tests.curation.support.deciding import Released
from tests.curation.support.families import decision_of
from tests.support.databases import Fill
from tests.support.factories import TEXTS, add_family, freeze, person


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """The only transaction of a test. It is stored at the end."""
    with writing(engine) as session:
        yield session


@pytest.fixture
def released(engine: Engine, fill: Fill, session: Session) -> Released:
    """Twelve families, most of them accepted, and their release."""

    def made(session: Session) -> tuple[list[dict[str, Variant]], Release]:
        ada = person(session)
        families = [add_family(session, f"Bridge {n} is safe.") for n in range(12)]
        accepted = [
            family[type_id]
            for at, family in enumerate(families)
            for type_id in list(TEXTS)[at % 3 :]
        ]
        store_decisions(session, [decision_of(variant, ada) for variant in accepted])
        return families, freeze(session, name="one").release

    return session, *fill(engine, made)
