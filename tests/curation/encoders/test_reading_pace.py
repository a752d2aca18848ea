"""The amount of text to read."""

from curation.encoders.reading_pace import MARKS, PER_TOKEN, characters, length


def test_a_text_counts_by_its_letters_and_the_marks_at_its_ends() -> None:
    assert characters(["It rains.", "Über allem."]) == 9 + 11 + 2 * MARKS
    assert characters([]) == 0


def test_truncated_text_does_not_count() -> None:
    assert length(1_000, longest=100) == 100 * PER_TOKEN
    assert length(50, longest=100) == 50 + MARKS
    assert characters(["x" * 1_000, "y" * 10], longest=100) == round(100 * PER_TOKEN) + 10 + MARKS
