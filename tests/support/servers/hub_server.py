"""A model hub for tests: it creates repositories and accepts uploads and commits, like the Hub.

It supports the part of the Hub's protocol that its client needs to push a folder, including LFS
(not Xet), and to download a file of a data set.
"""

import base64
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import uvicorn
import yaml

from tests.support.servers.chat_server import Receive, Send, _body, _json

OWNER, TOKEN, READ_TOKEN = "ada", "hf_secret5b0e77c1", "hf_secretread88"
LARGE = (".safetensors", ".parquet", ".zip")
"""Extensions of files that are uploaded with LFS."""

_REPO = r"(?P<repo>[^/]+/[^/]+)"
_ROUTES = (
    ("POST", r"/api/repos/create", "_create"),
    ("POST", r"/api/validate-yaml", "_validate"),
    ("GET", rf"/api/(?P<kind>model|dataset)s/{_REPO}(/revision/main)?", "_info"),
    ("POST", rf"/api/(?P<kind>model|dataset)s/{_REPO}/preupload/main", "_preupload"),
    ("POST", rf"/api/(?P<kind>model|dataset)s/{_REPO}/commit/main", "_commit"),
    ("POST", rf"(?P<prefix>/datasets)?/{_REPO}\.git/info/lfs/objects/batch", "_batch"),
    ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", "_store"),
    ("POST", r"/lfs/verify", "_verify"),
)
_FILE = rf"/datasets/{_REPO}/resolve/main/(?P<file>.+)"
_OPEN = ("_store",)
"""A path that needs no token, because its address is the secret."""


@dataclass
class Repo:
    """A repository.

    Attributes:
        files: the content of the newest commit, by path.
        commits: the commit messages, oldest first.
    """

    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)

    @property
    def head(self) -> str:
        return hashlib.sha1("\n".join(self.commits).encode()).hexdigest()


