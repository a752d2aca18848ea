"""The variant types in the database, and how new texts get there."""

from pathlib import Path

from sqlalchemy import update

from curation.project.opening import open_project
from curation.taxonomy.built_in import TAXONOMY, TAXONOMY_VERSION
from curation.taxonomy.project_types import list_types, needs_seeding
from db.engine import reading, writing
from db.models import TypeRow, TypeVersion
from db.settings import Settings


def test_opening_an_older_project_gives_it_the_newer_wordings_and_keeps_the_old(
    home: Path,
) -> None:
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    older = TAXONOMY_VERSION - 1
    with writing(engine) as session:
        session.execute(update(TypeVersion).values(version=older, guideline="As it was."))
        session.execute(update(TypeRow).values(version=older))
    engine.dispose()
    engine = open_project(settings)
    with reading(engine) as session:
        assert not needs_seeding(session)
        assert [t.guideline for t in list_types(session)] == [t.guideline for t in TAXONOMY]
        verbal = session.get_one(TypeVersion, ("verbal", older))
        assert verbal.guideline == "As it was."
    engine.dispose()


def test_a_user_defined_type_keeps_its_wording(home: Path) -> None:
    settings = Settings(home=home, database_url="")
    engine = open_project(settings)
    with writing(engine) as session:
        own = session.get_one(TypeRow, "verbal")
        own.version = TAXONOMY_VERSION + 1
        wording = session.get_one(TypeVersion, ("verbal", TAXONOMY_VERSION)).model_dump()
        session.add(TypeVersion(**(wording | {"version": own.version, "label": "Ours"})))
    engine.dispose()
    engine = open_project(settings)
    with reading(engine) as session:
        assert {t.id: t.label for t in list_types(session)}["verbal"] == "Ours"
        assert session.get_one(TypeRow, "verbal").version == TAXONOMY_VERSION + 1
    engine.dispose()
