"""Creating and upgrading: equal to the models, in one transaction, never over foreign data; and the
search index, which is never behind the stored texts."""

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, Inspector, inspect, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from curation.anchors.search import SearchKind, find
from curation.decisions.notes import add_note
from curation.decisions.storing import compute_standing
from curation.editing.anchors import correct_anchor
from curation.taxonomy.project_types import seed_taxonomy
from db import migrate
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.models import BenchmarkResult, Decision, Release, Variant
from db.runs import create_run
from db.trigrams import index_new_texts
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, add_variant, person

pytestmark = both_databases


def _is_a_models(name: str | None, kind: str, parents: object) -> bool:
    """Whether the models include this. They do not include the search indexes."""
    return "_search" not in (name or "")


def test_the_migrations_make_what_the_models_say(engine: Engine) -> None:
    with engine.connect() as connection:
        options = {"compare_type": True, "include_name": _is_a_models}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, SQLModel.metadata) == []


def test_the_newest_schema_is_known_by_its_file(engine: Engine) -> None:
    scripts = ScriptDirectory(str(migrate.SCRIPTS))
    assert scripts.get_heads() == [migrate.head_revision()]
    assert {script.revision for script in scripts.walk_revisions()} == set(
        migrate.known_revisions()
    )
    with engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    assert migrate.current_revision(engine) == found == migrate.head_revision()


def test_a_second_upgrade_changes_nothing(engine: Engine) -> None:
    assert migrate.upgrade(engine) is None
    assert migrate.current_revision(engine) == migrate.head_revision()


def test_a_newer_schema_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(HedgerowError, match="newer version of Hedgerow"):
        migrate.upgrade(engine)


def test_another_programs_tables_are_refused(url: URL) -> None:
    engine = create_engine(url)
    with writing(engine) as session:
        session.execute(text("CREATE TABLE theirs (id INTEGER)"))
    with pytest.raises(HedgerowError, match="another program"):
        migrate.upgrade(engine)
    assert inspect(engine).get_table_names() == ["theirs"]
    engine.dispose()


