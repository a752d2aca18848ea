"""Canonical text, content uids and hash splits."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation import content_uids as t
from curation.corpora.corpus import STARTER
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


def test_canonical_composes_accents_and_drops_what_nobody_sees() -> None:
    assert t.canonical("cafe\u0301 is\u200b open\ufeff") == "café is open"
    assert t.canonical("The \u202eyks\u202c is blue.") == "The yks is blue."


def test_canonical_keeps_case_quotes_and_joiners() -> None:
    kept = "“Don’t”, she said: می\u200cخواهم"
    assert t.canonical(kept) == kept


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


@given(st.text("0123456789abcdef", min_size=16, max_size=16))
def test_bucket_is_in_the_half_open_unit_interval(uid: str) -> None:
    assert 0 <= t.bucket(uid, salt=t.SPLIT_SALT) < 1


def within(count: int, n: int, share: float) -> bool:
    """Whether a count is within 3.3 standard deviations (one in a thousand) of its share."""
    return abs(count - n * share) <= 3.3 * (n * share * (1 - share)) ** 0.5


def test_shares_on_the_starter_corpus_are_as_promised(uids: list[str]) -> None:
    splits = [t.split_of(uid) for uid in uids]
    assert within(splits.count("train"), len(uids), 0.9)
    assert within(splits.count("validation"), len(uids), 0.05)
    assert within(splits.count("test"), len(uids), 0.05)
    assert within(sum(t.in_pending_fifth(uid) for uid in uids), len(uids), 0.2)


def test_split_and_pending_fifth_are_independent(uids: list[str]) -> None:
    pairs = [(t.split_of(uid), t.in_pending_fifth(uid)) for uid in uids]
    chi_squared = 0.0
    for split in ("train", "validation", "test"):
        for pending in (True, False):
            rows = sum(s == split for s, _ in pairs)
            columns = sum(p is pending for _, p in pairs)
            expected = rows * columns / len(pairs)
            chi_squared += (pairs.count((split, pending)) - expected) ** 2 / expected
    assert chi_squared < 9.21  # 2 degrees of freedom, p = 0.01
