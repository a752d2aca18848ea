"""The taxonomy as data."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from pydantic import ValidationError

from curation.diagnostics.surface import check_surface
from curation.taxonomy.built_in import (
    GUIDELINE_VERSION,
    TAXONOMY,
    TAXONOMY_VERSION,
    SurfaceCheck,
    VariantType,
    variant_type,
)
from curation.taxonomy.reject_reasons import REJECT_REASONS, applicable_reason, reject_reason
from db.errors import HedgerowError


def test_the_types_with_their_polarity_and_role() -> None:
    assert [(t.id, t.polarity, t.role) for t in TAXONOMY] == [
        ("verbal", "negative", "negation"),
        ("absolute", "negative", "negation"),
        ("affixal", "negative", "negation"),
        ("lexical", "negative", "negation"),
        ("word", "positive", "hedge"),
        ("phrase", "positive", "hedge"),
        ("negated_antonym", "positive", "paraphrase"),
        ("affirmation", "positive", "paraphrase"),
        ("free_hedge", "positive", "hedge"),
        ("unsupported", "neutral", "unsupported"),
        ("free_contradiction", "negative", "negation"),
    ]
    assert [t.id for t in TAXONOMY if t.of_paper] == [t.id for t in TAXONOMY][:6]
    assert [t.order for t in TAXONOMY] == sorted({t.order for t in TAXONOMY})


def test_a_change_to_a_type_comes_with_a_new_version() -> None:
    """Existing projects only take over a type's new texts with a higher version.

    After a change, raise both versions (the guidelines' version if a guideline or a reject reason
    changed), and then write the new digest here.
    """
    types = [entry.model_dump(mode="json", exclude={"version"}) for entry in TAXONOMY]
    content = json.dumps(types, sort_keys=True) + repr(REJECT_REASONS)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    assert (TAXONOMY_VERSION, GUIDELINE_VERSION, digest) == (8, 8, "6e357467de0006ec")


@pytest.mark.parametrize("entry", TAXONOMY, ids=lambda t: t.id)
def test_a_type_survives_storage_as_json(entry: VariantType) -> None:
    assert VariantType.model_validate(json.loads(entry.model_dump_json())) == entry


@pytest.mark.parametrize("entry", TAXONOMY, ids=lambda t: t.id)
def test_a_guideline_gives_good_bad_and_borderline_cases_in_plain_text(entry: VariantType) -> None:
    for part in ("Asked for:", "Good", "Bad", "Borderline"):
        assert part in entry.guideline
    assert not re.search(r"[*_#`<>]|\]\(", entry.guideline)


@pytest.mark.parametrize("entry", TAXONOMY, ids=lambda t: t.id)
def test_a_types_own_example_passes_its_check(entry: VariantType) -> None:
    cue = {"word": "reportedly", "phrase": "not entirely clear"}.get(entry.id)
    problems = check_surface(
        entry.surface_check, anchor=entry.example_anchor, text=entry.example, cue=cue
    )
    assert problems == []


def test_only_hedges_ask_for_a_cue_and_have_a_place_for_it_in_the_prompt() -> None:
    assert [t.id for t in TAXONOMY if t.needs_cue] == ["word", "phrase"]
    assert [t.id for t in TAXONOMY if "{cue}" in t.prompt_line] == ["word", "phrase"]


def test_reject_reasons_have_a_digit_each() -> None:
    assert [reason.digit for reason in REJECT_REASONS] == list("1234567890")
    assert reject_reason("wrong_scope").label == "Wrong scope"


def test_unknown_ids_are_named_with_the_known_ones() -> None:
    with pytest.raises(HedgerowError, match="verbal, absolute.*'verbla'"):
        variant_type("verbla")
    with pytest.raises(HedgerowError, match="wrong_type.*'nonsense'"):
        reject_reason("nonsense")


@pytest.mark.parametrize(
    "bad",
    [
        {"require_new": ["negator"], "forbid_new": ["negator"]},
        {"require_replaced_content": True, "forbid_replaced_content": True},
        {"require_words": [" "]},
        {"require_new": ["adverb"]},
        {"max_lost_content": -1},
        {"code": "import os"},
    ],
)
def test_a_contradictory_or_unknown_check_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SurfaceCheck.model_validate(bad)


def test_a_type_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError):
        variant_type("verbal").label = "other"  # type: ignore[misc]


def test_a_reason_says_which_types_it_is_for() -> None:
    hedges = {entry.id for entry in TAXONOMY if reject_reason("not_a_hedge").applies_to(entry)}
    assert hedges == {"word", "phrase", "free_hedge"}
    denials = [e.role for e in TAXONOMY if reject_reason("not_contradictory").applies_to(e)]
    assert denials == ["negation"] * 5
    for reason in REJECT_REASONS:
        narrow = reason.id in ("not_a_hedge", "not_contradictory")
        assert narrow or all(reason.applies_to(entry) for entry in TAXONOMY), reason.id
    assert applicable_reason("not_a_hedge", variant_type("word")).digit == "8"
    with pytest.raises(HedgerowError, match="for hedges, and 'Verbal negation' is one of the neg"):
        applicable_reason("not_a_hedge", variant_type("verbal"))
