"""Settings come from the environment, unusable ones are named, and so are paths and files."""

from pathlib import Path

import pytest

from db.errors import HedgerowError
from db.named_files import expanded, read_bytes, read_text, resolved
from db.settings import load_settings, setting_facts
from tests.support.databases import both_databases

pytestmark = both_databases


def test_the_database_is_in_the_working_directory(home: Path) -> None:
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


def test_a_relative_sqlite_path_is_in_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", "sqlite:///data/mine.db")
    assert load_settings().url.database == str(home / "data" / "mine.db")


def test_a_process_of_ours_gets_the_settings_of_a_file_it_does_not_see(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (home / ".env").write_text("OPENAI_API_KEY=sk-1\nHEDGEROW_REVIEWER=Ada\n")
    environment = load_settings().process_environment()
    assert environment["HEDGEROW_OPENAI_API_KEY"] == "sk-1"
    assert environment["HEDGEROW_REVIEWER"] == "Ada"


def test_our_own_name_of_a_key_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-ours")
    assert load_settings().openai_api_key.get_secret_value() == "sk-ours"


@pytest.mark.parametrize(
    "url",
    ["postgresql://ada:sk-1@host/name", "postgresql://host/name?password=sk-1&sslpassword=sk-2"],
)
def test_the_shown_settings_contain_no_secret(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_DATABASE_URL", url)
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", "https://ada:sk-3@host/v1?key=sk-4")
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-5")
    settings = load_settings()
    facts = {fact.name: fact.shown for fact in setting_facts(settings)}
    assert "sk-" not in repr(settings) + repr(facts)
    assert facts["HEDGEROW_OPENAI_API_KEY"] == "set"
    assert facts["HEDGEROW_OPENAI_BASE_URL"] == "https://host/v1"
    assert "host" in facts["HEDGEROW_DATABASE_URL"]


def test_a_wrong_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(HedgerowError, match="HEDGEROW_OPENAI_BASE_URL is not usable: expected an"):
        load_settings()


def test_a_token_of_the_http_interface_is_long_and_fits_a_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = {"": "none", "sk-secret": "only 9", "sk-a secret of many words": "other characters"}
    for value, found in wrong.items():
        monkeypatch.setenv("HEDGEROW_HTTP_TOKEN", value)
        with pytest.raises(
            HedgerowError, match=f"in HEDGEROW_HTTP_TOKEN, but found {found};"
        ) as no:
            load_settings().require_http_token()
        assert "secret" not in str(no.value)
    token = "sk-0123456789abc"
    monkeypatch.setenv("HEDGEROW_HTTP_TOKEN", token)
    settings = load_settings()
    assert settings.require_http_token() == token
    assert token not in repr(settings) + repr(setting_facts(settings))


def test_a_home_folder_is_put_in_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/x") == resolved(Path("~/x")) == tmp_path / "x"
    with pytest.raises(
        HedgerowError, match=r"'~nosuchuser/x' names the home folder of an unknown user"
    ):
        expanded("~nosuchuser/x")


def test_a_link_to_itself_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(HedgerowError, match="points to itself"):
        resolved(tmp_path / "loop")


def test_no_more_is_read_than_a_file_may_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_bytes(file, kind="a list", largest=5) == b"12345"
    for path in (file, Path("/dev/zero")):  # the latter reports that it is empty
        with pytest.raises(HedgerowError, match="is too large for a list"):
            read_bytes(path, kind="a list", largest=4)


@pytest.mark.parametrize("name", ["", "nowhere", "a\0b"], ids=["folder", "missing", "null"])
def test_an_unreadable_file_gives_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(HedgerowError, match=r"^Could not read '"):
        read_bytes(tmp_path / name, kind="a list", largest=5)


def test_text_is_utf_8_with_plain_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes("\ufeffein\r\nüber\rzwei\n".encode())
    assert read_text(file, kind="a list", largest=99) == "ein\nüber\nzwei\n"
    file.write_bytes("über".encode("latin-1"))
    with pytest.raises(HedgerowError, match="Expected UTF-8 text"):
        read_text(file, kind="a list", largest=99)
