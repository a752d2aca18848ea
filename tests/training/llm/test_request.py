"""Requests for finetuning runs: immediate checks, and the forecast."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlmodel import Session

from curation.release.freezing import create_release
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import RunState, Split
from db.runs import get_run
from tests.curation.support.families import add_family
from tests.support.databases import Fill
from tests.training.llm.support.finetunings import HELD_OUT, TRAINED, ask, recipe
from training.llm.forecast import forecast
from training.llm.recipe import LanguageRecipe
from training.llm.request import questions_of, request_of


def test_a_release_is_needed(engine: Engine, small_llama: Path) -> None:
    with pytest.raises(HedgerowError, match="There is no release yet"):
        ask(engine, small_llama)


def test_a_release_without_negations_is_refused(
    engine: Engine, fill: Fill, small_llama: Path
) -> None:
    def made(session: Session) -> None:
        for number in range(3):
            hedges = {"word": [f"Door {number} is probably open."]}
            add_family(session, f"Door {number} is open.", hedges, split=Split.TRAIN)
        create_release(session, author_id=None)

    fill(engine, made)
    with pytest.raises(HedgerowError, match="Expected anchors with a negation and a hedge"):
        ask(engine, small_llama)


def test_a_release_whose_train_split_has_no_question_is_refused(
    engine: Engine, fill: Fill, small_llama: Path
) -> None:
    def made(session: Session) -> None:
        variants = {"word": ["The door is probably open."], "verbal": ["The door is not open."]}
        add_family(session, "The door is open.", variants, split=Split.VALIDATION)
        create_release(session, author_id=None)

    fill(engine, made)
    with pytest.raises(
        HedgerowError, match="in the train split of release 1, found them only in other"
    ):
        ask(engine, small_llama)


def test_impossible_values_are_refused_and_nothing_is_stored(
    released: Engine, small_llama: Path
) -> None:
    with pytest.raises(HedgerowError, match="Expected a seed from 0"):
        ask(released, small_llama, seed=-1)
    with pytest.raises(HedgerowError, match="There is no release 7"):
        ask(released, small_llama, release_number=7)
    with pytest.raises(HedgerowError, match="create a new release"):
        ask(released, small_llama, {"arm": "hedging"})
    with pytest.raises(HedgerowError, match="four_bit needs"):
        ask(released, small_llama, {"four_bit": True})
    first = ask(released, small_llama)
    assert first.id == 1
    with pytest.raises(HedgerowError, match="Run 1 is already training with the same settings"):
        ask(released, small_llama)
    assert ask(released, small_llama, seed=2).id == 2


def test_pairs_are_sampled_by_the_seed_and_measured_alike_in_every_arm(released: Engine) -> None:
    with reading(released) as session:
        few = LanguageRecipe(max_pairs=10)
        first, again, other = (questions_of(session, 1, few, seed) for seed in (1, 1, 2))
        assert first == again != other
        assert len(first.train) == 10 and len(first.validation) == 4 * HELD_OUT
        assert {pair.split for pair in first.train} == {Split.TRAIN}
        of_paper = questions_of(session, 1, LanguageRecipe(arm="paper"), 1)
        assert of_paper.validation == first.validation


def test_an_outlook_tells_the_time_once_the_model_was_finetuned_here(
    released: Engine, small_llama: Path
) -> None:
    run = ask(released, small_llama)
    wanted, base = recipe(epochs=3, max_pairs=24), request_of(run).base
    with reading(released) as session:
        before = forecast(session, wanted, base=base, release_number=1)
    assert before == (4 * TRAINED, 24, 4 * HELD_OUT, 9, None, None)
    with writing(released) as session:
        row = get_run(session, run.id)
        row.state, row.host = RunState.DONE, socket.gethostname()
        row.result = {"pace": 4.0, "measuring_pace": 8.0}
    with reading(released) as session:
        after = forecast(session, wanted, base=base, release_number=1)
        other = forecast(session, recipe(rank=4), base=base, release_number=1)
    assert (after.seconds, after.by_run) == (3 * 24 / 4 + 4 * 4 * HELD_OUT / 8, run.id)
    assert other.seconds is None
