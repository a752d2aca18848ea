"""The files of the Batch API: one JSON object per line, each with the key of its call."""

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final

from curation.generation.answers import AnswerProblem
from curation.generation.providers.chat.completions import CallError, Reply, read_completion

ENDPOINT: Final = "/v1/chat/completions"


def request_line(call_id: int, body: dict[str, Any]) -> bytes:
    """Return a line of the file to send."""
    line = {"custom_id": str(call_id), "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write the file to send, line by line."""
    with path.open("wb") as file:
        file.writelines(lines)


async def split_lines(
    pieces: AsyncIterator[bytes], *, at_once: int, most: int
) -> AsyncIterator[list[bytes]]:
    """Split a file that arrives in pieces into lines, and yield several at once.

    Only a line feed ends a line: a text may contain other characters that Unicode treats as line
    breaks.

    Args:
        at_once: maximum lines at once.
        most: maximum bytes of a line. The rest is dropped, which makes the line unreadable.
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
    """Read a line of an output or error file: its call, and the call's result.

    Returns:
        None if the line names no call, or one that the provider did not process.
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
        return call_id, CallError(AnswerProblem.EXPIRED, _message(error))
    response = _object(value, "response")
    body = _object(response, "body")
    if response.get("status_code") != 200:
        problem = _problem(response.get("status_code"))
        return call_id, CallError(problem, _message(_object(body, "error") or error))
    try:
        return call_id, read_completion(body)
    except CallError as unreadable:
        return call_id, unreadable


def _object(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object with this name; an empty one if there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _problem(status: Any) -> AnswerProblem:
    """Return the meaning of a line's HTTP status; without one, the server has failed."""
    if status == 429:
        return AnswerProblem.RATE_LIMIT
    if isinstance(status, int) and 400 <= status < 500 and status != 408:
        return AnswerProblem.REFUSED_REQUEST
    return AnswerProblem.SERVER


def _message(error: dict[str, Any]) -> str:
    """Return the provider's message on one line."""
    return " ".join(str(error.get("message") or "No answer.").split())[:500]
