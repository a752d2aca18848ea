"""Publishing on the Hugging Face Hub: names, access tokens, and uploads of a folder as one commit.

The hub's client is imported inside the functions that need it, because that takes half a second.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from curation.formatting import one_line
from db.errors import HedgerowError, RunCancelled
from db.execution import RunContext
from db.settings import HUB_TOKEN, without_login

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi

RepoType = Literal["model", "dataset"]

REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)
LONGEST_REPO = 96
MIN_SECRET = 8
"""Minimum length of a token that is removed from messages; shorter ones could be words."""

POLL_SECONDS = 0.2

Result = TypeVar("Result")


class Repo(NamedTuple):
    """A repository on the Hub. The first push creates it.

    Attributes:
        name: ``owner/name``.
        private: whether it should be private.
    """

    name: str
    kind: RepoType
    private: bool


class Pushed(NamedTuple):
    """The result of a push.

    Attributes:
        url: the address of the repository.
        commit: the hash of the commit, 40 hex digits; if nothing has changed, that of the newest
            one.
        private: whether the repository is private; an existing one stays as it is.
        size: the size of all files in bytes.
    """

    url: str
    commit: str
    private: bool
    files: int
    size: int


def checked_repo(name: str) -> str:
    """The name of a repository, without the spaces around it.

    Raises:
        HedgerowError: the Hub would refuse it.
    """
    clean = name.strip()
    last = clean[-1:]
    if (
        not REPO.fullmatch(clean)
        or len(clean) > LONGEST_REPO
        or ".." in clean
        or "--" in clean
        or last in ("-", ".")
        or clean.endswith(".git")
    ):
        shown = one_line(clean)[:LONGEST_REPO]
        raise HedgerowError(
            "Expected a repository as owner/name, of letters, digits, '-', '_' and '.', at most "
            f"{LONGEST_REPO} characters, found {shown!r}."
        )
    return clean


def token_source() -> str:
    """The source of an access token: ``environment``, ``login``, or '' if there is none.

    No token is read into memory, and nobody is asked.
    """
    from huggingface_hub import constants  # noqa: PLC0415

    names = (HUB_TOKEN, "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE")
    if any(os.environ.get(name, "").strip() for name in names):
        return "environment"
    return "login" if Path(constants.HF_TOKEN_PATH).is_file() else ""


def require_token() -> None:
    """Check that there is an access token, before a push prepares anything.

    Raises:
        HedgerowError: there is no token, or it has another format.
    """
    _token()


def push(
    repo: Repo, files: Mapping[str, Path | bytes], *, message: str, progress: RunContext
) -> Pushed:
    """Upload files to a repository as one commit. Other files in it stay.

    The access token comes from the environment (HF_TOKEN), or else from the hub's own login. If the
    upload stops before the commit, the repository is unchanged, or empty if it is new.

    Args:
        files: the content or local path of each file, by its path in the repository.
        message: the commit message, in one line.

    Raises:
        HedgerowError: there is no token, no permission or no network, or the repository is public
            and should be private. No message quotes the token.
    """
    token = _token()
    api = _client(token)
    try:
        url = str(
            api.create_repo(repo.name, repo_type=repo.kind, private=repo.private, exist_ok=True)
        )
        private = bool(api.repo_info(repo.name, repo_type=repo.kind).private)
        if repo.private and not private:
            raise HedgerowError(
                f"{repo.name!r} already exists and is public; push it as public, or use another "
                "repository."
            )
        additions = _upload(api, repo, files, progress)
        progress.check()
        made = api.create_commit(repo.name, additions, repo_type=repo.kind, commit_message=message)
        size = sum(addition.upload_info.size for addition in additions)
        return Pushed(url, made.oid, private, len(additions), size)
    except (HedgerowError, RunCancelled):
        raise
    except Exception as error:
        raise _explained(error, repo, token=token, address=api.endpoint) from error


def _client(token: str) -> HfApi:
    from huggingface_hub import HfApi  # noqa: PLC0415
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    disable_progress_bars()  # they would fill the run's log
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # so would one line per request
    return HfApi(token=token, library_name="hedgerow")


def _token() -> str:
    from huggingface_hub import get_token  # noqa: PLC0415

    try:
        token = get_token()
    except Exception as error:  # an expired login is renewed on the way, which can fail in any way
        raise HedgerowError(
            "The login to the Hub could not be renewed; log in again with 'hf auth login', or "
            f"set {HUB_TOKEN}."
        ) from error
    if not token:
        raise HedgerowError(
            f"Expected an access token for the Hub, found none; set {HUB_TOKEN}, or log in with "
            "'hf auth login'."
        )
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise HedgerowError(
            "Expected an access token of letters, digits and punctuation, found other "
            "characters; copy it again."
        )
    return token


def _upload(
    api: HfApi, repo: Repo, files: Mapping[str, Path | bytes], progress: RunContext
) -> list[CommitOperationAdd]:
    """Upload the large files before the commit, one by one."""
    from huggingface_hub import CommitOperationAdd  # noqa: PLC0415

    additions = [CommitOperationAdd(path, source) for path, source in sorted(files.items())]
    total = sum(_kilobytes(addition) for addition in additions)
    done = 0
    for number, addition in enumerate(additions, start=1):
        message = f"Uploading {addition.path_in_repo}, file {number} of {len(additions)}."
        progress.update(done, total, message)
        send = partial(api.preupload_lfs_files, repo.name, [addition], repo_type=repo.kind)
        _heeding(progress, send)
        done += _kilobytes(addition)
    progress.update(total, total, "Creating the commit.")
    return additions


def _kilobytes(addition: CommitOperationAdd) -> int:
    return -(-addition.upload_info.size // 1000)


def _heeding(progress: RunContext, task: Callable[[], Result]) -> Result:
    """Do something that cannot be interrupted, but stop waiting for it on request."""
    outcome: Future[Result] = Future()

    def carry_out() -> None:
        try:
            outcome.set_result(task())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=carry_out, name="upload", daemon=True).start()
    while not outcome.done():
        wait([outcome], timeout=POLL_SECONDS)
        progress.check()
    return outcome.result()


def _explained(error: Exception, repo: Repo, *, token: str, address: str) -> HedgerowError:
    """The error to show for an exception of the Hub's client."""
    import httpx2  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled  # noqa: PLC0415

    cause = error.__cause__ if isinstance(error, RuntimeError) else None
    if isinstance(cause, (httpx2.HTTPError, OSError)):  # from one file's upload
        error = cause
    host = without_login(address)
    if isinstance(error, OfflineModeIsEnabled):
        return HedgerowError(
            "HF_HUB_OFFLINE is set, so the Hub is not contacted; unset it to push."
        )
    if isinstance(error, HfHubHTTPError):
        return HedgerowError(
            _refused(error.response.status_code, _server_message(error, token), repo, host)
        )
    if isinstance(error, (httpx2.TransportError, ConnectionError)):
        return HedgerowError(
            f"The Hub at {host} can't be reached ({_first_line(error, token)}); check the "
            "network and push again."
        )
    return HedgerowError(
        f"The push to {repo.name!r} failed ({_first_line(error, token)}); try again."
    )


def _refused(status: int, reason: str, repo: Repo, host: str) -> str:
    if status == 401:
        return (
            f"The Hub at {host} does not accept this access token; create one with write access "
            f"at {host}/settings/tokens."
        )
    if status in (403, 404):
        return (
            f"This access token can't write to {repo.name!r}{reason}; use one with write access, "
            "or push to your own repository."
        )
    advice = "try again later" if status == 429 or status >= 500 else "see what it asks for"
    return f"The Hub at {host} refused the push with status {status}{reason}; {advice}."


def _server_message(error: Any, token: str) -> str:
    """The server's message in parentheses."""
    message = error.server_message or ""
    return f" ({_clean(message, token)})" if message.strip() else ""


def _first_line(error: Exception, token: str) -> str:
    lines = str(error).strip().splitlines()
    return _clean(lines[0] if lines else type(error).__name__, token)


def _clean(text: str, token: str) -> str:
    """A message on one line and without the token, which a server may send back."""
    hidden = text.replace(token, "(token)") if len(token) >= MIN_SECRET else text
    return one_line(hidden)[:200].rstrip(".")
