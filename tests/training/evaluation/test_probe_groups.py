"""The sixty bundled groups, with a linguist's checks; groups, scores and rows of any pairs."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.content_uids import canonical
from curation.corpora.corpus import STARTER
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import check_surface
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
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
from training.evaluation.similarity import (
    FIGURE_1,
    ROLES,
    ProbePair,
    distribution_rows,
    figure_1_rows,
    probe_rows,
    probe_similarities,
)

REFERENCE = Path(probe_groups.__file__).with_name("probe_groups.jsonl")
MOST_SHARED = 0.4
"""Maximum share of a group's content words in any one anchor of the corpus: two of five."""


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


def test_all_texts_differ_and_are_canonical_and_anchors_short_and_long() -> None:
    texts = [text for g in bundled_groups() for text in (g.anchor, *(getattr(g, r) for r in ROLES))]
    assert len(set(texts)) == 240
    assert all(text == canonical(text) for text in texts)
    assert all(text[0].isupper() and text.endswith(".") for text in texts)
    lengths = [len(group.anchor.split()) for group in bundled_groups()]
    assert min(lengths) >= 5 and max(lengths) <= 25
    assert sum(length >= 15 for length in lengths) >= 5


def test_each_form_has_the_surface_of_its_type() -> None:
    whole = {"main_clause": False}
    for group in bundled_groups():
        forms = {group.contradicted: group.negation, group.weakened: kind_of_cue(group)}
        if group.affirmed_by == "negated_antonym":
            forms[group.affirmed] = group.affirmed_by
        for text, type_id in forms.items():
            check = variant_type(type_id).surface_check
            found = check_surface(check, anchor=group.anchor, text=text, cue=group.cue)
            assert found == [], group.topic
        if group.affirmed_by == "emphasis":
            assert content(group.anchor) <= content(group.affirmed), group.topic
        affirmed = PairAnalysis(anchor=group.anchor, text=group.affirmed)
        assert affirmed.new_negators(**whole) or list(affirmed.new_affixes(**whole)), group.topic


def test_no_topic_or_sentence_is_the_corpus_s() -> None:
    corpus = STARTER.families()
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


@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9))
def test_a_group_is_ranked_right_only_if_both_comparisons_are(cosines: list[float]) -> None:
    found = score(find_groups(bundled_probes()[:9]), cosines)
    assert found.ranked <= min(found.below_weakened, found.below_affirmed)
    assert found.ranked >= found.below_weakened + found.below_affirmed - 1 - 1e-9


@pytest.mark.slow
def test_figure_1_before_training_has_the_known_cosines() -> None:
    """The values measured for the built-in encoder."""
    model = load_encoder(DEFAULT_ENCODER, device="cpu")
    assert probe_similarities(model, FIGURE_1) == pytest.approx([0.872, 0.755, 0.876], abs=0.001)


def test_figure_1_shows_published_and_measured_values_separately() -> None:
    rows = figure_1_rows(before=[0.1, 0.2, 0.3], after=[0.4, 0.5, 0.6])
    table = {(row.series, row.label): (row.cosine, row.published) for row in rows}
    assert len(rows) == len(table) == 12
    assert table["paper: all-mpnet-base-v2", "contradicted"] == (0.81, True)
    assert table["paper: HedgeMPNet", "contradicted"] == (0.39, True)
    assert table["paper: HedgeMPNet", "weakened"] == (0.58, True)
    assert table["paper: HedgeMPNet", "affirmed"] == (0.85, True)
    assert table["before", "affirmed"] == (0.3, False)
    assert table["after", "contradicted"] == (0.4, False)
    assert {row.anchor for row in rows} == {"Global warming is real."}
    alone = figure_1_rows(before=None, after=[0.4, 0.5, 0.6])
    assert {row.series for row in alone if not row.published} == {"after"}


def test_rows_refuse_cosines_of_another_number_of_probes() -> None:
    with pytest.raises(ValueError, match="zip"):
        probe_rows([ProbePair("a", "b", "")], before=None, after=[0.1, 0.2])


def test_distribution_has_a_row_for_each_variant_and_series() -> None:
    rows = distribution_rows(
        types=["verbal", "word"],
        parts=["training", "pending fifth"],
        before=[0.9, 0.8],
        after=[0.3, 0.7],
    )
    assert [tuple(row) for row in rows] == [
        ("verbal", "training", "before", 0.9),
        ("word", "pending fifth", "before", 0.8),
        ("verbal", "training", "after", 0.3),
        ("word", "pending fifth", "after", 0.7),
    ]
