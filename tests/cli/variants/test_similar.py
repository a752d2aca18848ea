"""Similar variants on the command line. Missing embeddings are computed first."""

import pytest

from curation.project.opening import open_project
from db.engine import reading, writing
from db.models import Variant
from db.settings import load_settings
from tests.cli.support.commands import ask, ended, show
from tests.support.factories import add_anchor, add_variant


@pytest.fixture
def uid(opened_home: object) -> str:
    """The uid of one of three variants, each with its own anchor."""
    engine = open_project(load_settings())
    texts = ["The door is not open.", "The doors are not open.", "My uncle never baked bread."]
    with writing(engine) as session:
        for number, text in enumerate(texts):
            add_variant(session, add_anchor(session, f"Claim {number}."), text=text)
    with reading(engine) as session:
        first = session.get_one(Variant, 1).uid
    engine.dispose()
    return first


def test_the_most_similar_variants_come_first(uid: str) -> None:
    found = ask("variants", "similar", uid)
    assert found["variant"] == uid
    assert [row["text"] for row in found["similar"]] == [
        "The doors are not open.",
        "My uncle never baked bread.",
    ]
    assert found["similar"][0]["cosine"] > 0.8
    assert found["similar"][0]["status"] == "pending"
    assert len(ask("variants", "similar", uid, "--limit", "1")["similar"]) == 1
    assert "The doors are not open." in show("variants", "similar", uid)


def test_an_unknown_uid_is_one_sentence(uid: str) -> None:
    code, answer = ended("variants", "similar", "0" * 16)
    assert code == 1
    assert answer["error"].startswith("There is no variant")
