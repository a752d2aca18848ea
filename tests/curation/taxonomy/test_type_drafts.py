"""Hedge cues, and drafts of user-defined types: what is refused, and how the rest is read."""

import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.generation.prompts import fill, sample_cues
from curation.generation.providers.chat.answers import answer_model
from curation.language.tokens import Analysis
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.cues import (
    HEDGE_CUES,
    SPELLING,
    cue_list,
    find_cue,
    find_phrase,
    known_cue,
    listed_cues,
    new_cues,
)
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

PAPERS = [cue for cues in HEDGE_CUES.values() for cue in cues]


def test_the_lists_are_the_papers_and_every_cue_is_found_as_printed_and_as_corrected() -> None:
    for kind, number in (("word", 134), ("phrase", 45)):
        assert len(HEDGE_CUES[kind]) == len(set(HEDGE_CUES[kind])) == number
    assert {"appearence", "maynot", "why/if", "not guite sure", *SPELLING} <= set(PAPERS)
    for cue in PAPERS:
        for spelled in (cue, SPELLING.get(cue, cue)):
            assert find_cue(Analysis(f"They say {spelled}, it rains."), cue), (cue, spelled)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("cant", "I can't be sure, but it rains."),
        ("cant", "I can’t be sure, but it rains."),
        ("appearence", "To all appearances, it rains."),
        ("look like", "It looks like rain."),
        ("seem like", "It seemed to me like rain."),
        ("isnt clear", "It isn't clear whether it rains."),
        ("isnt clear", "It is not clear whether it rains."),
        ("maynot", "It may not be so, but it rains."),
        ("not guite sure", "I'm not quite sure it rains."),
        ("wether", "We ask whether it rains."),
        ("why/if", "He wonders if it rains."),
        ("not 100 % sure", "I'm not 100% sure it rains."),
        ("not sure", "I'm not at all sure it rains."),
        ("do not convincingly", "The data don't convincingly show rain."),
        ("cannot claim", "She can't claim that it rains."),
    ],
)
def test_inflection_spelling_and_interruption(cue: str, text: str) -> None:
    assert find_cue(Analysis(text), cue)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("like", "It is likely that it rains."),
        ("clear", "It is unclear whether it rains."),
        ("clear", "It is clearly raining."),
        ("may", "In maybe an hour it rains."),
        ("not sure", "It is not raining, I am sure."),
        ("not sure", "It is not so that I'm not a fool, sure."),
        ("probably", "It rains."),
    ],
)
def test_other_words_are_not_the_cue(cue: str, text: str) -> None:
    assert not find_cue(Analysis(text), cue)


def test_the_found_tokens_are_those_of_the_cue_also_for_a_user_defined_phrase() -> None:
    analysis = Analysis("It looks to me like rain.")
    (found,) = find_cue(analysis, "look like")
    assert [analysis.words[i] for i in found] == ["looks", "like"]
    assert find_phrase(Analysis("She ran out of steam."), "run out of")
    assert not find_phrase(Analysis("She walked."), "run out of")