class Asked(NamedTuple):
    """A request: its purpose, its token, and its body."""

    address: str
    kind: str
    repo: str
    body: bytes
    writes: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class HubServer:
    """The application, and the requests that it received.

    Attributes:
        repos: the repositories by ``model`` or ``dataset`` and ``owner/name``.
        blobs: LFS contents by SHA-256.
        requests: method and path of each request, oldest first.
        fault: the status of every answer; 0 for normal answers.
        quotes: whether the message about a fault contains the token.
        hear: called with the path of each upload, before it is stored.
    """

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.fault = 0
        self.quotes = False
        self.hear: Callable[[str], None] = lambda path: None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = await _body(receive)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((scope["method"], scope["path"]))
        if not self.fault and (found := re.fullmatch(_FILE, scope["path"])):
            await self._send_file(send, found["repo"], found["file"], headers)
            return
        status, answer = self._answer(scope["method"], scope["path"], headers, body)
        message = str(answer.get("error", ""))
        await _json(send, status, answer, {"x-error-message": message} if message else None)

    def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, Any]]:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if self.fault:
            quoted = f" for {token}" if self.quotes else ""
            return self.fault, {"error": f"No luck{quoted}."}
        for its_method, pattern, name in _ROUTES:
            if its_method == method and (found := re.fullmatch(pattern, path)):
                if name not in _OPEN and token not in (TOKEN, READ_TOKEN):
                    return 401, {"error": "Invalid credentials in Authorization header"}
                parts = found.groupdict()
                kind = parts.get("kind") or ("dataset" if parts.get("prefix") else "model")
                asked = Asked(
                    f"http://{headers['host']}",
                    kind,
                    parts.get("repo") or parts.get("oid") or "",
                    body,
                    writes=token == TOKEN,
                )
                answer: tuple[int, dict[str, Any]] = getattr(self, name)(asked)
                return answer
        return 404, {"error": f"No such path: {path}"}

    async def _send_file(self, send: Send, name: str, file: str, headers: dict[str, str]) -> None:
        """Send a file of a data set. Its content is also sent for HEAD, and dropped there."""
        shown = headers.get("authorization", "").removeprefix("Bearer ")
        repo = self.repos.get(("dataset", name)) if shown in (TOKEN, READ_TOKEN) else None
        if repo is None or file not in repo.files:
            code = "RepoNotFound" if repo is None else "EntryNotFound"
            await _json(send, 404, {"error": code}, {"x-error-code": code})
            return
        content = repo.files[file]
        head = {
            "content-length": str(len(content)),
            "etag": f'"{_oid(content, large=file.endswith(LARGE))}"',
            "x-repo-commit": repo.head,
        }
        encoded = [(key.encode(), value.encode()) for key, value in head.items()]
        await send({"type": "http.response.start", "status": 200, "headers": encoded})
        await send({"type": "http.response.body", "body": content})

    def _create(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        given = asked.json
        kind, name = given.get("type", "model"), f"{given['organization']}/{given['name']}"
        prefix = "datasets/" if kind == "dataset" else ""
        answer = {"url": f"{asked.address}/{prefix}{name}", "name": name}
        if not asked.writes or given["organization"] != OWNER:
            return 403, {"error": f"You don't have the rights to create a {kind} there"}
        if (kind, name) in self.repos:
            return 409, answer | {"error": "You already created this repo"}
        self.repos[kind, name] = Repo(private=given.get("visibility") == "private")
        return 200, answer

    def _info(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if (repo := self.repos.get((asked.kind, asked.repo))) is None:
            return 404, {"error": "Repository not found"}
        return 200, {"id": asked.repo, "private": repo.private, "sha": repo.head, "siblings": []}

    def _validate(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        """Refuses a card whose header is not a YAML mapping."""
        try:
            header = yaml.safe_load(asked.json["content"].split("---")[1])
        except (yaml.YAMLError, IndexError):
            header = None
        if not isinstance(header, dict):
            return 400, {"errors": [{"message": "no metadata"}], "warnings": []}
        return 200, {"errors": [], "warnings": []}

    def _preupload(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if not asked.writes:
            return 403, {"error": "This token may only read"}
        repo = self.repos[asked.kind, asked.repo]
        files = []
        for file in asked.json["files"]:
            path = file["path"]
            large = path.endswith(LARGE)
            oid = _oid(repo.files[path], large=large) if path in repo.files else None
            mode = "lfs" if large else "regular"
            files.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return 200, {"files": files}

    def _batch(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        objects = []
        for item in asked.json["objects"]:
            actions = {
                "upload": {"href": f"{asked.address}/lfs/{item['oid']}"},
                "verify": {"href": f"{asked.address}/lfs/verify"},
            }
            objects.append(item if item["oid"] in self.blobs else item | {"actions": actions})
        return 200, {"transfer": "basic", "objects": objects}

    def _store(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        self.hear(asked.repo)
        if hashlib.sha256(asked.body).hexdigest() != asked.repo:
            return 400, {"error": "The content has another hash"}
        self.blobs[asked.repo] = asked.body
        return 200, {}

    def _verify(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        stored = len(self.blobs.get(asked.json["oid"], b""))
        return (200, {}) if stored == asked.json["size"] else (400, {"error": "Another size"})

    def _commit(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        repo = self.repos[asked.kind, asked.repo]
        lines = [json.loads(line) for line in asked.body.splitlines()]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                repo.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                repo.files[value["path"]] = self.blobs[value["oid"]]
        repo.commits.append(lines[0]["value"]["summary"])
        url = f"{asked.address}/{asked.repo}/commit/{repo.head}"
        return 200, {"success": True, "commitUrl": url, "commitOid": repo.head}


def _oid(content: bytes, *, large: bool) -> str:
    """The Hub's hash of a file: SHA-256 with LFS, otherwise git's hash."""
    if large:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def serving_hub() -> Iterator[tuple[str, HubServer]]:
    """A running hub: its address and the application."""
    hub = HubServer()
    application: Any = hub
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", hub
    # An abandoned upload continues. If it fails, it closes the next test's connections.
    for upload in [one for one in threading.enumerate() if one.name == "upload"]:
        upload.join(timeout=10)
    server.should_exit = server.force_exit = True
    thread.join(timeout=10)
