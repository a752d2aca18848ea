"""Write the list of adjectives and their antonyms, and WordNet's licence, from WordNet's files.

    apt-get install wordnet-base
    python -m curation.language.wordnet

Only needed to update the list; see README.md.
"""

from __future__ import annotations

import json
from pathlib import Path

from curation.language.wordnet import FILE, Part, antonyms, folder, index
from db.errors import HedgerowError

LICENCE = FILE.with_name("LICENSE.txt")

NOTE = (
    "Adjective: its direct antonym in the first of WordNet 3.0's senses of the word that has one, "
    "single words in small letters only. Made by __main__.py from Debian's wordnet-base; the "
    "licence is in LICENSE.txt."
)


def write(place: Path, *, antonyms: Path = FILE, terms: Path = LICENCE) -> int:
    """Write both files and return the number of adjectives.

    Args:
        place: the folder with ``index.adj`` and ``data.adj``.

    Raises:
        HedgerowError: these files contain no adjective with an antonym.
    """
    found = direct_antonyms(place, "adj")
    if not found:
        raise HedgerowError(
            f"Expected WordNet's adjectives in {str(place)!r}, found none with an antonym; "
            "install Debian's wordnet-base, or set WNSEARCHDIR to WordNet's folder."
        )
    whole = {"note": NOTE, "antonyms": dict(sorted(found.items()))}
    antonyms.write_text(json.dumps(whole, indent=0) + "\n", encoding="utf-8")
    terms.write_text(licence(place, "adj"), encoding="utf-8")
    return len(found)


def direct_antonyms(place: Path, part: Part) -> dict[str, str]:
    """Map each word to its antonym in its most frequent sense that has one; single words only."""
    found = {}
    for word, offsets in index(place, part).items():
        if word.isalpha() and word.islower():
            senses = (antonyms(place, part, word, offset) for offset in offsets)
            if others := next(filter(None, senses), ()):
                found[word] = others[0]
    return found


def licence(place: Path, part: Part) -> str:
    """Return WordNet's licence, which begins each of its files, without the line numbers."""
    with (place / f"data.{part}").open(encoding="ascii", errors="replace") as file:
        lines = [line.strip().partition(" ")[2].strip() for line in file if line.startswith("  ")]
    return "\n".join(lines).strip() + "\n"


def main() -> None:
    """Write the files next to this one.

    Raises:
        SystemExit: WordNet is not on this machine.
    """
    place = folder()
    if place is None:
        raise SystemExit(
            "WordNet is not installed; install Debian's wordnet-base, or set WNSEARCHDIR to its "
            "folder."
        )
    write(place)


if __name__ == "__main__":
    main()
