"""JSON from users: read unchanged, or refused with a reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.strict_json import JsonError, RepeatedKey, read_json, read_json_list


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
    with pytest.raises(RepeatedKey) as caught:
        read_json(f'{{"{key}": 1, "{key}": 2}}')
    assert caught.value.key == key and len(str(caught.value)) < 150


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5)), max_size=6),
    st.integers(1, 9),
)
def test_a_list_is_read_object_by_object_however_it_is_cut(
    items: list[dict[str, object]], size: int
) -> None:
    text = json.dumps(items)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert list(read_json_list(pieces)) == items


@pytest.mark.parametrize("text", ['{"a": "b', '{"a": "b\n"}', '{"a": "\\x"}'])
def test_a_reason_does_not_end_in_at(text: str) -> None:
    with pytest.raises(JsonError) as single:
        read_json(text)
    with pytest.raises(JsonError) as listed:
        list(read_json_list([f"[{text}"]))
    for error in (single, listed):
        assert str(error.value) and not str(error.value).endswith(" at")
