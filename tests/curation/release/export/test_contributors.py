"""The writers in cards: by type, and rules are not a language model."""

from pathlib import Path

from sqlalchemy import Engine

from curation.release.export.contributors import (
    WRITTEN_BY_MODELS,
    WRITTEN_BY_RULES,
    Writer,
    weak_spots_of,
    writers_of,
    writers_table,
)
from curation.release.export.release_folder import export_release
from curation.release.freezing import create_release
from db.engine import writing
from tests.curation.release.export.test_data_card import header
from tests.curation.support.exported import body
from tests.curation.support.families import add_anchor, add_variant, decide, model


def test_writers_are_counted_by_type(engine: Engine, tmp_path: Path) -> None:
    written = [
        ("rules", "", "verbal", "It does not rain."),
        ("rules", "", "verbal", "It isn't raining."),
        ("rules", "", "word", "It probably rains."),
        ("openai", "gpt-x", "word", "It may rain."),
        ("person", "", "lexical", "It is dry."),
        ("imported", "", "verbal", "No rain falls."),
    ]
    with writing(engine) as session:
        anchor = add_anchor(session, "It rains.")
        for provider, name, type_id, text in written:
            variant = add_variant(session, anchor, type_id, text)
            variant.provider, variant.model = provider, name
            decide(session, variant, model(session))
        release = create_release(session).release
        found = writers_of(session, release)
        folder = export_release(session, release, tmp_path / "out")
    table = writers_table(release, found).splitlines()
    assert table[0] == "| provider | model | verbal | lexical | word | all |"
    assert table[2:] == [
        "| imported |  | 1 | 0 | 0 | 1 |",
        "| openai | gpt-x | 0 | 0 | 1 | 1 |",
        "| person |  | 0 | 1 | 0 | 1 |",
        "| rules |  | 2 | 0 | 1 | 3 |",
    ]
    text = body(folder)
    assert "\n".join(table) in text and "`rules` is a rule-based program" in text
    assert header(folder)["language_creators"] == ["expert-generated", "found", "machine-generated"]


def test_weak_spots_depend_on_who_wrote() -> None:
    rules, llm, people = (Writer(name, "", {"verbal": 1}) for name in ("rules", "openai", "person"))
    assert weak_spots_of([people]) == []
    assert weak_spots_of([rules]) == [WRITTEN_BY_RULES]
    assert weak_spots_of([llm, people]) == [WRITTEN_BY_MODELS]
    assert weak_spots_of([rules, llm]) == [WRITTEN_BY_MODELS, WRITTEN_BY_RULES]
