"""A server with OpenAI's protocol and deterministic answers, including faults.

    python -m tests.support.servers.chat_server --port 8899 --delay 0.2 --faults 0.33

An answer depends only on the prompt. A fault depends on the prompt and the number of the attempt. A
prompt fails at most ``FAULTS_IN_A_ROW`` times, so retrying always succeeds.
"""

import argparse
import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from tests.support.servers.batch_server import BatchServer
from tests.support.servers.finetuning_server import FinetuningServer

FAULTS = (
    "rate limit",
    "server error",
    "hang",
    "refusal",
    "cut off",
    "wrong json",
    "missing type",
    "cue ignored",
    "empty",
    "disconnect",
)
FAULTS_IN_A_ROW = 2
MEANT = ("refusal", "cue ignored")
"""If a model does this twice, it is deliberate. Here it happens once."""

HANG_SECONDS = 3.0

PIECE = 65_536

_ITEM = re.compile(r'^\d+\. "(?P<id>[a-z_0-9]+)": (?P<line>.*)$', re.MULTILINE)
_CUE = re.compile(r"cue such as (?P<cue>.+)$")

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


def texts_for(prompt: str) -> dict[str, str]:
    """The server's variants for a prompt, by type id."""
    text = prompt.partition("Text: ")[2].partition("\n")[0]
    body = text.rstrip(".")
    found = {}
    for item in _ITEM.finditer(prompt):
        cue = _CUE.search(item["line"])
        frame = f"{cue['cue']}, they say:" if cue else f"By {item['id']} it is not so that"
        found[item["id"]] = f"{frame} {body}."
    return found


def opinion_on(variant: str) -> dict[str, str]:
    """The server's verdict on a variant."""
    share = _share(variant, "verdict")
    verdict = "accept" if share < 0.5 else "edit" if share < 0.7 else "reject"
    return {
        "comment": f"It is to be {verdict}ed.",
        "reason": "none" if verdict == "accept" else "wrong_scope",
        "suggestion": f"Rather: {variant}" if verdict == "edit" else "none",
        "certainty": f"{_share(variant, 'certainty'):.2f}",
        "verdict": verdict,
    }


def answer_to(prompt: str) -> dict[str, str]:
    """The server's answer to a prompt: an opinion if the prompt asks for one, otherwise
    variants."""
    variant = prompt.partition("\nVariant: ")[2].partition("\n")[0]
    return opinion_on(variant) if variant else texts_for(prompt)


def with_thoughts(prompt: str) -> str:
    """The server's answer as a model writes it that thinks first and is careless with commas."""
    answer = json.dumps(answer_to(prompt), ensure_ascii=False)
    draft = "1. verbal: The lake deep is not, no wait.\nVerdict: accept"
    return f"<think>\n{draft}\n</think>\nHere is the JSON:\n```json\n{answer[:-1]},}}\n```"


def _share(*parts: object) -> float:
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


