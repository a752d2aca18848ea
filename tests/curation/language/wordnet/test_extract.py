"""The list of adjectives and their antonyms: extracting it, and the bundled one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.language.wordnet.adjectives import FILE, antonym_of
from curation.language.wordnet.extract import LICENCE, main, write
from db.errors import HedgerowError
from tests.curation.generation.providers.rules.conftest import no_wordnet as no_wordnet
from tests.curation.generation.providers.rules.conftest import small_wordnet as small_wordnet


def test_the_list_and_the_licence_are_taken_from_wordnets_files(
    small_wordnet: Path, tmp_path: Path
) -> None:
    antonyms, terms = tmp_path / "a.json", tmp_path / "L.txt"
    assert write(small_wordnet, antonyms=antonyms, terms=terms) == 10
    found = json.loads(antonyms.read_text("utf-8"))["antonyms"]
    assert found["plump"] == "gaunt" and found["gaunt"] == "plump" and "lone" not in found
    assert list(found) == sorted(found)
    licence = "This software and database is being provided to you, the LICENSEE.\n"
    assert terms.read_text("utf-8") == licence


def test_without_wordnet_nothing_is_written(no_wordnet: None, tmp_path: Path) -> None:
    before = FILE.read_bytes()
    with pytest.raises(SystemExit, match="WordNet is not installed"):
        main()
    assert FILE.read_bytes() == before
    (tmp_path / "index.adj").write_text("", encoding="ascii")
    (tmp_path / "data.adj").write_text("", encoding="ascii")
    with pytest.raises(HedgerowError, match="found none with an antonym"):
        write(tmp_path, antonyms=tmp_path / "a", terms=tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_the_bundled_antonyms_and_their_licence() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))["antonyms"]
    assert len(known) > 3000
    for word, antonym in {"good": "bad", "guilty": "innocent", "easy": "difficult"}.items():
        assert antonym_of(word) == antonym
    assert antonym_of("crazy") == "" and antonym_of("") == ""
    assert all(w.isalpha() and w.islower() for pair in known.items() for w in pair)
    licence = LICENCE.read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert "Permission to use, copy, modify and distribute" in licence
