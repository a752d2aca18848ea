"""Repeated questions to a judge: stored as answers, not opinions, with their consistency."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.generation.judging import opinion_run
from curation.generation.judging.consistency import consistencies, of_sample
from curation.generation.judging.opinion_calls import estimate_judging
from curation.generation.judging.opinion_request import KIND, JudgeRequest
from curation.review.calibration.sample import Sample, SampleRequest
from curation.review.opinions.stored import judges
from curation.validation import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Answer, Decision, Opinion
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.support.databases import both_databases
from tests.support.factories import add_family, draw_sample

FALSE = "Verdict: reject\nReason: wrong_scope\nComment: No.\nSuggestion: none\nCertainty: 0.5"
TRUE = "Verdict: accept\nReason: none\nComment: Yes.\nSuggestion: none\nCertainty: 0.5"


@pytest.fixture
def sample(engine: Engine) -> Sample:
    with writing(engine) as session:
        for number in range(3):
            add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
        return draw_sample(session, SampleRequest(size=3, types=("verbal",)))


def ask(engine: Engine, home: Path, **how: Any) -> dict[str, Any]:
    request = checked(JudgeRequest, {"model": "fake"} | how)
    with writing(engine) as session:
        run_id = opinion_run.request_opinions(session, request).id
    works = {KIND: opinion_run.work}
    return execute(engine, Settings(home=home, database_url=""), run_id, works)


@both_databases
def test_a_judge_that_changes_its_mind_is_found_out(
    engine: Engine, home: Path, serve_chat: Serve, sample: Sample
) -> None:
    address, server = serve_chat()
    asked: Counter[str] = Counter()

    def says(prompt: str) -> str:
        """For bridge 0 always the same verdict, for bridge 1 another one in four, for bridge 2
        none."""
        asked[prompt] += 1
        if "bridge 2" in prompt:
            return "I cannot say."
        return FALSE if "bridge 1" in prompt and asked[prompt] == 1 else TRUE

    server.says = says
    values = {"base_url": address, "selection": of_sample(sample).model_dump(), "concurrency": 1}
    with reading(engine) as session:
        request = checked(JudgeRequest, {"model": "fake", "repeats": 4, "temperature": 1} | values)
        assert estimate_judging(session, request).total_calls == 12
    result = ask(engine, home, repeats=4, temperature=1, **values)
    assert (result["done"], result["failed"], result["complete"]) == (8, 4, False)
    with reading(engine) as session:
        assert session.execute(select(func.count()).select_from(Opinion)).scalar_one() == 0
        assert session.execute(select(func.count()).select_from(Decision)).scalar_one() == 0
        (found,) = consistencies(session, sample).values()
        assert judges(session) == []
        answers = session.execute(select(func.count(col(Answer.id)))).scalar_one()
    assert (found.items, found.answers, found.unanimous, found.temperature) == (2, 8, 1, 1.0)
    assert found.same == pytest.approx((1 + 3 / 6) / 2)
    assert answers == 8 + 4 * opinion_run.TRIES


def test_it_is_asked_again_about_what_it_has_judged(
    engine: Engine, home: Path, serve_chat: Serve, sample: Sample
) -> None:
    address, _ = serve_chat()
    values = {"base_url": address, "selection": of_sample(sample).model_dump()}
    assert ask(engine, home, **values)["done"] == 3
    assert ask(engine, home, repeats=2, temperature=0.5, **values)["done"] == 6
    with reading(engine) as session:
        (judge,) = judges(session)
        assert judge.opinions == 3
        found = consistencies(session, sample)[judge.id]
    assert (found.items, found.answers, found.same, found.unanimous) == (3, 6, 1.0, 3)


@pytest.mark.parametrize(
    ("how", "message"),
    [({"repeats": 2}, "temperature above 0"), ({"repeats": 1, "temperature": 1}, "at least 2")],
)
def test_repeated_calls_that_could_not_differ_are_refused(
    how: dict[str, Any], message: str
) -> None:
    with pytest.raises(HedgerowError, match=message):
        checked(JudgeRequest, {"model": "fake"} | how)
