"""A benchmark file that shares texts with the plain families of the tests."""

import json
from pathlib import Path

from training.benchmarks.sources import KeptData, keep_data

INPUTS = (
    "Door 1 is not open.",
    "She said that door 2 is probably open today.",
    "Door 3 is open.",
    "The kettle has never been so clean.",
)
"""A text of the release; five words of one; a text of four words; no overlap."""

SAID = (
    "2 of 4 items of SemAntoNeg (doors.jsonl) share 5 consecutive words with the release; 2 have a "
    "text that is identical to one in it."
)


def doors() -> bytes:
    """The file, in SemAntoNeg's format."""
    others = ["One apple.", "Two apples.", "No apples at all."]
    rows = [{"label": 2, "input": text, "sentences": others} for text in INPUTS]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def keep_doors(data_folder: Path, name: str = "doors.jsonl") -> KeptData:
    """Store it in a project."""
    return keep_data(data_folder, "semantoneg", {name: doors()})
