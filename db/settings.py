"""Settings of this machine, read from the environment and ``.env`` (prefix ``HEDGEROW_``)."""

import os
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from db.errors import HedgerowError


class Settings(BaseSettings):
    """Where the project lies and who is working on it.

    Attributes:
        home: working directory: the database and the data folder lie in it.
        database_url: SQLAlchemy address of a PostgreSQL or SQLite database; without one,
            ``hedgerow.db`` in ``home``.
        reviewer: name that decisions are stored under, unless the app or the command names one.
    """

    model_config = SettingsConfigDict(env_prefix="HEDGEROW_", env_file=".env", extra="ignore")

    home: Path = Field(default_factory=Path.cwd)
    database_url: str = ""
    reviewer: str = Field(default="", max_length=80)
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = ""

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

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
        """Where models, exports and logs lie, one folder a run."""
        return self.home / "hedgerow_data"

    def process_environment(self) -> dict[str, str]:
        """The environment for a process of ours that shall see these settings."""
        # PyTorch's waiting threads spin otherwise, and two runs on two cores hold each other up.
        return (
            {"OMP_WAIT_POLICY": "PASSIVE"}
            | os.environ
            | {
                "HEDGEROW_HOME": str(self.home),
                "HEDGEROW_DATABASE_URL": self.database_url,
            }
        )


def load_settings() -> Settings:
    """Read the settings.

    Raises:
        HedgerowError: one of them is not usable.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "HEDGEROW_" + str(first["loc"][0]).upper()
        raise HedgerowError(f"{name} is not usable: {first['msg']}.") from error
