"""Texts and what is derived from them: content uids and splits, JSON, decimal numbers, LaTeX."""

import hashlib
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import content_uids as t
from curation import splits
from curation.corpora.corpus import STARTER
from curation.formatting import decimal, escaped
from curation.tables.json_values import JsonError, read_json, records
from db.errors import HedgerowError

FAMILIES = STARTER.folder / "families.jsonl"


anything = st.text(st.characters(exclude_categories=("Cs", "Cc")))


@pytest.fixture(scope="module")
def uids() -> list[str]:
    lines = FAMILIES.read_text(encoding="utf-8").splitlines()
    return [t.anchor_uid(json.loads(line)["anchor"]) for line in lines]


@given(anything)
def test_canonical_is_idempotent(text: str) -> None:
    once = t.canonical(text)
    assert t.canonical(once) == once


@given(
    st.lists(st.text("abcdé'", min_size=1), min_size=1), st.sampled_from([" ", "\n", "\u00a0\t"])
)
def test_canonical_folds_any_white_space_and_nothing_else(words: list[str], space: str) -> None:
    assert t.canonical(space + space.join(words) + space * 2) == " ".join(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe\u0301 is\u200b open\ufeff", "café is open"),
        ("The \u202eyks\u202c is blue.", "The yks is blue."),
        ("“Don’t”, she said: می\u200cخواهم", "“Don’t”, she said: می\u200cخواهم"),
    ],
)
def test_canonical_composes_accents_and_drops_only_what_nobody_sees(
    text: str, expected: str
) -> None:
    assert t.canonical(text) == expected


@pytest.mark.parametrize("bad", ["a\x00b", "bell\x07", "\x9bcsi", "half \ud800"])
def test_control_characters_and_lone_surrogates_are_refused(bad: str) -> None:
    with pytest.raises(HedgerowError, match=r"control character U\+"):
        t.canonical(bad)


@pytest.mark.parametrize("empty", ["", " \n", "\u200b"])
def test_an_empty_text_has_no_uid(empty: str) -> None:
    with pytest.raises(HedgerowError, match="empty"):
        t.anchor_uid(empty)
    with pytest.raises(HedgerowError, match="empty"):
        t.variant_uid(anchor_uid="0" * 16, type_id="verbal", text=empty)


def test_anchor_uid_is_the_published_recipe() -> None:
    expected = hashlib.sha256(b"Global warming is real.").hexdigest()[:16]
    assert t.anchor_uid("  Global  warming is\nreal. ") == expected


def test_variant_uid_depends_on_anchor_type_and_text() -> None:
    base = {"anchor_uid": "a" * 16, "type_id": "verbal", "text": "It is not."}
    changed = [
        t.variant_uid(**base),
        t.variant_uid(**{**base, "anchor_uid": "b" * 16}),
        t.variant_uid(**{**base, "type_id": "lexical"}),
        t.variant_uid(**{**base, "text": "It is not"}),
        # A bare concatenation would confuse these.
        t.variant_uid(anchor_uid="a" * 16, type_id="verb", text="al It is not."),
        t.variant_uid(anchor_uid="a" * 16, type_id='verbal","It', text="is not."),
    ]
    assert len(set(changed)) == len(changed)


def within(count: int, n: int, share: float) -> bool:
    """Whether a count is within 3.3 standard deviations (one in a thousand) of its share."""
    return abs(count - n * share) <= 3.3 * (n * share * (1 - share)) ** 0.5


def test_splits_and_the_pending_fifth_have_their_shares_independently(uids: list[str]) -> None:
    pending = [uid for uid in uids if splits.in_pending_fifth(uid)]
    assert within(len(pending), len(uids), 0.2)
    for some in (uids, pending, sorted({*uids} - {*pending})):
        counts = Counter(map(splits.split_of, some))
        for split, share in {"train": 0.9, "validation": 0.05, "test": 0.05}.items():
            assert within(counts[split], len(some), share)  # type: ignore[index]


@given(st.text("0123456789abcdef", min_size=16, max_size=16))
def test_bucket_is_in_the_half_open_unit_interval(uid: str) -> None:
    assert 0 <= splits.bucket(uid, salt=splits.SPLIT_SALT) < 1


def test_plain_json_is_read() -> None:
    assert read_json('{"a": [1, null, {"b": "ü"}], "b": "c"}') == {
        "a": [1, None, {"b": "ü"}],
        "b": "c",
    }


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("", "Expecting value", 1),
        ('{"a": 1,\n"b"}', "Expecting ':' delimiter", 2),
        ("[" * 100_000, "nested too deeply", 1),
        ("9" * 5000, "a number with too many digits", 1),
        ('{"x": {"a": 1, "a": 1}}', "the key 'a' occurs twice in one object", 1),
    ],
    ids=["empty", "broken", "deep", "long number", "repeated"],
)
def test_refusals_have_a_reason(text: str, reason: str, line: int) -> None:
    with pytest.raises(JsonError) as caught:
        read_json(text)
    assert (str(caught.value), caught.value.line) == (reason, line)


def test_a_repeated_key_is_named_in_short() -> None:
    key = "k" * 5000
    with pytest.raises(JsonError, match=f"{key[:80]}.*twice") as caught:
        read_json(f'{{"{key}": 1, "{key}": 2}}')
    assert len(str(caught.value)) < 150


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5)), max_size=6),
    st.integers(1, 9),
)
def test_a_list_is_read_object_by_object_however_it_is_cut(
    items: list[dict[str, object]], size: int
) -> None:
    text = json.dumps(items)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert [record for _, record in records(pieces, "a")[1]] == items


@pytest.mark.parametrize("text", ['{"a": "b', '{"a": "b\n"}', '{"a": "\\x"}'])
def test_a_reason_does_not_end_in_at(text: str) -> None:
    with pytest.raises(JsonError) as error:
        read_json(text)
    assert str(error.value) and not str(error.value).endswith(" at")


@pytest.mark.parametrize(
    ("number", "places", "sign", "shown"),
    [
        (-1.25, 1, False, "−1.2"),
        (-0.5, 3, True, "−0.500"),
        (-0.004, 2, False, "0.00"),
        (0.5, 2, False, "0.50"),
        (12.4, 0, True, "+12"),
    ],
)
def test_a_decimal_number_has_a_real_minus_and_a_plus_on_request(
    number: float, places: int, sign: bool, shown: str
) -> None:
    assert decimal(number, places, sign=sign) == shown


def test_hostile_text_in_latex_is_printed_and_no_argument_of_the_line_before() -> None:
    assert escaped("\\input{x}\n%$_^~") == (
        r"\textbackslash{}input\{x\} \%\$\_\textasciicircum{}\textasciitilde{}"
    )
    assert escaped("[2cm] * \N{RIGHT-TO-LEFT OVERRIDE}x") == "{[}2cm] {*} x"
