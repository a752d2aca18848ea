"""Negative affixes and words that look alike."""

from __future__ import annotations

import pytest

from curation.language.affixes import negative_affix


@pytest.mark.parametrize(
    ("word", "affix"),
    [
        ("unsafe", "un"),
        ("unclear", "un"),
        ("inactive", "in"),
        ("impossible", "im"),
        ("illegal", "il"),
        ("irregular", "ir"),
        ("non-flying", "non"),
        ("nonbinding", "non"),
        ("dishonest", "dis"),
        ("discontinued", "dis"),
        ("misunderstood", "mis"),
        ("atypical", "a"),
        ("abnormal", "ab"),
        ("underpaid", "under"),
        ("counterproductive", "counter"),
        ("harmless", "less"),
        ("sugar-free", "free"),
        ("energy-inefficient", "in"),
    ],
)
def test_the_affix_is_found_and_located(word: str, affix: str) -> None:
    span = negative_affix(word)
    assert span is not None
    assert word[slice(*span)] == affix


@pytest.mark.parametrize(
    "word",
    (
        "under uncle until unless unit union unique universe understand underneath "
        "interest include image important increase inside industry instead inspire "
        "illness illustrate iron irritate discuss distance district discover display disease "
        "mission mist mister missing mischief less bless nevertheless free none nonchalant "
        "depend decide design describe about again amaze antique anticipate counter country "
        "malaria male dish disc address business lesson careful pencil"
    ).split(),
)
def test_look_alikes_are_left_alone(word: str) -> None:
    assert negative_affix(word) is None


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("invaluable", "valuable"),
        ("invaluably", "valuable"),
        ("inflammable", "flammable"),
        ("infamous", "famous"),
        ("unravelled", "ravelled"),
        ("unloosened", "loosened"),
        ("priceless", "price"),
        ("impassive", "passive"),
        ("inhabited", "habitable"),
        ("asleep", "sleep"),
        ("improve", "prove"),
        ("discover", "cover"),
        ("highly-inflammable", "flammable"),
    ],
)
def test_a_prefix_without_negation_does_not_count_even_on_a_word_of_the_anchor(
    word: str, base: str
) -> None:
    assert negative_affix(word) is None
    assert negative_affix(word, anchor_words=[base]) is None


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("uninformed", "informed"),
        ("unimpressed", "impressed"),
        ("unaware", "aware"),
        ("undiscovered", "discovered"),
        ("impossible", "possible"),
        ("dispossessed", "possessed"),
        ("informal", "formal"),
    ],
)
def test_words_that_only_begin_like_those_keep_their_affix(word: str, base: str) -> None:
    assert negative_affix(word, anchor_words=[base]) is not None


def test_a_rare_affix_counts_where_the_anchor_has_the_base() -> None:
    assert negative_affix("depedestrianised") is None
    assert negative_affix("depedestrianised", anchor_words=["pedestrianised"]) == (0, 2)


def test_own_affixes_replace_the_built_in_ones() -> None:
    assert negative_affix("outmoded", prefixes=["out-"]) == (0, 3)
    assert negative_affix("fireproof", suffixes=["-proof"]) == (4, 9)
    assert negative_affix("unsafe", prefixes=["out-"]) is None
