"""The prompt for a judge, and parsing its answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.generation.judging.question import (
    MAX_COMMENT,
    judgement_model,
    question,
    read_judgement,
)
from curation.generation.prompts import JUDGE, built_in, checked_template
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.reject_reasons import REJECT_REASONS
from db.errors import HedgerowError
from db.models import Verdict

ANCHOR = "The bridge is safe."
VARIANT = "The bridge isn't safe."


def read(**values: object) -> tuple[Verdict, str, str, float | None] | None:
    given_up = {"comment": "So.", "reason": "none", "suggestion": "", "certainty": 0.9} | values
    found = read_judgement(json.dumps(given_up), variant=VARIANT, anchor=ANCHOR)
    return found and (found.verdict, found.reason, found.suggestion, found.certainty)


def test_the_question_contains_everything_that_a_reviewer_sees() -> None:
    entry = next(entry for entry in TAXONOMY if entry.id == "word")
    asked = question(
        built_in(JUDGE),
        anchor="A {variant} for all.",
        variant="A {type}.",
        entry=entry,
        cue="perhaps",
    )
    assert "\nText: A {variant} for all.\nVariant: A {type}.\n" in asked
    assert entry.guideline in asked and entry.definition in asked
    assert "requested hedge cue: perhaps." in asked
    framed = question(
        built_in(JUDGE),
        anchor="The door is open.",
        variant="There is no doubt that the door is open.",
        entry=variant_type("affirmation"),
        cue="There is no doubt that",
    )
    assert "requested hedge cue" not in framed
    for reason in REJECT_REASONS:
        assert (f"\n{reason.id}: " in asked) == reason.applies_to(entry)


def test_a_copy_of_the_prompt_needs_its_places() -> None:
    template = built_in(JUDGE)
    assert checked_template(template, JUDGE) == template
    with pytest.raises(HedgerowError, match="variant"):
        checked_template(template.replace("{variant}", ""), JUDGE)


def test_the_schema_is_what_strict_structured_outputs_take() -> None:
    schema = judgement_model().model_json_schema()
    assert schema["required"] == list(schema["properties"]) and "$defs" not in schema
    assert schema["additionalProperties"] is False
    assert len(schema["properties"]["reason"]["enum"]) == len(REJECT_REASONS) + 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"verdict": "accept", "reason": "wrong_type"}, (Verdict.ACCEPT, "", "", 0.9)),
        ({"verdict": "Reject."}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "reject", "reason": "Wrong scope"}, (Verdict.REJECT, "wrong_scope", "", 0.9)),
        (
            {"verdict": "edit", "reason": "wrong_type", "suggestion": '"It isn\'t."'},
            (Verdict.EDIT, "wrong_type", "It isn't.", 0.9),
        ),
        ({"verdict": "edit", "suggestion": VARIANT}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "edit", "suggestion": ANCHOR.upper()}, (Verdict.REJECT, "other", "", 0.9)),
        (
            {"verdict": "edit", "suggestion": "It isn't. " * 10_000},
            (Verdict.REJECT, "other", "", 0.9),
        ),
        ({"verdict": "edit", "suggestion": ["It."]}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "edit", "suggestion": "None."}, (Verdict.REJECT, "other", "", 0.9)),
        ({"verdict": "accept", "certainty": "85 %"}, (Verdict.ACCEPT, "", "", 0.85)),
        ({"verdict": "accept", "certainty": 70}, (Verdict.ACCEPT, "", "", 0.7)),
        ({"verdict": "accept", "certainty": -1}, (Verdict.ACCEPT, "", "", None)),
        ({"verdict": "accept", "certainty": "high"}, (Verdict.ACCEPT, "", "", None)),
        ({"verdict": "accept", "certainty": True}, (Verdict.ACCEPT, "", "", None)),
        ({"verdict": "maybe"}, None),
        ({}, None),
    ],
)
def test_json_is_read(
    values: dict[str, object], expected: tuple[Verdict, str, str, float | None] | None
) -> None:
    assert read(**values) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "Comment: So.\nVerdict: edit\nReason: wrong_scope\nSuggestion: It isn't.\nCertainty: 0.5",
        '1. "comment": So.\n2. "verdict": edit\n3. "reason": wrong_scope\n'
        '4. "suggestion": "It isn\'t."\n5. "certainty": 0.5',
        "**Comment:** So.\n\n**Verdict:** Edit\n**Reason:** Wrong scope\n"
        "**Suggestion:** It isn't.\n**Certainty:** 50%\n",
        '```json\n{"Verdict": "edit", "Reason": "wrong_scope", "Suggestion": "It isn\'t.",'
        ' "Comment": "So.", "Certainty": "0,5"}\n```',
    ],
)
def test_labelled_lines_are_read_as_json_is(raw: str) -> None:
    found = read_judgement(raw, variant=VARIANT, anchor=ANCHOR)
    assert found == (Verdict.EDIT, "wrong_scope", "So.", "It isn't.", 0.5)


def test_long_and_odd_comments_are_kept() -> None:
    for comment, kept in (
        ("So. " * 25_000, "So. So."),
        ("So.\x00\n\n\x1b[31mMore.", "So. [31mMore."),
    ):
        found = read_judgement(
            json.dumps({"verdict": "reject", "comment": comment}), variant=VARIANT, anchor=ANCHOR
        )
        assert found is not None and found.comment.startswith(kept)
        assert len(found.comment) <= MAX_COMMENT


def test_a_verdict_as_the_first_word_is_enough() -> None:
    found = read_judgement("Reject. Both can be true.\n\nMore.", variant=VARIANT, anchor=ANCHOR)
    assert found == (Verdict.REJECT, "other", "Both can be true.", "", None)
    assert read_judgement("I would not reject it.", variant=VARIANT, anchor=ANCHOR) is None


@given(st.text() | st.from_regex(r"(verdict|reason|certainty): ?.*\n?", fullmatch=True))
def test_any_answer_is_read_without_an_error(raw: str) -> None:
    for text in (raw, f'{{"verdict": "reject", "certainty": {raw}}}', f"Verdict: edit\n{raw}"):
        found = read_judgement(text, variant=VARIANT, anchor=ANCHOR)
        assert found is None or found.certainty is None or 0 <= found.certainty <= 1
