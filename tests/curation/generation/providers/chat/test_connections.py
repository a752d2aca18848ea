"""Connections are reused, and returned however a call ends."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from curation.generation.providers.chat.client import PATH, ChatModel
from curation.generation.providers.chat.completions import CallError
from curation.generation.providers.chat.connections import Lanes, http_client
from tests.curation.generation.conftest import Serve


def lanes_of(model: ChatModel) -> Lanes:
    mounted: Any = model.client()._client._mounts
    (lanes,) = [transport for transport in mounted.values() if isinstance(transport, Lanes)]
    return lanes


async def ask(model: ChatModel, number: int) -> bool:
    try:
        await model.ask(f"Text: {number}", None)
    except CallError:
        return False
    return True


def test_there_are_as_many_lanes_as_calls_at_once(serve_chat: Serve) -> None:
    address, _ = serve_chat(delay=0.05)

    async def run() -> tuple[int, int]:
        model = ChatModel("fake", SecretStr(""), address)
        for _ in range(5):
            assert all(await asyncio.gather(*(ask(model, number) for number in range(6))))
        lanes = lanes_of(model)
        await model.close()
        return len(lanes._all), len(lanes._free)

    assert asyncio.run(run()) == (6, 6)


@pytest.mark.parametrize("fault", ["hang", "disconnect", "server error"])
def test_a_call_that_fails_or_is_given_up_leaves_its_lane_to_the_next(
    serve_chat: Serve, fault: str
) -> None:
    address, server = serve_chat(faults=1.0, kinds=(fault,))

    async def run() -> tuple[int, int]:
        model = ChatModel("fake", SecretStr(""), address, timeout=0.2)
        assert not await ask(model, 1)
        given_up = asyncio.create_task(ask(model, 2))
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.wait({given_up})
        server.faults = 0.0
        assert await ask(model, 3)
        lanes = lanes_of(model)
        await model.close()
        return len(lanes._all), len(lanes._free)

    assert asyncio.run(run()) == (1, 1)


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    assert not any(
        isinstance(transport, Lanes) for transport in http_client(10**6, PATH)._mounts.values()
    )
