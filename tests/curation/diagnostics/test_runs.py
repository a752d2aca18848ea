"""Runs that measure: distances and flags at once, cosines resumably, and words that give away."""

import numpy as np
import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from curation.diagnostics import cosines, giveaways, measuring
from curation.diagnostics.giveaways import KIND, data_state, guess_of, suspects, variants_with
from curation.diagnostics.measures import MEASURES_VERSION, Flag
from curation.diagnostics.side_guessing import frequent, ngrams
from curation.encoders.embeddings import PACE
from curation.project.settings import active_encoder_id
from curation.review import deciding
from curation.review.cards import card
from curation.review.deciding import shown
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from db.errors import RunEnded
from db.execution import Result, RunContext, execute
from db.models import Diagnostic, Encoder, Status, Variant, VariantCosine
from db.runs import create_run, metrics
from db.settings import load_settings
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person


class FakeEncoders:
    """Replaces the real encoder: the cosine is a function of the texts' lengths."""

    def __init__(self) -> None:
        self.pairs = 0

    def pair_cosines(self, model: object, pairs: list[tuple[str, str]], **more: object) -> object:
        self.pairs += len(pairs)
        return np.array([min(len(a), len(b)) / max(len(a), len(b)) for a, b in pairs])


@pytest.fixture
def encoders(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> FakeEncoders:
    """An unmeasured family, and a fake encoder."""
    with writing(engine) as session:
        add_family(session)
    fake = FakeEncoders()
    monkeypatch.setattr(measuring, "load_encoder", lambda name: None)
    monkeypatch.setattr(measuring, "fingerprint", lambda name: f"hash of {name}")
    monkeypatch.setattr("curation.encoders.embeddings.pair_cosines", fake.pair_cosines)
    return fake


def run(engine: Engine, **parameters: object) -> dict[str, object]:
    with writing(engine) as session:
        run_id = create_run(session, kind="diagnose", parameters=parameters).id
    return execute(engine, load_settings(), run_id, {"diagnose": measuring.work})


def test_flags_are_stored(session: Session) -> None:
    anchor, unsafe = add_anchor(session), "The bridge is sturdy."
    far = "Nobody could honestly say that it might ever carry so much as one single bicycle, dear."
    variants = [
        add_variant(session, anchor, text=text) for text in ("The bridge is safe.", unsafe, far)
    ]
    variants.append(add_variant(session, anchor, "lexical", unsafe))
    measuring.measure_variants(session, [one.id for one in variants])
    session.expire_all()
    flags = [Flag(session.get_one(Diagnostic, one.id).flags) for one in variants]
    assert Flag.UNCHANGED in flags[0] and Flag.SAME_AS_SIBLING in flags[1]
    assert Flag.OVER_THRESHOLD in flags[2] and Flag.WRONG_SURFACE in flags[0] & flags[1]
    assert min(one.suspicion for one in variants) > 0


def test_measurements_of_an_older_version_are_repeated(
    engine: Engine, encoders: FakeEncoders
) -> None:
    run(engine)
    with writing(engine) as session:
        old = session.get_one(Diagnostic, 1)
        old.check_version, old.flags = MEASURES_VERSION - 1, int(Flag.UNCHANGED)
        session.flush()
        assert measuring.count_without_measures(session) == 1
    assert run(engine)["measured"] == 1
    with reading(engine) as session:
        assert (card(session, 1).flags, measuring.count_without_measures(session)) == (0, 0)


def test_a_run_says_how_fast_it_read_if_it_read_for_long_enough(
    engine: Engine, encoders: FakeEncoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine)
    monkeypatch.setattr(cosines, "TELLING_SECONDS", 0.0)
    run(engine, encoder="another")
    with reading(engine) as session:
        short, ((_, pace),) = (metrics(session, run_id, name=PACE) for run_id in (1, 2))
    assert short == [] and pace > 0


@pytest.mark.slow
@both_databases
def test_a_run_measures_everything_per_encoder_and_a_second_one_nothing(
    engine: Engine, encoders: FakeEncoders
) -> None:
    assert run(engine) == {"encoder": "all-MiniLM-L6-v2", "measured": 7, "cosines": 7}
    assert run(engine) == {"encoder": "all-MiniLM-L6-v2", "measured": 0, "cosines": 0}
    with reading(engine) as session:
        found = card(session, 1)
        assert (found.levenshtein, found.flags, found.cosine) == (4, Flag(0), 19 / 23)
        assert found.variant.hardness == pytest.approx((1 - 4 / 60) * 19 / 23)
        assert measuring.count_without_measures(session) == 0
        assert cosines.count_without_cosine(session, found.variant.id) == 0
    run(engine, encoder="other")
    with reading(engine) as session:
        for table, number in ((Encoder, 2), (VariantCosine, 14)):
            assert session.execute(select(func.count()).select_from(table)).scalar_one() == number
        assert active_encoder_id(session) == 1
    with writing(engine) as session:
        card_, ada = shown(session.get_one(Variant, 1)), person(session)
        child = deciding.edit(session, card_, reviewer_id=ada, text="It isn't safe.").child_id
        edited = card(session, child or 0)
        assert edited.levenshtein is not None and edited.cosine is None
    assert run(engine)["cosines"] == 1 and encoders.pairs == 7 + 7 + 1
    with reading(engine) as session:
        assert card(session, child or 0).cosine is not None


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


@pytest.mark.slow
@both_databases
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
        assert guess.telling[of_class] == [("admittedly", 40, 1.0, False)]
    with reading(engine) as session:
        scores = guess_of(result, "polarity").by["type"]
        assert "lexical" in {row.name for row in suspects(scores, all_types(session))}
        ids = variants_with(session, "admittedly", types=["lexical"], limit=100)
    assert list(ids) == [variant.id for variant in variants[::2]]


@pytest.mark.slow
def test_neither_a_balanced_set_nor_a_type_that_its_words_define_is_suspicious(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        add_pairs(session)
    guess = guess_of(look(engine), "polarity")
    assert guess.total.accuracy == guess.total.chance == 0.5
    assert guess.telling == {"negative": [], "positive": []}
    with writing(engine) as session:
        assert suspects(guess.by["type"], all_types(session)) == []
        for number in range(20):
            anchor = add_anchor(session, f"Bridge {number} is safe.", source="Bridges")
            add_variant(session, anchor, "verbal", f"Bridge {number} is not safe.")
            add_variant(session, anchor, "word", f"Bridge {number} is probably safe.")
    guess = guess_of(look(engine, anchor.source_id), "polarity")
    (negator,) = guess.telling["negative"]
    assert (guess.total.accuracy, negator.text, negator.negator) == (1, "not", True)
    with reading(engine) as session:
        assert suspects(guess.by["type"], all_types(session)) == []


@pytest.mark.slow
def test_rejected_superseded_and_retired_variants_do_not_count(engine: Engine) -> None:
    with writing(engine) as session:
        variants = add_pairs(session, planted="Admittedly, ")
        out = (Status.REJECTED, Status.SUPERSEDED, Status.CONFLICT, Status.PENDING, Status.ACCEPTED)
        for variant, status in zip(variants, out, strict=False):
            variant.status = status
        variants[3].retired = True
    result = look(engine)
    assert result["records"] == 76 and guess_of(result, "type").telling["lexical"][0].records == 38
    with reading(engine) as session:
        assert len(variants_with(session, "admittedly", types=[], limit=100)) == 38


@pytest.mark.slow
def test_a_result_knows_whether_the_data_has_changed_since(engine: Engine) -> None:
    with writing(engine) as session:
        ids = [variant.id for variant in add_pairs(session)]
    result = look(engine)
    for status, changed in ((Status.ACCEPTED, False), (Status.REJECTED, True)):  # it counted before
        with writing(engine) as session:
            session.get_one(Variant, ids[0]).status = status
        with reading(engine) as session:
            assert (run := giveaways.newest(session)) is not None and run.result == result
            assert (data_state(session) != result["data"]) is changed


@pytest.mark.slow
@both_databases
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


def test_too_little_to_guess_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(4):
            add_variant(session, add_anchor(session, f"Bridge {number} is safe."))
    with pytest.raises(RunEnded, match="5 anchors and two types, found 4 and 1"):
        look(engine)


@pytest.mark.slow
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


@both_databases
def test_ngrams_are_words_in_lower_case_whatever_is_between_them(engine: Engine) -> None:
    assert ngrams("It ISN’T so,\nbut <b>") == [
        *("it", "isn't", "so", "but", "b"),
        *("it isn't", "isn't so", "so but", "but b"),
        *("it isn't so", "isn't so but", "so but b"),
    ]
    assert frequent(["a b", "b a"] * 5) == ["a", "b", "a b", "b a"]
    assert frequent(["a b", "b a"] * 2) == [] and max(map(len, ngrams("x" * 5_000))) == 40
    with writing(engine) as session:
        odd = add_variant(session, add_anchor(session), "word", "So, % BUT_ it's Élan!")
    with reading(engine) as session:
        for ngram in ("so", "élan", "it's élan"):
            assert variants_with(session, ngram, types=[], limit=5) == (odd.id,)
        assert variants_with(session, "so it's", types=[], limit=5) == ()
