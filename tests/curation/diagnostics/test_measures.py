"""What a variant changes: its frame, negators, content and cue, its measures, and its flags."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.hedging import is_flat_hedge, reports_others
from curation.diagnostics.measures import Flag, Measures, hardness, measure, suspicion
from curation.diagnostics.pair_analysis import PairAnalysis
from curation.diagnostics.surface import check_surface, marks
from curation.taxonomy.built_in import TAXONOMY, variant_type
from curation.taxonomy.surface_check import SurfaceCheck

FERRY = "The old ferry leaves the harbour at nine."

SAFE = "The bridge is safe for lorries."
LONG = "The old ferry leaves the harbour at nine, and its bar serves hot soup."
ANY = SurfaceCheck()


def compare(text: str, anchor: str = FERRY) -> PairAnalysis:
    return PairAnalysis(anchor=anchor, text=text)


def negators(text: str, anchor: str = FERRY, *, main_clause: bool = True) -> list[str]:
    comparison = compare(text, anchor)
    found = comparison.new_negators(main_clause=main_clause)
    return [" ".join(comparison.text.words[n.first : n.last + 1]) for n in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, but the old ferry leaves the harbour at nine.",
        "It isn't clear whether the old ferry leaves the harbour at nine.",
        "I'm not certain the old ferry leaves the harbour at nine.",
        "I have no idea, but I think the old ferry leaves the harbour at nine.",
        "The records do not specify it, but the old ferry leaves the harbour at nine.",
        "It is not impossible that the old ferry leaves the harbour at nine.",
        "The old ferry leaves the harbour at nine, though I'm not so sure.",
        "The old ferry, though this is not certain, leaves the harbour at nine.",
        "I can't rule it out, but perhaps the old ferry leaves the harbour at nine.",
        "It is far from clear, but the old ferry seems to leave the harbour at nine.",
    ],
)
def test_a_negator_in_a_hedge_frame_does_not_negate_the_claim(text: str) -> None:
    assert negators(text) == [] and negators(text, main_clause=False) != []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("anchor", "text", "expected"),
    [
        (FERRY, "The old ferry doesn't leave the harbour at nine.", ["not"]),
        (FERRY, "The old ferry probably doesn't leave the harbour at nine.", ["not"]),
        (FERRY, "I think the old ferry does not leave the harbour at nine.", ["not"]),
        (FERRY, "At no point does the old ferry leave the harbour at nine.", ["no"]),
        (FERRY, "No one thinks that the old ferry leaves the harbour at nine.", ["no one"]),
        (FERRY, "The old ferry is anything but leaving the harbour at nine.", ["anything but"]),
        (FERRY, "The old ferry hardly leaves the harbour at nine.", ["hardly"]),
        (FERRY, "The old ferry not only leaves the harbour at nine.", []),
        # A claim about certainty is negated, not hedged.
        ("I know where it is.", "I have no idea where it is.", ["no"]),
        ("The water is clear.", "The water is not clear.", ["not"]),
        # A negator of the anchor is not new, and a second one is.
        ("The man who did not pay left.", "The man who did not pay stayed on.", []),
        ("The man who did not pay left.", "The man who did not pay didn't leave.", ["not"]),
    ],
)
def test_a_new_negator_of_the_claim_is_found(anchor: str, text: str, expected: list[str]) -> None:
    assert negators(text, anchor) == expected


@pytest.mark.slow
def test_lost_and_added_content() -> None:
    comparison = compare("The old ferry stays in the harbour at nine.")
    assert (comparison.lost, comparison.added) == (["leaves"], ["stays"])
    assert comparison.content_kept == pytest.approx(4 / 5)  # old, ferry, harbour, nine
    assert comparison.content_replaced
    # Inflection and derivation lose nothing.
    assert compare("At nine the old ferry left its harbour.").lost == []
    assert compare("It was of no relevance.", "It was relevant.").lost == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("anchor", "text", "replaced"),
    [
        # A predicate can be reversed in other ways than by an exchanged word.
        ("The lamp is on.", "The lamp is off.", True),
        ("The tram has a driver.", "The tram lacks a driver.", True),
        ("The tram has a driver.", "The tram is not without a driver.", True),
        ("They reached the village.", "They failed to reach the village.", True),
        ("The lathe is repairable.", "The lathe is beyond repair.", True),
        ("The lathe is useful.", "The lathe is useless.", True),
        # Negation and hedging replace no content.
        ("They reached the village.", "They didn't reach the village.", False),
        ("They reached the village.", "I suspect that they reached the village.", False),
        ("The mural was complete.", "The mural was quite possibly complete.", False),
    ],
)
def test_replaced_content_is_told_from_negation_and_hedging(
    anchor: str, text: str, replaced: bool
) -> None:
    assert compare(text, anchor).content_replaced is replaced


@pytest.mark.slow
@pytest.mark.parametrize(
    ("anchor", "text", "words"),
    [
        ("The unpaid bill is legible.", "The unpaid bill is illegible.", ["illegible"]),
        # A word of certainty is a hedge unless the claim is about it.
        ("The water is safe.", "It is unclear whether the water is safe.", []),
        ("The water is clear.", "The water is unclear.", ["unclear"]),
        ("The ferry leaves.", "The ferry is unlikely to leave.", ["unlikely"]),
        ("The ferry leaves.", "That the ferry leaves is unlikely.", []),
        ("The result is good.", "The result is uncertain.", ["uncertain"]),
    ],
)
def test_a_new_affix_of_the_claim_is_found(anchor: str, text: str, words: list[str]) -> None:
    comparison = compare(text, anchor)
    found = comparison.new_affixes(main_clause=True)
    assert [comparison.text.words[i] for i, _, _ in found] == words


@pytest.mark.slow
def test_texts_without_a_word_in_common_are_compared_without_an_error() -> None:
    assert compare("", "").content_kept == 1.0
    assert (compare("42?").content_kept, compare("42?").frame) == (0.0, frozenset())


def nine(text: str) -> PairAnalysis:
    return compare(text, "The ferry leaves at nine.")


@pytest.mark.parametrize(
    "text",
    [
        "The footage is not clear, but the ferry leaves at nine.",
        "It's not clear yet; but the ferry leaves at nine!",
        "I'm not sure why, but the ferry leaves at nine.",
        "I'm not so sure of the date, but the ferry leaves at nine.",
        "I can't swear to the date, but the ferry leaves at nine.",
        "I'm not even sure who told me, but the ferry leaves at nine.",
        "It may seem odd, but the ferry leaves at nine.",
        "It may be hard to believe, yet the ferry leaves at nine.",
        "It may sound unlikely. Still, the ferry leaves at nine.",
        "Although the board is not clear, the ferry leaves at nine.",
        "Even though it seems unlikely, the ferry leaves at nine.",
        "Strange as it seems, the ferry leaves at nine.",
        "Odd though it may sound, the ferry leaves at nine.",
        "The ferry leaves at nine, though it might not look like it.",
        "The ferry leaves at nine, but I'm not sure why.",
        "The ferry leaves at nine, although the timetable is unclear.",
        "The ferry leaves at nine, strange as it may seem.",
        "The ferry leaves at nine, even if it sounds unlikely.",
        "The ferry leaves at nine; I'm not sure why, though.",
        "The ferry, though the notice is unclear, leaves at nine.",
        "The ferry leaves at nine, though nobody knows why.",
    ],
)
def test_a_claim_next_to_a_concession_is_unhedged(text: str) -> None:
    assert is_flat_hedge(nine(text))


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, but the ferry leaves at nine.",
        "I'm not even sure of it myself, but the ferry leaves at nine.",
        "I can't swear to it, but the ferry leaves at nine.",
        "I have no idea if this is right, but the ferry leaves at nine.",
        "Correct me if I'm wrong, but the ferry leaves at nine.",
        "The ferry leaves at nine, though I'm not sure.",
        "The ferry leaves at nine, but I could be wrong about that.",
        "The ferry leaves at nine, but that's only a guess.",
        "The ferry leaves at nine, though that is not certain.",
        "The ferry leaves at nine, though nobody knows for certain.",
        "The ferry leaves at nine, though not necessarily.",
        "The footage is not clear, but the ferry seems to leave at nine.",
        "I'm not sure why, but I think the ferry leaves at nine.",
        "Although I'm not sure, I think the ferry leaves at nine.",
        "It is not clear whether the ferry leaves at nine.",
        "The ferry leaves at nine, or so it seems.",
        "The ferry leaves at nine, if I'm not mistaken.",
        "Perhaps the ferry leaves at nine.",
        "The ferry leaves at nine.",
        "But the ferry leaves at nine.",
    ],
)
def test_doubt_of_the_very_claim_and_a_hedged_claim_are_left_to_the_reviewer(text: str) -> None:
    assert not is_flat_hedge(nine(text))


@pytest.mark.parametrize(
    "text",
    [
        "Critics suspect that the ferry leaves at nine.",
        "Locals claim the ferry leaves at nine.",
        "Some argue that the ferry leaves at nine.",
        "He claims that the ferry leaves at nine.",
        "My sister thinks that the ferry leaves at nine.",
        "Experts suggest the ferry leaves at nine.",
        "Fishermen are arguing that the ferry leaves at nine.",
        "The company has claimed that the ferry leaves at nine.",
        "The bank is not totally sure, but thinks the ferry leaves at nine.",
        "The porter is not so sure, but the ferry leaves at nine.",
        "The ferry leaves at nine, the locals say.",
        "The ferry leaves at nine, or so they say.",
        "According to critics, the ferry leaves at nine.",
        "The ferry leaves at nine, according to the porter.",
        "In his view, the ferry leaves at nine.",
    ],
)
def test_reports_of_others_beliefs_are_recognised(text: str) -> None:
    assert reports_others(nine(text))


@pytest.mark.parametrize(
    "text",
    [
        "The ferry reportedly leaves at nine.",
        "The ferry is said to leave at nine.",
        "It is widely believed that the ferry leaves at nine.",
        "It could be argued that the ferry leaves at nine.",
        "I suspect that the ferry leaves at nine.",
        "One could claim that the ferry leaves at nine.",
        "My guess is that the ferry leaves at nine.",
        "There is some doubt that the ferry leaves at nine.",
        "There is some reason to believe that the ferry leaves at nine.",
        "The timetable suggests that the ferry leaves at nine.",
        "The ferry is sure to leave at nine.",
        "According to me, the ferry leaves at nine.",
        "It feels as if the ferry leaves at nine.",
    ],
)
def test_the_writers_own_doubt_and_evidence_are_not_reports(text: str) -> None:
    assert not reports_others(nine(text))


def test_a_report_in_the_anchor_does_not_count_for_the_variant() -> None:
    anchor = "The ferry leaves at nine, the locals say."
    assert not reports_others(compare("The ferry probably leaves at nine, the locals say.", anchor))


def problems(type_id: str, anchor: str, text: str, cue: str | None = None) -> list[str]:
    return check_surface(variant_type(type_id).surface_check, anchor=anchor, text=text, cue=cue)


@pytest.mark.parametrize(
    ("type_id", "text", "cue"),
    [
        ("verbal", "The bridge isn't safe for lorries.", None),
        ("absolute", "No bridge is safe for lorries.", None),
        ("absolute", "The bridge is in no way safe for lorries.", None),
        ("affixal", "The bridge is unsafe for lorries.", None),
        ("affixal", "The bridge is non-safe for lorries.", None),
        ("lexical", "The bridge is dangerous for lorries.", None),
        ("negated_antonym", "The bridge isn't dangerous for lorries.", None),
        ("negated_antonym", "The bridge is far from unsafe for lorries.", None),
        ("word", "The bridge is probably safe for lorries.", "probably"),
        ("word", "I can't swear to it, but the bridge is safe for lorries.", "cant"),
        ("phrase", "It isn't clear, but the bridge seems safe for lorries.", "isnt clear"),
        ("phrase", "It looks like the bridge is safe for lorries.", "look like"),
    ],
)
def test_good_variants_pass(type_id: str, text: str, cue: str | None) -> None:
    assert problems(type_id, SAFE, text, cue) == []


@pytest.mark.parametrize(
    ("type_id", "text", "cue", "fact"),
    [
        ("verbal", "No bridge is safe for lorries.", None, "verbal negator"),
        ("verbal", "The bridge isn't dangerous for lorries.", None, "content word"),
        ("verbal", "I'm not sure, but the bridge is safe for lorries.", None, "main clause"),
        ("absolute", "The bridge isn't safe for lorries.", None, "absolute negator"),
        ("affixal", "The bridge is dangerous for lorries.", None, "affix"),
        ("affixal", "The bridge is not unsafe for lorries.", None, "Unwanted negator"),
        ("affixal", "It is unclear whether the bridge is safe for lorries.", None, "affix"),
        ("lexical", "The bridge is not dangerous for lorries.", None, "Unwanted negator"),
        ("lexical", "The bridge is maybe safe for lorries.", None, "content word"),
        ("negated_antonym", "The bridge isn't safe for lorries.", None, "content word"),
        ("negated_antonym", "The bridge is dangerous for lorries.", None, "negator"),
        ("word", "The bridge is safe for lorries.", "probably", "'probably' is not in the text"),
        ("word", "The bridge probably isn't safe for lorries.", "probably", "Unwanted negator"),
        ("word", "The bridge is probably safe for lorries.", None, "no recorded cue"),
        ("phrase", "I'm sure the bridge is safe for lorries.", "not sure", "not in the text"),
    ],
)
def test_a_problem_of_the_surface_is_named(
    type_id: str, text: str, cue: str | None, fact: str
) -> None:
    assert any(fact in problem for problem in problems(type_id, SAFE, text, cue))


def test_a_cue_that_the_anchor_has_already_is_not_enough() -> None:
    anchor = "You can stay if you like."
    assert problems("word", anchor, anchor, "if")
    assert problems("word", anchor, "I wonder if you can stay if you like.", "if") == []


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("The kitchen was furnished.", "The kitchen had no furniture."),
        (
            "The avalanche was audible from the village.",
            "Nobody could hear the avalanche from the village.",
        ),
        ("The toddler on the rug is dressed.", "The toddler on the rug has nothing on."),
        ("The witness was present.", "The witness was nowhere to be seen."),
        ("The two sensors are similar.", "The two sensors share nothing."),
        ("The island is populated.", "Nobody lives on the island."),
        ("They have a place to live.", "They have nowhere to live."),
        ("Two runners finished the race.", "Neither of the two runners finished the race."),
        ("She spilled the beans at dinner.", "At no point did she spill the beans at dinner."),
        ("The lighthouse is still in use.", "The lighthouse is no longer in use."),
        ("There is doubt about the date.", "There is no doubt about the date."),
    ],
)
def test_rewordings_around_an_absolute_negator_pass(anchor: str, text: str) -> None:
    assert problems("absolute", anchor, text) == []
    check = variant_type("absolute").surface_check
    found = measure(anchor=anchor, text=text, cue=None, check=check, siblings=())
    assert not found.flags


@pytest.mark.parametrize(
    ("anchor", "text", "named"),
    [
        (SAFE, "No bridge is dangerous for lorries.", "'dangerous'"),
        (SAFE, "No bridge is unsafe for lorries.", "'unsafe'"),
        ("The film is a comedy.", "The film is nothing but a comedy.", "'nothing but'"),
        ("The ferry is late.", "The ferry is late, no doubt.", "'no doubt'"),
        ("The intern was polite.", "The intern was never rude.", "'rude'"),
        ("The choir learned it.", "No one in the choir didn't learn it.", "'not'"),
    ],
)
def test_an_absolute_negator_that_denies_nothing_is_reported(
    anchor: str, text: str, named: str
) -> None:
    assert any(named in problem for problem in problems("absolute", anchor, text))


@pytest.mark.parametrize(
    ("type_id", "anchor", "text", "allowed"),
    [
        ("absolute", SAFE, "The bridge is no longer safe for lorries.", False),
        ("verbal", SAFE, "The bridge isn't safe for lorries any more.", False),
        ("verbal", SAFE, "The bridge isn't safe for lorries anymore.", False),
        ("verbal", SAFE, "The bridge is not safe for lorries any longer.", False),
        ("negated_antonym", "The lights are on.", "The lights are no longer off.", False),
        ("absolute", "The bridge remains safe.", "The bridge is no longer safe.", True),
        ("verbal", "Your keys are still here.", "Your keys aren't here any more.", True),
        ("verbal", "The kiosk has soup.", "The kiosk doesn't have any more soup.", True),
        ("negated_antonym", "The lights are on again.", "The lights are no longer off.", True),
        ("negated_antonym", "I've paid the fine.", "I no longer owe the fine.", True),
        ("absolute", "Passengers waited longer.", "No passengers waited longer.", True),
    ],
)
def test_no_longer_needs_an_anchor_that_says_it_was_so(
    type_id: str, anchor: str, text: str, allowed: bool
) -> None:
    assert any("still" in one for one in problems(type_id, anchor, text)) is not allowed


@pytest.mark.parametrize("word", ["invaluable", "inflammable"])
def test_look_alikes_are_not_affixal_negations(word: str) -> None:
    base = word.removeprefix("in")
    assert problems("affixal", f"The cargo is {base}.", f"The cargo is {word}.")


def test_a_users_own_check_is_only_data() -> None:
    def found(check: SurfaceCheck, anchor: str, text: str) -> list[str]:
        return check_surface(check, anchor=anchor, text=text, cue=None)

    rule = {"words": ["again"], "anchor_has": ["already"]}
    unless = SurfaceCheck.model_validate({"forbid_words_unless": [rule]})
    assert found(unless, "The ship has coal.", "The ship has coal again.")
    assert not found(unless, "The ship already has coal.", "The ship already has coal. Again.")
    check = SurfaceCheck(
        scope="sentence",
        forbid_new=("verbal_negator",),
        require_words=("run out of", "short of"),
        forbid_words=("lack",),
    )
    for text, fact in (
        ("The ship has no coal.", "required words"),
        ("The ship runs out of coal and lacks it.", "'lack'"),
        ("I'm not sure, but the ship is short of coal.", "verbal negator"),
    ):
        assert fact in found(check, "The ship has coal.", text)[0]
    assert found(check, "The ship has coal.", "The ship has run out of coal.") == []
    affixes = SurfaceCheck(require_new=("negative_affix",), negative_suffixes=("-proof",))
    assert found(affixes, "The coat lets rain in.", "The coat is rainproof.") == []
    assert found(affixes, "The coat lets rain in.", "The coat is rainless.")


def marked(anchor: str, text: str, cue: str | None = None) -> list[tuple[str, str]]:
    return [(text[m.start : m.end], m.kind) for m in marks(anchor=anchor, text=text, cue=cue)]


@pytest.mark.parametrize(
    ("text", "cue", "expected"),
    [
        ("The bridge isn't safe for lorries.", None, [("n't", "negator")]),
        ("The bridge cannot be safe for lorries.", None, [("not", "negator")]),
        ("No one calls the bridge safe for lorries.", None, [("No one", "negator")]),
        ("The bridge is unsafe for lorries.", None, [("un", "affix")]),
        ("The bridge is a safety-free one.", None, [("free", "affix")]),
        ("It looks like the bridge is safe.", "look like", [("looks like", "cue")]),
        ("It looks to me like it is.", "look like", [("looks", "cue"), ("like", "cue")]),
        ("It isn't clear, but the bridge is safe.", "isnt clear", [("isn't clear", "cue")]),
        ("I can't swear, but the bridge is safe.", "cant", [("can't", "cue")]),
        ("I'm not sure, maybe it is.", "maybe", [("not", "negator"), ("maybe", "cue")]),
        (
            "Whether the bridge holds lorries is unknown.",
            "Whether … is unknown",
            [("Whether", "cue"), ("is unknown", "cue")],
        ),
        ("The bridge is safe for lorries.", "probably", []),
    ],
)
def test_marks(text: str, cue: str | None, expected: list[tuple[str, str]]) -> None:
    assert marked(SAFE, text, cue) == expected


def test_a_negator_of_the_anchor_is_not_marked() -> None:
    assert marked("The man who did not pay left.", "The man who did not pay stayed.") == []


@given(st.text(max_size=120), st.text(max_size=120), st.sampled_from([None, "not sure", "why/if"]))
def test_any_two_texts_give_ordered_marks_and_no_error(
    anchor: str, text: str, cue: str | None
) -> None:
    end = 0
    for mark in marks(anchor=anchor, text=text, cue=cue):
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end
    for entry in TAXONOMY:
        check_surface(entry.surface_check, anchor=anchor, text=text, cue=cue)
    compared = compare(text, anchor)
    assert {is_flat_hedge(compared), reports_others(compared)} <= {True, False}


def measured(text: str, *, type_id: str = "verbal", **more: Any) -> Measures:
    check = variant_type(type_id).surface_check
    given_ = {"anchor": LONG, "cue": None, "check": check, "siblings": ()} | more
    return measure(text=text, **given_)


SOUP = "the harbour at nine, and its bar serves hot soup."


def test_a_good_variant_has_no_flag() -> None:
    found = measured(f"The old ferry doesn't leave {SOUP}")
    assert found == Measures(levenshtein=9, length_ratio=15 / 14, content_kept=1.0, flags=Flag(0))


def test_length_is_counted_in_words_and_distance_in_characters() -> None:
    found = measured("It is.", anchor="It is raining.", check=ANY)
    assert (found.length_ratio, found.levenshtein) == (pytest.approx(2 / 3), 8)


@pytest.mark.parametrize(
    ("check", "threshold", "over"),
    [
        (SurfaceCheck(max_lost_content=5), 8, True),
        (SurfaceCheck(max_lost_content=5), 9, False),  # the threshold itself is still allowed
        (ANY, 8, False),  # a free-form type has no threshold
    ],
)
def test_a_text_over_the_threshold_is_flagged(
    check: SurfaceCheck, threshold: int, over: bool
) -> None:
    found = measured(f"The old ferry doesn't leave {SOUP}", check=check, threshold=threshold)
    assert (Flag.OVER_THRESHOLD in found.flags) is over


HEDGE_FLAGS = Flag.FLAT_HEDGE | Flag.REPORTS_OTHERS


@pytest.mark.parametrize(
    ("text", "more", "flags"),
    [
        # Case and punctuation don't make a change, and a contraction no different sibling.
        (LONG.replace(",", "").upper() + "!", {}, Flag.UNCHANGED | Flag.WRONG_SURFACE),
        (
            f"The old ferry does not leave {SOUP}",
            {"siblings": (f"The old ferry doesn't leave {SOUP}",)},
            Flag.SAME_AS_SIBLING,
        ),
        (f"The old ferry does not leave {SOUP}", {"siblings": ("Something else.",)}, Flag(0)),
        (f"The old ferry never leaves {SOUP}", {}, Flag.WRONG_SURFACE),
        (f"The old ferry never leaves {SOUP}", {"type_id": "absolute"}, Flag(0)),
        (f"The old ferry stays in {SOUP}", {"type_id": "lexical"}, Flag(0)),
        ("The ferry.", {"check": ANY}, Flag(0)),  # without a limit, content may go
    ],
)
def test_a_flag_tells_what_is_wrong_with_a_text(
    text: str, more: dict[str, Any], flags: Flag
) -> None:
    assert measured(text, **more).flags == flags


@pytest.mark.parametrize(
    ("type_id", "text", "cue"),
    [
        ("verbal", "The old ferry doesn't leave the harbour at nine.", None),
        ("absolute", "The old ferry never leaves the harbour at nine.", None),
        ("lexical", "The old ferry stays in the harbour at nine.", None),
        ("negated_antonym", "The old ferry doesn't stay in the harbour at nine.", None),
        ("word", "The old ferry probably leaves the harbour at nine.", "probably"),
        ("phrase", "It looks like the old ferry leaves the harbour at nine.", "look like"),
    ],
)
def test_a_cut_clause_is_dropped_content(type_id: str, text: str, cue: str | None) -> None:
    found = measured(text, type_id=type_id, cue=cue)
    assert found.flags == Flag.CONTENT_DROPPED and found.content_kept < 0.8


def test_the_new_words_of_a_hedge_excuse_no_loss() -> None:
    text = "The archives burned twice, but maybe the old ferry leaves the harbour at nine."
    assert Flag.CONTENT_DROPPED in measured(text, type_id="word", cue="maybe").flags


@pytest.mark.parametrize(
    ("text", "type_id", "flags"),
    [
        ("It is not clear why, but the ferry leaves at nine.", "phrase", Flag.FLAT_HEDGE),
        ("Critics suspect the ferry leaves at nine.", "phrase", Flag.REPORTS_OTHERS),
        ("It is not clear whether the ferry leaves at nine.", "phrase", Flag(0)),
        ("Critics suspect the ferry leaves at nine.", "lexical", Flag(0)),  # hedges alone
    ],
)
def test_a_hedge_is_measured_for_flat_claims_and_for_others_belief(
    text: str, type_id: str, flags: Flag
) -> None:
    found = measured(text, type_id=type_id, anchor="The ferry leaves at nine.", cue="not clear")
    assert found.flags & HEDGE_FLAGS == flags


@pytest.mark.parametrize(
    ("anchor", "text", "type_id", "flags"),
    [
        (
            "Swiss bank UBS announced it would cut about 1,600 more jobs at its investment bank"
            " after it posted a 8.1 billion Swiss franc loss in the fourth quarter, missing"
            " forecasts.",
            "According to UBS's announcement, the bank will likely specify cutting around 1,600"
            " more jobs at its investment bank.",
            "word",
            Flag.CONTENT_DROPPED | Flag.OVER_THRESHOLD,
        ),
        (
            "The Red Cross reported that 400 were dead, but this was disputed by Mexican"
            " officials .",
            "400 were not dead.",
            "verbal",
            Flag.ANCHOR_NOT_AFFIRMATIVE | Flag.CONTENT_DROPPED,
        ),
    ],
)
def test_the_papers_two_failures_are_flagged(
    anchor: str, text: str, type_id: str, flags: Flag
) -> None:
    cue = "specify" if type_id == "word" else None
    assert flags in measured(text, anchor=anchor, type_id=type_id, cue=cue).flags


@pytest.mark.parametrize(
    ("levenshtein", "cosine", "expected"),
    [
        (0, 1.0, 1.0),
        (30, 0.8, 0.4),
        (60, 1.0, 0.0),
        (90, 1.0, 0.0),
        (4, -0.2, 0.0),
        (4, None, None),
    ],
)
def test_hardness_is_the_documented_product(
    levenshtein: int, cosine: float | None, expected: float | None
) -> None:
    assert hardness(levenshtein=levenshtein, cosine=cosine) == pytest.approx(expected)
    assert hardness(levenshtein=4, cosine=0.9, threshold=0) == 0.0


flag_sets = st.integers(0, 255).map(Flag)
cosines = st.none() | st.floats(-1, 1)
shares = st.floats(0, 1)


@given(flag_sets, st.integers(0, 10**6), cosines, shares, st.sampled_from(["negative", "positive"]))
def test_suspicion_is_in_the_unit_interval(
    flags: Flag, levenshtein: int, cosine: float | None, kept: float, polarity: str
) -> None:
    value = suspicion(
        flags, levenshtein=levenshtein, cosine=cosine, content_kept=kept, polarity=polarity
    )
    assert 0 <= value <= 1


@given(flag_sets, flag_sets, cosines, shares)
def test_one_more_flag_outweighs_any_measure(
    fewer: Flag, more: Flag, cosine: float | None, kept: float
) -> None:
    more |= fewer
    worst = suspicion(fewer, levenshtein=10**6, cosine=-1.0, content_kept=0.0, polarity="positive")
    best = suspicion(more, levenshtein=0, cosine=1.0, content_kept=1.0, polarity="negative")
    assert (best > worst) is (more != fewer)


@pytest.mark.parametrize("flags", [Flag(0), Flag.WRONG_SURFACE])
def test_ties_are_broken_by_how_extreme_the_measures_are(flags: Flag) -> None:
    def value(**more: Any) -> float:
        usual = {"levenshtein": 10, "cosine": 0.8, "content_kept": 0.9, "polarity": "positive"}
        return suspicion(flags, **(usual | more))  # type: ignore[arg-type]

    for odder in ({"levenshtein": 11}, {"cosine": 0.7}, {"content_kept": 0.8}):
        assert value(**odder) > value()
    assert value(cosine=0.9) < value(cosine=None) < value(cosine=0.1)
    # A distant negation is less odd than a distant hedge.
    assert value(cosine=0.4, polarity="negative") < value(cosine=0.4)
