"""Metrics of encoders with known angles: held-out families, retrieval, and groups of probes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.content_uids import canonical
from curation.corpora.corpus import CORPORA, STARTER
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import check_surface
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.language.tokens import analyse
from curation.release.overlap import Runs, overlap
from curation.taxonomy.built_in import variant_type
from curation.taxonomy.cues import HEDGE_CUES
from tests.training.support.vectors import Vectors, at
from training.evaluation import held_out, similarity
from training.evaluation.general_ability import (
    RetrievalItem,
    StsPair,
    mean_reciprocal_rank,
    retrieval_items,
)
from training.evaluation.held_out import CandidateQuestion, HeldOut, questions, share_right
from training.evaluation.probe_files import read_probes
from training.evaluation.similarity import (
    FIGURE_1,
    ROLES,
    BundledGroup,
    ProbePair,
    bundled_groups,
    bundled_probes,
    distribution_rows,
    figure_1_rows,
    find_groups,
    probe_similarities,
    score,
)
from training.losses.families import Family, Member, Role
from training.retention.texts import bundled_texts

KINDS = {
    "word": Role.HEDGE,
    "negated_antonym": Role.PARAPHRASE,
    "verbal": Role.NEGATION,
    "lexical": Role.NEGATION,
}


def family(name: str) -> Family:
    variants = [Member(f"{name} {kind}", role, kind) for kind, role in KINDS.items()]
    return [Member(name, Role.ANCHOR), *variants]


def encoder(**families: tuple[float, float, float, float, float]) -> Vectors:
    """Each family's anchor, then its variants, in degrees."""
    return Vectors(
        {
            member.text: row
            for name, degrees in families.items()
            for member, row in zip(family(name), at(*degrees), strict=True)
        }
    )


def measured(base: Vectors, **more) -> HeldOut:
    return HeldOut(base, [family("a"), family("b")], **more)


def cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


ANGLES = {"a": (0, 10, 20, 5, 30), "b": (90, 95, 100, 110, 120)}
"""In family a, the verbal negation is nearer than every positive. In b, everything is right."""


@pytest.mark.slow
def test_rankings_and_cosines_are_those_of_the_angles() -> None:
    metrics = measured(encoder(**ANGLES))
    found, counts = metrics.before, metrics.counts
    assert found["ranked"] == 6 / 8 and found["families"] == 1 / 2
    assert found["ranked:word>verbal"] == found["ranked:negated_antonym>verbal"] == 1 / 2
    assert found["ranked:word>lexical"] == found["ranked:negated_antonym>lexical"] == 1
    assert found["cosine:hedge"] == pytest.approx((cos(10) + cos(5)) / 2)
    assert found["cosine:paraphrase"] == pytest.approx((cos(20) + cos(10)) / 2)
    negations = [cos(5), cos(30), cos(20), cos(30)]
    mean = sum(negations) / 4
    assert found["cosine:negation"] == pytest.approx(mean)
    assert found["cosine:negation:sd"] == pytest.approx(
        math.sqrt(sum((value - mean) ** 2 for value in negations) / 4)
    )
    assert found["drift"] == 0
    assert found["questions"] == pytest.approx(answered(0, 20, 5, 30) + answered(90, 100, 110, 120))
    assert (counts["ranked"], counts["families"], counts["questions"]) == (8, 2, 8)
    assert (counts["ranked:word>verbal"], counts["cosine:negation"]) == (2, 4)
    assert set(found) == {*counts, *(f"{name}:sd" for name in counts if name.startswith("cosine"))}


def answered(anchor: float, both: float, verbal: float, lexical: float) -> float:
    """The share of the eight questions that these angles answer correctly."""
    sides = ((anchor, both), (verbal, lexical))
    right = [
        abs(first - second) < min(abs(first - wrong) for wrong in others)
        for (one, two), others in (sides, sides[::-1])
        for first, second in ((one, two), (two, one))
    ]
    return sum(right) / 8


@pytest.mark.slow
def test_drift_is_how_far_the_cosines_of_the_anchors_have_moved() -> None:
    base = encoder(**ANGLES)
    metrics = measured(base)
    turned = encoder(**ANGLES | {"a": (60, 10, 20, 5, 30)})
    assert metrics.figures(turned)["drift"] == pytest.approx(abs(cos(30) - cos(90)), rel=1e-5)
    assert metrics.figures(base) == metrics.before


