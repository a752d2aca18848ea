"""Runs asynchronous calls from synchronous code."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_to_end(calls: Coroutine[Any, Any, Result]) -> Result:
    """Run the calls to the end, and return their result.

    In a notebook, an event loop is already running, and a thread can only have one. The calls then
    run in another thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(calls)
    with ThreadPoolExecutor(max_workers=1) as own:
        return own.submit(asyncio.run, calls).result()
