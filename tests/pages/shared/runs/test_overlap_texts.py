"""The texts that a release shares with benchmarks, as a table."""

from pages.components.shared.runs.overlap_texts import table

HOSTILE = "<img src=x onerror=alert(1)> & **bold**"

ROW = {
    "Card": "/review?variant=abc",
    "Its text": HOSTILE,
    "In the release": HOSTILE,
    "Shared": HOSTILE,
    "Item": 1234,
    "Benchmark": HOSTILE,
}


def test_texts_are_escaped_and_linked_to_their_card() -> None:
    found = table([ROW], with_benchmark=True)
    assert "<img" not in found and found.count("&lt;img") == 4
    assert 'href="/review?variant=abc"' in found and "1,234" in found


def test_a_text_without_a_card_has_no_link_and_a_single_benchmark_no_column() -> None:
    found = table([ROW | {"Card": None}], with_benchmark=False)
    assert "<a " not in found and "<td>–</td>" in found
    assert "Benchmark text" in found and ">Benchmark<" not in found
