"""The starter corpus as families, without a database."""

import json

from curation.corpora.corpus import STARTER
from curation.taxonomy.built_in import TAXONOMY
from training.losses.families import Member, Role


def starter_families() -> list[list[Member]]:
    """The whole corpus, reviewed or not."""
    path = STARTER.folder / "families.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_family(json.loads(line)) for line in lines]


def _family(entry: dict) -> list[Member]:
    variants = [(kind, entry[kind.id]) for kind in TAXONOMY if entry.get(kind.id)]
    return [
        Member(entry["anchor"], Role.ANCHOR),
        *(
            Member(
                found["text"] if isinstance(found, dict) else found,
                Role[kind.role.upper()],
                kind.id,
            )
            for kind, found in variants
        ),
    ]
