"""The files of the Batch API: one JSON object per line, each with the key of its call."""

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final

from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.completions import CallError, Reply, read_completion

ENDPOINT: Final = "/v1/chat/completions"


def request_line(call_id: int, body: dict[str, Any]) -> bytes:
    """A line of the file that is sent."""
    line = {"custom_id": str(call_id), "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write the file that is sent, line by line."""
    with path.open("wb") as file:
        file.writelines(lines)


async def split_lines(
    pieces: AsyncIterator[bytes], *, at_once: int, most: int
) -> AsyncIterator[list[bytes]]:
    """The lines of a file that arrives in pieces, some at once.

    Only a line feed ends a line: a text may hold other characters that Unicode breaks lines at.

    Args:
        at_once: lines at most.
        most: bytes of a line; what goes beyond is left out, and the line can't be read any more.
    """
    rest = b""
    lines: list[bytes] = []
    async for piece in pieces:
        begun, *others = piece.split(b"\n")
        rest += begun[: most - len(rest)]
        for part in others:
            lines.append(rest)
            rest = part[:most]
        while len(lines) >= at_once:
            yield lines[:at_once]
            del lines[:at_once]
    yield [*lines, rest]


def read_answer(line: bytes) -> tuple[int, Reply | CallError] | None:
    """The call that a line of an output or error file belongs to, and what came of it.

    Returns:
        None where the line names no call, or one that the provider did not get to.
    """
    try:
        value = json.loads(line)
        call_id = int(value["custom_id"])
    except (ValueError, KeyError, TypeError):
        return None
    error = _object(value, "error")
    if error.get("code") == "batch_cancelled":
        return None
    if error.get("code") == "batch_expired":
        return call_id, CallError(AnswerProblem.EXPIRED, _said(error))
    response = _object(value, "response")
    body = _object(response, "body")
    if response.get("status_code") != 200:
        problem = _problem(response.get("status_code"))
        return call_id, CallError(problem, _said(_object(body, "error") or error))
    try:
        return call_id, read_completion(body)
    except CallError as unreadable:
        return call_id, unreadable


def _object(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object of this name; an empty one where there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _problem(status: Any) -> AnswerProblem:
    """What the status of a line's answer means; of one without, the server has failed."""
    if status == 429:
        return AnswerProblem.RATE_LIMIT
    if isinstance(status, int) and 400 <= status < 500 and status != 408:
        return AnswerProblem.REFUSED_REQUEST
    return AnswerProblem.SERVER


def _said(error: dict[str, Any]) -> str:
    """What the provider said, on one line."""
    return " ".join(str(error.get("message") or "No answer.").split())[:500]
