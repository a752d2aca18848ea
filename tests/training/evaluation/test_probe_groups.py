"""The sixty bundled groups, with a linguist's checks; groups and scores of any pairs."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.content_uids import canonical
from curation.corpora.corpus import STARTER
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import check_surface
from curation.language.tokens import analyse
from curation.taxonomy.built_in import variant_type
from curation.taxonomy.cues import HEDGE_CUES
from training.evaluation import probe_groups
from training.evaluation.probe_files import read_probes
from training.evaluation.probe_groups import (
    BundledGroup,
    bundled_groups,
    bundled_probes,
    find_groups,
    score,
)
from training.evaluation.similarity import FIGURE_1, ROLES, ProbePair

REFERENCE = Path(probe_groups.__file__).with_name("probe_groups.jsonl")
MOST_SHARED = 0.4
"""Maximum share of a group's content words in any one anchor of the corpus: two of five."""


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, object]]:
    file = STARTER.folder / "families.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def content(text: str) -> set[str]:
    found = analyse(text)
    return {found.stems[i] for i in found.content}


def kind_of_cue(group: BundledGroup) -> str:
    return "word" if group.cue in HEDGE_CUES["word"] else "phrase"


def test_there_are_sixty_groups_on_topics_of_their_own_in_a_balanced_design() -> None:
    groups = bundled_groups()
    assert len(groups) == len({group.topic for group in groups}) == 60
    assert set(Counter(group.negation for group in groups).values()) == {15}
    assert Counter(kind_of_cue(group) for group in groups) == {"word": 30, "phrase": 30}
    assert set(Counter(group.affirmed_by for group in groups).values()) == {30}
    assert len({group.cue for group in groups}) == 60


def test_all_texts_differ_and_are_canonical() -> None:
    texts = [text for g in bundled_groups() for text in (g.anchor, *(getattr(g, r) for r in ROLES))]
    assert len(set(texts)) == 240
    assert all(text == canonical(text) for text in texts)
    assert all(text[0].isupper() and text.endswith(".") for text in texts)


def test_anchors_are_short_and_long() -> None:
    lengths = [len(group.anchor.split()) for group in bundled_groups()]
    assert min(lengths) >= 5 and max(lengths) <= 25
    assert sum(length >= 15 for length in lengths) >= 5


@pytest.mark.parametrize("group", bundled_groups(), ids=lambda group: group.topic)
def test_each_form_has_the_surface_of_its_type(group: BundledGroup) -> None:
    forms = {group.contradicted: group.negation, group.weakened: kind_of_cue(group)}
    if group.affirmed_by == "negated_antonym":
        forms[group.affirmed] = group.affirmed_by
    for text, type_id in forms.items():
        check = variant_type(type_id).surface_check
        assert check_surface(check, anchor=group.anchor, text=text, cue=group.cue) == []
    if group.affirmed_by == "emphasis":
        assert content(group.anchor) <= content(group.affirmed)
    affirmed = PairAnalysis(anchor=group.anchor, text=group.affirmed)
    whole = {"main_clause": False}
    assert affirmed.new_negators(**whole) or list(affirmed.new_affixes(**whole))


def test_no_topic_or_sentence_is_the_corpus_s(corpus: list[dict[str, object]]) -> None:
    anchors = [content(str(family["anchor"])) for family in corpus]
    vocabulary = set(chain.from_iterable(anchors))
    values = chain.from_iterable(family.values() for family in corpus)
    texts = {str(v["text"] if isinstance(v, dict) else v).casefold() for v in values}
    for group in bundled_groups():
        words = content(group.anchor)
        assert words - vocabulary, f"{group.topic}: every content word is in the corpus"
        shared = max(len(words & anchor) / len(words) for anchor in anchors)
        assert shared <= MOST_SHARED, group.topic
        assert not {getattr(group, name).casefold() for name in ("anchor", *ROLES)} & texts


def test_the_file_is_one_that_people_can_read_in_as_probes() -> None:
    assert tuple(read_probes(REFERENCE)) == bundled_probes()


def test_the_figure_of_the_paper_is_one_group() -> None:
    (group,) = find_groups(FIGURE_1)
    assert group.rows == {"contradicted": 0, "weakened": 1, "affirmed": 2}


def test_groups_are_found_among_other_pairs_and_only_complete_ones() -> None:
    probes = [
        ProbePair("A.", "Not A.", "contradicted"),
        ProbePair("B.", "Not B.", "contradicted"),
        ProbePair("A.", "A, no doubt.", "affirmed"),
        ProbePair("A.", "C.", ""),
        ProbePair("A.", "Perhaps A.", "weakened"),
        ProbePair("A.", "A isn't.", "contradicted"),
    ]
    (group,) = find_groups(probes)
    assert group.anchor == "A."
    assert group.rows == {"contradicted": 0, "affirmed": 2, "weakened": 4}


def test_scores_count_groups_whose_contradiction_is_least_similar() -> None:
    groups = find_groups(bundled_probes()[:9])
    found = score(groups, [0.1, 0.5, 0.7, 0.6, 0.5, 0.7, 0.4, 0.4, 0.9])
    assert found.groups == 3
    assert found.means == pytest.approx(
        {"contradicted": 1.1 / 3, "weakened": 1.4 / 3, "affirmed": 2.3 / 3}
    )
    assert (found.ranked, found.below_weakened) == pytest.approx((1 / 3, 1 / 3))
    assert found.below_affirmed == 1.0
    assert found.affirmed_first == 1.0
    assert score(groups, [0.1, 0.7, 0.5, 0.6, 0.5, 0.7, 0.4, 0.4, 0.4]).affirmed_first == 1 / 3
    assert found.margin == pytest.approx((0.4 - 0.1 + 0.0) / 3)


@settings(max_examples=50)
@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9))
def test_a_group_is_ranked_right_only_if_both_comparisons_are(cosines: list[float]) -> None:
    found = score(find_groups(bundled_probes()[:9]), cosines)
    assert found.ranked <= min(found.below_weakened, found.below_affirmed)
    assert found.ranked >= found.below_weakened + found.below_affirmed - 1 - 1e-9