@pytest.mark.slow
def test_an_sts_file_is_measured_as_well() -> None:
    pairs = [StsPair(5, "a", "a word"), StsPair(3, "a", "b"), StsPair(1, "b", "s")]
    base = encoder(**ANGLES)
    base.rows |= {"s": base.rows["a"] * -1}
    assert "sts" not in measured(base).before
    found = measured(base, sts=pairs).before
    # cosines: cos(10), cos(90) = 0 and another 0
    assert 0.8 < found["sts"] <= 1


@pytest.mark.slow
def test_every_text_is_encoded_once_per_evaluation() -> None:
    base = encoder(**ANGLES)
    checks: list[None] = []
    counted = measured(base, sts=[StsPair(1, "a", "b")], check=lambda: checks.append(None))
    assert len(base.encoded) == len(set(base.encoded)) == 10
    counted.figures(base)
    assert len(base.encoded) == 20 and len(checks) >= 2


@pytest.mark.slow
def test_metrics_without_data_are_left_out() -> None:
    lonely = [family("a")[:2]]  # an anchor and a hedge
    found = HeldOut(encoder(**ANGLES), lonely).before
    assert set(found) == {"cosine:hedge", "cosine:hedge:sd"}
    only = HeldOut(encoder(**ANGLES), [], sts=[StsPair(1, "a", "b"), StsPair(2, "a", "a word")])
    assert set(only.before) == {"sts"} == set(only.counts)


@pytest.mark.slow
def test_a_sample_of_many_families_is_spread_over_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held_out, "MOST_FAMILIES", 4)
    names = [f"f{number}" for number in range(10)]
    base = encoder(**dict.fromkeys(names, (0, 10, 20, 30, 40)))
    HeldOut(base, [family(name) for name in names])
    assert {text for text in base.encoded if " " not in text} == {"f0", "f2", "f5", "f7"}


FAMILY = [
    Member("It is warm.", Role.ANCHOR),
    Member("It may be warm.", Role.HEDGE, "word"),
    Member("It is not cold.", Role.PARAPHRASE, "negated_antonym"),
    Member("It is not warm.", Role.NEGATION, "verbal"),
    Member("It isn't warm.", Role.NEGATION, "verbal"),
    Member("It is cold.", Role.NEGATION, "lexical"),
]
FORMS = ("It is warm.", "It is not cold.", "It is not warm.", "It is cold.")


def embeddings(*degrees: float) -> dict:
    import numpy as np

    return dict(zip(FORMS, np.array(at(*degrees)), strict=True))


def test_each_form_is_asked_for_its_paraphrase() -> None:
    warm, not_cold, not_warm, cold = FORMS
    assert questions([FAMILY]) == [
        CandidateQuestion(warm, not_cold, (not_warm, cold)),
        CandidateQuestion(not_cold, warm, (not_warm, cold)),
        CandidateQuestion(not_warm, cold, (warm, not_cold)),
        CandidateQuestion(cold, not_warm, (warm, not_cold)),
    ]


@pytest.mark.parametrize("missing", ["negated_antonym", "lexical"])
def test_a_family_without_one_of_the_forms_gives_no_question(missing: str) -> None:
    assert questions([[member for member in FAMILY if member.type_id != missing]]) == []


@pytest.mark.parametrize(
    ("degrees", "share"),
    [
        ((0, 10, 90, 80), 1.0),
        ((0, 90, 10, 80), 0.0),  # the negation is nearest, as before training
        ((0, 10, 18, 90), 0.5),  # 'not cold' and 'not warm' are nearest to each other
        ((0, 0, 0, 0), 0.0),  # a tie is not an answer
    ],
)
def test_the_share_is_that_of_paraphrases_nearer_than_both_others(
    degrees: tuple[float, ...], share: float
) -> None:
    assert share_right(questions([FAMILY]), embeddings(*degrees)) == share


WORDS = 8
"""Words in a row that nothing shares with the set. A few phrases of five to seven words are
common."""


def item(name: str, near_misses: int = 0) -> RetrievalItem:
    missed = tuple(f"{name} missed {number}" for number in range(near_misses))
    return RetrievalItem(f"{name}?", f"{name}.", missed)


