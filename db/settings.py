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
"""Read from the directory in which the program is started."""

HUB_TOKEN = "HF_TOKEN"
"""Read by the model hub's client."""

SHORTEST_TOKEN = 16
"""Minimum number of characters of the HTTP interface's token."""


class Settings(BaseSettings):
    """The location of the project and the settings of this machine.

    A field's title is its label in the app, and its description appears in the documentation.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEDGEROW_", env_file=ENV_FILE, extra="ignore", populate_by_name=True
    )

    home: Path = Field(
        default_factory=Path.cwd,
        title="Working directory",
        description="The folder with the database and the data folder. Default: the current "
        "folder.",
    )
    # It may contain a password, so it is not part of the representation that logs quote.
    database_url: str = Field(
        default="",
        repr=False,
        title="Database",
        description="The address of a PostgreSQL database, such as "
        "postgresql://user:password@host/name, or of a SQLite file. Default: the file "
        "hedgerow.db in the working directory.",
    )
    reviewer: str = Field(
        default="",
        max_length=80,
        title="Reviewer name",
        description="The name under which decisions are stored. Without it, the app asks for a "
        "name, and commands need --reviewer.",
    )
    openai_api_key: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("HEDGEROW_OPENAI_API_KEY", "OPENAI_API_KEY"),
        title="OpenAI API key",
        description="The key for the model provider. It is sent to OpenAI and to "
        "HEDGEROW_OPENAI_BASE_URL only, and is never stored. OPENAI_API_KEY works, too.",
    )
    openai_base_url: str = Field(
        default="",
        repr=False,
        validation_alias=AliasChoices("HEDGEROW_OPENAI_BASE_URL", "OPENAI_BASE_URL"),
        title="OpenAI address",
        description="The address of the model provider, such as https://host/v1. Default: "
        "OpenAI. OPENAI_BASE_URL works, too.",
    )
    training_lock: str = Field(
        default="",
        title="Training lock",
        description="A file that a training or a benchmark locks while it computes. Those with the "
        "same file take turns. By default, those on the same GPU do, or without a GPU all "
        "trainings of this machine.",
    )
    http_token: SecretStr = Field(
        default=SecretStr(""),
        title="HTTP interface token",
        description="The token that other tools send to 'hedgerow app --http': at least "
        f"{SHORTEST_TOKEN} characters without spaces. It is never stored.",
    )
    sign_in_leads: str = Field(
        default="",
        title="Leads who sign in",
        description="The people who are leads when they sign in to the app: e-mail addresses (* "
        "matches anything but @) or subjects from the provider, separated by commas.",
    )
    sign_in_reviewers: str = Field(
        default="",
        title="Reviewers who sign in",
        description="The people who are reviewers when they sign in, in the same format. "
        "Everybody else who signs in is a viewer.",
    )

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
        """The database's address. Plain ``postgresql://`` uses the psycopg driver.

        A relative SQLite path starts at ``home``, not at the current directory.
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
            HedgerowError: there is none, or it is too short, or not valid in a header.
        """
        token = self.http_token.get_secret_value()
        if re.fullmatch(f"[!-~]{{{SHORTEST_TOKEN},}}", token):
            return token
        found = "none"
        if token:
            found = "other characters" if len(token) >= SHORTEST_TOKEN else f"only {len(token)}"
        raise HedgerowError(
            f"Expected a token of at least {SHORTEST_TOKEN} ASCII letters, digits or signs without "
            f"spaces in HEDGEROW_HTTP_TOKEN, but found {found}; 'openssl rand -hex 32' creates one."
        )

    def process_environment(self) -> dict[str, str]:
        """The environment for a subprocess that uses these settings."""
        # Otherwise, PyTorch's idle threads spin, and two runs on two cores slow each other down.
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
                "HEDGEROW_SIGN_IN_LEADS": self.sign_in_leads,
                "HEDGEROW_SIGN_IN_REVIEWERS": self.sign_in_reviewers,
            }
        )


def variable(field: str) -> str:
    """The environment variable of a field of `Settings`."""
    return f"HEDGEROW_{field.upper()}"


class SettingFact(NamedTuple):
    """A setting of this machine for display.

    Attributes:
        shown: the value. For a secret, only whether it is set; an address has no password.
        name: the environment variable of the setting.
    """

    label: str
    shown: str
    name: str


def setting_facts(settings: Settings) -> list[SettingFact]:
    """All settings of this machine, with secrets hidden."""
    shown = {
        "home": str(settings.home),
        "database_url": shown_address(settings.url),
        "reviewer": settings.reviewer or "entered in the app",
        "openai_api_key": _set_or_not(settings.openai_api_key.get_secret_value()),
        "openai_base_url": without_login(settings.openai_base_url) or "default",
        "training_lock": settings.training_lock or "in the temporary folder",
        "http_token": _set_or_not(settings.http_token.get_secret_value()),
        "sign_in_leads": settings.sign_in_leads or "nobody signs in",
        "sign_in_reviewers": settings.sign_in_reviewers or "nobody",
    }
    facts = [
        SettingFact(field.title or name, shown[name], variable(name))
        for name, field in Settings.model_fields.items()
    ]
    token = _set_or_not(os.environ.get(HUB_TOKEN, ""))
    return [*facts, SettingFact("Hugging Face token", token, HUB_TOKEN)]


def _set_or_not(secret: str) -> str:
    return "set" if secret else "not set"


def without_login(address: str) -> str:
    """The address without user name, password and query, which may be secret."""
    if not address:
        return ""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def load_settings(**given: Any) -> Settings:
    """Read the settings.

    Args:
        given: values that override the environment.

    Raises:
        HedgerowError: a value is not usable, or ``.env`` cannot be read.
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
    """Refuse a settings file with an invalid line, which would be ignored. No line is quoted."""
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