def test_tables_that_another_process_makes_meanwhile_are_not_foreign(
    url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, other = create_engine(url), create_engine(url)
    checks = 0

    def slow_look(at: Engine) -> Inspector:
        nonlocal checks
        checks += at is engine
        if checks == 2:
            checks += 1
            migrate.upgrade(other)
        return inspect(at)

    monkeypatch.setattr(migrate, "inspect", slow_look)
    assert migrate.upgrade(engine) is None
    assert checks > 2 and migrate.current_revision(engine) == migrate.head_revision()
    for each in (engine, other):
        each.dispose()


@pytest.mark.slow
def test_a_failed_migration_leaves_nothing(url: URL, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine(url)

    def upgrade_and_fail(*args: object, **kw: object) -> None:
        real(*args, **kw)  # type: ignore[arg-type]
        raise RuntimeError("in the last step")

    real = command.upgrade
    monkeypatch.setattr(command, "upgrade", upgrade_and_fail)
    with pytest.raises(RuntimeError):
        migrate.upgrade(engine)
    assert inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.slow
def test_an_older_sqlite_database_is_copied_first(home: Path) -> None:
    engine = create_engine(URL.create("sqlite", database=str(home / "hedgerow.db")))
    migrate.upgrade(engine)
    with writing(engine) as session:
        session.execute(text("CREATE TABLE kept (id INTEGER)"))
    backup = migrate._back_up(engine)
    assert backup is not None and backup.exists()
    copy = create_engine(URL.create("sqlite", database=str(backup)))
    assert "kept" in inspect(copy).get_table_names()
    copy.dispose()
    engine.dispose()


OLD_ROWS = (
    "INSERT INTO source (id, name, licence, url, note, content_hash, created_at)"
    " VALUES (1, 's', '', '', '', '', :now)",
    "INSERT INTO anchor (id, uid, revision, source_id, genre, language, split, created_at)"
    " VALUES (1, 'a', 1, 1, '', 'en', 'train', :now)",
    "INSERT INTO anchor_revision (anchor_id, revision, text, text_uid, created_at)"
    " VALUES (1, 1, 'It rains.', 'a', :now)",
    'INSERT INTO variant_type (id, polarity, "group", ordinal, version, origin)'
    " VALUES ('verbal', 'negative', 'negation', 1, 0, 'built-in')",
    "INSERT INTO reviewer (id, name, kind, counts, created_at)"
    " VALUES (1, 'Ada', 'person', true, :now)",
    "INSERT INTO variant (id, uid, anchor_id, anchor_revision, type_id, text, provider, model,"
    " created_at, version, status, retired, hardness, suspicion, random_key)"
    " VALUES (1, 'v', 1, 1, 'verbal', 'It does not rain.', '', '', :now, 2, 'accepted', false,"
    " 0, 0, 0)",
    "INSERT INTO decision (id, variant_id, variant_version, reviewer_id, verdict, reason, note,"
    " action_id, adjudicates, guideline_version, decided_at)"
    " VALUES (1, 1, 1, 1, 'accept', '', 'fine', 'x', false, 1, :now)",
)
OLD_NOTE = (
    "INSERT INTO note (id, variant_id, reviewer_id, text, created_at)"
    " VALUES (1, 1, 1, 'GRÜN is better', :now)"
)


def older_database(url: URL, revision: str) -> Engine:
    """A database without rows, as an older program left it."""
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return engine


@pytest.mark.slow
def test_decisions_under_the_first_schema_still_count(url: URL) -> None:
    engine = older_database(url, "0001")
    with engine.execution_options(writes=True).begin() as connection:
        for statement in OLD_ROWS:
            connection.execute(text(statement), {"now": "2026-01-02 03:04:05+00:00"})
    assert migrate.current_revision(engine) == "0001"
    migrate.upgrade(engine)
    with reading(engine) as session:
        variant = session.get_one(Variant, 1)
        assert (variant.status, variant.version, variant.since_version) == ("accepted", 2, 1)
        assert variant.source_id == 1
        kept = (variant.status, variant.second_look, variant.model_only, variant.verdicts_by)
        assert compute_standing(session, [1]) == {1: kept}
        decision = session.get_one(Decision, 1)
        assert (decision.note, decision.blind) == ("fine", False)
    with writing(engine) as session:
        seed_taxonomy(session)
        correct_anchor(session, 1, "It pours.", reviewer_id=1, expected_revision=1)
        session.refresh(variant := session.get_one(Variant, 1))
        assert (variant.status, variant.second_look) == ("pending", True)
    engine.dispose()


def test_model_only_acceptances_are_found_in_an_older_database(url: URL) -> None:
    engine = older_database(url, "0006")
    variant = (
        "INSERT INTO variant (id, uid, anchor_id, anchor_revision, type_id, text, provider, model,"
        " created_at, version, since_version, status, second_look, retired, hardness, suspicion,"
        " random_key) VALUES (:id, :uid, 1, 1, 'verbal', 'No.', '', '', :now, 4, :since,"
        " 'accepted', false, false, 0, 0, 0)"
    )
    decision = (
        "INSERT INTO decision (id, variant_id, variant_version, reviewer_id, verdict, reason, note,"
        " action_id, adjudicates, blind, guideline_version, decided_at, retracts_id)"
        " VALUES (:id, :variant, :version, :reviewer, :verdict, '', '', :action, false, false, 1,"
        " :now, :retracts)"
    )
    moment = {"now": "2026-01-02 03:04:05+00:00"}
    model_reviewer = (
        "INSERT INTO reviewer (id, name, kind, counts, created_at)"
        " VALUES (2, 'llm', 'model', true, :now)"
    )
    # A model alone; with a person; with a person's undone verdict; with one from before a
    # correction.
    made = [(2, 1, 2, None)], [(3, 1, 2, None), (3, 1, 1, None)]
    made += [(4, 1, 2, None), (4, 1, 1, None), (4, 2, 1, 6)], [(5, 1, 1, None), (5, 3, 2, None)]
    with engine.execution_options(writes=True).begin() as connection:
        for statement in (*OLD_ROWS, model_reviewer):
            connection.execute(text(statement), moment)
        number = 1
        for key, rows in enumerate(made, start=2):
            since = 3 if key == 5 else 1
            row = {"id": key, "uid": f"v{key}", "since": since} | moment
            connection.execute(text(variant), row)
            for variant_id, version, reviewer, retracts in rows:
                number += 1
                verdict = "retract" if retracts else "accept"
                connection.execute(
                    text(decision),
                    {
                        "id": number,
                        "variant": variant_id,
                        "version": version,
                        "verdict": verdict,
                        "reviewer": reviewer,
                        "action": f"a{number}",
                        "retracts": retracts,
                    }
                    | moment,
                )
    migrate.upgrade(engine)
    with reading(engine) as session:
        kept = {key: session.get_one(Variant, key).model_only for key in range(1, 6)}
        assert kept == {1: False, 2: True, 3: False, 4: True, 5: True}
        assert kept == {k: s.model_only for k, s in compute_standing(session, list(kept)).items()}
    engine.dispose()


@pytest.mark.slow
def test_texts_from_before_the_search_are_found(url: URL) -> None:
    engine = older_database(url, "0002")
    with engine.execution_options(writes=True).begin() as connection:
        for statement in (*OLD_ROWS, OLD_NOTE):
            connection.execute(text(statement), {"now": "2026-01-02 03:04:05+00:00"})
    migrate.upgrade(engine)
    with reading(engine) as session:
        found = [
            [hit.text for hit in find(session, query, kind, limit=9).hits]
            for query, kind in (
                ("RAIN", SearchKind.VARIANTS),
                ("rains", SearchKind.ANCHORS),
                ("Grün", SearchKind.NOTES),
            )
        ]
    assert found == [["It does not rain."], ["It rains."], ["GRÜN is better"]]
    engine.dispose()


@pytest.mark.slow
def test_the_first_of_two_spellings_of_a_name_gets_the_key(url: URL) -> None:
    engine = older_database(url, "0009")
    add = "INSERT INTO reviewer (id, name, kind, counts, created_at) VALUES ({}, true, :now)"
    with engine.execution_options(writes=True).begin() as connection:
        for row in ("1, 'ÄDA', 'person'", "2, 'äda', 'person'", "3, 'Bo', 'person'"):
            connection.execute(text(add.format(row)), {"now": "2026-01-02 03:04:05+00:00"})
    migrate.upgrade(engine)
    with writing(engine) as session:
        keys = session.execute(text("SELECT key FROM reviewer ORDER BY id")).scalars().all()
        assert keys == ["äda", None, "bo"]
        assert [person(session, name) for name in ("ÄDA", "äda", "ädA", "BO")] == [1, 2, 1, 3]
    engine.dispose()


def test_a_file_that_is_not_a_database_is_named(home: Path) -> None:
    path = home / "hedgerow.db"
    path.write_text("this is a letter, not a database" * 100)
    with pytest.raises(HedgerowError, match="cannot be read as a database"):
        migrate.upgrade(create_engine(URL.create("sqlite", database=str(path))))
    assert path.read_text().startswith("this is a letter")


@pytest.mark.parametrize("statement", ["UPDATE decision SET note = 'x'", "DELETE FROM decision"])
def test_decisions_are_append_only(engine: Engine, statement: str) -> None:
    with writing(engine) as session:
        variant = add_variant(session, add_anchor(session))
        session.add(
            Decision(
                variant_id=variant.id,
                variant_version=1,
                reviewer_id=person(session),
                verdict="accept",
                action_id="a",
            )
        )
    with (
        pytest.raises(DBAPIError, match="append-only"),
        Session(engine.execution_options(writes=True)) as session,
    ):
        session.execute(text(statement))


@pytest.mark.slow
def test_a_release_of_an_older_database_is_still_there(url: URL) -> None:
    engine = older_database(url, "0011")
    release = (
        "INSERT INTO release (id, number, name, content_hash, taxonomy, summary, note, created_at)"
        " VALUES (1, 1, 'First', 'abc', '{}', '{}', '', :now)"
    )
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(text(release), {"now": "2026-01-02 03:04:05+00:00"})
    migrate.upgrade(engine)
    with reading(engine) as session:
        kept = session.get_one(Release, 1)
        assert (kept.number, kept.name, kept.content_hash) == (1, "First", "abc")
    engine.dispose()


@pytest.mark.slow
def test_a_result_of_an_older_database_was_scored_in_the_usual_way(url: URL) -> None:
    engine = older_database(url, "0013")
    result = (
        "INSERT INTO benchmark_result (run_id, kind, benchmark, model, model_hash,"
        " architecture, data, data_hash, metric, score, n, ties, unanswered, summary, file,"
        " created_at) VALUES (1, 'negation', 'nevir', 'a', '', 'bi-encoder', '', 'd', 'm', 8.5,"
        " 10, 0, 0, '{}', '', :now)"
    )
    with writing(engine) as session:
        assert create_run(session, kind="benchmark", parameters={}).id == 1
        session.execute(text(result), {"now": "2026-01-02 03:04:05+00:00"})
    migrate.upgrade(engine)
    with writing(engine) as session:
        kept = session.get_one(BenchmarkResult, 1)
        assert (kept.model, kept.score, kept.scoring) == ("a", 8.5, "")
        again = kept.model_dump(exclude={"id"})
        session.add(BenchmarkResult(**again | {"scoring": "dot"}))
        session.flush()
        session.add(BenchmarkResult(**again))
        with pytest.raises(IntegrityError):
            session.flush()
        session.rollback()
    engine.dispose()


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
