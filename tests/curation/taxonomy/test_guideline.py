"""The guidelines: they can be parsed, and their examples are correct."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.surface import check_surface
from curation.taxonomy.built_in import TAXONOMY, VariantType
from curation.taxonomy.guideline import (
    PASSAGE,
    ExampleKind,
    Guideline,
    GuidelineRule,
    parse_guideline,
    passage,
)
from curation.taxonomy.nli_types import ORIGINAL_TYPES
from curation.taxonomy.reject_reasons import REJECT_REASONS
from curation.taxonomy.type_drafts import OwnType

EVERY_TYPE = pytest.mark.parametrize("entry", TAXONOMY, ids=lambda entry: entry.id)


@EVERY_TYPE
def test_a_type_has_rules_and_examples_of_each_kind(entry: VariantType) -> None:
    found = parse_guideline(entry.guideline)
    assert found.asked_for
    assert len(found.rules) >= 5
    assert all(rule.name for rule in found.rules)
    assert len(found.of(ExampleKind.GOOD)) >= 4
    assert len(found.of(ExampleKind.BAD)) >= 4
    assert len(found.of(ExampleKind.BORDERLINE)) >= 3


@pytest.mark.parametrize("entry", ORIGINAL_TYPES.values(), ids=list(ORIGINAL_TYPES))
def test_a_type_of_imported_texts_has_examples_of_each_kind(entry: OwnType) -> None:
    found = parse_guideline(entry.guideline)
    reasons = {reason.label.lower() for reason in REJECT_REASONS}
    for kind in ExampleKind:
        assert len(found.of(kind)) >= 2
    assert {example.verdict for example in found.of(ExampleKind.BAD)} <= reasons


@EVERY_TYPE
def test_a_good_example_passes_its_types_check(entry: VariantType) -> None:
    for example in parse_guideline(entry.guideline).of(ExampleKind.GOOD):
        problems = check_surface(
            entry.surface_check, anchor=example.anchor, text=example.variant, cue=example.cue
        )
        assert problems == [], example.variant


@EVERY_TYPE
def test_every_example_differs_from_its_anchor_and_says_why(entry: VariantType) -> None:
    reasons = {reason.label.lower() for reason in REJECT_REASONS}
    for example in parse_guideline(entry.guideline).examples:
        assert example.variant != example.anchor
        assert example.why
        assert bool(example.cue) == entry.needs_cue
        assert (example.verdict in reasons) == (example.kind is ExampleKind.BAD)
        assert bool(example.verdict) == (example.kind is not ExampleKind.GOOD)


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
