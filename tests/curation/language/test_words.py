"""Words and their parts: tokens, stems, affixes, alignment, and changes carried to another text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.language.negation import negative_affix
from curation.language.tokens import Analysis, align, is_content, lemma, related, stem, tokenize
from curation.language.word_changes import MAX_WORDS, carry


def words(text: str) -> list[str]:
    return [token.word for token in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't", ["it", "is", "not"]),
        ("I can't, won't, shan't", ["i", "can", "not", ",", "will", "not", ",", "shall", "not"]),
        ("She cannot; we’d go", ["she", "can", "not", ";", "we", "'d", "go"]),
        ("the dogs' non-flying plane's", ["the", "dogs", "non-flying", "plane", "'s"]),
        ("3.5% of “it”", ["3.5", "%", "of", "it"]),
    ],
)
def test_contractions_clitics_and_hyphens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_offsets_point_at_the_original_characters() -> None:
    text = "We CANNOT say it isn’t."
    spans = {token.word: text[token.start : token.end] for token in tokenize(text)}
    assert spans["can"] == "CAN"
    assert spans["is"] == "is"
    assert [text[t.start : t.end] for t in tokenize(text) if t.word == "not"] == ["NOT", "n’t"]


@given(st.text(max_size=200))
def test_tokens_never_overlap_and_stay_inside_any_text(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert end <= token.start <= token.end <= len(text)
        assert token.word
        end = token.end


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("planted", "plant"),
        ("bought", "buy"),
        ("freezes", "frozen"),
        ("stopped", "stops"),
        ("agreed", "agree"),
        ("occupied", "occupy"),
        ("honoured", "honor"),
        ("recognised", "recognizes"),
        ("evenly", "even"),
        ("happily", "happy"),
    ],
)
def test_forms_and_spellings_of_a_word_share_their_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_a_lemma_keeps_adverbs_separate() -> None:
    assert lemma("likely") != lemma("like")
    assert lemma("looks") == lemma("looked") == lemma("look")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("relevant", "relevance", True),
        ("rely", "reliable", True),
        ("useful", "use", True),
        ("insured", "insurance", True),
        ("leafy", "leaves", True),
        ("migratory", "migrate", True),
        ("approve", "approval", True),
        ("harmful", "harmless", False),
        ("happy", "unhappy", False),
        ("import", "export", False),
        ("warm", "cold", False),
    ],
)
def test_derived_words_are_related_and_opposites_are_not(
    one: str, other: str, expected: bool
) -> None:
    assert related(one, other) == related(other, one) == expected


def test_content_words() -> None:
    found = [word for word in words("The old ferry has not left it.") if is_content(word)]
    assert found == ["old", "ferry", "left"]


@pytest.mark.parametrize(
    ("anchor", "variant", "origins"),
    [  # the end comes first, because hedges come before the claim
        ("I was lucky.", "I'm not sure, but I was lucky.", [None] * 6 + [0, 1, 2, 3]),
        ("She planted roses.", "She did not plant roses.", [0, None, None, 1, 2, 3]),
    ],
)
def test_a_variant_is_aligned_with_its_anchor(
    anchor: str, variant: str, origins: list[int | None]
) -> None:
    assert align(Analysis(anchor), Analysis(variant)) == origins


def test_a_very_long_hostile_text_is_handled_in_linear_time() -> None:
    start = time.process_time()
    for text in ("'" * 50_000, "a-" * 50_000, "n't" * 50_000, "x" * 100_000):
        tokenize(text)
    assert time.process_time() - start < 20


# -- negative affixes ------------------------------------------------------------------------------


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


# -- changes of one sentence, applied to another that was made from it -----------------------------


LEAVES = "The ferry leaves at nine."


@pytest.mark.parametrize(
    ("old", "new", "text", "expected"),
    [
        ("The brigde is safe.", "The bridge is safe.", "No brigde is safe.", "No bridge is safe."),
        (
            "The brigde is safe.",
            "The bridge is safe.",
            "It looks like the brigde is safe.",
            "It looks like the bridge is safe.",
        ),
        (
            LEAVES,
            "A ferry leaves at nine.",
            "It looks like the ferry leaves at nine.",
            "It looks like a ferry leaves at nine.",
        ),
        (
            LEAVES,
            "A ferry leaves at nine.",
            "The ferry doesn't leave at nine.",
            "A ferry doesn't leave at nine.",
        ),
        (
            LEAVES,
            "The old ferry leaves at nine.",
            "No ferry leaves at nine.",
            "No old ferry leaves at nine.",
        ),
        (
            "Ferries leave at nine.",
            "Old ferries leave at nine.",
            "Ferries don't leave at nine.",
            "Old ferries don't leave at nine.",
        ),
        (
            "Old ferries leave at nine.",
            "Ferries leave at nine.",
            "Old ferries don't leave at nine.",
            "Ferries don't leave at nine.",
        ),
        (
            LEAVES,
            "The ferry leaves at nine on Mondays.",
            "The ferry leaves at nine, I think.",
            "The ferry leaves at nine on Mondays, I think.",
        ),
        (
            "The council, which met in May, accepted it.",
            "The council accepted it.",
            "The council, which met in May, didn't accept it.",
            "The council didn't accept it.",
        ),
        (
            "Peter sleeps.",
            "Paul sleeps.",
            "I'm not sure whether Peter sleeps.",
            "I'm not sure whether Paul sleeps.",
        ),
        (
            "A man is riding a wave.",
            "A surfer is riding a big wave.",
            "No man is riding a wave.",
            "No surfer is riding a big wave.",
        ),
        (
            "The painting was sold by the museum.",
            "The painting was sold by the gallery.",
            "The museum didn't sell the painting.",
            "The gallery didn't sell the painting.",
        ),
    ],
)
def test_corrected_words_are_replaced_in_their_place_and_keep_their_case(
    old: str, new: str, text: str, expected: str
) -> None:
    assert carry(text, old=old, new=new) == expected


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("She smiles.", "She laughs.", "She doesn't smile."),
        ("The bridge is safe.", "The bridge is secure.", "The bridge is unsafe."),
        ("Cats purr.", "Dogs purr.", "Concats don't purr."),
        (LEAVES, LEAVES, "The ferry doesn't leave at nine."),
        (f"{'so ' * MAX_WORDS}it is.", f"{'so ' * MAX_WORDS}it was.", "So it is not."),
    ],
)
def test_nothing_is_proposed_for_texts_without_the_words(old: str, new: str, text: str) -> None:
    assert carry(text, old=old, new=new) is None


PLAIN = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=60)


@given(PLAIN, PLAIN, PLAIN)
def test_any_texts_give_a_text_or_nothing(old: str, new: str, text: str) -> None:
    found = carry(text, old=old, new=new)
    assert found is None or isinstance(found, str)
