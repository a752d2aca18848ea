"""Finetuning runs at a provider that is a thread of this process."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import Engine

from curation.validation import checked
from db.engine import reading, writing
from db.execution import execute
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer
from training.llm.provider.request import (
    ProviderRequest,
    request_finetuning,
)
from training.runs.kinds import WORK

KEY = "sk-not-a-real-key-but-long"

Served = tuple[str, ChatServer]


def settings_of(home: Path, address: str) -> Settings:
    return Settings(
        home=home, database_url="", openai_api_key=SecretStr(KEY), openai_base_url=address
    )


def requested(engine: Engine, settings: Settings, **how: Any) -> int:
    request = checked(ProviderRequest, {"model": "small"} | how)
    with writing(engine) as session:
        return request_finetuning(session, settings, request, requested_by=None).id


def carried_out(engine: Engine, settings: Settings, run_id: int) -> dict[str, Any]:
    return execute(engine, settings, run_id, WORK)


def stored(engine: Engine, run_id: int) -> Run:
    with reading(engine) as session:
        return get_run(session, run_id)


def status(server: ChatServer) -> str:
    (job,) = server.finetuning.jobs.values()
    return str(job["status"])
