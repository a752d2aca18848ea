"""Paths and files as people name them."""

from pathlib import Path

import pytest

from db.errors import HedgerowError
from db.named_files import expanded, read_bytes, read_text, resolved
from tests.support.databases import both_databases

pytestmark = both_databases


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
