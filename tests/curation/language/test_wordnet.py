"""WordNet's files: read where they are installed, optional, and the list extracted from them."""

import json
from pathlib import Path

import pytest

from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.antonym_predicates import (
    affixed_adverb,
    affixed_quality,
    other_quality,
)
from curation.language.wordnet import FILE, antonym_of, first_sense, folder
from curation.language.wordnet.__main__ import LICENCE, main, write
from curation.taxonomy.built_in import variant_type
from db.errors import HedgerowError
from tests.curation.language.small_wordnet import no_wordnet as no_wordnet
from tests.curation.language.small_wordnet import small_wordnet as small_wordnet


def affixal(anchor: str) -> dict[str, str]:
    return dict(write_by_rule(anchor, types=[variant_type("affixal")], cues={}).texts)


def test_the_first_sense_has_its_antonyms_and_its_share(small_wordnet: Path) -> None:
    senses = {word: first_sense(word, "adj") for word in ("solvable", "rare", "lone", "nowhere")}
    found = {word: (s.antonyms, s.senses, s.share) for word, s in senses.items() if s}
    assert found["solvable"] == (("unsolvable",), 1, 1.0)
    assert found["rare"] == (("unrare",), 2, 0.1)
    assert found["lone"][0] == () and "nowhere" not in found


def test_affixed_opposites_of_the_usual_sense_are_taken(small_wordnet: Path) -> None:
    assert affixed_quality("tapered", participle=True) == "untapered"
    assert affixed_adverb("thriftily") == "unthriftily"
    assert affixed_quality("rare", participle=False) is None  # a rare sense
    assert affixed_quality("plump", participle=False) is None  # another word, which may not fit
    assert other_quality("plump", participle=False) is None
    assert affixed_quality("hopeful", participle=False) is None  # 'hopeless' is not an opposite


def test_without_the_files_the_rules_use_their_own_lists(
    small_wordnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = "The legs of the table are tapered."
    assert affixal(anchor) == {"affixal": "The legs of the table are untapered."}
    assert not affixal("The legs are tapered by hand.")  # a participle, not at the end
    monkeypatch.setenv("WNSEARCHDIR", str(small_wordnet / "nothing"))
    assert folder() is None and first_sense("tapered", "adj") is None
    assert affixal(anchor) == {} and affixed_quality("safe", participle=False) == "unsafe"


@pytest.mark.parametrize("content", ["", "tapered a\n", "tapered a 1 1 ! 1 0 99999999\n", "\x00é"])
def test_files_that_are_broken_are_done_without(small_wordnet: Path, content: str) -> None:
    (small_wordnet / "index.adj").write_text(content, encoding="utf-8")
    assert first_sense("tapered", "adj") is None
    assert affixed_quality("tapered", participle=True) is None


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
    with pytest.raises(SystemExit, match="WordNet"):
        main()
    assert FILE.read_bytes() == before
    for name in ("index.adj", "data.adj"):
        (tmp_path / name).write_text("", encoding="ascii")
    with pytest.raises(HedgerowError, match="none"):
        write(tmp_path, antonyms=tmp_path / "a", terms=tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_the_bundled_antonyms_and_their_licence() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))["antonyms"]
    assert len(known) > 3000
    words = ("good", "guilty", "easy", "crazy", "")
    assert [*map(antonym_of, words)] == ["bad", "innocent", "difficult", "", ""]
    assert all(w.isalpha() and w.islower() for pair in known.items() for w in pair)
    licence = LICENCE.read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert "Permission to use, copy, modify and distribute" in licence
