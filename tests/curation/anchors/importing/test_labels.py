"""Files of annotation tools and labelled pairs: their labels are used, or reported."""

import json

import pytest

from curation.anchors.importing.file_table import FileTable
from curation.anchors.importing.formats import read_file
from curation.anchors.importing.nli_texts import guess_columns
from db.errors import HedgerowError


def table(*records: dict[str, object]) -> FileTable:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return read_file(lines.encode(), name="file.jsonl")


def prodigy(*answers: str | None) -> FileTable:
    rows = [{"text": f"It rains, {n}.", "answer": answer} for n, answer in enumerate(answers)]
    return table(*rows)  # type: ignore[arg-type]


def test_rows_that_an_annotator_rejected_are_left_out_and_counted() -> None:
    found = prodigy("accept", "reject", "ignore", "reject", None)
    assert found.texts("text") == ["It rains, 0.", "It rains, 4."]
    assert list(found.lines) == [1, 5], "the lines are those of the file"
    assert found.notes == ("Left out: 2 rows rejected and 1 row ignored in the source ('answer').",)


def test_one_rejected_row_is_counted_as_one() -> None:
    assert prodigy("accept", "reject").notes[0].startswith("Left out: 1 row rejected in the source")


def test_a_file_in_which_all_is_rejected_is_refused() -> None:
    with pytest.raises(HedgerowError, match="Every row of file.jsonl was rejected in"):
        prodigy("reject", "reject")
    with pytest.raises(HedgerowError, match="Every row of file.jsonl was rejected or ignored in"):
        prodigy("ignore", "reject")


def test_argilla_says_discarded_and_a_label_may_say_reject() -> None:
    found = table(
        {"text": "It rains.", "status": "submitted"}, {"text": "It pours.", "status": "discarded"}
    )
    assert list(found.texts("text")) == ["It rains."]
    found = table(
        {"text": "It rains.", "label": "REJECT"}, {"text": "It snows.", "label": "accept"}
    )
    assert list(found.texts("text")) == ["It snows."]
    assert "Left out: 1 row rejected in the source ('label')." in found.notes


def test_an_answer_to_a_question_is_not_a_mark() -> None:
    found = table({"text": "Who reigns?", "answer": "reject"}, {"text": "Who?", "answer": "Ada"})
    assert len(found.texts("text")) == 2 and found.notes == ()


SNLI = [
    {"sentence1": "A man sleeps.", "sentence2": "A person rests.", "gold_label": "entailment"},
    {"sentence1": "A man sleeps.", "sentence2": "A man runs.", "gold_label": "contradiction"},
    {"sentence1": "A man sleeps.", "sentence2": "A man snores.", "gold_label": "neutral"},
    {"sentence1": "A dog barks.", "sentence2": "It is loud.", "gold_label": "-"},
]


def test_labels_of_pairs_decide_what_a_hypothesis_is() -> None:
    found = table(*SNLI)
    assert found.sentence_column() == "sentence1"
    columns = guess_columns(found, "sentence1")
    assert columns == {"entailment": "entailment", "contradiction": "contradiction"}
    assert found.texts("entailment") == ["A person rests.", None, None, None]
    assert found.texts("contradiction") == [None, "A man runs.", None, None]
    assert found.notes == (
        "'gold_label' labels 'sentence2' as 1 entailment and 1 contradiction. 2 neutral rows left "
        "out.",
    )


@pytest.mark.parametrize(
    "record",
    [
        {"text": "It rains.", "label": "spam"},
        {"text": "It rains.", "label": "entailment"},  # labels of what?
        {"text": "It rains.", "label": 2},
        {"text": "It rains.", "label": ["weather"]},
        {"premise": "It rains.", "hypothesis": "It pours.", "label": "maybe"},
    ],
)
def test_labels_that_are_not_understood_are_reported(record: dict[str, object]) -> None:
    (note,) = table(record).notes
    assert note.startswith("The labels in 'label' ") and "were ignored" in note


def test_a_file_that_names_its_columns_needs_no_labels() -> None:
    found = table(
        {"premise": "It rains.", "entailment": "It is wet.", "label": "train", "hypothesis": "x"}
    )
    assert found.notes == () and "contradiction" not in found.columns
