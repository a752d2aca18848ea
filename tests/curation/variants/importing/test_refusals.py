"""Files that cannot be imported, and rows that are left out."""

from typing import Any

import pytest
from sqlalchemy import Engine

from curation.anchors.importing.insert import About
from curation.review.people.reviewers import LABELS
from curation.taxonomy.own_types import add_type, retire_type
from curation.variants.importing.choices import Choices
from curation.variants.importing.preview import preview
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Source,
)
from tests.curation.variants.importing.support.imports import HEDGED, ROWS, choices, counts, staged
from tests.support.databases import both_databases
from tests.support.factories import model

pytestmark = both_databases


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"type": "emphatic"},
            "The type 'emphatic' in column 'type' on line 2 of mine.jsonl does not exist in this "
            "project",
        ),
        ({"verdict": "perhaps"}, "Expected a verdict (accept or reject) in 'verdict', found 'perh"),
        ({"split": "dev2"}, "Expected a split (train, validation, test) in 'split', found 'dev2' "),
        ({"reviewer": "x" * 90}, "On line 2 of mine.jsonl: Expected a reviewer's name of at most"),
        ({"cue": "x" * 300}, "On line 2 of mine.jsonl: Expected a cue of at most 200 characters"),
        ({"language": "??"}, "On line 2 of mine.jsonl: Expected a language tag such as 'en'"),
    ],
)
def test_a_wrong_value_is_refused_and_nothing_is_stored(
    seeded: Engine, row: dict[str, Any], sentence: str
) -> None:
    before = counts(seeded)
    with pytest.raises(HedgerowError) as error:
        staged(seeded, [ROWS[0], ROWS[2] | row])
    assert sentence in str(error.value)
    assert counts(seeded) == before


def test_unusable_variants_are_counted_with_their_first_position(seeded: Engine) -> None:
    rows: list[dict[str, Any]] = [
        ROWS[0],
        ROWS[0] | {"anchor": " "},
        ROWS[0] | {"anchor": "x" * 1_000_000},
        ROWS[0] | {"text": "x" * 1_000_000},
        ROWS[0] | {"text": ROWS[0]["anchor"]},
        ROWS[0] | {"text": "It\x07s."},
        ROWS[0] | {"text": ""},
        ROWS[0] | {"type": ""},
        ROWS[0] | {"anchor": 7},
    ]
    facts = staged(seeded, rows).facts
    assert facts.left_out == {
        "no_anchor": 2,
        "anchor_not_text": 1,
        "not_text": 2,
        "same": 1,
        "no_variant": 1,
        "no_type": 1,
    }
    assert facts.places["same"] == "line 5 of mine.jsonl"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([ROWS[0] | {"split": "train"}, ROWS[1] | {"split": "test"}], "one split for all variants"),
        ([ROWS[0] | {"source": "a"}, ROWS[1] | {"source": "b"}], "one source for all variants"),
        (
            [
                ROWS[0] | {"source": "a", "licence": "CC0"},
                ROWS[2] | {"source": "a", "licence": "MIT"},
            ],
            "one licence for each source",
        ),
        ([ROWS[0] | {"text": ""}], "There is no variant to import in 1 row of"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(
    seeded: Engine, rows: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(HedgerowError, match=words):
        staged(seeded, rows)


def test_verdicts_need_a_name_that_a_person_can_have(seeded: Engine) -> None:
    with writing(seeded) as session:
        model(session, "Llama")
    unnamed = [{key: value for key, value in ROWS[0].items() if key != "reviewer"}]
    cases = [
        (unnamed, "", "has 1 verdict without a reviewer name"),
        (unnamed, "Llama", "'Llama' is the name of a model reviewer"),
        ([ROWS[0] | {"reviewer": "llama"}], "Ada", "is the name of a model reviewer"),
        ([ROWS[0] | {"reviewer": LABELS}], "Ada", "is reserved|is the name of a model"),
    ]
    for rows, reviewer, words in cases:
        read = staged(seeded, rows)
        with reading(seeded) as session, pytest.raises(HedgerowError, match=words):
            preview(session, read, choices(reviewer=reviewer))


def test_types_and_licences_must_fit_the_project(seeded: Engine) -> None:
    with writing(seeded) as session:
        session.add(Source(name="mine", licence="MIT"))
        add_type(session, HEDGED, type_id="doubt")
        retire_type(session, "doubt")
    with reading(seeded) as session:
        with pytest.raises(HedgerowError, match="already exists with the licence 'MIT'"):
            preview(session, staged(seeded, ROWS), choices())
        doubted = staged(seeded, [ROWS[0] | {"type": "doubt"}])
        with pytest.raises(HedgerowError, match="The type 'doubt' is retired"):
            preview(session, doubted, Choices(About("other")))
        wrong = Choices(About("other"), {"negation": "word"})
        read = staged(seeded, ROWS)
        with pytest.raises(HedgerowError, match=r"Expected a type for a negation \(verbal"):
            preview(session, read, wrong)
