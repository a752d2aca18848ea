"""The accuracy of the surface checks and flags on the reviewed starter corpus.

The word lists were tuned on this corpus, so the figures hold for similar sentences, not for English
in general.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from curation.corpora.corpus import STARTER
from curation.diagnostics.measures import Flag, measure
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import surface_problems
from curation.language.tokens import Analysis
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.cues import find_cue

TYPES = [*(entry.id for entry in TAXONOMY[:7]), "unsupported"]
FREE = "unsupported"  # a free-form type, where the surface check finds less
NEAR_TWINS = {"affixal", "lexical"}  # 'dishonest' is right for both: never swapped
ERROR_FLAGS = Flag.WRONG_SURFACE | Flag.CONTENT_DROPPED | Flag.UNCHANGED | Flag.SAME_AS_SIBLING


pytestmark = pytest.mark.slow


class Row(NamedTuple):
    anchor: str
    type_id: str
    cue: str | None
    text: str


Family = dict[str, Row]


@pytest.fixture(scope="module")
def families() -> list[Family]:
    """Type → variant, with the edits of both reviews, without the rejected variant."""
    reviews: dict[tuple[str, str], dict[str, str]] = {}
    for review in [*STARTER.reviews(), *STARTER.second_reviews()]:
        key = review["anchor"], review["type"]
        reviews[key] = reviews.get(key, {}) | review
    found: list[Family] = []
    for family in STARTER.families():
        found.append({})
        for type_id in TYPES:
            entry, review = family.get(type_id), reviews.get((family["anchor"], type_id), {})
            if entry and review.get("verdict") != "reject":
                hedge = entry if isinstance(entry, dict) else {"text": entry}
                hedge = hedge | {key: review[key] for key in ("text", "cue") if review.get(key)}
                found[-1][type_id] = Row(family["anchor"], type_id, hedge.get("cue"), hedge["text"])
    return found


def flags_of(row: Row, family: Family) -> Flag:
    check = variant_type(row.type_id).surface_check
    siblings = [other.text for other in family.values() if other.type_id != row.type_id]
    found = measure(anchor=row.anchor, text=row.text, cue=row.cue, check=check, siblings=siblings)
    return found.flags


def test_flags_on_the_reviewed_corpus_are_rare(families: list[Family]) -> None:
    flags = [
        (row.type_id, flags_of(row, family)) for family in families[::3] for row in family.values()
    ]
    total = Counter(type_id for type_id, _ in flags)
    raised = Counter((type_id, flag) for type_id, found in flags for flag in found)
    # The review accepted some reports of others ("Historians conjecture that …"). According to the
    # guideline, such variants should be edited or rejected.
    limits = {Flag.REPORTS_OTHERS: 0.04}
    assert all(n / total[t] < limits.get(flag, 0.03) for (t, flag), n in raised.items())


def test_swapped_types_are_caught(families: list[Family]) -> None:
    caught, total = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for family in families[::3]:
        for shown in family.values():
            comparison = PairAnalysis(anchor=shown.anchor, text=shown.text)
            for asked in family.values():
                pair = shown.type_id, asked.type_id
                # The free form has no word of its own that could be missing.
                if asked is shown or set(pair) == NEAR_TWINS or asked.type_id == FREE:
                    continue
                check = variant_type(asked.type_id).surface_check
                total[pair] += 1
                caught[pair] += bool(surface_problems(check, comparison, cue=asked.cue))
    assert all(caught[pair] / n >= (0.8 if pair[0] == FREE else 0.9) for pair, n in total.items())


def without_clause(text: str, choose: Callable[..., int | None]) -> str:
    """Drop the longest or shortest part between commas that has at least four words."""
    parts = re.split(r"(?<=,) ", text)
    long_enough = [i for i, part in enumerate(parts) if len(part.split()) >= 4]
    chosen = choose(long_enough, key=lambda i: len(parts[i]), default=None)
    rest = " ".join(part for i, part in enumerate(parts) if i != chosen)
    return rest if len(rest.split()) > 2 else text


def halves(text: str) -> tuple[str, str]:
    words = text.split()
    middle = len(words) // 2 if len(words) >= 12 else 0
    return " ".join(words[:middle]) + "." if middle else text, " ".join(words[middle:])


@pytest.mark.parametrize(
    "cut",
    [
        lambda text: without_clause(text, max),
        lambda text: without_clause(text, min),
        lambda text: halves(text)[0],
        lambda text: halves(text)[1],
    ],
    ids=["longest clause", "shortest clause", "last half", "first half"],
)
def test_cut_sentences_are_caught(families: list[Family], cut: Callable[[str], str]) -> None:
    caught, total = Counter[str](), Counter[str]()
    for family in families[::3]:
        for row in family.values():
            shorter = row._replace(text=cut(row.text))
            if shorter != row:
                total[row.type_id] += 1
                caught[row.type_id] += bool(flags_of(shorter, family) & ERROR_FLAGS)
    assert all(caught[t] / total[t] >= (0.6 if t == FREE else 0.9) for t in TYPES)


def without_cue(row: Row) -> str:
    """Remove the words of the cue from a hedge, and leave the rest unchanged."""
    analysis, text = Analysis(row.text), row.text
    tokens = [analysis.tokens[i] for found in find_cue(analysis, row.cue or "") for i in found]
    for token in sorted(tokens, key=lambda token: token.start, reverse=True):
        text = text[: token.start] + text[token.end :]
    return text


@pytest.mark.parametrize("type_id", ["word", "phrase"])
@pytest.mark.parametrize(
    "way",
    [lambda row: row.anchor, lambda row: f"Perhaps {row.anchor}", without_cue],
    ids=["the anchor itself", "hedged in other words", "the cue cut out"],
)
def test_a_removed_cue_is_caught(
    families: list[Family], way: Callable[[Row], str], type_id: str
) -> None:
    rows = [(family[type_id], family) for family in families[::3]]
    caught = sum(
        bool(flags_of(row._replace(text=way(row)), family) & ERROR_FLAGS) for row, family in rows
    )
    assert caught / len(rows) >= 0.9


def test_the_flags_for_hedges_find_many_and_cry_wolf_seldom() -> None:
    """Compared with the review of the starter corpus.

    The review accepted some hedges that report others: "Historians conjecture that …".
    """
    reasons = {(r["anchor"], r["type"]): r["reason"] for r in STARTER.reviews()}
    flat, reports, all_ = Counter[str](), Counter[str](), Counter[str]()
    for family in STARTER.families():
        for type_id in ("word", "phrase"):
            reason = reasons.get((family["anchor"], type_id), "")
            row = Row(family["anchor"], "phrase", "not clear", family[type_id]["text"])
            flags = flags_of(row, {})
            all_[reason] += 1
            flat[reason] += Flag.FLAT_HEDGE in flags
            reports[reason] += Flag.REPORTS_OTHERS in flags
    assert flat["not_a_hedge"] / all_["not_a_hedge"] > 0.55
    assert flat["not_a_hedge"] / flat.total() > 0.9
    assert reports["not_a_hedge"] / all_["not_a_hedge"] > 0.1
    assert reports["not_a_hedge"] / reports.total() > 0.6
    assert flat[""] / all_[""] < 0.015 and reports[""] / all_[""] < 0.035
