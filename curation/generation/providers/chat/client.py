"""A chat model on a server with OpenAI's protocol: one question, one answer.

Retries, budgets and storage are elsewhere; here a failure becomes one of the problems that can be
counted, with how long the server asked to wait.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, SecretStr

from curation.generation.providers.chat.addresses import OWN_ADDRESS
from curation.generation.providers.chat.answer_limits import KEPT, BadBody, most_bytes
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.completions import (
    CallError,
    Reply,
    read_completion,
    read_json,
    retry_after,
)
from curation.generation.providers.chat.connections import http_client
from curation.generation.providers.chat.usage import with_trusted_tokens
from db.errors import HedgerowError
from db.settings import without_login

NO_KEY = "none"
"""Sent where no key is set: the client wants one, and local servers ignore it."""

TIMEOUT_SECONDS = 120.0

PATH = "/chat/completions"

MIN_SECRET = 8
"""Characters of a key, at least, that must not be repeated; shorter ones ('EMPTY', 'none') are what
servers of one's own are given, and words of a text as well."""

_OUT_OF_MONEY = "insufficient_quota"


@dataclass
class _Dialect:
    """What this server and model understand; learnt from what they refuse."""

    structured: bool = True
    temperature: bool = True
    limit: str = "max_tokens"


@dataclass
class ChatModel:
    """One model at one address.

    Attributes:
        base_url: of the server; '' for OpenAI itself.
        temperature: in [0, 2]; None leaves it to the server.
        max_tokens: of one answer.
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
        """The connection, opened when it is first asked for."""
        if self._client is None:
            key = checked_key(self.key)
            logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line a call fills the log
            self._client = AsyncOpenAI(
                api_key=key or NO_KEY,
                base_url=self.base_url or OWN_ADDRESS,  # else the client looks for one itself
                timeout=self.timeout,
                max_retries=0,  # each failure is counted, so that retrying is ours
                http_client=http_client(most_bytes(self.max_tokens), PATH),
            )
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def ask(self, prompt: str, answer: type[BaseModel] | None) -> Reply:
        """Ask once.

        A server that refuses structured outputs, the temperature or the name of the length limit
        is asked again without, and from then on only so.

        Args:
            answer: what the answer should be made of, for servers that know structured outputs.

        Raises:
            CallError: no answer came, in one of the ways that may pass.
            HedgerowError: none will ever come: wrong key, no such model, no money left.
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
                raise CallError(AnswerProblem.REFUSED_REQUEST, self._said(error)) from error
            except openai.APIError as error:
                raise self.explained(error) from error
            return self.checked(read_completion(read_json(content)), request)

    async def _sent(self, request: dict[str, Any]) -> bytes:
        """The body that answers a request, whole and in time."""
        # Not chat.completions.create(): building and checking its types takes longer than
        # everything else we do for a call, and servers answer what fits none of them.
        client = self.client()
        try:
            async with asyncio.timeout(self.timeout):  # the client's own is for each piece
                response = await client.post(PATH, cast_to=httpx2.Response, body=request)
        except TimeoutError as error:
            raise self._too_late() from error
        return response.content

    def _paid_in_vain(self, error: BadBody, request: dict[str, Any]) -> CallError:
        """An answer beyond its bounds: its beginning is kept, and what it cost is counted."""
        problem, said = error.problem, self._said(error)
        if problem is not AnswerProblem.TOO_LONG:
            return CallError(problem, said)
        raw = error.head.decode("utf-8", "replace")[:KEPT]
        reply = Reply(raw, problem.value, None, None, hidden=max(0, len(error.head) - len(raw)))
        return CallError(problem, said, reply=self.checked(reply, request))

    def checked(self, reply: Reply, request: dict[str, Any]) -> Reply:
        """The reply to a request, with trusted token counts and without the key.

        A server may have sent the key back.
        """
        reply = with_trusted_tokens(reply, request)
        return reply._replace(
            raw=self.without_key(reply.raw),
            finish_reason=self.without_key(reply.finish_reason),
            refusal=self.without_key(reply.refusal),
        )

    def without_key(self, text: str) -> str:
        """What a server said, without the key in it."""
        key = self.key.get_secret_value().strip()
        return text.replace(key, "(key)") if len(key) >= MIN_SECRET else text

    def request(self, prompt: str, answer: type[BaseModel] | None) -> dict[str, Any]:
        """The body of a request."""
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
        """Whether the request was refused for something that can be left out; it is from now on.

        Other calls under way may have learnt the same meanwhile: what counts is what was sent.
        """
        said = f"{error.param} {error.message}".lower()
        if "max_completion_tokens" in said and "max_tokens" in request:
            self._dialect.limit = "max_completion_tokens"
        elif "temperature" in said and "temperature" in request:
            self._dialect.temperature = False
        elif "response_format" in request and any(
            word in said for word in ("response_format", "json_schema", "structured", "schema")
        ):
            self._dialect.structured = False
        else:
            return False
        return True

    def explained(self, error: openai.APIError) -> Exception:
        """What an error of the server's means: a ``CallError``, or a sentence for a person."""
        said = self._said(error)
        if isinstance(error, BadBody):
            return CallError(error.problem, said)
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
                AnswerProblem.RATE_LIMIT, said, retry_after=retry_after(error.response)
            )
        if isinstance(error, openai.InternalServerError):
            return CallError(AnswerProblem.SERVER, said, retry_after=retry_after(error.response))
        if isinstance(error, openai.APIResponseValidationError):
            return CallError(AnswerProblem.SERVER, said)
        if isinstance(error, openai.APIStatusError) and error.response.is_redirect:
            return HedgerowError(
                f"{self.where} redirects to another address{_on_to(error.response)}; use that "
                "address instead."
            )
        return CallError(AnswerProblem.REFUSED_REQUEST, said)

    def _too_late(self) -> CallError:
        return CallError(
            AnswerProblem.TIMEOUT, f"No complete answer within {self.timeout:g} seconds."
        )

    def _said(self, error: openai.APIError) -> str:
        """What the server said, on one line; a server that repeats the key is not quoted on it."""
        return " ".join(self.without_key(str(error.message)).split())[:500]

    @property
    def where(self) -> str:
        """The server, for a sentence."""
        return f"The server at {without_login(self.base_url)}" if self.base_url else "OpenAI"


def checked_key(key: SecretStr) -> str:
    """The key as it is sent.

    Raises:
        HedgerowError: it holds something that no key does.
    """
    plain = key.get_secret_value().strip()
    if not (plain.isascii() and plain.isprintable() and " " not in plain):
        raise HedgerowError(
            "Expected an API key of letters, digits and signs, found other characters; copy it "
            "again."
        )
    return plain


def _on_to(response: httpx2.Response) -> str:
    """Where a redirect leads to, for a sentence; without what may be a secret."""
    try:
        target = str(response.url.join(response.headers.get("location", "")))
    except (httpx2.InvalidURL, ValueError):
        return ""
    return f" ({without_login(target)[:200]})"


@lru_cache
def response_format(answer: type[BaseModel]) -> dict[str, Any]:
    """The request's parameter for structured outputs of this model."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": answer.__name__,
            "schema": answer.model_json_schema(),
            "strict": True,
        },
    }
