"""Asynchronous calls from plain code, also inside an event loop, as in a notebook's cells."""

import asyncio
import threading

import pytest

from curation.generation.event_loop import run_to_end


async def calls() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


async def cell() -> int:
    return run_to_end(calls())


def test_calls_are_made_in_the_thread_that_waits_unless_it_has_a_loop() -> None:
    assert run_to_end(calls()) == threading.get_ident()
    assert asyncio.run(cell()) != threading.get_ident()


def test_errors_are_raised() -> None:
    async def wrong() -> None:
        raise ZeroDivisionError

    async def wrong_cell() -> None:
        run_to_end(wrong())

    with pytest.raises(ZeroDivisionError):
        asyncio.run(wrong_cell())
