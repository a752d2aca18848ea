"""Finetuning jobs of the chat server, like in OpenAI's API.

A job advances by one step with each status request: files validated, queued, running for `STEPS`
training steps, ended.
"""

import base64
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.batch_server import BatchServer

STEPS = 4
LEAST = 10
Answer = tuple[int, dict[str, Any]]


def train_loss(step: int) -> float:
    """A job's report on a step."""
    return round(1.0 / step, 4)


@dataclass
class FinetuningServer:
    """Jobs, and the requests for them.

    Attributes:
        store: stores the files.
        fails: the message with which a running job fails; '' for none.
        stuck: while this is set, jobs stay in progress.
        knows_method: whether the parameter ``method`` is accepted or refused.
        without: paths that do not exist, such as 'events'.
        away: the number of status requests that get no answer (status 503).
        encodes: whether the result file is encoded as base64, like OpenAI's.
        hear: called with each event before its answer: 'made' (a job), 'looked at' and its status,
            'cancelled'.
        made: the parameters of each created job.
    """

    store: BatchServer
    fails: str = ""
    stuck: bool = False
    knows_method: bool = True
    without: tuple[str, ...] = ()
    away: int = 0
    encodes: bool = True
    hear: Callable[[str], None] = lambda event: None
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def handle(self, method: str, path: str, body: bytes) -> Answer:
        """Answer a request. The path starts after '/v1/fine_tuning/jobs'."""
        parts = [part for part in path.split("/") if part]
        if "jobs" in self.without or set(parts) & set(self.without):
            return 404, _error(f"No such path: {path}", "")
        if method == "POST" and not parts:
            return self._create(json.loads(body))
        if not parts:
            return 200, _listed(list(self.jobs.values()))
        job = self.jobs.get(parts[0])
        if job is None:
            return 404, _error("There is no such job.", "not_found")
        if parts[-1] == "events":
            return 200, _listed(self.events[job["id"]])
        if parts[-1] == "cancel":
            return self._cancel(job)
        if self.away:
            self.away -= 1
            return 503, _error("Not now.", "away")
        self._step(job)
        self.hear(f"looked at {job['status']}")
        return 200, job

    def _create(self, asked: dict[str, Any]) -> Answer:
        if asked["model"] == "missing":
            return 404, _error("The model does not exist.", "model_not_found")
        if "method" in asked and not self.knows_method:
            return 400, _error("Unknown parameter: 'method'.", "unknown_parameter")
        if wrong := self._wrong(asked["training_file"]):
            return 400, _error(wrong, "invalid_training_file")
        job = {
            "object": "fine_tuning.job",
            "id": f"ftjob-{next(self._numbers)}",
            "created_at": time.time(),
            "model": asked["model"],
            "status": "validating_files",
            "training_file": asked["training_file"],
            "validation_file": asked.get("validation_file"),
            "hyperparameters": {"n_epochs": _epochs(asked)},
            "seed": asked.get("seed") or 7,
            "organization_id": "org-1",
            "result_files": [],
            "trained_tokens": None,
            "fine_tuned_model": None,
            "error": None,
            "_steps": 0,
        }
        self.jobs[job["id"]] = job
        self.events[job["id"]] = []
        self.made.append(asked)
        self._say(job, "Created fine-tuning job")
        self.hear("made")
        return 200, job

    def _wrong(self, file_id: str) -> str:
        """Why a training file is refused; '' if it is accepted."""
        if self.store.uploads.get(file_id, {}).get("purpose") != "fine-tune":
            return f"'{file_id}' is no file to train on."
        lines = [json.loads(line) for line in self.store.files[file_id].splitlines()]
        if len(lines) < LEAST:
            return f"{len(lines)} examples are too few."
        fits = all(
            [message["role"] for message in line["messages"]] == ["user", "assistant"]
            and all(message["content"] for message in line["messages"])
            for line in lines
        )
        return "" if fits else "An example is not a chat."

    def _step(self, job: dict[str, Any]) -> None:
        if job["status"] == "validating_files":
            job["status"] = "queued"
        elif job["status"] == "queued":
            job["status"] = "running"
        elif job["status"] == "running" and not self.stuck:
            self._train(job)

    def _train(self, job: dict[str, Any]) -> None:
        if self.fails:
            job |= {"status": "failed", "error": {"code": "bad", "message": self.fails}}
            return
        job["_steps"] += 1
        step = job["_steps"]
        data = {"step": step, "total_steps": STEPS, "train_loss": train_loss(step)}
        if step == STEPS and job["validation_file"]:
            data |= {"valid_loss": 0.5, "full_valid_loss": 0.4}
        self._say(job, f"Step {step}/{STEPS}: training loss={train_loss(step)}", data)
        if step == STEPS:
            self._end(job)

    def _end(self, job: dict[str, Any]) -> None:
        rows = [f"{step},{train_loss(step)},{'0.4' if step == STEPS else ''}" for step in _steps()]
        table = "\n".join(["step,train_loss,valid_loss", *rows]).encode()
        file_id = self.store.keep(base64.b64encode(table) if self.encodes else table)
        job |= {
            "status": "succeeded",
            "fine_tuned_model": f"ft:{job['model']}:org::{job['id']}",
            "trained_tokens": len(self.store.files[job["training_file"]]),
            "result_files": [file_id],
        }

    def _cancel(self, job: dict[str, Any]) -> Answer:
        if job["status"] in ("succeeded", "failed", "cancelled"):
            return 400, _error("Job has already completed.", "invalid_request")
        job["status"] = "cancelled"
        self.hear("cancelled")
        return 200, job

    def _say(self, job: dict[str, Any], message: str, data: dict[str, Any] | None = None) -> None:
        event = {
            "object": "fine_tuning.job.event",
            "id": f"ftevent-{next(self._numbers)}",
            "created_at": time.time(),
            "level": "info",
            "message": message,
            "type": "metrics" if data else "message",
            "data": data,
        }
        self.events[job["id"]].append(event)


def _steps() -> range:
    return range(1, STEPS + 1)


def _epochs(asked: dict[str, Any]) -> Any:
    supervised = asked.get("method", {}).get("supervised", {})
    found = asked.get("hyperparameters") or supervised.get("hyperparameters") or {}
    return found.get("n_epochs", 3)


def _listed(oldest_first: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": oldest_first[::-1], "has_more": False}


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "param": None, "code": code or None}}
