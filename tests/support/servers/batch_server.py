"""Files and batches of the chat server, like in OpenAI's Batch API.

A batch advances by one step with each status request: validating, in progress, finalizing, ended.
"""

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Complete = Callable[[dict[str, Any]], tuple[int, dict[str, Any]] | None]
"""Answers the body of a call with a status and a body; None for a call that is never answered."""

ENDED = ("completed", "failed", "expired", "cancelled")
Answer = tuple[int, dict[str, Any] | bytes]


@dataclass
class BatchServer:
    """Files and batches.

    Attributes:
        complete: answers a call.
        expiring: the number of batches that expire, and the share of their calls done by then.
        refused: the number of batches that are refused, and the reason (a code).
        limit: the maximum number of calls in a batch; larger ones are refused.
        stuck: while this is set, batches stay in progress.
        hear: called with each event before its answer: 'sent' (a file), 'made' (a batch), 'looked
            at' and its status, 'fetched' (the first half of a file's lines).
    """

    complete: Complete
    expiring: int = 0
    expire_after: float = 0.5
    refused: int = 0
    reason: str = "invalid_request"
    limit: int = 50_000
    stuck: bool = False
    hear: Callable[[str], None] = lambda event: None
    files: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[str, Any]] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer a request. The path starts after '/v1'."""
        parts = path.strip("/").split("/")
        if method == "POST" and parts == ["files"]:
            sent = self._upload(headers["content-type"], body)
            self.hear("sent")
            return 200, sent
        if parts == ["files"]:
            newest = list(reversed(self.uploads.values()))
            return 200, {"object": "list", "data": newest, "has_more": False}
        if parts[0] == "files" and parts[-1] == "content" and parts[1] in self.files:
            return 200, self.files[parts[1]]
        if method == "POST" and parts == ["batches"]:
            made = self._create(json.loads(body))
            self.hear("made")
            return 200, made
        if parts == ["batches"]:
            newest = list(reversed(self.batches.values()))
            return 200, {"object": "list", "data": newest, "has_more": False}
        if len(parts) > 1 and (batch := self.batches.get(parts[1])):
            return self._cancel(batch) if parts[-1] == "cancel" else (200, self._step(batch))
        return 404, {"error": {"message": f"No such path: {path}", "code": "not_found"}}

    def _upload(self, content_type: str, body: bytes) -> dict[str, Any]:
        boundary = content_type.partition("boundary=")[2].strip('"').encode()
        found = {}
        for part in body.split(b"--" + boundary)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            name = head.partition(b' name="')[2].partition(b'"')[0].decode()
            found[name] = (head, content.removesuffix(b"\r\n"))
        head, content = found["file"]
        sent: dict[str, Any] = {
            "object": "file",
            "id": self.keep(content),
            "bytes": len(content),
            "created_at": time.time(),
            "filename": head.partition(b'filename="')[2].partition(b'"')[0].decode(),
            "purpose": found["purpose"][1].decode(),
            "status": "processed",
        }
        self.uploads[sent["id"]] = sent
        return sent

    def keep(self, content: bytes) -> str:
        """Keep a file that is ready to be fetched. Returns its id."""
        file_id = f"file-{next(self._numbers)}"
        self.files[file_id] = content
        return file_id

    def _lines(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def _create(self, asked: dict[str, Any]) -> dict[str, Any]:
        batch = asked | {
            "id": f"batch_{next(self._numbers)}",
            "object": "batch",
            "status": "validating",
            "created_at": time.time(),
            "request_counts": {},
        }
        self.batches[batch["id"]] = batch
        return batch

    def _step(self, batch: dict[str, Any]) -> dict[str, Any]:
        if batch["status"] == "validating":
            self._validate(batch)
        elif batch["status"] == "in_progress" and not self.stuck:
            batch["status"] = "finalizing"
        elif batch["status"] == "finalizing":
            expires = self.expiring > 0
            self.expiring -= expires
            self._end(batch, "expired" if expires else "completed")
        elif batch["status"] == "cancelling":
            self._end(batch, "cancelled")
        self.hear(f"looked at {batch['status']}")
        return batch

    def _validate(self, batch: dict[str, Any]) -> None:
        total = len(self._lines(batch))
        batch["request_counts"]["total"] = total
        code = "token_limit_exceeded" if total > self.limit else self.reason
        if self.refused > 0 or total > self.limit:
            self.refused -= total <= self.limit
            batch["status"] = "failed"
            batch["errors"] = {"data": [{"code": code, "message": f"Not this one: {code}."}]}
        else:
            batch["status"] = "in_progress"

    def _cancel(self, batch: dict[str, Any]) -> Answer:
        if batch["status"] in ENDED:
            return 409, {"error": {"message": "The batch has ended.", "code": "ended"}}
        batch["status"] = "cancelling"
        return 200, batch

    def _end(self, batch: dict[str, Any], status: str) -> None:
        """Make all calls, or the first ones. The last answer comes first in the file."""
        asked = self._lines(batch)
        got_to = asked if status == "completed" else asked[: int(len(asked) * self.expire_after)]
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for line in got_to:
            if answer := self.complete(line["body"]):
                code, body = answer
                response = {"status_code": code, "request_id": "1", "body": body}
                (good if code == 200 else bad).append(
                    {"id": "1", "custom_id": line["custom_id"], "response": response, "error": None}
                )
        counts = {"total": len(asked), "completed": len(good), "failed": len(bad)}
        batch |= {"status": status, "request_counts": counts}
        if status == "expired":
            error = {"code": "batch_expired", "message": "This request could not be executed."}
            bad += [
                {"id": "1", "custom_id": line["custom_id"], "response": None, "error": error}
                for line in asked[len(got_to) :: 2]  # half of them are not even listed
            ]
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                text = "\n".join(json.dumps(line, ensure_ascii=False) for line in reversed(lines))
                batch[name] = self.keep(text.encode())
