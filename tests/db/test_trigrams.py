"""The search index: never behind the stored texts, and not needed for correct results."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from curation.project.search import SearchKind, find
from curation.review.notes import add_note
from db.engine import create_engine, reading, writing
from db.models import Variant
from db.trigrams import index_new_texts
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, add_variant, person

pytestmark = both_databases


def found(session: Session, query: str, kind: SearchKind = SearchKind.VARIANTS) -> list[str]:
    return [hit.text for hit in find(session, query, kind, limit=99).hits]


def test_each_transaction_indexes_what_it_adds(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
        add_variant(session, anchor, text="The first one isn't safe.")
    with writing(engine) as session:
        second = add_variant(session, anchor, text="The second one isn't safe.")
        add_note(session, second.id, reviewer_id=person(session), text="Isn't it?")
    with reading(engine) as session:
        assert found(session, "isn't") == [
            "The first one isn't safe.",
            "The second one isn't safe.",
        ]
        assert found(session, "isn't", SearchKind.NOTES) == ["Isn't it?"]


def test_rolled_back_texts_are_not_found(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
    with Session(engine.execution_options(writes=True)) as session:
        add_variant(session, anchor, text="The bridge is never safe.")
        index_new_texts(session) if engine.name == "sqlite" else session.flush()
        session.rollback()
    with writing(engine) as session:  # it gets the other's number
        add_variant(session, anchor, text="The bridge is hardly safe.")
    with reading(engine) as session:
        assert found(session, "never") == []
        assert found(session, "hardly") == ["The bridge is hardly safe."]


@one_database
def test_rows_that_another_program_added_are_indexed_with_the_next_ones(engine: Engine) -> None:
    with writing(engine) as session:
        anchor = add_anchor(session)
    with Session(engine.execution_options(writes=True)) as session:
        add_variant(session, anchor, text="The bridge is never safe.")
        session.commit()
    with writing(engine) as session:
        session.get(Variant, 1)
    with reading(engine) as session:
        assert found(session, "never") == ["The bridge is never safe."]


@one_database
def test_a_compacted_sqlite_database_finds_the_same(engine: Engine) -> None:
    with writing(engine) as session:
        for wording in ("A road is wet.", "A roof is wet.", "A root is dry."):
            add_anchor(session, wording)
    with engine.execution_options(writes=True).connect() as connection:
        connection.connection.dbapi_connection.execute("VACUUM")  # type: ignore[union-attr,attr-defined]
    with reading(engine) as session:
        assert found(session, "wet", SearchKind.ANCHORS) == ["A road is wet.", "A roof is wet."]


@pytest.mark.databases("postgresql")
def test_a_postgresql_without_trigrams_finds_the_same(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session)
    with writing(engine) as session:
        session.execute(text("DROP EXTENSION pg_trgm CASCADE"))
    with reading(engine) as session:
        assert found(session, "UNSAFE") == ["The bridge is unsafe."]


@pytest.mark.databases("postgresql")
def test_the_servers_locale_does_not_matter(engine: Engine) -> None:
    with reading(engine) as session:
        query = text("SELECT lower('Ü' COLLATE \"C\"), search_fold('Ü' COLLATE \"C\")")
        assert tuple(session.execute(query).one()) == ("Ü", "ü")


@one_database
def test_a_database_without_the_index_can_be_written_to(url: URL) -> None:
    engine = create_engine(url)
    with writing(engine) as session:
        session.execute(text("CREATE TABLE theirs (id INTEGER)"))
    engine.dispose()
