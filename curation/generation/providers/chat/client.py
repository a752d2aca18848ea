"""A chat model on a server with OpenAI's protocol: one question, one answer.

Retries, budgets and storage are elsewhere. Here a failure becomes one of the countable problems,
with the wait that the server asked for.
"""

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, SecretStr

from curation.generation.answers import AnswerProblem
from curation.generation.providers.chat.completions import (
    OWN_ADDRESS,
    CallError,
    Reply,
    read_completion,
    read_json,
    retry_after,
    with_trusted_tokens,
)
from curation.generation.providers.chat.connections import KEPT, BadBody, http_client, most_bytes
from db.errors import HedgerowError
from db.settings import without_login

NO_KEY = "none"
"""Sent if no key is set: the client requires one, and local servers ignore it."""

TIMEOUT_SECONDS = 120.0

PATH = "/chat/completions"

MIN_SECRET = 8
"""Minimum length of a key that must not be repeated in messages.

Shorter ones ('EMPTY', 'none') are used for local servers and occur in ordinary text.
"""

_OUT_OF_MONEY = "insufficient_quota"


@dataclass
class _Dialect:
    """The features that this server and model support, learnt from refused requests."""

    structured: bool = True
    temperature: bool = True
    limit: str = "max_tokens"


@dataclass
class ChatModel:
    """One model at one address.

    Attributes:
        base_url: the server's address; '' for OpenAI itself.
        temperature: in [0, 2]; None for the server's default.
        max_tokens: maximum tokens of one answer.
        timeout: seconds for one answer, from the question to its last byte.
    """

    model: str
    key: SecretStr
    base_url: str = ""
    temperature: float | None = 1.0
    max_tokens: int = 1000
    structured: bool = True
    timeout: float = TIMEOUT_SECONDS
    _client: AsyncOpenAI | None = field(default=None, init=False, repr=False)
    _dialect: _Dialect = field(default_factory=_Dialect, init=False, repr=False)

    def __post_init__(self) -> None:
        self._dialect.structured = self.structured

    def client(self) -> AsyncOpenAI:
        """The client, created when first used."""
        if self._client is None:
            key = checked_key(self.key)
            logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log a line per call
            self._client = AsyncOpenAI(
                api_key=key or NO_KEY,
                base_url=self.base_url
                or OWN_ADDRESS,  # otherwise the client searches for one itself
                timeout=self.timeout,
                max_retries=0,  # we retry ourselves, because each failure is counted
                http_client=http_client(most_bytes(self.max_tokens), PATH),
            )
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def ask(self, prompt: str, answer: type[BaseModel] | None) -> Reply:
        """Ask once.

        If a server refuses structured outputs, the temperature or the name of the length limit, the
        request is repeated without it, and later requests omit it.

        Args:
            answer: the schema of the answer, for servers that support structured outputs.

        Raises:
            CallError: there was no answer, but trying again may help.
            HedgerowError: trying again can't help: wrong key, no such model, no money left.
        """
        while True:
            request = self.request(prompt, answer)
            try:
                content = await self._sent(request)
            except BadBody as error:
                raise self._paid_in_vain(error, request) from error
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if self._learns_from(error, request):
                    continue
                raise CallError(AnswerProblem.REFUSED_REQUEST, self._message(error)) from error
            except openai.APIError as error:
                raise self.explained(error) from error
            return self.checked(read_completion(read_json(content)), request)

    async def _sent(self, request: dict[str, Any]) -> bytes:
        """Send a request and return the body of its complete answer, within the time limit."""
        # Not chat.completions.create(): building and validating its types takes longer than
        # everything else in a call, and servers send answers that are not valid.
        client = self.client()
        try:
            async with asyncio.timeout(self.timeout):  # the client's own timeout is per chunk
                response = await client.post(PATH, cast_to=httpx2.Response, body=request)
        except TimeoutError as error:
            raise self._too_late() from error
        return response.content

    def _paid_in_vain(self, error: BadBody, request: dict[str, Any]) -> CallError:
        """Return an oversized answer's beginning and its cost."""
        problem, detail = error.problem, self._message(error)
        if problem is not AnswerProblem.TOO_LONG:
            return CallError(problem, detail)
        raw = error.head.decode("utf-8", "replace")[:KEPT]
        reply = Reply(raw, problem.value, None, None, hidden=max(0, len(error.head) - len(raw)))
        return CallError(problem, detail, reply=self.checked(reply, request))

    def checked(self, reply: Reply, request: dict[str, Any]) -> Reply:
        """Return the reply to a request, with trusted token counts and without the key.

        A server may have sent the key back.
        """
        reply = with_trusted_tokens(reply, request)
        return reply._replace(
            raw=self.without_key(reply.raw),
            finish_reason=self.without_key(reply.finish_reason),
            refusal=self.without_key(reply.refusal),
        )

    def without_key(self, text: str) -> str:
        """Remove the key from a server's message."""
        key = self.key.get_secret_value().strip()
        return text.replace(key, "(key)") if len(key) >= MIN_SECRET else text

    def request(self, prompt: str, answer: type[BaseModel] | None) -> dict[str, Any]:
        """Return the body of a request."""
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            self._dialect.limit: self.max_tokens,
        }
        if self.temperature is not None and self._dialect.temperature:
            request["temperature"] = self.temperature
        if answer is not None and self._dialect.structured:
            request["response_format"] = response_format(answer)
        return request

    def _learns_from(self, error: openai.APIStatusError, request: dict[str, Any]) -> bool:
        """Whether the request was refused for something optional, which is omitted from now on.

        Other calls may have learnt the same in the meantime, so this looks at what was sent.
        """
        detail = f"{error.param} {error.message}".lower()
        if "max_completion_tokens" in detail and "max_tokens" in request:
            self._dialect.limit = "max_completion_tokens"
        elif "temperature" in detail and "temperature" in request:
            self._dialect.temperature = False
        elif "response_format" in request and any(
            word in detail for word in ("response_format", "json_schema", "structured", "schema")
        ):
            self._dialect.structured = False
        else:
            return False
        return True

    def explained(self, error: openai.APIError) -> Exception:
        """Convert a server's error to a ``CallError``, or to a message for a person."""
        detail = self._message(error)
        if isinstance(error, BadBody):
            return CallError(error.problem, detail)
        if isinstance(error, openai.APITimeoutError):
            return self._too_late()
        if isinstance(error, openai.APIConnectionError):
            return CallError(AnswerProblem.CONNECTION, f"{self.where} does not answer.")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            if not self.key.get_secret_value():
                return HedgerowError(
                    f"{self.where} needs an API key; enter one on the Generate page, or set "
                    "HEDGEROW_OPENAI_API_KEY together with HEDGEROW_OPENAI_BASE_URL. The key in "
                    "the environment is only sent to that address."
                )
            return HedgerowError(
                f"{self.where} refuses the API key; check HEDGEROW_OPENAI_API_KEY and the "
                "permissions of the key."
            )
        if isinstance(error, openai.NotFoundError):
            return HedgerowError(
                f"{self.where} has no model '{self.model}'; check the model name and the address."
            )
        if isinstance(error, openai.RateLimitError):
            if error.code == _OUT_OF_MONEY:
                return HedgerowError(
                    f"{self.where} reports that the account has no credit left; top it up, then "
                    "resume."
                )
            return CallError(
                AnswerProblem.RATE_LIMIT, detail, retry_after=retry_after(error.response)
            )
        if isinstance(error, openai.InternalServerError):
            return CallError(AnswerProblem.SERVER, detail, retry_after=retry_after(error.response))
        if isinstance(error, openai.APIResponseValidationError):
            return CallError(AnswerProblem.SERVER, detail)
        if isinstance(error, openai.APIStatusError) and error.response.is_redirect:
            return HedgerowError(
                f"{self.where} redirects to another address{_on_to(error.response)}; use that "
                "address instead."
            )
        return CallError(AnswerProblem.REFUSED_REQUEST, detail)

    def _too_late(self) -> CallError:
        return CallError(
            AnswerProblem.TIMEOUT, f"No complete answer within {self.timeout:g} seconds."
        )

    def _message(self, error: openai.APIError) -> str:
        """Return the server's message on one line, without the key."""
        return " ".join(self.without_key(str(error.message)).split())[:500]

    @property
    def where(self) -> str:
        """The server, for use in a sentence."""
        return f"The server at {without_login(self.base_url)}" if self.base_url else "OpenAI"


def checked_key(key: SecretStr) -> str:
    """Return the key as it is sent.

    Raises:
        HedgerowError: it contains characters that no key has.
    """
    plain = key.get_secret_value().strip()
    if not (plain.isascii() and plain.isprintable() and " " not in plain):
        raise HedgerowError(
            "Expected an API key of letters, digits and signs, found other characters; copy it "
            "again."
        )
    return plain


def _on_to(response: httpx2.Response) -> str:
    """Say where a redirect leads, without parts that may be secret."""
    try:
        target = str(response.url.join(response.headers.get("location", "")))
    except (httpx2.InvalidURL, ValueError):
        return ""
    return f" ({without_login(target)[:200]})"


@lru_cache
def response_format(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the request parameter that asks for structured outputs with this schema."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": answer.__name__,
            "schema": answer.model_json_schema(),
            "strict": True,
        },
    }


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
