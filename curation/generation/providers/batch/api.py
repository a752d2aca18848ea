"""Client for the provider's Batch API: send a file, check, cancel, fetch.

A process can be killed after the provider has created a batch and before the batch's id is stored.
A batch therefore has a label by which it can be found.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx2
import openai
from openai.types import Batch

from curation.generation.answers import AnswerProblem
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError, Reply, read_completion
from curation.generation.providers.chat.connections import most_bytes
from db.errors import HedgerowError

LABEL = "hedgerow"
"""The key of a batch's metadata for its label."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOO_MANY = "token_limit_exceeded"
"""The provider's error code for too many waiting calls."""

CLOCKS = timedelta(days=1)
"""Tolerance for differences between the provider's clock and ours when searching for a batch."""


@dataclass(frozen=True)
class BatchApi:
    """Batches for one model."""

    model: ChatModel

    async def create(self, path: Path, label: str) -> Batch:
        """Send a file of calls, which will be answered within a day.

        Raises:
            CallError: it was refused; trying again may help.
            HedgerowError: it was refused for good.
        """
        client = self.model.client()
        try:
            with path.open("rb") as file:
                sent = await client.files.create(file=(path.name, file), purpose="batch")
            return await client.batches.create(
                input_file_id=sent.id,
                endpoint=ENDPOINT,
                completion_window="24h",
                metadata={LABEL: label},
            )
        except openai.APIError as error:
            raise self._explained(error) from error

    def _explained(self, error: openai.APIError) -> Exception:
        if isinstance(error, openai.NotFoundError):
            return HedgerowError(
                f"{self.model.where} does not support batches; make the calls directly instead."
            )
        return self.model.explained(error)

    async def find(self, label: str, *, since: datetime) -> Batch | None:
        """Return the newest batch with this label created after ``since``, or None."""
        oldest = (since - CLOCKS).timestamp()
        try:
            async for batch in self.model.client().batches.list(limit=100):
                if (batch.metadata or {}).get(LABEL) == label:
                    return batch
                if batch.created_at < oldest:
                    return None
        except openai.APIError as error:
            raise self._explained(error) from error
        return None

    async def state(self, batch_id: str) -> Batch:
        """Return the batch's current state.

        Raises:
            CallError: the provider did not answer this time.
            HedgerowError: the provider knows no such batch, or refuses the key.
        """
        try:
            return await self.model.client().batches.retrieve(batch_id)
        except openai.NotFoundError as error:
            raise HedgerowError(
                f"{self.model.where} does not know the batch '{batch_id}'; use the address and "
                "the key with which you sent it, or cancel this run."
            ) from error
        except openai.APIError as error:
            raise self.model.explained(error) from error

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop the batch.

        Nothing happens if it has ended or no longer exists.
        """
        try:
            await self.model.client().batches.cancel(batch_id)
        except (openai.BadRequestError, openai.ConflictError, openai.NotFoundError):
            return
        except openai.APIError as error:
            raise self.model.explained(error) from error

    async def lines(self, file_id: str, *, at_once: int) -> AsyncGenerator[list[bytes]]:
        """Yield the lines of a file of answers as they arrive; none if it was deleted.

        Raises:
            CallError: the provider interrupted the answer.
        """
        try:
            async with self.model.client().files.with_streaming_response.content(file_id) as file:
                async for lines in split_lines(
                    file.iter_bytes(), at_once=at_once, most=most_bytes(self.model.max_tokens)
                ):
                    yield lines
        except openai.NotFoundError:
            return
        except openai.APIError as error:
            raise self.model.explained(error) from error
        except httpx2.HTTPError as error:
            message = f"{self.model.where} interrupted the answer."
            raise CallError(AnswerProblem.CONNECTION, message) from error


def why_failed(batch: Batch) -> str:
    """Return the provider's reason for refusing a batch, on one line."""
    errors = (batch.errors.data if batch.errors else None) or []
    messages = [" ".join((error.message or error.code or "").split())[:300] for error in errors[:3]]
    return " ".join(one for one in messages if one) or "no reason given"


def has_too_many(batch: Batch) -> bool:
    """Whether the provider would have accepted a smaller batch."""
    errors = (batch.errors.data if batch.errors else None) or []
    return any(error.code == TOO_MANY for error in errors)


# -- The files of the Batch API: one JSON object per line, each with the key of its call ----------


ENDPOINT: Final = "/v1/chat/completions"


def request_line(call_id: int, body: dict[str, Any]) -> bytes:
    """Return a line of the file to send."""
    line = {"custom_id": str(call_id), "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


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
