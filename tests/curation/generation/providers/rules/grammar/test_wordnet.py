"""WordNet's files: read where they are installed, and optional."""

from pathlib import Path

import pytest

from curation.generation.providers.rules import write_by_rule
from curation.generation.providers.rules.antonyms import (
    affixed_adverb,
    affixed_quality,
    other_quality,
)
from curation.language.wordnet.files import first_sense, folder
from curation.taxonomy.built_in import variant_type


def test_the_first_sense_has_its_antonyms_and_its_share(small_wordnet: Path) -> None:
    sense = first_sense("solvable", "adj")
    assert sense is not None and (sense.antonyms, sense.senses, sense.share) == (
        ("unsolvable",),
        1,
        1.0,
    )
    rare = first_sense("rare", "adj")
    assert rare is not None and (rare.antonyms, rare.senses, rare.share) == (("unrare",), 2, 0.1)
    lone = first_sense("lone", "adj")
    assert lone is not None and lone.antonyms == ()
    assert first_sense("nowhere", "adj") is None


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
    affixal = [variant_type("affixal")]
    anchor = "The legs of the table are tapered."
    with_it = write_by_rule(anchor, types=affixal, cues={})
    assert with_it.texts == {"affixal": "The legs of the table are untapered."}
    monkeypatch.setenv("WNSEARCHDIR", str(small_wordnet / "nothing"))
    assert folder() is None and first_sense("tapered", "adj") is None
    assert write_by_rule(anchor, types=affixal, cues={}).texts == {}
    assert affixed_quality("safe", participle=False) == "unsafe"


def test_a_participle_from_wordnet_is_only_used_at_the_end(small_wordnet: Path) -> None:
    affixal = [variant_type("affixal")]
    assert not write_by_rule("The legs are tapered by hand.", types=affixal, cues={}).texts


@pytest.mark.parametrize("content", ["", "tapered a\n", "tapered a 1 1 ! 1 0 99999999\n", "\x00é"])
def test_files_that_are_broken_are_done_without(small_wordnet: Path, content: str) -> None:
    (small_wordnet / "index.adj").write_text(content, encoding="utf-8")
    assert first_sense("tapered", "adj") is None
    assert affixed_quality("tapered", participle=True) is None
