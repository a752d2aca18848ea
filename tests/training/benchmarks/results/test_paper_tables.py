"""Tables of several models."""

from dataclasses import replace

import pytest

from db.errors import HedgerowError
from training.benchmarks.results.paper_tables import Line, cells, latex

LINES = [
    Line("base", {"nevir": 8.1, "m3": 16.2}),
    Line("mine_2", {"nevir": 40.6, "m3": -3.04}, base="base"),
    Line("Paper's", {"nevir": 50.6}, published=True),
]


def test_published_scores_are_neither_ranked_nor_compared() -> None:
    base, mine, paper = cells(LINES, ["nevir", "m3"])
    assert (mine["nevir"].place, base["nevir"].place) == ("best", "second")
    assert mine["nevir"].delta == pytest.approx(32.5) and base["nevir"].delta is None
    assert (paper["nevir"].place, paper["nevir"].delta) == ("", None) and "m3" not in paper
    assert base["m3"].place == "best" and mine["m3"].delta == pytest.approx(-19.24)


def test_without_a_base_nothing_is_compared() -> None:
    alone = [replace(line, base="") for line in LINES]
    assert all(cell.delta is None for line in cells(alone, ["nevir"]) for cell in line.values())
    with pytest.raises(HedgerowError, match="base model 'Paper's'|base model \"Paper's\""):
        cells([replace(LINES[0], base="Paper's"), LINES[2]], ["nevir"])


def test_latex() -> None:
    made = latex([LINES[2], *LINES[:2]], {"nevir": "NevIR", "m3": "M3 & co"}, caption="50%")
    body = made.splitlines()
    assert body[4:10] == [
        r"Model & NevIR & M3 \& co \\",
        r"\midrule",
        r"base & \underline{8.1} & \textbf{16.2} \\",
        r"mine\_2 & \textbf{40.6} & $-$3.0 \\",
        r"\midrule",
        r"\textit{Paper's} (published) & 50.6 & -- \\",
    ]
    assert r"\caption{50\%}" in body and made.count("{") == made.count("}")
