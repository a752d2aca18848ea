"""The roles of columns: guessed from names, given by the user, and refused if nothing would be
imported."""

import pytest

from curation.taxonomy.built_in import TAXONOMY
from curation.variants.importing.roles import (
    Role,
    check_roles,
    guess_roles,
    parse_roles,
    text_columns,
    types_by_name,
    with_given,
)
from db.errors import HedgerowError

TYPES = types_by_name(TAXONOMY)


def given(*arguments: str, columns: tuple[str, ...] = ("a", "b", "c")) -> dict[str, str]:
    return parse_roles(arguments, columns=columns, types=TYPES, name="mine.csv")


@pytest.mark.parametrize(
    ("columns", "roles"),
    [
        (("anchor", "text", "type"), {"anchor": "anchor", "text": "text", "type": "type"}),
        (("Sentence1", "sentence2"), {"Sentence1": "anchor", "sentence2": "text"}),
        (
            ("anchor", "positive", "negative"),
            {"anchor": "anchor", "positive": "hedge", "negative": "negation"},
        ),
        (
            ("anchor", "entailment", "negative"),
            {"anchor": "anchor", "entailment": "entailment", "negative": "contradiction"},
        ),
        (
            ("anchor", "verbal", "Single-word hedge", "Hedge: single word", "serial"),
            {"anchor": "anchor", "verbal": "verbal", "Hedge: single word": "word"},
        ),
    ],
)
def test_names_of_columns_speak_for_what_they_hold(
    columns: tuple[str, ...], roles: dict[str, str]
) -> None:
    assert guess_roles(columns, TYPES) == roles


def test_given_roles_replace_guessed_ones() -> None:
    guessed = guess_roles(("anchor", "note", "sentence", "positive"), TYPES)
    roles = with_given(
        guessed,
        given(
            *("sentence=anchor", "note=ignore", "positive=Verbal negation"),
            columns=("anchor", "note", "sentence", "positive"),
        ),
    )
    assert roles == {"sentence": Role.ANCHOR, "positive": "verbal"}
    assert text_columns(roles) == {"positive": "verbal"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a"], "Expected COLUMN=ROLE, such as sentence=anchor, found 'a'."),
        (["=anchor"], "Expected COLUMN=ROLE, such as sentence=anchor, found '=anchor'."),
        (
            ["d=anchor"],
            "Expected a column 'd' in mine.csv, found 'a', 'b', 'c'; choose one of these.",
        ),
        (["a=text", "a=anchor"], "Expected one role for 'a', found two; keep one."),
    ],
)
def test_a_text_that_is_not_a_mapping_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(HedgerowError) as error:
        given(*arguments)
    assert str(error.value) == sentence


def test_an_unknown_role_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(HedgerowError, match=r"role \(anchor, .*verbal.*found 'emphatic'.*Taxonomy"):
        given("a=emphatic")


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"b": "verbal"}, "Expected a column of anchors"),
        ({"a": "anchor"}, "Expected a column of variants"),
        ({"a": "anchor", "b": "text"}, "have no types; name the column of types"),
        ({"a": "anchor", "b": "anchor", "c": "verbal"}, "one column of the role anchor"),
    ],
)
def test_a_mapping_without_variants_is_refused(roles: dict[str, str], words: str) -> None:
    roles = given(*(f"{column}={role}" for column, role in roles.items()))
    with pytest.raises(HedgerowError, match=words):
        check_roles(roles, columns=("a", "b", "c"), name="mine.csv")
