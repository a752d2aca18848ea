"""STS files in the published format, and the correlation with human scores."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.errors import HedgerowError
from training.evaluation.sts import FEWEST, LARGEST_FILE, StsPair, read_sts, spearman

PUBLISHED = (
    "score\tsentence1\tsentence2\n"
    '3.600\t"It\'s a huge black eye," said a publisher.\t"It\'s a huge black eye," he said.\n'
    "\tThis pair has no score.\tNobody has judged it.\r\n"
    '0.8\tHe said "no\tShe agreed." \r\n'
    "\n"
    "5\tOne line\u2028of two.\tOne line, of two.\tMSRpar\t0001\n"
)


def pairs(*scores: float) -> list[StsPair]:
    return [StsPair(score, "a", "b") for score in scores]


def read(folder: Path, content: str | bytes) -> list[StsPair]:
    path = folder / "sts.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_sts(path)


def test_a_published_file_is_read_with_its_quotation_marks(tmp_path: Path) -> None:
    expected = [
        (3.6, '"It\'s a huge black eye," said a publisher.', '"It\'s a huge black eye," he said.'),
        (0.8, 'He said "no', 'She agreed."'),
        (5.0, "One line\u2028of two.", "One line, of two."),
    ]
    assert read(tmp_path, PUBLISHED) == expected
    assert read(tmp_path, PUBLISHED.partition("\n")[2]) == expected  # no header
    assert read(tmp_path, "\ufeff" + PUBLISHED) == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (PUBLISHED + "4\tonly one sentence\n", "two sentences separated by tabs in line 7"),
        (PUBLISHED + "4\t\tonly the second\n", "in line 7"),
        (PUBLISHED + "much\tone\tother\n", "in line 7"),
        (PUBLISHED + "nan\tone\tother\n", "in line 7"),
        (PUBLISHED + "inf\tone\tother\n", "in line 7"),
        (PUBLISHED + "4,one,other\n", "in line 7"),
        ("", f"at least {FEWEST} sentence pairs .* found 0"),
        ("1\ta\tb\n2\ta\tc\n", "found 2"),
        ("1\ta\tb\n1.0\ta\tc\n1\td\te\n", "Expected different scores .* found 1 in every line"),
        ("1\tnäme\tb\n".encode("latin-1"), "Expected UTF-8"),
        (b" " * (LARGEST_FILE + 1), "too large for an STS file"),
    ],
)
def test_another_file_is_refused_with_one_sentence(
    tmp_path: Path, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(HedgerowError, match=sentence) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.tsv", "."])
def test_a_file_in_another_format_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(HedgerowError, match="Could not read"):
        read_sts(tmp_path / name)


@settings(deadline=None)  # the first call loads SciPy
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1, 1)), min_size=3, max_size=30))
def test_the_correlation_is_that_of_the_mean_ranks(sampled: list[tuple[int, float]]) -> None:
    scores, cosines = (np.array(column, dtype=float) for column in zip(*sampled, strict=True))
    if len(set(scores)) == 1:
        return
    found = spearman(pairs(*scores), cosines)
    ranks = [
        [(values < value).sum() + (values == value).sum() / 2 for value in values]
        for values in (scores, cosines)
    ]
    flat = len(set(cosines)) == 1
    assert found == pytest.approx(0.0 if flat else np.corrcoef(*ranks)[0, 1], abs=1e-9)


def test_cosines_without_any_difference_say_nothing() -> None:
    assert spearman(pairs(1, 2, 3), [0.5, 0.5, 0.5]) == 0.0
