"""Asynchronous calls from code that waits for them."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_to_end(calls: Coroutine[Any, Any, Result]) -> Result:
    """Make the calls, and wait for what they return.

    A notebook's cells run in an event loop, and a thread has only one: the calls have a thread of
    their own then.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(calls)
    with ThreadPoolExecutor(max_workers=1) as own:
        return own.submit(asyncio.run, calls).result()
