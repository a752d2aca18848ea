"""Similar variants with the real encoder: computed by a run, looked up, always up to date."""

import pytest
from sqlalchemy import Engine
from sqlmodel import col, select

from curation.review import actions
from curation.review.actions import shown
from curation.similar import embedding_run
from curation.similar.lookup import SimilarVariants, similar_variants
from db.engine import reading, writing
from db.execution import execute
from db.models import Variant
from db.runs import create_run
from db.settings import load_settings
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_variant, person

pytestmark = both_databases

ASKED = "The bridge isn't safe."
TEXTS = ["The bridge is unsafe.", "The bridges are not safe.", "My uncle never baked bread."]


@pytest.fixture
def project(engine: Engine) -> Engine:
    """A variant, a sibling of it, and one variant for each of three other anchors."""
    with writing(engine) as session:
        anchor = add_anchor(session)
        add_variant(session, anchor, text=ASKED)
        add_variant(session, anchor, type_id="absolute", text="The bridge is not at all safe.")
        for number, text in enumerate(TEXTS):
            add_variant(session, add_anchor(session, f"Claim {number} is true."), text=text)
    return engine


def compute(engine: Engine) -> int:
    with writing(engine) as session:
        run_id = create_run(session, kind=embedding_run.KIND, parameters={}).id
    work = {embedding_run.KIND: embedding_run.work}
    return int(execute(engine, load_settings(), run_id, work)["embeddings"])


def look_up(engine: Engine, *, limit: int = 5) -> SimilarVariants:
    with reading(engine) as session:
        asked = session.execute(select(Variant).where(col(Variant.text) == ASKED)).scalar_one()
        return similar_variants(session, load_settings(), asked, limit=limit)


def texts(found: SimilarVariants) -> list[str]:
    return [one.hit.text for one in found.found or ()]


def test_other_anchors_variants_are_found_the_most_similar_first(project: Engine) -> None:
    assert look_up(project) == SimilarVariants(None, 5)
    assert compute(project) == 5
    found = look_up(project)
    assert found.missing == 0
    assert set(texts(found)[:2]) == set(TEXTS[:2])
    assert texts(found)[2:] == TEXTS[2:]
    cosines = [one.cosine for one in found.found or ()]
    assert cosines == sorted(cosines, reverse=True)
    assert cosines[1] > 0.8 > 0.4 > cosines[2]
    assert texts(look_up(project, limit=1)) == texts(found)[:1]


def test_a_newer_variant_is_missing_until_a_run_adds_it_alone(project: Engine) -> None:
    compute(project)
    with writing(project) as session:
        add_variant(session, add_anchor(session, "It is new."), text="The bridge isn't very safe.")
    assert look_up(project).missing == 1
    assert "The bridge isn't very safe." not in texts(look_up(project))
    assert compute(project) == 1
    assert look_up(project).missing == 0
    assert "The bridge isn't very safe." in texts(look_up(project))


def test_a_replaced_wording_is_not_found(project: Engine) -> None:
    compute(project)
    with writing(project) as session:
        old = session.execute(select(Variant).where(col(Variant.text) == TEXTS[0])).scalar_one()
        edited = shown(old)
        actions.edit(session, edited, reviewer_id=person(session), text="The bridge is dangerous.")
    assert TEXTS[0] not in texts(look_up(project))
