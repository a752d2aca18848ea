"""The files of the starter corpus: their format, and the figures in its README."""

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
FAMILIES, REVIEWS, SECOND_REVIEWS = STARTER.families(), STARTER.reviews(), STARTER.second_reviews()
README = STARTER.readme


def _table(heading: str, after: str = "") -> dict[str, list[str]]:
    """The body of the first table after a text whose header row begins with `heading`."""
    pattern = rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)"
    block = re.search(pattern, README[README.index(after) :], re.MULTILINE)
    assert block, heading
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in block[1].splitlines()]
    return {row[0]: row[1:] for row in rows}


def _texts(family: dict[str, Any], types: Sequence[str] = TYPES) -> dict[str, str]:
    entries = {t: family[t] for t in types if t in family}
    return {t: e["text"] if isinstance(e, dict) else e for t, e in entries.items()}


def test_every_family_is_complete_and_within_the_filter() -> None:
    required = {"anchor", "genre", *TYPES} - {"negated_antonym"}
    for family in FAMILIES:
        assert required <= set(family) <= required | {"negated_antonym", *SECOND}
        assert canonical(family["anchor"]) == family["anchor"]
        for text in _texts(family).values():
            assert Levenshtein.distance(family["anchor"], text) <= LEVENSHTEIN_THRESHOLD
        for kind in ("word", "phrase"):
            assert family[kind]["cue"] in HEDGE_CUES[kind]
    assert len({anchor_uid(family["anchor"]) for family in FAMILIES}) == len(FAMILIES)


def test_each_review_edits_or_rejects_what_is_there_for_a_known_reason() -> None:
    left = {
        (family["anchor"], t): text
        for family in FAMILIES
        for t, text in _texts(family, [*TYPES, *SECOND]).items()
    }
    for review in REVIEWS:
        key = review["anchor"], review["type"]
        assert (review["verdict"] == "edit") == bool(review.get("text"))
        left[key] = review.get("text", "") if key in left else pytest.fail(str(key))
    assert len({(review["anchor"], review["type"]) for review in SECOND_REVIEWS}) == len(
        SECOND_REVIEWS
    )
    for review in SECOND_REVIEWS:
        assert review["verdict"] == "edit"
        assert review["type"] in {"absolute", "word", "phrase", *SECOND}
        assert canonical(review["text"]) == review["text"]
        current = left[review["anchor"], review["type"]]
        assert current and review["text"] not in (current, review["anchor"])
    for review in [*REVIEWS, *SECOND_REVIEWS]:
        reject_reason(review["reason"])
        assert review.get("cue") is None or review["cue"] in HEDGE_CUES[review["type"]]


def test_the_readme_counts_the_second_review() -> None:
    edited = Counter(review["type"] for review in SECOND_REVIEWS)
    types = ("absolute", "word", "phrase", *SECOND)
    read = {t: sum(t in family for family in FAMILIES) for t in types}
    table = _table("type", after="The second review:")
    assert table.pop("all") == [f"{sum(read.values()):,}", str(len(SECOND_REVIEWS))]
    assert table == {t: [f"{read[t]:,}", str(edited[t])] for t in read}
    reasons = Counter(review["reason"] for review in SECOND_REVIEWS)
    table = _table("reason", after="Edits of the second review, by reason:")
    assert {k: int(v[0]) for k, v in table.items()} == reasons
    applied = sum(not in_pending_fifth(anchor_uid(one["anchor"])) for one in SECOND_REVIEWS)
    assert f"only {applied} of the second review's {len(SECOND_REVIEWS)} edits" in README


def test_the_readme_counts_by_type() -> None:
    table = _table("type")
    variants = Counter(t for family in FAMILIES for t in _texts(family))
    verdicts = Counter((review["type"], review["verdict"]) for review in REVIEWS)
    for t in [*TYPES, "all"]:
        chosen = TYPES if t == "all" else [t]
        n = sum(variants[c] for c in chosen)
        edits, rejects = (sum(verdicts[c, v] for c in chosen) for v in ("edit", "reject"))
        left = n - edits - rejects
        assert table[t] == [f"{n:,}", f"{left:,}", f"{edits:,}", str(rejects), f"{left / n:.1%}"]
    all_ = variants.total() + sum(t in family for family in FAMILIES for t in SECOND)
    assert f"{len(FAMILIES):,} affirmative English sentences with {all_:,}" in README
