"""Which published lines a table shows."""

from training.benchmarks.results.paper_tables import Line
from training.benchmarks.results.published_lines import paper_of, shortened

MANY = [
    Line(f"model-{n}", {"s": float(n)}, published=True, source="Large, Table 8") for n in range(50)
]
FEW = [Line(name, {"n": 1.0}, published=True, source="Small, Table 2") for name in "ab"]
OWN = [Line("/somewhere/Model-3", {"s": 1.0}), Line("mine", {"s": 2.0})]


def test_a_long_paper_has_what_is_measured_here_and_its_best() -> None:
    shown, left_out = shortened([*OWN, *FEW, *MANY], most=5)
    best = ["model-49", "model-48", "model-47", "model-46"]
    assert [line.model for line in shown] == [*(o.model for o in OWN), "a", "b", *best, "model-3"]
    assert left_out == 45


def test_a_search_finds_all_of_a_long_paper_that_have_its_words_the_best_first() -> None:
    shown, left_out = shortened([*OWN, *FEW, *MANY], search=" 4 MODEL ", most=5)
    few, names = ["a", "b"], [line.model for line in shown if line.published]
    wanted = [line.model for line in reversed(MANY) if "4" in line.model]
    assert names == [*few, *wanted] and len(wanted) == 14
    assert len([line for line in shown if not line.published]) == 2
    assert left_out == 50 - len(wanted)
    assert shortened([*OWN, *MANY], search="nothing")[0] == OWN


def test_the_paper_of_a_line() -> None:
    assert paper_of(MANY[0]) == "Large" and paper_of(OWN[0]) == ""
