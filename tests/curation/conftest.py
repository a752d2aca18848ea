"""A project with a release, for tests of everything that follows one."""

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from curation.review.decisions import store_decisions
from db.models import Release, Variant
from tests.curation.support.deciding import Released
from tests.curation.support.families import decision_of, person
from tests.support.databases import Fill
from tests.support.factories import TEXTS, add_family


@pytest.fixture
def released(engine: Engine, fill: Fill) -> Released:
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
        return families, create_release(session, name="one").release

    return engine, *fill(engine, made)