def facing(**degrees: float) -> Vectors:
    return Vectors(dict(zip(degrees, at(*degrees.values()), strict=True)))


@pytest.mark.parametrize(
    ("degrees", "items", "expected"),
    [
        # b's own passage ranks below a near miss
        (
            {"a?": 0, "a.": 0, "b?": 80, "b.": 50, "b missed 0": 85, "b missed 1": 40},
            [item("a"), item("b", 2)],
            0.75,
        ),
        # and here below the passage of another question
        ({"a?": 0, "a.": 20, "b?": 90, "b.": 10}, [item("a"), item("b")], 0.5),
        # only the first ten count
        ({"a?": 0, "a.": 40} | {f"a missed {n}": n for n in range(9)}, [item("a", 9)], 0.1),
        ({"a?": 0, "a.": 40} | {f"a missed {n}": n for n in range(10)}, [item("a", 10)], 0.0),
        # all texts are the same
        ({"a?": 30, "a.": 30} | {f"a missed {n}": 30 for n in range(10)}, [item("a", 10)], 0.0),
    ],
)
def test_the_reciprocal_ranks_of_the_right_passages_are_averaged(
    degrees: dict[str, float], items: list[RetrievalItem], expected: float
) -> None:
    assert mean_reciprocal_rank(facing(**degrees), items) == pytest.approx(expected)


def test_questions_and_passages_get_the_prompts_of_the_model() -> None:
    model = facing(**{"query: a?": 0, "passage: a.": 20})
    model.prompts = {"query": "query: ", "passage": "passage: "}
    assert mean_reciprocal_rank(model, [item("a")]) == 1.0


def test_measuring_can_be_stopped() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    model = facing(**{"a?": 0, "a.": 20})
    with pytest.raises(KeyboardInterrupt):
        mean_reciprocal_rank(model, [item("a")], check=stop)
    assert model.encoded == []


def test_the_bundled_set_has_300_questions_and_900_passages_without_a_double() -> None:
    items = retrieval_items()
    passages = {text for item in items for text in (item.passage, *item.near_misses)}
    assert (len({item.question for item in items}), len(passages)) == (300, 900)
    assert all(text == text.strip() for text in passages)


def strings(value: Any) -> Iterator[str]:
    """All texts in the values of a JSON object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)


def of_corpora() -> Iterator[str]:
    for corpus in CORPORA.values():
        for row in (*corpus.families(), *corpus.reviews(), *corpus.second_reviews()):
            yield from strings(row)


def of_retention() -> Iterator[str]:
    for entry in bundled_texts():
        yield entry.text


@pytest.mark.slow
@pytest.mark.parametrize("texts", [of_corpora, of_retention])
def test_nothing_that_is_trained_on_shares_a_run_of_words_with_the_set(texts: Any) -> None:
    samples = [(item.question, item.passage, *item.near_misses) for item in retrieval_items()]
    found = overlap(samples, Runs(texts(), n=WORDS), texts=texts())
    assert (found.overlapping, found.exact) == (0, 0), found.examples


REFERENCE = Path(similarity.__file__).with_name("probe_groups.jsonl")
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
    assert len(set(texts)) == 240 and all(text == canonical(text) for text in texts)
    assert all(text[0].isupper() and text.endswith(".") for text in texts)
    lengths = [len(group.anchor.split()) for group in bundled_groups()]
    assert min(lengths) >= 5 and max(lengths) <= 25 and sum(length >= 15 for length in lengths) >= 5


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
    assert group.anchor == "A." and group.rows == {"contradicted": 0, "affirmed": 2, "weakened": 4}


def test_scores_count_groups_whose_contradiction_is_least_similar() -> None:
    groups = find_groups(bundled_probes()[:9])
    found = score(groups, [0.1, 0.5, 0.7, 0.6, 0.5, 0.7, 0.4, 0.4, 0.9])
    assert found.groups == 3
    assert found.means == pytest.approx(
        {"contradicted": 1.1 / 3, "weakened": 1.4 / 3, "affirmed": 2.3 / 3}
    )
    assert (found.ranked, found.below_weakened) == pytest.approx((1 / 3, 1 / 3))
    assert found.below_affirmed == 1.0 and found.affirmed_first == 1.0
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
