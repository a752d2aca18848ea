"""Drafts of user-defined types: what is refused, and how the rest is interpreted."""

import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.generation.prompts import fill, sample_cues
from curation.generation.providers.chat.answers import answer_model
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.guideline import ExampleKind, parse_guideline
from curation.taxonomy.surface_check import SurfaceCheck
from curation.taxonomy.type_drafts import (
    OwnType,
    as_written,
    draft,
    free_id,
    read_check,
    sketch,
    try_out,
)
from db.errors import HedgerowError
from db.models import RunMetric
from tests.curation.support.own_types import HEDGE, NEGATION
from tests.support.hostile import TEXTS


def changed(wanted: OwnType, **values: Any) -> OwnType:
    return OwnType(**(wanted.model_dump() | values))


@pytest.mark.parametrize(
    ("label", "type_id"),
    [
        ("Quantifier negation", "quantifier_negation"),
        ("Scalar 'only' (focus)", "scalar_only_focus"),
        ("Négation élargie", "negation_elargie"),
        ("2nd person", "type_2nd_person"),
        ("否定", "type"),
        ("Copy", "type_copy"),  # a method of the answers' own class
        ("Model fields", "type_model_fields"),
        ("All", "type_all"),
        ("Verbal", "verbal_2"),
        ("x" * 80, "x" * 36),
    ],
)
def test_the_id_follows_from_the_name(label: str, type_id: str) -> None:
    assert free_id(label, {entry.id for entry in TAXONOMY}) == type_id


def test_two_ids_fit_into_the_name_of_a_figure() -> None:
    longest = "x" * 36
    second = free_id("x" * 80, {longest})
    assert second == "x" * 34 + "_2"
    room = RunMetric.__table__.c.name.type.length  # type: ignore[attr-defined]
    assert len(f"ranked:{longest}>{second}") <= room


@settings(max_examples=60, deadline=None)
@given(label=st.text(max_size=60), taken=st.sets(st.sampled_from(["a", "type", "type_2", "all"])))
def test_every_name_gives_an_id_that_an_answer_can_have(label: str, taken: set[str]) -> None:
    type_id = free_id(label, taken)
    assert type_id not in taken and len(type_id) <= 36
    entry = variant_type("verbal").model_copy(update={"id": type_id})
    assert type(entry)(**entry.model_dump()).id == type_id
    answer = answer_model([entry]).model_validate({type_id: "It is not."})
    assert answer.model_dump() == {type_id: "It is not."}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"label": "x"}, "a name of 2 to 40 characters, found 1"),
        ({"label": "x" * 41}, "shorten it"),
        ({"label": "VERBAL negation"}, "is already a type"),
        ({"label": "negated antonym"}, "is already a type"),
        ({"label": "A\0name"}, "control character"),
        ({"definition": " "}, "Enter a definition of 10 to 1000 characters."),
        ({"example": "every bridge is  safe."}, "the same as its anchor"),
        ({"example": ""}, "an example of 1 to 2000"),
        ({"example": "Perhaps not every bridge is safe."}, "does not pass the surface check"),
        ({"example": "Every bridge is unsafe."}, "No new negator"),
        ({"prompt_line": "Write {cue} here."}, "has no hedge cues"),
        ({"guideline": "x" * 20_001}, "at most 20000"),
        ({"surface_check": {"require_cue": True}}, "Only hedges can have hedge cues"),
        ({"surface_check": {"require_words": ["x" * 61]}}, "of 1 to 60 characters"),
        ({"surface_check": {"negative_prefixes": ["un1"]}}, "affixes of letters"),
    ],
)
def test_mistakes_give_one_sentence(values: Mapping[str, Any], message: str) -> None:
    with pytest.raises(HedgerowError, match=message) as refused:
        draft(changed(NEGATION, **values), TAXONOMY)
    assert "\n" not in str(refused.value)


def test_a_hedge_must_say_where_its_cue_goes_and_show_one() -> None:
    with pytest.raises(HedgerowError, match="once in the prompt line, found it 0 times"):
        draft(changed(HEDGE, prompt_line="hearsay"), TAXONOMY)
    with pytest.raises(HedgerowError, match="has none of the cues"):
        draft(changed(HEDGE, example="The bridge is probably safe."), TAXONOMY)


@pytest.mark.parametrize(
    "values",
    [
        {"require_new": ["negator"], "forbid_new": ["negator"]},
        {"require_replaced_content": True, "forbid_replaced_content": True},
        {"require_new": ["noun"]},
        {"code": "import os"},
        {"max_lost_content": -1},
    ],
)
def test_a_check_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError, match="The surface check cannot be used"):
        read_check(values)


def test_empty_fields_are_filled_from_the_rest_and_recognised_again() -> None:
    entry = draft(HEDGE, TAXONOMY)
    assert (entry.polarity, entry.own, entry.needs_cue) == ("positive", True, True)
    found = parse_guideline(entry.guideline)
    assert found.asked_for == HEDGE.definition
    assert [e.variant for e in found.of(ExampleKind.GOOD)] == [HEDGE.example]
    assert as_written(entry) == HEDGE
    own = changed(HEDGE, prompt_line="hearsay such as {cue}", guideline="Rule: no gossip.")
    assert as_written(draft(own, TAXONOMY)) == own


def test_the_prompt_asks_for_one_of_its_own_cues() -> None:
    entry = draft(HEDGE, TAXONOMY)
    cues = {sample_cues([entry], seed=seed, anchor_uid="a")[entry.id] for seed in range(30)}
    assert cues == set(HEDGE.surface_check.require_words)
    asked = fill("{text}\n{types}", text="It is.", types=[entry], cues={entry.id: "they whisper"})
    assert asked.endswith("The claim is what others say, with a cue such as they whisper")


def test_a_sentence_is_tried_out_before_the_type_is_whole() -> None:
    entry = sketch(changed(HEDGE, label="", definition="", example_anchor="", example=""))
    tried = try_out(entry, anchor="It is open.", text="They whisper that it is open.")
    assert tried == ("they whisper", [])
    tried = try_out(entry, anchor="It is open.", text="They whisper that it is not open.")
    assert len(tried.problems) == 1 and "negator" in tried.problems[0]
    free = sketch(changed(NEGATION, surface_check={}))
    assert try_out(free, anchor="It is open.", text="It is shut.").problems == []


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_texts_are_kept_as_texts_or_refused(text: str) -> None:
    wanted = changed(
        NEGATION,
        label=text[:40],
        definition=text[:999] + " " * 10,
        surface_check=SurfaceCheck(),
        guideline=text,
    )
    with contextlib.suppress(HedgerowError):  # such as a control character in it
        entry = draft(wanted, TAXONOMY)
        asked = fill("{text}|{types}", text="It is.", types=[entry], cues={})
        assert asked.startswith(f'It is.|1. "{entry.id}": {entry.label}')
        assert "\n" not in entry.prompt_line
