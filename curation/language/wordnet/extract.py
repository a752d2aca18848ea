"""Write the list of adjectives and their antonyms, and WordNet's licence, from WordNet's files.

    apt-get install wordnet-base
    python -m curation.language.wordnet.extract

Only needed to update the list; see README.md.
"""

from __future__ import annotations

import json
from pathlib import Path

from curation.language.wordnet.adjectives import FILE
from curation.language.wordnet.files import direct_antonyms, folder, licence
from db.errors import HedgerowError

LICENCE = FILE.with_name("LICENSE.txt")

NOTE = (
    "Adjective: its direct antonym in the first of WordNet 3.0's senses of the word that has one, "
    "single words in small letters only. Made by extract.py from Debian's wordnet-base; the "
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
