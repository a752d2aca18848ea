"""Client for the provider's Batch API: send a file, check, cancel, fetch.

Between the provider's word that a batch exists and ours being stored, a process can be killed: a
batch therefore carries a label, under which it is found again.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import openai
from openai.types import Batch

from curation.generation.providers.batch.call_lines import ENDPOINT, split_lines
from curation.generation.providers.chat.answer_limits import most_bytes
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError
from db.errors import HedgerowError

LABEL = "hedgerow"
"""The entry of a batch's metadata that holds its label."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOO_MANY = "token_limit_exceeded"
"""The provider's code for a batch that is more than it lets wait at a time."""

CLOCKS = timedelta(days=1)
"""How far the provider's clock may be from ours when a batch is looked for."""


@dataclass(frozen=True)
class BatchApi:
    """Batches for one model."""

    model: ChatModel

    async def create(self, path: Path, label: str) -> Batch:
        """Send a file of calls, to be answered within a day.

        Raises:
            CallError, HedgerowError: it was not taken; in a way that may pass, and for good.
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
        """The batch with this label, made after ``since``, the newest first; None for none."""
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

    async def look(self, batch_id: str) -> Batch:
        """The batch as it is now.

        Raises:
            CallError: the provider gave no answer this time.
            HedgerowError: it knows no such batch, or refuses the key.
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
        """Ask the provider to stop; a batch that has ended, or is gone, stays as it is."""
        try:
            await self.model.client().batches.cancel(batch_id)
        except (openai.BadRequestError, openai.ConflictError, openai.NotFoundError):
            return
        except openai.APIError as error:
            raise self.model.explained(error) from error

    async def lines(self, file_id: str, *, at_once: int) -> AsyncGenerator[list[bytes]]:
        """The lines of a file of answers, read as they arrive; none where it was deleted.

        Raises:
            CallError: it interrupted the answer.
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
            said = f"{self.model.where} interrupted the answer."
            raise CallError(AnswerProblem.CONNECTION, said) from error


def why_failed(batch: Batch) -> str:
    """What the provider says about a batch that it did not take, on one line."""
    errors = (batch.errors.data if batch.errors else None) or []
    said = [" ".join((error.message or error.code or "").split())[:300] for error in errors[:3]]
    return " ".join(one for one in said if one) or "no reason given"


def has_too_many(batch: Batch) -> bool:
    """Whether the provider would have taken a smaller batch."""
    errors = (batch.errors.data if batch.errors else None) or []
    return any(error.code == TOO_MANY for error in errors)
