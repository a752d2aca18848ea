"""Parsing answers: JSON, numbered lists as models write them, and other text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.generation.prompts import types_of
from curation.generation.providers.chat.answers import AnswerProblem, answer_model, parse_answer
from curation.generation.providers.chat.client import response_format
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.roles import ROLES

NEGATIONS = types_of("negation", TAXONOMY)
HEDGES = types_of("hedge", TAXONOMY)
ANCHOR = "The bridge is safe."
TEXTS = {
    "verbal": "The bridge is not safe.",
    "absolute": "No part of the bridge is safe.",
    "affixal": "The bridge is unsafe.",
    "lexical": "The bridge is dangerous.",
}


def parse(raw: str, types=NEGATIONS, cues=None):
    return parse_answer(raw, types=types, anchor=ANCHOR, cues=cues or {})


@pytest.mark.parametrize(
    "line",
    [
        '{n}. "{id}": {text}',
        "{n}. {id}: {text}",
        "{n}) **{id}**: {text}",
        '{n}. "{label}": "{text}"',
        "- {id} – {text}",
        '"{id}": {text}',
        "{n}. “{id}”: “{text}”",
        '   {n}.    "{id}":\n      {text}',
    ],
)
def test_a_list_is_read_however_it_is_set(line: str) -> None:
    raw = "\n".join(
        line.format(n=n, id=entry.id, label=entry.label, text=TEXTS[entry.id])
        for n, entry in enumerate(NEGATIONS, 1)
    )
    assert parse(raw) == (TEXTS, ())
    assert parse("Modified text:\n" + raw + "\n\nI hope this helps!").texts == TEXTS


def test_json_is_read_with_or_without_a_fence() -> None:
    assert parse(json.dumps(TEXTS)) == (TEXTS, ())
    assert parse(f"```json\n{json.dumps(TEXTS)}\n```") == (TEXTS, ())
    assert parse(json.dumps(TEXTS | {"extra": 1})) == (TEXTS, ())


def test_a_text_is_stored_under_its_name_regardless_of_its_position() -> None:
    raw = "\n".join(
        f'{n}. "{key}": {text}' for n, (key, text) in enumerate(reversed(TEXTS.items()), 1)
    )
    assert parse(raw).texts == TEXTS


def test_missing_parts_are_reported_and_the_rest_is_kept() -> None:
    some = {"verbal": TEXTS["verbal"]}
    assert parse(json.dumps(some)) == (some, (AnswerProblem.MISSING_TYPE,))
    assert parse(json.dumps(some | {"absolute": None, "affixal": 3, "lexical": ""})).texts == some


def test_the_anchor_itself_is_not_a_variant() -> None:
    found = parse(json.dumps(TEXTS | {"verbal": "the bridge is safe."}))
    assert "verbal" not in found.texts and found.problems == (AnswerProblem.UNCHANGED,)


def test_an_ignored_cue_is_reported_but_not_a_suitable_form_of_it() -> None:
    cues = {"word": "seem", "phrase": "not entirely sure"}
    good = {"word": "The bridge seems safe.", "phrase": "I'm not sure, not entirely sure of it."}
    assert parse(json.dumps(good), HEDGES, cues).problems == ()
    bad = good | {"word": "The bridge is probably safe."}
    assert parse(json.dumps(bad), HEDGES, cues) == (bad, (AnswerProblem.CUE_IGNORED,))


@pytest.mark.parametrize("raw", ["", "{", "[]", "null", "I can't do that.", '{"verbal": {}}', "1."])
def test_unreadable_answers_are_reported(raw: str) -> None:
    assert parse(raw) == ({}, (AnswerProblem.UNREADABLE,))


def test_control_characters_and_endless_texts_are_not_taken_over() -> None:
    found = parse(
        json.dumps({"verbal": "a\x1b[31m", "absolute": "long " * 500, "affixal": "Fine."})
    )
    assert found.texts == {"affixal": "Fine."}


@given(st.text(max_size=300))
def test_no_answer_raises(raw: str) -> None:
    found = parse(raw)
    assert set(found.texts) <= set(TEXTS) and all(found.texts.values())


def test_the_schema_asks_for_every_type_and_nothing_else() -> None:
    for role in ROLES:
        types = types_of(role, TAXONOMY)
        schema = response_format(answer_model(types))["json_schema"]["schema"]
        assert schema["required"] == [entry.id for entry in types]
        assert schema["additionalProperties"] is False