class ChatServer:
    """The application, and the prompts that it received.

    Attributes:
        delay: seconds before each answer.
        faults: the share of calls that fail with one of ``FAULTS``.
        structured: whether it supports structured outputs; if not, it refuses them.
        retry_after: the requested wait after a call that came too soon, in seconds or as a date.
        spread: the maximum difference between delays in seconds, which depends on the prompt.
        sent_on_to: an address to which it redirects every request.
        hear: called with each prompt before the answer.
        says: returns another answer to a prompt; None means variants and opinions.
        reports: converts the true token counts of an answer to the reported ones; None reports
            nothing.
        always: the fault of every call with a prompt; '' for none.
        away: the status with which it refuses every request; 0 for none.
        pours: the number of bytes to send before each answer.
        drips: seconds between two bytes of an answer; 0 sends it at once.
    """

    def __init__(
        self,
        *,
        delay: float = 0.0,
        faults: float = 0.0,
        kinds: tuple[str, ...] = FAULTS,
        structured: bool = True,
        key: str = "",
        retry_after: float | str = 0.05,
        spread: float = 0.0,
    ) -> None:
        self.delay, self.faults, self.kinds = delay, faults, kinds
        self.structured, self.key, self.retry_after = structured, key, retry_after
        self.spread = spread
        self.sent_on_to = ""
        self.hear: Callable[[str], None] = lambda prompt: None
        self.says: Callable[[str], str | None] = lambda prompt: None
        self.reports: Callable[[dict[str, int]], Any] = lambda usage: usage
        self.always: Callable[[str], str] = lambda prompt: ""
        self.away = 0
        self.pours = 0
        self.drips = 0.0
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.batches = BatchServer(self._complete_in_a_batch)
        self.finetuning = FinetuningServer(self.batches)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = await _body(receive)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            await _json(send, 401, _error("Incorrect API key provided.", "invalid_api_key"))
        elif self.away:
            wait = {"retry-after": str(self.retry_after)}
            await _json(send, self.away, _error("Not now.", "away"), wait)
        elif self.sent_on_to:
            target = self.sent_on_to + scope["path"].removeprefix("/v1")
            await _json(send, 307, {}, {"location": target})
        elif scope["path"].endswith("/chat/completions"):
            await self._complete(json.loads(body), send)
        elif scope["path"].startswith("/v1/fine_tuning/jobs"):
            path = scope["path"].removeprefix("/v1/fine_tuning/jobs")
            await _json(send, *self.finetuning.handle(scope["method"], path, body))
        elif scope["path"].startswith(("/v1/files", "/v1/batches")):
            path = scope["path"].removeprefix("/v1")
            status, answer = self.batches.handle(scope["method"], path, headers, body)
            if isinstance(answer, dict):
                await _json(send, status, answer)
            else:
                await _in_halves(send, answer, lambda: self.batches.hear("fetched"))
        else:
            await _json(send, 404, _error(f"No such path: {scope['path']}", "not_found"))

    async def _complete(self, request: dict[str, Any], send: Send) -> None:
        prompt = request["messages"][-1]["content"]
        if request["model"] == "missing":
            await _json(send, 404, _error("The model does not exist.", "model_not_found"))
            return
        if "response_format" in request and not self.structured:
            await _json(send, 400, _error("response_format is not supported.", "unsupported"))
            return
        self.asked[prompt] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.hear(prompt)
            await asyncio.sleep(self.delay + self.spread * _share(prompt, "delay"))
            await self._answer(request, prompt, self._fault(prompt), send)
        finally:
            self.at_once -= 1

    def _complete_in_a_batch(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        prompt = request["messages"][-1]["content"]
        self.asked[prompt] += 1
        fault = self._fault(prompt)
        if fault in ("rate limit", "server error"):
            status = 429 if fault == "rate limit" else 503
            return status, _error("Not now.", fault)
        if fault in ("hang", "disconnect"):
            return None
        self.answered[prompt] += not fault
        return 200, self._completed(request, prompt, fault)

    def _completed(self, request: dict[str, Any], prompt: str, fault: str) -> dict[str, Any]:
        texts, finish = self._faulty(answer_to(prompt), fault)
        completion = _completion(request, prompt, texts, finish, fault)
        if not fault and (text := self.says(prompt)) is not None:
            completion["choices"][0]["message"]["content"] = text
            completion["usage"]["completion_tokens"] = len(text.split())
        return self._reported(completion)

    def _reported(self, completion: dict[str, Any]) -> dict[str, Any]:
        completion["usage"] = self.reports(completion["usage"])
        return {key: value for key, value in completion.items() if value is not None}

    def _fault(self, prompt: str) -> str:
        if fault := self.always(prompt):
            return fault
        number = self.asked[prompt]
        if number > FAULTS_IN_A_ROW or _share(prompt, number) >= self.faults:
            return ""
        kinds = self.kinds if number == 1 else [k for k in self.kinds if k not in MEANT] or [""]
        return kinds[int(_share(prompt, number, "kind") * len(kinds))]

    async def _answer(self, request: dict[str, Any], prompt: str, fault: str, send: Send) -> None:
        if fault == "rate limit":
            wait = {"retry-after": str(self.retry_after)}
            await _json(send, 429, _error("Slow down.", "rate_limit"), wait)
        elif fault == "server error":
            await _json(send, 503, _error("Overloaded.", "overloaded"))
        elif fault == "hang":
            await asyncio.sleep(HANG_SECONDS)
            await _json(send, 504, _error("Too late.", "timeout"))
        elif fault == "disconnect":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise ConnectionResetError
        else:
            if not fault:
                self.answered[prompt] += 1
            await self._send(send, json.dumps(self._completed(request, prompt, fault)).encode())

    async def _send(self, send: Send, body: bytes) -> None:
        """An answer in pieces, if it should be long or slow."""
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for start in range(0, self.pours, PIECE):
            piece = b" " * min(PIECE, self.pours - start)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self.drips:
            for byte in body:
                await asyncio.sleep(self.drips)
                await send({"type": "http.response.body", "body": bytes([byte]), "more_body": True})
            body = b""
        await send({"type": "http.response.body", "body": body})

    @staticmethod
    def _faulty(texts: dict[str, str], fault: str) -> tuple[dict[str, str], str]:
        if fault == "missing type":
            return dict(list(texts.items())[:-1]), "stop"
        if fault == "cue ignored":
            # If no cue was requested, none can be ignored.
            return {
                key: re.sub(r"^.*, they say:", "Again", text) for key, text in texts.items()
            }, "stop"
        return texts, "length" if fault == "cut off" else "stop"


def _completion(
    request: dict[str, Any], prompt: str, texts: dict[str, str], finish: str, fault: str
) -> dict[str, Any]:
    if "response_format" in request:
        content = json.dumps(texts, ensure_ascii=False)
    else:
        content = "\n".join(
            f'{number}. "{key}": {text}' for number, (key, text) in enumerate(texts.items(), 1)
        )
    if finish == "length":
        content = content[: len(content) // 2]
    if fault in ("wrong json", "empty", "refusal"):
        content = {"wrong json": '{"verbal": ', "empty": "", "refusal": ""}[fault]
    message = {"role": "assistant", "content": content}
    if fault == "refusal":
        message["refusal"] = "I can't help with that."
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": len(prompt.split()),
            "completion_tokens": len(content.split()),
            "total_tokens": len(prompt.split()) + len(content.split()),
        },
    }


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _json(
    send: Send, status: int, value: object, headers: dict[str, str] | None = None
) -> None:
    lines = {"content-type": "application/json"} | (headers or {})
    encoded = [(name.encode(), text.encode()) for name, text in lines.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})


async def _in_halves(send: Send, content: bytes, between: Callable[[], None]) -> None:
    head = [(b"content-type", b"application/octet-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    half = len(content) // 2
    await send({"type": "http.response.body", "body": content[:half], "more_body": True})
    await asyncio.to_thread(between)
    await send({"type": "http.response.body", "body": content[half:]})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--faults", type=float, default=0.0)
    given = parser.parse_args()
    app: Any = ChatServer(delay=given.delay, faults=given.faults)
    uvicorn.run(app, port=given.port, log_level="critical", lifespan="off")


if __name__ == "__main__":
    main()
