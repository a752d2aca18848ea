"""The benchmarks and suites like SemAntoNeg: when an answer is right, and which files are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split
from tests.support.factories import freeze
from tests.training.benchmarks.support.samples import (
    CORPUS,
    EXCLUIR,
    NEVIR,
    SENTENCES,
    semantoneg_rows,
    write_lines,
    write_list,
    write_table,
)
from training.benchmarks.scorers.interface import measure
from training.benchmarks.tasks.common_forms import Cannot, M3Counterfactual, PairColumns, ScoredPair
from training.benchmarks.tasks.excluir import ExcluIR
from training.benchmarks.tasks.nevir import DocumentPair, NevIR, pair
from training.benchmarks.tasks.own_families import FamilyText, Hedgerow, Kin
from training.benchmarks.tasks.semantoneg import (
    Entry,
    SemAntoNeg,
    antonyms,
    built_of,
    entries,
    lines_of,
    read_forms,
    suite,
    written,
    written_forms,
)
from training.benchmarks.tasks.suite_sentences import Reason, build
from training.data.families import training_families
from training.evaluation.held_out import FAMILIES, RANKED, Forms, HeldOut, forms_of, questions
from training.losses.families import Member, Role
from training.recipe.schema import Recipe

PAIR = pair("1-2", ("q one", "q two"), ("It was not open.", "It was open."))
ALIKE = pair("3", ("a", "b"), ("It is open.", "It was shut."))
NAN = float("nan")


def scores(*rows: Any) -> list[np.ndarray]:
    return [np.array(row, dtype=float) for row in rows]


@pytest.mark.parametrize(
    ("item", "first", "second", "outcome"),
    [
        (PAIR, (2, 1), (1, 2), "correct"),
        (PAIR, (1, 2), (2, 1), "reversed"),
        (PAIR, (2, 1), (2, 1), "prefers negated"),
        (PAIR, (1, 2), (1, 2), "prefers non-negated"),
        (ALIKE, (2, 1), (2, 1), "prefers one"),
        (PAIR, (1, 1), (1, 2), "tied"),
        (PAIR, (2, 1), (0, 0), "tied"),
        (PAIR, (NAN, NAN), (0, 1), "unanswered"),
    ],
)
def test_a_pair_is_right_only_if_both_queries_rank_their_own_document_first(
    item: DocumentPair, first: tuple[float, float], second: tuple[float, float], outcome: str
) -> None:
    result = NevIR([item]).evaluate(scores(first, second))
    (row,) = result.rows
    assert row.outcome == outcome
    assert row.right == (outcome == "correct") == (result.score == 100.0)
    assert (result.ties, result.unanswered) == (outcome == "tied", outcome == "unanswered")


def test_a_nevir_file_in_the_published_format(tmp_path: Path) -> None:
    read = NevIR.read(write_lines(tmp_path / "test.jsonl", NEVIR))
    assert [item.key for item in read.items] == ["1-2", "2-3"]
    assert [item.more_negators for item in read.items] == [1, 2]
    asked = read.questions()
    assert [q.text for q in asked] == [row[q] for row in NEVIR for q in ("q1", "q2")]
    assert asked[0].candidates == (NEVIR[0]["doc1"], NEVIR[0]["doc2"])
    assert len(read.texts()) == 8
    right = read.evaluate(scores((2, 1), (1, 2), (2, 1), (2, 1)), aside=[0.8, 0.6])
    assert right.score == 50.0
    assert right.breakdowns["edit"] == {"scope": (100.0, 1), "affirmative": (0.0, 1)}
    assert [row.group for row in right.rows] == ["1", "2"], "the passage"
    documents = {"documents": pytest.approx(0.7), "documents:sd": pytest.approx(0.1)}
    assert right.figures == documents, "how similar the two of a pair are"


def test_without_a_file_it_is_read_from_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    with pytest.raises(HedgerowError, match=r"'test.jsonl'.*'orionweller/NevIR'"):
        NevIR.read()
    with pytest.raises(HedgerowError, match="download"):
        ExcluIR.read()
    path = write_lines(tmp_path / "test.jsonl", NEVIR)
    download = Mock(return_value=str(path))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert NevIR.read().items == NevIR.read(path).items
    assert len(NevIR.read("hf:me/own/data/dev.jsonl").items) == 2
    assert download.mock_calls == [
        call("orionweller/NevIR", "test.jsonl", repo_type="dataset"),
        call("me/own", "data/dev.jsonl", repo_type="dataset"),
    ]
    with pytest.raises(HedgerowError, match="hf:owner/name/file"):
        NevIR.read("hf:me")


number = st.sampled_from([0.0, 0.25, 0.5, 1.0])
fours = st.lists(st.tuples(number, number, number, number), min_size=1, max_size=8)
chances = st.randoms(use_true_random=False)


@given(fours, chances, st.lists(st.booleans(), min_size=8, max_size=8))
def test_neither_the_order_of_pairs_nor_swapping_one_changes_anything(
    given_scores: list[tuple[float, float, float, float]], chance: Any, swaps: list[bool]
) -> None:
    """Swapping: the second query and document of a pair become the first ones."""
    texts = [("It was never open.", "It was open."), ("It is.", "It is not, and no one is.")]
    numbered = [
        (pair(str(n), (f"q{n}", f"r{n}"), texts[n % 2]), four)
        for n, four in enumerate(given_scores)
    ]

    def result(rows: list[tuple[DocumentPair, tuple[float, ...]]]) -> tuple[object, ...]:
        flat = [np.array(half) for _, four in rows for half in (four[:2], four[2:])]
        found = NevIR([item for item, _ in rows]).evaluate(flat)
        return found.score, found.ties, found.outcomes, found.breakdowns

    changed = [
        (pair(i.key, i.queries[::-1], i.documents[::-1]), four[::-1]) if swap else (i, four)
        for (i, four), swap in zip(numbered, swaps, strict=False)
    ]
    chance.shuffle(changed)
    assert result(changed) == result(numbered)


def exclusions(at: Path, queries: list[Any], corpus: list[Any] = CORPUS) -> Path:
    write_list(at / "corpus.json", corpus)
    return write_list(at / "test_manual_final.json", queries)


def test_the_requested_document_must_rank_above_the_excluded_one(tmp_path: Path) -> None:
    path = exclusions(tmp_path, EXCLUIR)
    read = ExcluIR.read(tmp_path)
    assert ExcluIR.read(path).items == read.items, "the file of queries can be named itself"
    assert [(item.wanted, item.excluded) for item in read.items] == [
        (CORPUS[1], CORPUS[0]),
        (CORPUS[2], CORPUS[1]),
    ]
    result = read.evaluate(scores([0.9, 0.1], [0.1, 0.9]))
    assert (result.score, result.metric) == (50.0, "right rank")
    assert [row.outcome for row in result.rows] == ["right rank", "excluded first"]
    tied = read.evaluate(scores([0.5, 0.5], [NAN, NAN]))
    assert (tied.score, tied.ties, tied.unanswered) == (0.0, 1, 1)


@pytest.mark.parametrize("index", [[0], [0, 3], [0, -1], "01", [0, True], [0, 1, 2]])
def test_a_place_that_is_not_in_the_corpus(tmp_path: Path, index: object) -> None:
    bad = exclusions(tmp_path, [EXCLUIR[0], {"RQ_rewrite": "q", "corpus_sub_index": index}])
    with pytest.raises(HedgerowError, match="below 3, on record 2"):
        ExcluIR.read(bad)
    with pytest.raises(HedgerowError, match=r"record 2 of corpus.json"):
        ExcluIR.read(exclusions(tmp_path, EXCLUIR, ["a", 3]))


LABELLED = [("It works.", "It does not work.", 1), ("It works.", "It runs.", 0)]
LABEL = "premise\thypothesis\tlabel"


def entry(**change: object) -> str:
    return json.dumps(semantoneg_rows()[0] | change)


@pytest.mark.parametrize(
    ("kind", "content", "fact"),
    [
        (NevIR, '{"q1": "a", "q2": "b", "doc1": "c"}', "'doc2' on line 1 of f.jsonl"),
        (NevIR, '\n{"q1": "a", "q2": " ", "doc1": "c", "doc2": "d"}', "line 2 of f.jsonl"),
        (NevIR, '{"q1": 3, "q2": "b", "doc1": "c", "doc2": "d"}', "'q1' on line 1"),
        (NevIR, "[1]", "'q1'"),
        (NevIR, "", "nothing in 'f.jsonl'"),
        (NevIR, '[{"q1": ', "record 1"),
        (NevIR, '{"q1": "a", "q1": "b"}', "'q1'.*twice"),
        (NevIR, '{"q1": "\\ud800"}', "half a character"),
        (NevIR, b"\xff\xfe\x00", "UTF-8"),
        (NevIR, None, "Could not read"),
        (Cannot, "premise\thypothesis\tscore\na\tb\t1", "'label' on line 2 of f.tsv"),
        (Cannot, f"{LABEL}\na\tb\tyes", "'label' on line 2"),
        (Cannot, f"{LABEL}\na\tb\tnan", "'label' on line 2"),
        (Cannot, f"{LABEL}\na\tb\t1\na\t\t0", "line 3 of f.tsv"),
        (Cannot, f"{LABEL}\na\tb\t1\na\tc\t1", "the same score"),
        (Cannot, f"{LABEL}\na\tb", "found 2 on line 2"),
        (Cannot, "\n \n", "f.tsv"),
        (M3Counterfactual, "\ufeff", "f.jsonl"),
        (M3Counterfactual, "a,b\n", "f.jsonl"),
        (
            M3Counterfactual,
            '{"sentence1": "a", "sentence2": "b", "score": 0}\n'
            '{"sentence1": "a", "sentence2": "b", "score": 2}',
            "'score' on line 2",
        ),
        (SemAntoNeg, "a,b\n1,2", "'sentences' on line 1"),
        (SemAntoNeg, entry(sentences=["a", "b"]), "'sentences' on line 1 of f.jsonl"),
        (SemAntoNeg, entry(sentences=["a", "b", ""]), "'sentences'"),
        (SemAntoNeg, entry(label=3), "'label' on line 1 of f.jsonl, found 3"),
        (SemAntoNeg, entry(label="two"), "'label'"),
        (SemAntoNeg, entry(input=None), "'input' on line 1 of f.jsonl"),
    ],
)
def test_a_wrong_file_is_named_in_one_sentence(
    tmp_path: Path, kind: type[Any], content: str | bytes | None, fact: str
) -> None:
    path = tmp_path / ("f.tsv" if kind is Cannot else "f.jsonl")
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(HedgerowError, match=fact) as error:
        kind.read(path)
    assert ". " not in str(error.value)


def test_a_label_says_negated_and_a_score_says_alike(tmp_path: Path) -> None:
    unscored = ("It rains.", "It pours.", "")
    read = Cannot.read(write_table(tmp_path / "c.tsv", LABEL, [*LABELLED, unscored]))
    assert [pair.score for pair in read.items] == [-1.0, 0.0]
    assert read.evaluate(scores([0.2], [0.9])).score == pytest.approx(100.0)
    assert read.evaluate(scores([0.9], [0.2])).score == pytest.approx(-100.0)
    scored = write_table(tmp_path / "w.tsv", "reference\tcandidate\tscore", LABELLED)
    columns = PairColumns("reference", "candidate", "score")
    assert [p.score for p in Cannot.read(scored, columns=columns).items] == [1.0, 0.0]
    turned = columns._replace(higher_is_alike=False)
    assert [p.score for p in Cannot.read(scored, columns=turned).items] == [-1.0, 0.0]
    rows = [("wmt_2015", "A cat.", "A dog.", -0.34), ("cannot", "It rains.", "It is rainy.", 1.0)]
    three = [{"sentence1": "a b", "sentence2": f"c {s}", "score": s} for s in (-1, 0, 1)]
    result = M3Counterfactual.read(write_lines(tmp_path / "m.jsonl", three))
    assert result.evaluate(scores([0.1], [0.2], [0.9])).figures["score -1"] == pytest.approx(0.1)
    mixed = write_table(tmp_path / "m.tsv", "source\treference\tcandidate\tscore", rows)
    assert [p[1:] for p in Cannot.read(mixed).items] == [row[1:] for row in rows]


grades = st.sampled_from([-1.0, 0.0, 0.5, 1.0])
answers = st.floats(-1, 1, width=32) | st.just(NAN)


@given(st.lists(st.tuples(grades, answers), min_size=2, max_size=20), chances)
def test_a_correlation_is_scipys_over_the_answered_pairs_in_any_order(
    rows: list[tuple[float, float]], chance: Any
) -> None:
    from scipy.stats import spearmanr

    answered = [row for row in rows if row[1] == row[1]]
    varies = all(len(set(side)) > 1 for side in zip(*answered, strict=True)) and answered
    expected = 100 * spearmanr(*zip(*answered, strict=True)).statistic if varies else 0.0
    for _ in range(2):
        items = [ScoredPair(str(n), "a", "b", gold) for n, (gold, _) in enumerate(rows)]
        result = Cannot(items).evaluate(scores(*([value] for _, value in rows)))
        assert result.score == pytest.approx(expected, abs=1e-9)
        assert (result.n, result.unanswered) == (len(rows), len(rows) - len(answered))
        assert not np.isnan([*result.figures.values()]).any()
        chance.shuffle(rows)


def test_the_pick_of_each_entry_is_counted_by_label(tmp_path: Path) -> None:
    read = SemAntoNeg.read(write_lines(tmp_path / "s.json", semantoneg_rows()))
    picks = [(0.9, 0.1, 0.2), (0.1, 0.9, 0.2), (0.1, 0.2, 0.9), (0.1, 0.9, 0.9), (0.9, 0.9, 1)]
    result = read.evaluate(scores(*picks, (NAN, 0.1, 0.2)))
    assert result.outcomes == {"antonym": 1, "negation": 1, "both": 2, "tied": 1, "unanswered": 1}
    assert (result.score, result.ties) == (pytest.approx(100 * 2 / 6), 1)
    assert result.breakdowns["antonyms"]["cold / hot"] == (0.0, 2)
    assert result.breakdowns["antonyms"]["easy / hard"].n == 2, "though the article changes, too"
    assert len({row.group for row in result.rows}) == len(SENTENCES)
    other = Entry("0", "It is not a big deal.", ("It is not unimportant.", "It is.", "It is not."))
    assert antonyms(other) == "", "more than a word changes"


picked = st.tuples(*[st.floats(-1, 1, width=16)] * 3, st.integers(0, 2))


@pytest.mark.slow
@given(st.lists(picked, min_size=1, max_size=12), chances)
def test_accuracy_is_scikit_learns_but_that_ties_are_wrong(
    rows: list[tuple[float, float, float, int]], chance: Any
) -> None:
    from sklearn.metrics import accuracy_score

    picks = [
        int(np.argmax(row[:3])) if list(row[:3]).count(max(row[:3])) == 1 else -1 for row in rows
    ]
    expected = 100 * accuracy_score([row[3] for row in rows], picks)
    for _ in range(2):
        items = [Entry(str(n), "a", ("b", "c", "d"), row[3]) for n, row in enumerate(rows)]
        result = SemAntoNeg(items).evaluate(scores(*(row[:3] for row in rows)))
        assert result.score == pytest.approx(expected)
        chance.shuffle(rows)


KIN = Kin(
    "uid",
    "It is cold.",
    (FamilyText("word", "It is probably cold."), FamilyText("phrase", "It seems to be cold.")),
    (
        FamilyText("verbal", "It is not cold."),
        FamilyText("lexical", "It is warm."),
        FamilyText("verbal", "It isn't cold."),
    ),
)


def test_every_positive_must_be_nearer_than_every_negative() -> None:
    result = Hedgerow([KIN]).evaluate(scores([0.9, 0.6, 0.7, 0.1, 0.2]))
    (row,) = result.rows
    assert (result.score, row.outcome, row.uids["anchor"]) == (0.0, "wrong", "uid")
    types = result.breakdowns["positive type"] | result.breakdowns["negative type"]
    found = {name: part.score for name, part in types.items()}
    assert found == {"word": 100.0, "phrase": 0.0, "verbal": 0.0, "lexical": 100.0}
    pairs = result.breakdowns["pair of types"]
    assert pairs["phrase>verbal"] == (50.0, 2) and pairs["word>verbal"] == (100.0, 2)
    assert row.texts["verbal 2"] == "It isn't cold."
    tied = Hedgerow([KIN]).evaluate(scores([0.9, 0.6, 0.6, 0.1, 0.2]))
    assert (tied.score, tied.ties, tied.rows[0].outcome) == (0.0, 1, "tied")


def test_open_claims_have_a_breakdown_and_do_not_affect_the_score() -> None:
    open_ = (FamilyText("unsupported", "Nobody knows if it is cold."),)
    rows = scores(
        [0.9, 0.8, 0.5, 0.1, 0.2, 0.3],  # in order
        [0.9, 0.6, 0.7, 0.1, 0.2, 0.3],  # nearer than a hedge
        [0.9, 0.8, 0.2, 0.1, 0.2, 0.3],  # farther than a negation
    )
    result = Hedgerow([KIN._replace(open=open_)] * 3).evaluate(rows)
    assert result.score == 100.0
    assert {name: part.score for name, part in result.breakdowns["levels"].items()} == {
        "farther than positives": pytest.approx(200 / 3),
        "nearer than negations": pytest.approx(200 / 3),
        "both: in order": pytest.approx(100 / 3),
    }
    assert list(result.rows[0].texts)[1:4] == ["word", "phrase", "unsupported"]
    assert "levels" not in Hedgerow([KIN]).evaluate([rows[0][:5]]).breakdowns


def test_the_test_split_of_a_release_agrees_with_what_a_training_measures(
    project: Engine, tiny_encoder: Path
) -> None:
    from curation.encoders.loading import load_encoder
    from training.benchmarks.scorers.embedding_models import BiEncoder

    with writing(project) as session:
        release = freeze(session).release.id
    model = load_encoder(str(tiny_encoder))
    for split, n in ((Split.TEST, 1), (Split.TRAIN, 9)):
        with reading(project) as session:
            read = Hedgerow.of_release(session, release, split=split)
            held_out = training_families(session, release, split=split, recipe=Recipe())
        figures = HeldOut(model, held_out).before
        result = measure(read, BiEncoder(model))
        assert result.n == len(held_out) == n
        assert result.score == pytest.approx(100 * figures[FAMILIES])
        row = result.rows[0]
        assert row.uids.keys() == row.texts.keys() and all(map(len, row.uids.values()))
        pairs = result.breakdowns["pair of types"]
        assert {f"{RANKED}:{name}": part.score for name, part in pairs.items()} == {
            name: pytest.approx(100 * figure)
            for name, figure in figures.items()
            if name.startswith(f"{RANKED}:")
        }
    with reading(project) as session, pytest.raises(HedgerowError, match="validation"):
        Hedgerow.of_release(session, release, split=Split.VALIDATION)


FORMS = [Forms(original, removed, antonym, both) for original, removed, antonym, both in SENTENCES]


@pytest.mark.parametrize(
    ("original", "removed", "antonym", "both"),
    [
        # The examples of the paper's Table 2, except for WordNet's first antonym of 'sure'.
        ("No, that's not true.", "No, that's true.", "No, that's not false.", "No, that's false."),
        ("I'm not guilty.", "I'm guilty.", "I'm not innocent.", "I'm innocent."),
        (
            "I know you're not asleep.",
            "I know you're asleep.",
            "I know you're not awake.",
            "I know you're awake.",
        ),
        # An article depends on the adjective, a contraction on its verb.
        (
            "It isn't an easy task.",
            "It is an easy task.",
            "It isn't a difficult task.",
            "It is a difficult task.",
        ),
        (
            "It was not an important day.",
            "It was an important day.",
            "It was not an unimportant day.",
            "It was an unimportant day.",
        ),
        (
            "This is not a useful tool.",
            "This is a useful tool.",
            "This is not a useless tool.",
            "This is a useless tool.",
        ),
        ("Aren’t you cold?", "Are you cold?", "Aren’t you hot?", "Are you hot?"),
        ("He won't be late.", "He will be late.", "He won't be early.", "He will be early."),
        ("I cannot be rich.", "I can be rich.", "I cannot be poor.", "I can be poor."),
        # 'do' is removed with the negator that it carries, but not from a question.
        (
            "He does not seem happy.",
            "He seems happy.",
            "He does not seem unhappy.",
            "He seems unhappy.",
        ),
        ("She didn't look good.", "She looked good.", "She didn't look bad.", "She looked bad."),
        (
            "Doesn't it look good?",
            "Does it look good?",
            "Doesn't it look bad?",
            "Does it look bad?",
        ),
        ("Don't be stupid, Sam.", "Be stupid, Sam.", "Don't be smart, Sam.", "Be smart, Sam."),
        ("Not bad, Mr. Smith.", "Bad, Mr. Smith.", "Not good, Mr. Smith.", "Good, Mr. Smith."),
    ],
)
def test_the_four_forms(original: str, removed: str, antonym: str, both: str) -> None:
    assert build([original]) == ([Forms(original, removed, antonym, both)], [])


@pytest.mark.parametrize(
    ("sentence", "reason", "word"),
    [
        ("Not bad.", Reason.SHORT, ""),
        (f"It is not {'very ' * 60}good.", Reason.LONG, ""),
        ("The soup was cold.", Reason.NO_NEGATOR, ""),
        ("He was never happy.", Reason.NO_NEGATOR, ""),
        ("Nobody is not happy here.", Reason.SEVERAL, ""),
        ("Isn't he not happy?", Reason.SEVERAL, ""),
        ("I did not see the big dog.", Reason.NO_ADJECTIVE, ""),
        ("I'm not saying that it is good.", Reason.NO_ADJECTIVE, ""),
        ("She is not here.", Reason.NO_ADJECTIVE, ""),
        ("The sea is not purple.", Reason.NO_ANTONYM, "purple"),
        ("It is not good at all.", Reason.POLARITY, "at all"),
        ("It is not cold any longer.", Reason.POLARITY, "any"),
        ("You're not serious, are you?", Reason.TAG, ""),
        ("Ain't it cold?", Reason.UNCLEAR, ""),
    ],
)
def test_sentences_without_forms_are_reported(sentence: str, reason: Reason, word: str) -> None:
    built = build([sentence])
    assert built.forms == [] and built.unturned == [(sentence, reason, word)]
    assert built.reasons == {str(reason): 1} and word in built.unturned[0].description


def test_the_only_negated_sentence_of_a_pair_gets_forms() -> None:
    pairs = [
        ("I am innocent, sir.", "I'm not guilty, sir."),
        ("The tea is not hot.", "The tea is cold."),
        ("The tea is cold.", "The tea is cool."),
        ("It is not cold.", "It isn't hot."),
        ("Fine.", "It is not cold."),
        ("Cold tea it is.", "The tea is not hot."),
    ]
    built = build(pairs)
    assert [f.original for f in built.forms] == ["I'm not guilty, sir.", "The tea is not hot."]
    found = [one.reason for one in built.unturned]
    assert found == [Reason.ONE_NEGATED, Reason.ONE_NEGATED, Reason.SHORT, Reason.REPEATED]
    assert built.unturned[0].sentence == "The tea is cold. / The tea is cool."


def test_a_file_holds_sentences_pairs_or_forms(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text(
        "The tea is not hot.\n\nTea is nice.\tThe soup is not cold.\n", "utf-8"
    )
    built = built_of(tmp_path / "own.txt")
    assert [f.both for f in built.forms] == ["The tea is cold.", "The soup is hot."]
    rows = [("The tea is cold.", "The tea is not hot.")]
    assert (
        built_of(write_table(tmp_path / "own.tsv", "sent1\tsent2", rows)).forms == built.forms[:1]
    )
    lines = write_lines(tmp_path / "own.jsonl", [{"text": "The soup is not cold."}])
    assert built_of(lines).forms == built.forms[1:]
    (tmp_path / "forms.jsonl").write_bytes(written_forms(built.forms))
    assert read_forms(tmp_path / "forms.jsonl") == built.forms
    assert lines_of(" a b\t\n\tc") == ["a b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("a.txt", "", "nothing in 'a.txt'"),
        ("a.txt", "Tea is nice.\nThe sea is blue.", "none in 2 sentences.*'Tea is nice"),
        ("a.jsonl", '{"x": 1}', "'sentence' or 'text' on line 1 of a.jsonl"),
        ("a.csv", "sentence1,other\na,b\n", "'sentence2' or 'sent2' on line 2"),
        ("a.txt", "Tea\0 is not hot.", r"U\+0000"),
    ],
)
def test_a_file_without_such_sentences(tmp_path: Path, name: str, content: str, fact: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match=fact):
        built_of(tmp_path / name)


def test_a_suite_is_read_from_a_table_and_written_as_semantoneg(tmp_path: Path) -> None:
    head = "original\tnegation\tantonym\tboth"
    made = suite(read_forms(write_table(tmp_path / "own.tsv", head, list(FORMS))))
    (tmp_path / "suite.jsonl").write_bytes(written(made))
    assert SemAntoNeg.read(tmp_path / "suite.jsonl").items == made.items
    assert len(made.items) == 4 * len(FORMS)
    first = json.loads((tmp_path / "suite.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first.keys() == {"idx", "label", "input", "sentences"}
    with pytest.raises(HedgerowError, match="found none"):
        suite([])


def test_families_give_the_questions_that_are_asked_during_training() -> None:
    families = [
        [
            Member(forms.original, Role.ANCHOR),
            Member(forms.negation, Role.NEGATION, "verbal"),
            Member(forms.antonym, Role.NEGATION, "lexical"),
            Member(forms.both, Role.PARAPHRASE, "negated_antonym"),
        ]
        for forms in FORMS
    ]
    families.append(families[0][:3])
    assert forms_of(families) == FORMS
    asked = {(e.input, e.sentences[2], frozenset(e.sentences[:2])) for e in entries(FORMS)}
    assert asked == {(q.input, q.right, frozenset(q.wrong)) for q in questions(families)}
