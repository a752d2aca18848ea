"""The four forms of the user's own sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from db.errors import HedgerowError
from training.benchmarks.tasks.suite_sentences import Reason, build
from training.benchmarks.tasks.suites import built_of, lines_of, read_forms, written_forms
from training.evaluation.semantoneg_questions import Forms


@pytest.mark.parametrize(
    ("sentence", "negation", "antonym", "both"),
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
def test_the_four_forms(sentence: str, negation: str, antonym: str, both: str) -> None:
    built = build([sentence])
    assert built == ([Forms(sentence, negation, antonym, both)], [])


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
    assert built.reasons == {str(reason): 1}
    assert str(reason) in built.unturned[0].description and word in built.unturned[0].description


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
    assert [forms.original for forms in built.forms] == [
        "I'm not guilty, sir.",
        "The tea is not hot.",
    ]
    assert [one.reason for one in built.unturned] == [
        Reason.ONE_NEGATED,
        Reason.ONE_NEGATED,
        Reason.SHORT,
        Reason.REPEATED,
    ]
    assert built.unturned[0].sentence == "The tea is cold. / The tea is cool."


def test_a_file_holds_sentences_or_pairs(tmp_path: Path) -> None:
    lines = tmp_path / "own.txt"
    lines.write_text("The tea is not hot.\n\nTea is nice.\tThe soup is not cold.\n", "utf-8")
    built = built_of(lines)
    assert [f.both for f in built.forms] == ["The tea is cold.", "The soup is hot."]
    table = tmp_path / "own.tsv"
    table.write_text("sent1\tsent2\nThe tea is cold.\tThe tea is not hot.\n", encoding="utf-8")
    assert built_of(table).forms == built.forms[:1]
    rows = tmp_path / "own.jsonl"
    rows.write_text(json.dumps({"text": "The soup is not cold."}), encoding="utf-8")
    assert built_of(rows).forms == built.forms[1:]
    (tmp_path / "forms.jsonl").write_bytes(written_forms(built.forms))
    assert read_forms(tmp_path / "forms.jsonl") == built.forms
    assert lines_of(" a b\t\n\tc") == ["a b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "found nothing in 'a.txt'"),
        ("a.txt", "Tea is nice.\nThe sea is blue.", "none in 2 sentences; the first, 'Tea is nice"),
        ("a.jsonl", '{"x": 1}', "Expected 'sentence' or 'text' on line 1 of 'a.jsonl'"),
        ("a.csv", "sentence1,other\na,b\n", "Expected 'sentence2' or 'sent2' on line 2"),
        ("a.txt", "Tea\0 is not hot.", "control character U+0000"),
    ],
)
def test_a_file_without_such_sentences(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match=message.replace("+", r"\+")):
        built_of(tmp_path / name)
