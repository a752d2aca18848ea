"""The bundled corpus: its format, and the figures in its README."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import Levenshtein
import pytest

from curation.content_uids import anchor_uid, canonical, in_pending_fifth
from curation.corpora.corpus import STARTER
from curation.diagnostics.measures import LEVENSHTEIN_THRESHOLD
from curation.taxonomy.built_in import TAXONOMY
from curation.taxonomy.cues import HEDGE_CUES
from curation.taxonomy.reject_reasons import reject_reason

TYPES = [entry.id for entry in TAXONOMY][:7]  # from the paper, and the negated antonym
SECOND = STARTER.second_types  # written later, and only judged by the second reviewer


def _lines(name: str) -> list[dict[str, Any]]:
    text = (STARTER.folder / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def families() -> list[dict[str, Any]]:
    return _lines("families.jsonl")


@pytest.fixture(scope="module")
def reviews() -> list[dict[str, Any]]:
    return _lines("reviews.jsonl")


@pytest.fixture(scope="module")
def second() -> list[dict[str, Any]]:
    return _lines("second_reviews.jsonl")


@pytest.fixture(scope="module")
def readme() -> str:
    return (STARTER.folder / "README.md").read_text(encoding="utf-8")


def _table(readme: str, heading: str, after: str = "") -> dict[str, list[str]]:
    """Return the body of the first table after a text whose header row begins with `heading`."""
    readme = readme[readme.index(after) :]
    block = re.search(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", readme, re.MULTILINE)
    assert block, heading
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in block[1].splitlines()]
    return {row[0]: row[1:] for row in rows}


def _texts(family: dict[str, Any], types: Sequence[str] = TYPES) -> dict[str, str]:
    entries = {t: family[t] for t in types if t in family}
    return {t: e["text"] if isinstance(e, dict) else e for t, e in entries.items()}


def test_every_family_is_complete_and_within_the_filter(families: list[dict[str, Any]]) -> None:
    required = {"anchor", "genre", *TYPES} - {"negated_antonym"}
    for family in families:
        assert required <= set(family) <= required | {"negated_antonym", *SECOND}
        assert canonical(family["anchor"]) == family["anchor"]
        for text in _texts(family).values():
            assert Levenshtein.distance(family["anchor"], text) <= LEVENSHTEIN_THRESHOLD


def test_unsupported_variants_are_distinct_and_few_are_far_from_their_anchors(
    families: list[dict[str, Any]], readme: str
) -> None:
    texts = {family["anchor"]: family["unsupported"] for family in families if SECOND[0] in family}
    assert len(set(texts.values())) == len(texts)
    assert all(canonical(text) == text != anchor for anchor, text in texts.items())
    far = [a for a, text in texts.items() if Levenshtein.distance(a, text) > LEVENSHTEIN_THRESHOLD]
    assert len(far) == 2
    assert f"The {len(texts)} `unsupported` variants were added later" in readme
    assert "Two of them are more than 60 characters away from their anchors" in readme


def test_anchors_are_distinct(families: list[dict[str, Any]]) -> None:
    assert len({anchor_uid(family["anchor"]) for family in families}) == len(families)


def test_cues_come_from_the_paper_lists(
    families: list[dict[str, Any]], reviews: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    for family in families:
        for kind in ("word", "phrase"):
            assert family[kind]["cue"] in HEDGE_CUES[kind]
    for review in [*reviews, *second]:
        assert review.get("cue") is None or review["cue"] in HEDGE_CUES[review["type"]]


def test_each_review_is_of_an_existing_variant_with_a_known_reason(
    families: list[dict[str, Any]], reviews: list[dict[str, Any]]
) -> None:
    variants = {(family["anchor"], t) for family in families for t in _texts(family)}
    assert {(review["anchor"], review["type"]) for review in reviews} <= variants
    for review in reviews:
        reject_reason(review["reason"])
        assert (review["verdict"] == "edit") == bool(review.get("text"))


def test_each_second_review_edits_what_the_first_one_left_accepted(
    families: list[dict[str, Any]], reviews: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    left = {
        (family["anchor"], t): text
        for family in families
        for t, text in _texts(family, [*TYPES, *SECOND]).items()
    }
    for review in reviews:
        key = review["anchor"], review["type"]
        if review["verdict"] == "edit":
            left[key] = review["text"]
        else:
            del left[key]
    assert len({(review["anchor"], review["type"]) for review in second}) == len(second)
    for review in second:
        reject_reason(review["reason"])
        assert review["verdict"] == "edit"
        assert review["type"] in {"absolute", "word", "phrase", *SECOND}
        assert canonical(review["text"]) == review["text"]
        assert review["text"] not in (left[review["anchor"], review["type"]], review["anchor"])


def test_readme_counts_the_second_review(
    readme: str, families: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    edited = Counter(review["type"] for review in second)
    read = {
        t: sum(t in family for family in families) for t in ("absolute", "word", "phrase", *SECOND)
    }
    table = _table(readme, "type", after="The second review:")
    assert table.pop("all") == [f"{sum(read.values()):,}", str(len(second))]
    assert table == {t: [f"{read[t]:,}", str(edited[t])] for t in read}
    reasons = Counter(review["reason"] for review in second)
    table = _table(readme, "reason", after="Edits of the second review, by reason:")
    assert {k: int(v[0]) for k, v in table.items()} == reasons
    applied = sum(not in_pending_fifth(anchor_uid(review["anchor"])) for review in second)
    assert f"only {applied} of the second review's {len(second)} edits are applied" in readme


def test_readme_counts_by_type(
    readme: str, families: list[dict[str, Any]], reviews: list[dict[str, Any]]
) -> None:
    table = _table(readme, "type")
    variants = Counter(t for family in families for t in _texts(family))
    verdicts = Counter((review["type"], review["verdict"]) for review in reviews)
    for t in [*TYPES, "all"]:
        chosen = TYPES if t == "all" else [t]
        n = sum(variants[c] for c in chosen)
        edits = sum(verdicts[c, "edit"] for c in chosen)
        rejects = sum(verdicts[c, "reject"] for c in chosen)
        accepted = n - edits - rejects
        expected = [f"{n:,}", f"{accepted:,}", f"{edits:,}", str(rejects), f"{accepted / n:.1%}"]
        assert table[t] == expected
    all_ = sum(variants.values()) + sum(t in family for family in families for t in SECOND)
    assert f"{len(families):,} affirmative English sentences with {all_:,}" in readme


def test_readme_counts_by_genre_reason_and_length(
    readme: str, families: list[dict[str, Any]], reviews: list[dict[str, Any]]
) -> None:
    genres = Counter(family["genre"] for family in families)
    assert {k: int(v[0]) for k, v in _table(readme, "genre").items()} == genres
    reasons = Counter(review["reason"] for review in reviews)
    assert {k: int(v[0]) for k, v in _table(readme, "reason").items()} == reasons
    lengths = [len(family["anchor"].split()) for family in families]
    bands = {"under 10": (0, 9), "10 to 14": (10, 14), "15 to 19": (15, 19)}
    bands |= {"20 to 30": (20, 30), "over 30": (31, 999)}
    table = _table(readme, "words")
    assert set(table) == set(bands)
    for name, (low, high) in bands.items():
        n = sum(low <= length <= high for length in lengths)
        assert table[name] == [str(n), f"{n / len(lengths):.1%}"]


def test_readme_is_honest_about_where_the_sentences_come_from(readme: str) -> None:
    assert "No person has reviewed them yet" in readme
    assert "CC BY 4.0" in readme
