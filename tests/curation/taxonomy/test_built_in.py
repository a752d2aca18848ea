"""The built-in types, their guidelines and reject reasons."""

import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from curation.diagnostics.surface import check_surface
from curation.editing.own_types import ORIGINAL_TYPES
from curation.editing.type_drafts import OwnType
from curation.taxonomy.built_in import (
    GUIDELINE_VERSION,
    TAXONOMY,
    TAXONOMY_VERSION,
    VariantType,
    variant_type,
)
from curation.taxonomy.guideline import (
    PASSAGE,
    ExampleKind,
    Guideline,
    GuidelineRule,
    parse_guideline,
    passage,
)
from curation.taxonomy.reject_reasons import REJECT_REASONS, applicable_reason, reject_reason
from db.errors import HedgerowError

EVERY_TYPE = pytest.mark.parametrize("entry", TAXONOMY, ids=lambda entry: entry.id)
REASONS = {reason.label.lower() for reason in REJECT_REASONS}


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
    assert [t.id for t in TAXONOMY if t.needs_cue] == ["word", "phrase"]
    assert [t.id for t in TAXONOMY if "{cue}" in t.prompt_line] == ["word", "phrase"]
    with pytest.raises(ValidationError):
        variant_type("verbal").label = "other"  # type: ignore[misc]


def test_a_change_to_a_type_comes_with_a_new_version() -> None:
    """Existing projects only take over a type's new texts with a higher version.

    After a change, raise both versions (the guidelines' version if a guideline or a reject reason
    changed), and then write the new digest here.
    """
    types = [entry.model_dump(mode="json", exclude={"version"}) for entry in TAXONOMY]
    content = json.dumps(types, sort_keys=True) + repr(REJECT_REASONS)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    assert (TAXONOMY_VERSION, GUIDELINE_VERSION, digest) == (8, 8, "6e357467de0006ec")


@EVERY_TYPE
def test_a_type_survives_storage_and_its_examples_pass_its_check(entry: VariantType) -> None:
    assert VariantType.model_validate(json.loads(entry.model_dump_json())) == entry
    cue = {"word": "reportedly", "phrase": "not entirely clear"}.get(entry.id)
    examples = [(entry.example_anchor, entry.example, cue)]
    good = parse_guideline(entry.guideline).examples_of(ExampleKind.GOOD)
    examples += [(example.anchor, example.variant, example.cue) for example in good]
    for anchor, text, cue in examples:
        assert not check_surface(entry.surface_check, anchor=anchor, text=text, cue=cue), text


def test_unknown_ids_are_named_with_the_known_ones() -> None:
    with pytest.raises(HedgerowError, match="verbal, absolute.*'verbla'"):
        variant_type("verbla")
    with pytest.raises(HedgerowError, match="wrong_type.*'nonsense'"):
        reject_reason("nonsense")


def test_a_reason_says_which_types_it_is_for() -> None:
    assert [reason.digit for reason in REJECT_REASONS] == list("1234567890")
    hedges = {entry.id for entry in TAXONOMY if reject_reason("not_a_hedge").applies_to(entry)}
    assert hedges == {"word", "phrase", "free_hedge"}
    denials = [e.role for e in TAXONOMY if reject_reason("not_contradictory").applies_to(e)]
    assert denials == ["negation"] * 5
    for reason in REJECT_REASONS:
        narrow = reason.id in ("not_a_hedge", "not_contradictory")
        assert narrow or all(reason.applies_to(entry) for entry in TAXONOMY), reason.id
    assert applicable_reason("not_a_hedge", variant_type("word")).digit == "8"
    with pytest.raises(HedgerowError, match="'Verbal negation'"):
        applicable_reason("not_a_hedge", variant_type("verbal"))


# -- guidelines -----------------------------------------------------------------------------------


