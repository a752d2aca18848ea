"""Settings of this machine, read from the environment and ``.env`` (prefix ``HEDGEROW_``)."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dotenv.parser import parse_stream
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from db.errors import HedgerowError
from db.failures import shown_address

ENV_FILE = ".env"
"""Read in the directory that the program is started in."""

HUB_TOKEN = "HF_TOKEN"
"""Read by the model hub's own client."""

SHORTEST_TOKEN = 16
"""Characters of the HTTP interface's token."""


class Settings(BaseSettings):
    """The location of the project and the settings of this machine.

    Attributes:
        home: working directory: the database and the data folder lie in it.
        database_url: SQLAlchemy address of a PostgreSQL or SQLite database; without one,
            ``hedgerow.db`` in ``home``.
        reviewer: name that decisions are stored under, unless the app or the command names one.
        openai_api_key: key of the model provider; OPENAI_API_KEY is read, too. Never stored.
        openai_base_url: address of the model provider; empty for OpenAI's own.
        training_lock: file that a training holds while it computes, so that those with the same
            one take turns; empty for one in the temporary folder.
        http_token: what other tools show to the HTTP interface. Never stored.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEDGEROW_", env_file=ENV_FILE, extra="ignore", populate_by_name=True
    )

    home: Path = Field(default_factory=Path.cwd, description="Working directory")
    # It may hold a password, so that it is left out of what a log may quote.
    database_url: str = Field(default="", repr=False, description="Database")
    reviewer: str = Field(default="", max_length=80, description="Reviewer name")
    openai_api_key: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("HEDGEROW_OPENAI_API_KEY", "OPENAI_API_KEY"),
        description="OpenAI API key",
    )
    openai_base_url: str = Field(
        default="",
        repr=False,
        validation_alias=AliasChoices("HEDGEROW_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        description="OpenAI address",
    )
    training_lock: str = Field(default="", description="Training lock")
    http_token: SecretStr = Field(default=SecretStr(""), description="HTTP interface token")

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        try:
            folder = value.expanduser().resolve()
            str(folder).encode()
        except UnicodeEncodeError as error:
            raise ValueError("expected a path in UTF-8") from error
        except RuntimeError as error:
            raise ValueError("there is no such user") from error
        return folder

    @field_validator("openai_base_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError("expected an address such as https://host/v1")
        return value

    @field_validator("database_url")
    @classmethod
    def _supported(cls, value: str) -> str:
        if not value:
            return value
        try:
            backend = make_url(value).get_backend_name()
        except ArgumentError as error:
            raise ValueError("expected an address such as postgresql://host/name") from error
        if backend not in ("sqlite", "postgresql"):
            raise ValueError(f"expected a sqlite or postgresql address, found {backend}")
        return value

    @property
    def url(self) -> URL:
        """The database's address; plain ``postgresql://`` means the psycopg driver.

        A relative SQLite path lies in ``home``, whatever directory a process works in.
        """
        if not self.database_url:
            return URL.create("sqlite", database=str(self.home / "hedgerow.db"))
        url = make_url(self.database_url)
        if url.get_backend_name() == "sqlite":
            return url.set(database=str(self.home / (url.database or "hedgerow.db")))
        return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url

    @property
    def data_folder(self) -> Path:
        """The folder of models, exports and logs, with one folder per run."""
        return self.home / "hedgerow_data"

    def require_http_token(self) -> str:
        """The token of the HTTP interface.

        Raises:
            HedgerowError: there is none, or it is too short, or no header can carry it.
        """
        token = self.http_token.get_secret_value()
        if re.fullmatch(f"[!-~]{{{SHORTEST_TOKEN},}}", token):
            return token
        found = "none"
        if token:
            found = "other characters" if len(token) >= SHORTEST_TOKEN else f"only {len(token)}"
        raise HedgerowError(
            f"Expected a token of at least {SHORTEST_TOKEN} ASCII letters, digits or signs without "
            f"spaces in HEDGEROW_HTTP_TOKEN, but found {found}; 'openssl rand -hex 32' makes one."
        )

    def process_environment(self) -> dict[str, str]:
        """The environment for a subprocess that uses these settings."""
        # PyTorch's waiting threads spin otherwise, and two runs on two cores hold each other up.
        return (
            {"OMP_WAIT_POLICY": "PASSIVE"}
            | os.environ
            | {
                "HEDGEROW_HOME": str(self.home),
                "HEDGEROW_DATABASE_URL": self.database_url,
                "HEDGEROW_REVIEWER": self.reviewer,
                "HEDGEROW_OPENAI_API_KEY": self.openai_api_key.get_secret_value(),
                "HEDGEROW_OPENAI_BASE_URL": self.openai_base_url,
                "HEDGEROW_TRAINING_LOCK": self.training_lock,
                "HEDGEROW_HTTP_TOKEN": self.http_token.get_secret_value(),
            }
        )


class SettingFact(NamedTuple):
    """A setting of this machine as it may be shown.

    Attributes:
        shown: its value; of a secret only whether it is set, of an address all but the password.
        name: the environment variable that changes it.
    """

    label: str
    shown: str
    name: str


def setting_facts(settings: Settings) -> list[SettingFact]:
    """Every setting of this machine, secrets hidden."""
    shown = {
        "home": str(settings.home),
        "database_url": shown_address(settings.url),
        "reviewer": settings.reviewer or "entered in the app",
        "openai_api_key": _set_or_not(settings.openai_api_key.get_secret_value()),
        "openai_base_url": without_login(settings.openai_base_url) or "OpenAI's own",
        "training_lock": settings.training_lock or "in the temporary folder",
        "http_token": _set_or_not(settings.http_token.get_secret_value()),
    }
    facts = [
        SettingFact(field.description or name, shown[name], "HEDGEROW_" + name.upper())
        for name, field in Settings.model_fields.items()
    ]
    token = _set_or_not(os.environ.get(HUB_TOKEN, ""))
    return [*facts, SettingFact("Hugging Face token", token, HUB_TOKEN)]


def _set_or_not(secret: str) -> str:
    return "set" if secret else "not set"


def without_login(address: str) -> str:
    """The address without user name, password and query, any of which may be a secret."""
    if not address:
        return ""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def load_settings(**given: Any) -> Settings:
    """Read the settings.

    Args:
        given: values that count instead of the environment's.

    Raises:
        HedgerowError: one of them is not usable, or ``.env`` cannot be read.
    """
    _check_env_file(Path(ENV_FILE))
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).upper()
        name = name if "OPENAI" in name else f"HEDGEROW_{name}"
        raise HedgerowError(
            f"{name} is not usable: {first['msg'].removeprefix('Value error, ')}."
        ) from error
    except FileNotFoundError as error:
        raise HedgerowError(
            "The current directory no longer exists; change to another one, or set HEDGEROW_HOME."
        ) from error


def _check_env_file(path: Path) -> None:
    """Refuse a file of settings of which a line would be passed over. No line is quoted."""
    try:
        if not path.is_file():
            return
        with path.open(encoding="utf-8") as lines:
            wrong = [found.original.line for found in parse_stream(lines) if found.error]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise HedgerowError(
            f"The settings in {path.absolute()} cannot be read ({reason}); correct or remove the "
            "file."
        ) from error
    if wrong:
        raise HedgerowError(
            f"Expected NAME=VALUE in line {wrong[0]} of {path.absolute()}, found something else; "
            "correct the line."
        )