@pytest.mark.parametrize(
    ("text", "type_id", "own", "cue"),
    [
        ("The bridge is probably safe.", "word", (), "probably"),
        ("It is possibly, perhaps probably safe.", "word", (), "possibly"),
        ("I'm not entirely sure, but the bridge seems safe.", "phrase", (), "not entirely sure"),
        ("The bridge is safe.", "word", (), None),
        ("The bridge is probably safe.", "phrase", (), None),
        ("The bridge is probably safe.", "a_type_of_ones_own", (), "probably"),
        ("In my view the bridge is probably safe.", "mine", ("in my view",), "in my view"),
        ("The bridge is probably safe.", "mine", ("in my view",), None),
    ],
)
def test_a_known_cue_is_found_in_a_text(
    text: str, type_id: str, own: tuple[str, ...], cue: str | None
) -> None:
    check = SurfaceCheck(require_cue=True, require_words=own)
    entry = variant_type("word").model_copy(update={"id": type_id, "surface_check": check})
    assert known_cue(text, cue_list(entry)) == cue
    assert (listed_cues(entry) or ()) == HEDGE_CUES.get(type_id, own)


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("I'm not entirely sure, but the bridge seems safe.", ["not entirely sure", "seem"]),
        ("The bridge is seemingly safe.", ["seemingly"]),
        ("The bridge can't be safe.", ["cant"]),
        ("It's unclear whether the bridge is safe.", ["unclear", "whether"]),
        ("I wonder if the bridge is safe.", ["wonder if"]),
        ("Perhaps the bridge is safe.", []),
        ("The bridge is safe or clean.", ["clean"]),
    ],
)
def test_the_cues_that_a_text_brings_in_are_whole_and_new(text: str, cues: list[str]) -> None:
    anchor = "The bridge is safe or sound."
    assert new_cues(anchor=anchor, text=text, cues=PAPERS) == cues


# -- drafts ---------------------------------------------------------------------------------------


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
    column = RunMetric.__table__.c.name  # type: ignore[attr-defined]
    assert len(f"ranked:{longest}>{second}") <= column.type.length


@given(label=st.text(max_size=60), taken=st.sets(st.sampled_from(["a", "type", "type_2", "all"])))
def test_every_name_gives_an_id_that_an_answer_can_have(label: str, taken: set[str]) -> None:
    type_id = free_id(label, taken)
    assert type_id not in taken and len(type_id) <= 36
    entry = variant_type("verbal").model_copy(update={"id": type_id})
    assert type(entry)(**entry.model_dump()).id == type_id
    answer = answer_model([entry]).model_validate({type_id: "It is not."})
    assert answer.model_dump() == {type_id: "It is not."}


@pytest.mark.parametrize(
    ("wanted", "values", "fact"),
    [
        (NEGATION, {"label": "x"}, "2 to 40 .* 1"),
        (NEGATION, {"label": "x" * 41}, "2 to 40 .* 41"),
        (NEGATION, {"label": "VERBAL negation"}, "'VERBAL negation'"),
        (NEGATION, {"label": "negated antonym"}, "'negated antonym'"),
        (NEGATION, {"label": "A\0name"}, "control"),
        (NEGATION, {"definition": " "}, "definition"),
        (NEGATION, {"example": "every bridge is  safe."}, "anchor"),
        (NEGATION, {"example": ""}, "example of 1 to 2000"),
        (NEGATION, {"example": "Perhaps not every bridge is safe."}, "surface check"),
        (NEGATION, {"example": "Every bridge is unsafe."}, "negator"),
        (NEGATION, {"prompt_line": "Write {cue} here."}, "cues"),
        (NEGATION, {"guideline": "x" * 20_001}, "20000"),
        (NEGATION, {"surface_check": {"require_cue": True}}, "hedges"),
        (NEGATION, {"surface_check": {"require_words": ["x" * 61]}}, "1 to 60"),
        (NEGATION, {"surface_check": {"negative_prefixes": ["un1"]}}, "affixes"),
        (HEDGE, {"prompt_line": "hearsay"}, "0 times"),
        (HEDGE, {"example": "The bridge is probably safe."}, "none of the cues"),
    ],
)
def test_mistakes_give_one_sentence(wanted: OwnType, values: Mapping[str, Any], fact: str) -> None:
    with pytest.raises(HedgerowError, match=fact) as refused:
        draft(changed(wanted, **values), TAXONOMY)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        {"require_new": ["negator"], "forbid_new": ["negator"]},
        {"require_replaced_content": True, "forbid_replaced_content": True},
        {"require_words": [" "]},
        {"require_new": ["noun"]},
        {"code": "import os"},
        {"max_lost_content": -1},
    ],
)
def test_a_check_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError, match="surface check"):
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
