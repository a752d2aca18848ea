"""WordNet's files as far as tests provide them, whatever this machine has installed.

Imported by the conftests of folders whose tests read them.
"""

from pathlib import Path

import pytest

from curation.language import wordnet

SYNSETS = {
    ("adj", "a"): [
        ("solvable", "unsolvable"),
        ("lone", ""),
        ("plump", "gaunt"),
        ("hopeful", "hopeless"),
        ("tapered", "untapered"),
        ("rare", "unrare"),
    ],
    ("adv", "r"): [("thriftily", "unthriftily")],
}
COUNTS = "rare%3:00:00:: 1 1\nrare%5:00:01:raw:00 2 9\n"


@pytest.fixture(autouse=True)
def no_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(wordnet, "_DEBIAN", tmp_path / "nowhere")
    for name in ("WNSEARCHDIR", "WNHOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def small_wordnet(no_wordnet: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in WordNet's format with a few synsets. 'rare' has its antonym in a rare sense."""
    folder = tmp_path / "dict"
    folder.mkdir()
    licence = "  1 This software and database is being provided to you, the LICENSEE.  \n"
    for (part, letter), synsets in SYNSETS.items():
        data, index = licence, licence
        for word, antonym in synsets:
            place = len(data)
            other = place + len(_synset(place, word, letter, 0 if antonym else None))
            data += _synset(place, word, letter, other if antonym else None)
            index += _entry(word, letter, place, senses=2 if word == "rare" else 1)
            if antonym:
                data += _synset(other, antonym, letter, place)
                index += _entry(antonym, letter, other, senses=1)
        (folder / f"data.{part}").write_text(data, encoding="ascii")
        (folder / f"index.{part}").write_text(index, encoding="ascii")
    (folder / "cntlist.rev").write_text(COUNTS, encoding="ascii")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    return folder


def _synset(place: int, word: str, letter: str, antonym: int | None) -> str:
    pointers = "000" if antonym is None else f"001 ! {antonym:08d} {letter} 0101"
    return f'{place:08d} 00 {letter} 01 {word}(p) 0 {pointers} | a gloss; "an example"  \n'


def _entry(word: str, letter: str, place: int, *, senses: int) -> str:
    return f"{word} {letter} {senses} 1 ! {senses} 0 {f'{place:08d} ' * senses} \n"
