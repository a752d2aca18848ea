"""The files of a recipe are stored by their content, or not at all."""

from pathlib import Path

import pytest

from db.errors import HedgerowError
from training.recipe.stored_files import FOLDER, keep_file
from training.retention.distillation import read_sentences


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    paths = [keep_file(tmp_path, b"A dog.\nIt rains.\n", read=read_sentences) for _ in range(2)]
    other = keep_file(tmp_path, b"A dog.\n", read=read_sentences)
    assert paths[0] == paths[1] != other
    assert read_sentences(other) == ["A dog."]
    assert len(list((tmp_path / FOLDER).iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe\xfa"])
def test_a_file_that_cannot_be_read_is_not_kept(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(HedgerowError, match="the file") as caught:
        keep_file(tmp_path, content, read=read_sentences)
    assert str(tmp_path) not in str(caught.value)
    assert not list((tmp_path / FOLDER).iterdir())
