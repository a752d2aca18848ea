"""SemAntoNeg and similar suites."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.errors import HedgerowError
from hedgerow.losses.families import Member, Role
from tests.training.benchmarks.support.samples import (
    SENTENCES,
    semantoneg_rows,
    write_lines,
    write_table,
)
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg, antonyms
from training.benchmarks.tasks.suites import entries, read_forms, suite, written
from training.evaluation.semantoneg_questions import Forms, forms_of, questions

FORMS = [Forms(original, removed, antonym, both) for original, removed, antonym, both in SENTENCES]


def test_the_pick_of_each_entry_is_counted_by_label(tmp_path: Path) -> None:
    read = SemAntoNeg.read(write_lines(tmp_path / "s.json", semantoneg_rows()))
    given_scores = [
        (0.9, 0.1, 0.2),
        (0.1, 0.9, 0.2),
        (0.1, 0.2, 0.9),
        (0.1, 0.9, 0.9),
        (0.9, 0.9, 1),
    ]
    result = read.evaluate([np.array(row) for row in [*given_scores, (np.nan, 0.1, 0.2)]])
    assert result.outcomes == {"antonym": 1, "negation": 1, "both": 2, "tied": 1, "unanswered": 1}
    assert (result.score, result.ties) == (pytest.approx(100 * 2 / 6), 1)
    assert result.breakdowns["antonyms"]["cold / hot"] == (0.0, 2)
    assert result.breakdowns["antonyms"]["easy / hard"].n == 2, "though the article changes, too"
    assert len({row.group for row in result.rows}) == len(SENTENCES)


def test_antonyms_are_left_open_if_more_than_a_word_changes() -> None:
    other = Entry("0", "It is not a big deal.", ("It is not unimportant.", "It is.", "It is not."))
    assert antonyms(other) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sentences": ["a", "b"]},
            "three texts in 'sentences' on line 1 of 's.json', found a list",
        ),
        ({"sentences": ["a", "b", ""]}, "three texts"),
        ({"label": 3}, "0, 1 or 2 in 'label' on line 1 of 's.json', found 3"),
        ({"label": "2"}, "0, 1 or 2 in 'label'"),
        ({"input": None}, "a text in 'input' on line 1 of 's.json', found null"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = write_lines(tmp_path / "s.json", [semantoneg_rows()[0] | change])
    with pytest.raises(HedgerowError, match=message):
        SemAntoNeg.read(path)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.floats(-1, 1, width=16)] * 3, st.integers(0, 2)), min_size=1, max_size=12
    ),
    st.randoms(use_true_random=False),
)
def test_accuracy_is_scikit_learns_but_that_ties_are_wrong(
    rows: list[tuple[float, float, float, int]], chance: object
) -> None:
    def score(chosen: list[tuple[float, float, float, int]]) -> float:
        items = [Entry(str(n), "a", ("b", "c", "d"), row[3]) for n, row in enumerate(chosen)]
        return SemAntoNeg(items).evaluate([np.array(row[:3]) for row in chosen]).score

    picks = [
        int(np.argmax(row[:3])) if list(row[:3]).count(max(row[:3])) == 1 else -1 for row in rows
    ]
    from sklearn.metrics import accuracy_score

    expected = 100 * accuracy_score([row[3] for row in rows], picks)
    assert score(rows) == pytest.approx(expected)
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(shuffled) == pytest.approx(expected)


def test_each_form_in_turn_is_the_input() -> None:
    made = entries(FORMS[:1])
    original, removed, antonym, both = SENTENCES[0]
    assert [(e.input, *e.sentences) for e in made] == [
        (original, antonym, removed, both),
        (removed, both, original, antonym),
        (antonym, original, both, removed),
        (both, removed, antonym, original),
    ]
    assert {e.label for e in made} == {2}


def test_a_suite_is_read_from_a_table_and_written_as_semantoneg(tmp_path: Path) -> None:
    path = write_table(tmp_path / "own.tsv", "original\tnegation\tantonym\tboth", list(FORMS))
    made = suite(read_forms(path))
    (tmp_path / "suite.jsonl").write_bytes(written(made))
    assert SemAntoNeg.read(tmp_path / "suite.jsonl").items == made.items
    assert len(made.items) == 4 * len(FORMS)
    first = json.loads((tmp_path / "suite.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first.keys() == {"idx", "label", "input", "sentences"}


def test_a_table_with_two_forms_the_same(tmp_path: Path) -> None:
    rows = [FORMS[0], FORMS[1]._replace(both=FORMS[1].original)]
    path = write_table(tmp_path / "own.tsv", "original\tnegation\tantonym\tboth", list(rows))
    with pytest.raises(HedgerowError, match="four different forms on line 3"):
        read_forms(path)
    with pytest.raises(HedgerowError, match="found none"):
        suite([])


def family(forms: Forms) -> list[Member]:
    return [
        Member(forms.original, Role.ANCHOR),
        Member(forms.negation, Role.NEGATION, "verbal"),
        Member(forms.antonym, Role.NEGATION, "lexical"),
        Member(forms.both, Role.PARAPHRASE, "negated_antonym"),
    ]


def test_families_give_the_questions_that_are_asked_during_training() -> None:
    families = [family(forms) for forms in FORMS] + [family(FORMS[0])[:3]]
    assert forms_of(families) == FORMS
    asked = {(e.input, e.sentences[2], frozenset(e.sentences[:2])) for e in entries(FORMS)}
    assert asked == {(q.input, q.right, frozenset(q.wrong)) for q in questions(families)}
