"""Second opinions in Python, with a chat server of the tests."""

import asyncio

import pytest

import hedgerow
from tests.hedgerow.conftest import Example
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import opinion_on

PENDING = "The bridge is not safe."


def test_opinions_are_asked_for_shown_and_compared(
    example_project: Example, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    project = example_project()
    uid = project.variants(status="pending")["uid"].iloc[0]
    done = project.judge(model="fake", base_url=address, status=None, types=["verbal", "word"])
    assert (done["done"], done["reviewer"]) == (2, "judge: fake, prompt 1")
    assert len(server.asked) == 2
    assert project.variants(status="pending")["uid"].iloc[0] == uid  # it decides nothing
    project.accept(uid)
    (opinion,) = project.opinions(uid).to_dict("records")
    assert (opinion["reviewer"], opinion["counts"]) == (done["reviewer"], False)
    assert opinion["verdict"] == opinion_on(PENDING)["verdict"]
    compared = project.agreement_of_models().set_index("type_id")
    assert compared.loc["verbal", "share"] == float(opinion["verdict"] == "accept")
    assert (compared["judge"] == done["reviewer"]).all()


def test_a_verdict_after_looking_is_not_agreement(
    example_project: Example, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    project = example_project()
    uid = project.variants(status="pending")["uid"].iloc[0]
    project.judge(model="fake", base_url=address, variants=uid)
    assert len(project.opinions(uid)) == 1
    project.accept(uid)
    row = project.agreement_of_models().set_index("type_id").loc["verbal"]
    assert (row["pairs"], row["after_looking"]) == (0, 1)


def test_a_notebooks_cell_asks_a_server(example_project: Example, serve_chat: Serve) -> None:
    address, _ = serve_chat()
    project = example_project()
    project.anchors.add(["The lamp is bright."])

    async def cell() -> tuple[int, int]:
        written = project.generate(model="fake", base_url=address, measure=False)
        return written["done"], project.judge(model="fake", base_url=address)["failed"]

    assert asyncio.run(cell()) == (2, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"types": "verb"}, "Expected a variant type"),
        ({"status": "odd"}, "status is not usable"),
        ({"prompt": 7}, "from 1 to 1"),
        ({"budget": 1.0}, "prices set"),
        ({"wait": 5}, "unknown setting"),
        ({"limit": 0}, "number of anchors"),
    ],
)
def test_impossible_requests_are_reported(
    given: dict[str, object], message: str, example_project: Example, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    project = example_project()
    before = project.status()["runs"]
    with pytest.raises(hedgerow.HedgerowError, match=message):
        project.judge(model="fake", base_url=address, **given)  # type: ignore[arg-type]
    assert not server.asked and project.status()["runs"] == before
