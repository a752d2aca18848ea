"""Numbers in tables: minus signs, and equally many decimal places."""

from pages.components.shared.formatting.decimals import decimals, percentages


def test_negative_decimals_have_minus_signs_and_stay_numbers() -> None:
    table = decimals(
        [{"Anchor": "well-known", "A": -0.25, "B − A": 0.125, "Correct": True}], signed=["B − A"]
    )
    assert table.to_string(delimiter="|").splitlines()[1] == "0|well-known|−0.250|+0.125|True"
    assert table.data["A"].tolist() == [-0.25]


def test_percentages_have_equally_many_decimal_places_and_stay_shares() -> None:
    rows = [{"Share": 1.0, "Items": 3}, {"Share": -0.0126, "Items": 4}, {"Share": None, "Items": 5}]
    table = percentages(rows, "Share")
    assert table.to_string(delimiter="|").splitlines()[1:] == ["0|100.0%|3", "1|−1.3%|4", "2|–|5"]
    assert table.data["Share"].tolist()[0] == 1.0