@EVERY_TYPE
def test_a_type_has_rules_and_examples_of_each_kind_in_plain_text(entry: VariantType) -> None:
    assert not re.search(r"[*_#`<>]|\]\(", entry.guideline)
    found = parse_guideline(entry.guideline)
    assert found.asked_for and len(found.rules) >= 5 and all(rule.name for rule in found.rules)
    least = {ExampleKind.GOOD: 4, ExampleKind.BAD: 4, ExampleKind.BORDERLINE: 3}
    assert all(len(found.examples_of(kind)) >= number for kind, number in least.items())
    for example in found.examples:
        assert example.variant != example.anchor and example.why
        assert bool(example.cue) == entry.needs_cue
        assert (example.verdict in REASONS) == (example.kind is ExampleKind.BAD)
        assert bool(example.verdict) == (example.kind is not ExampleKind.GOOD)


@pytest.mark.parametrize("entry", ORIGINAL_TYPES.values(), ids=list(ORIGINAL_TYPES))
def test_a_type_of_imported_texts_has_examples_of_each_kind(entry: OwnType) -> None:
    found = parse_guideline(entry.guideline)
    assert min(len(found.examples_of(kind)) for kind in ExampleKind) >= 2
    assert {example.verdict for example in found.examples_of(ExampleKind.BAD)} <= REASONS


GAPS = {
    "no longer": {"verbal", "absolute", "lexical", "negated_antonym"},
    "unhedged claim": {"word", "phrase"},
    "two negators": {entry.id for entry in TAXONOMY},
    "quanti": {entry.id for entry in TAXONOMY},
    "idiom": {entry.id for entry in TAXONOMY},
}


@pytest.mark.parametrize(("case", "types"), GAPS.items(), ids=list(GAPS))
def test_a_hard_case_has_a_rule_in_every_type_that_meets_it(case: str, types: set[str]) -> None:
    ruled = {
        entry.id
        for entry in TAXONOMY
        for rule in parse_guideline(entry.guideline).rules
        if case in rule.name + rule.text
    }
    assert types <= ruled


def test_prose_of_any_other_form_is_shown_as_rules() -> None:
    found = parse_guideline("Asked for: this.\n\nGood: 'a' to 'b'.\n\nBad, so: it goes\non.")
    assert found.asked_for == "this."
    assert found.rules == (
        GuidelineRule("", "Good: 'a' to 'b'."),
        GuidelineRule("", "Bad, so: it goes on."),
    )
    assert found.examples == ()


@given(st.text(alphabet="GodBarule:,→ \n()cue'<x", max_size=200))
def test_every_text_is_accepted_without_losing_a_letter(text: str) -> None:
    found = parse_guideline(text)
    shown = found.asked_for + "".join(rule.name + rule.text for rule in found.rules)
    shown += "".join(e.anchor + e.variant + e.why + e.verdict for e in found.examples)
    assert shown.count("x") == text.count("x")


@EVERY_TYPE
def test_a_passage_bears_on_the_verdict(entry: VariantType) -> None:
    found = parse_guideline(entry.guideline)
    good = passage(found)
    assert 1 <= len(good.examples) <= PASSAGE and not good.rules
    assert {example.kind for example in good.examples} == {ExampleKind.GOOD}
    for reason in REJECT_REASONS:
        part = passage(found, reason.label)
        assert part.examples or part.rules
        assert ExampleKind.GOOD not in {example.kind for example in part.examples}
        assert max(len(part.examples), len(part.rules)) <= PASSAGE
        named = [one for one in found.examples if reason.label.lower() in one.verdict.lower()]
        assert list(part.examples) == named[:PASSAGE] or not named


def test_a_reason_that_only_a_rule_names_shows_that_rule() -> None:
    found = parse_guideline(
        "Asked for: this.\n\nRule, scope: else reject as wrong scope.\n\n"
        "Rule, other: leave it.\n\nBad, wrong type:\nA.\n→ B.\nWhy."
    )
    assert passage(found, "Wrong scope") == Guideline("this.", found.rules[:1], ())
    assert passage(found, "Ungrammatical").examples == found.examples
