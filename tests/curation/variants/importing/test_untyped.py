"""The type of a hedge or negation whose file names none: by negators, affixes, words and cues."""

from collections import Counter

import pytest

from curation.corpora.corpus import STARTER
from curation.taxonomy.built_in import TAXONOMY
from curation.variants.importing.roles import Role
from curation.variants.importing.untyped import OPEN, Typed, cue_of, type_of

TYPES = {entry.id: entry for entry in TAXONOMY}
ANCHOR = "The bridge is safe for lorries."


def found(role: Role, text: str, anchor: str = ANCHOR) -> Typed:
    return type_of(role, TYPES, anchor=anchor, text=text)


@pytest.mark.parametrize(
    ("text", "type_id"),
    [
        ("The bridge isn't safe for lorries.", "verbal"),
        ("No bridge is safe for lorries.", "absolute"),
        ("The bridge is unsafe for lorries.", "affixal"),
        ("The bridge is dangerous for lorries.", "lexical"),
        ("The bridge is hardly safe for lorries.", ""),
        ("The bridge is safe for lorries!", ""),
    ],
)
def test_a_negation_is_what_its_surface_shows(text: str, type_id: str) -> None:
    assert found(Role.NEGATION, text) == Typed(type_id)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("The bridge is probably safe for lorries.", Typed("word", "probably")),
        ("I'm not sure, but the bridge may be safe for lorries.", Typed("phrase", "not sure")),
        ("The bridge, mind you, is safe for lorries.", OPEN),
    ],
)
def test_a_hedge_is_what_its_cue_makes_it(text: str, typed: Typed) -> None:
    assert found(Role.HEDGE, text) == typed


def test_a_cue_that_the_anchor_has_already_hedges_nothing() -> None:
    anchor = "The bridge is probably safe."
    assert found(Role.HEDGE, "The bridge is, mind you, probably safe.", anchor) == OPEN


def test_a_retired_type_is_given_to_nothing() -> None:
    retired = TYPES | {"word": TYPES["word"].model_copy(update={"retired": True})}
    text = "The bridge is probably safe for lorries."
    assert type_of(Role.HEDGE, retired, anchor=ANCHOR, text=text) == OPEN


def test_the_cue_of_a_typed_hedge_is_one_of_its_list() -> None:
    text = "I'm not sure, but the bridge may be safe for lorries."
    assert cue_of(TYPES["phrase"], anchor=ANCHOR, text=text) == "not sure"
    assert cue_of(TYPES["word"], anchor=ANCHOR, text=text) == "may"
    assert cue_of(TYPES["word"], anchor=ANCHOR, text=ANCHOR) is None


@pytest.mark.slow
def test_the_starter_corpus_is_typed_as_it_was_written() -> None:
    right, all_ = Counter[str](), Counter[str]()
    for family in STARTER.families()[::4]:
        for type_id in ("verbal", "absolute", "affixal", "lexical", "word", "phrase"):
            role = Role.HEDGE if TYPES[type_id].role == "hedge" else Role.NEGATION
            entries = family.get(type_id, [])
            for entry in entries if isinstance(entries, list) else [entries]:
                text = entry["text"] if isinstance(entry, dict) else entry
                all_[type_id] += 1
                right[type_id] += found(role, text, family["anchor"]).type_id == type_id
    assert all(all_.values())
    assert {type_id: right[type_id] / all_[type_id] > 0.95 for type_id in all_} == dict.fromkeys(
        all_, True
    )
