"""Settings come from the environment; what is not usable is named."""

from pathlib import Path

import pytest

from db.errors import HedgerowError
from db.settings import load_settings


def test_the_database_lies_in_the_working_directory(home: Path) -> None:
    settings = load_settings()
    assert settings.url.database == str(home / "hedgerow.db")
    assert settings.data_folder == home / "hedgerow_data"


def test_plain_postgresql_means_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", "postgresql://me@host/name")
    assert load_settings().url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize("value", ["mysql://host/name", "nonsense"])
def test_another_database_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", value)
    with pytest.raises(HedgerowError, match="HEDGEROW_DATABASE_URL is not usable"):
        load_settings()


def test_a_process_of_ours_sees_the_same_settings(home: Path) -> None:
    environment = load_settings().process_environment()
    assert environment["HEDGEROW_HOME"] == str(home)


def test_a_relative_sqlite_path_lies_in_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", "sqlite:///data/mine.db")
    assert load_settings().url.database == str(home / "data" / "mine.db")
