"""Giveaways: a planted one is found, a balanced set is at chance, and n-grams find their
variants."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.diagnostics import giveaways
from curation.diagnostics.giveaways import KIND, data_state, guess_of, suspects, variants_with
from curation.diagnostics.ngrams import frequent, ngrams
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from db.errors import RunEnded
from db.execution import Result, RunContext, execute
from db.models import Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_variant

pytestmark = both_databases

PLACES = ("harbour", "market", "station", "garden")
STATES = ("open", "busy", "quiet", "famous", "old")


def add_pairs(session: Session, *, planted: str = "", source: str = "") -> list[Variant]:
    """Forty anchors, each with a lexical negation and a paraphrase made of the same words.

    Args:
        planted: words that are added at the beginning of each negation.
        source: the source of the anchors.
    """
    found = []
    for number in range(40):
        place, state = PLACES[number % 4], STATES[number % 5]
        text = f"The {place} number {number} is {state}. {source}"
        anchor = add_anchor(session, text.strip(), source=source)
        text = f"The {place} looks {state} today, number {number}."
        for type_id, words in (("lexical", planted + text), ("affirmation", text + " ")):
            found.append(add_variant(session, anchor, type_id, words))
    return found


def look(engine: Engine, source_id: int | None = None) -> Result:
    with writing(engine) as session:
        run = create_run(session, kind=KIND, parameters=giveaways.parameters(source_id))
    return execute(engine, load_settings(), run.id, {KIND: giveaways.work})


def test_a_planted_giveaway_is_found_and_leads_to_its_variants(engine: Engine) -> None:
    with writing(engine) as session:
        variants = add_pairs(session, planted="Admittedly, ")
    result = look(engine)
    assert (result["records"], result["anchors"]) == (80, 40)
    for what, of_class in (("polarity", "negative"), ("type", "lexical")):
        guess = guess_of(result, what)
        assert guess.total.accuracy > 0.95 and guess.total.chance == 0.5
        assert [row.name for row in guess.by["type"]] == ["affirmation", "lexical"]
        assert [(row.name, row.records) for row in guess.by["source"]] == [("test", 80)]
        assert [row.name for row in guess.by["provider"]] == [giveaways.REVIEWERS]
        (found,) = guess.telling[of_class]
        assert found == ("admittedly", 40, 1.0, False)
    with reading(engine) as session:
        scores = guess_of(result, "polarity").by["type"]
        assert {row.name for row in suspects(scores, all_types(session))} >= {"lexical"}
        ids = variants_with(session, "admittedly", types=["lexical"], limit=100)
    assert list(ids) == [variant.id for variant in variants[::2]]


def test_a_balanced_set_is_at_chance_and_no_word_tells(engine: Engine) -> None:
    with writing(engine) as session:
        add_pairs(session)
    guess = guess_of(look(engine), "polarity")
    assert guess.total.accuracy == guess.total.chance == 0.5
    assert guess.telling == {"negative": [], "positive": []}
    with reading(engine) as session:
        assert suspects(guess.by["type"], all_types(session)) == []


def test_a_type_that_is_defined_by_its_words_is_not_suspicious(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Bridge {number} is safe.")
            add_variant(session, anchor, "verbal", f"Bridge {number} is not safe.")
            add_variant(session, anchor, "word", f"Bridge {number} is probably safe.")
    guess = guess_of(look(engine), "polarity")
    assert guess.total.accuracy == 1
    (negator,) = guess.telling["negative"]
    assert (negator.text, negator.negator) == ("not", True)
    with reading(engine) as session:
        assert suspects(guess.by["type"], all_types(session)) == []


def test_rejected_superseded_and_retired_variants_do_not_count(engine: Engine) -> None:
    with writing(engine) as session:
        variants = add_pairs(session, planted="Admittedly, ")
        for variant, status in zip(
            variants, (Status.REJECTED, Status.SUPERSEDED, Status.CONFLICT), strict=False
        ):
            variant.status = status
        variants[3].retired = True
        variants[4].status = Status.ACCEPTED
    result = look(engine)
    assert result["records"] == 76
    assert guess_of(result, "type").telling["lexical"][0].records == 38
    with reading(engine) as session:
        assert len(variants_with(session, "admittedly", types=[], limit=100)) == 38


def test_a_result_knows_whether_the_data_has_changed_since(engine: Engine) -> None:
    with writing(engine) as session:
        ids = [variant.id for variant in add_pairs(session)]
    result = look(engine)

    def set_status(status: Status) -> bool:
        with writing(engine) as session:
            variant = session.get(Variant, ids[0])
            assert variant is not None
            variant.status = status
        with reading(engine) as session:
            assert (run := giveaways.newest(session)) is not None and run.result == result
            return data_state(session) != result["data"]

    assert not set_status(Status.ACCEPTED)  # it counted before
    assert set_status(Status.REJECTED)


def test_each_source_has_a_result_of_its_own(engine: Engine) -> None:
    with writing(engine) as session:
        add_pairs(session)
        own = add_variant(session, add_anchor(session, "It is safe."), "lexical", "Admittedly not.")
        planted = add_pairs(session, planted="Admittedly, ", source="Other")
        key, own_key = planted[0].source_id, own.source_id
    with reading(engine) as session:
        assert giveaways.newest(session, key) is giveaways.last(session, key) is None
    whole, part = look(engine), look(engine, key)
    assert (whole["records"], whole["source"]) == (161, None)
    assert (part["records"], part["source"]) == (80, "Other")
    assert guess_of(part, "polarity").total.accuracy > 0.95
    with reading(engine) as session:
        for source_id, result in ((None, whole), (key, part)):
            assert (run := giveaways.newest(session, source_id)) is not None
            assert run.result == result and run.result["data"] == data_state(session, source_id)
        assert giveaways.newest(session, own_key) is None
        found = variants_with(session, "admittedly", types=[], limit=100, source_id=own_key)
        assert found == (own.id,)


def test_too_little_to_guess_is_refused_in_a_sentence(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(4):
            add_variant(session, add_anchor(session, f"Bridge {number} is safe."))
    with pytest.raises(RunEnded, match="at least 5 anchors and two types, found 4 and 1"):
        look(engine)


def test_it_can_be_cancelled_between_two_folds(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(engine) as session:
        add_pairs(session)
    steps: list[int] = []

    def progress(self: RunContext, step: int, total: int, message: str) -> None:
        steps.append(step)
        if "fold 2" in message:
            self.stop.set()

    monkeypatch.setattr(RunContext, "progress", progress)
    with pytest.raises(RunEnded):
        look(engine)
    assert steps == [0, 1, 2, 3]


def test_ngrams_are_words_in_lower_case_whatever_is_between_them(engine: Engine) -> None:
    assert ngrams("It ISN’T so,\nbut <b>") == [
        *("it", "isn't", "so", "but", "b"),
        *("it isn't", "isn't so", "so but", "but b"),
        *("it isn't so", "isn't so but", "so but b"),
    ]
    assert frequent(["a b", "b a"] * 5) == ["a", "b", "a b", "b a"]
    assert frequent(["a b", "b a"] * 2) == []
    assert max(map(len, ngrams("x" * 5_000))) == 40
    with writing(engine) as session:
        odd = add_variant(session, add_anchor(session), "word", "So, % BUT_ it's Élan!")
    with reading(engine) as session:
        for ngram in ("so", "élan", "it's élan"):
            assert variants_with(session, ngram, types=[], limit=5) == (odd.id,)
        assert variants_with(session, "so it's", types=[], limit=5) == ()
