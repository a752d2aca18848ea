"""Finding the folder for an encoder's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.encoders.model_folders import DEFAULT_ENCODER, DEFAULT_PACKAGE, resolve_encoder
from db.errors import HedgerowError


def test_a_file_is_not_a_model(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    with pytest.raises(HedgerowError, match="use its folder"):
        resolve_encoder(str(file))


def test_names_resolve_to_package_folder_or_hub(tmp_path, monkeypatch):
    (tmp_path / DEFAULT_ENCODER).mkdir()
    monkeypatch.chdir(tmp_path)
    default = resolve_encoder(DEFAULT_ENCODER)
    assert isinstance(default, Path) and DEFAULT_PACKAGE in default.parts
    assert resolve_encoder(str(tmp_path)) == tmp_path
    assert resolve_encoder("all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert resolve_encoder("owner/model") == "owner/model"
