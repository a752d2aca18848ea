"""The parts of a data card on who wrote and accepted the variants of a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.importing.variant_rows import PROVIDER as IMPORTED
from curation.markdown import markdown_table, percent
from curation.variants.writers import PERSON, RULES
from db.models import Release, ReleaseItem

WRITERS = (
    f"`{PERSON}` is a reviewer, `{RULES}` is a rule-based program, `{IMPORTED}` is the data set "
    "of the anchors, and `starter`, `antonyms` and `claims` are Hedgerow's bundled corpora, "
    "written by language models. Any other name is a language model service or a plug-in, as "
    "recorded."
)

WRITTEN_BY_MODELS = (
    "Text by language models is fluent but less varied than text by people. Hedges mostly use "
    "the requested cues, and affixal negations use few frames ('was unable to', 'unsuccessful')."
)

WRITTEN_BY_RULES = (
    "Text by rules follows few patterns and can be awkward, because rules use grammar but not "
    "meaning."
)


class Writer(NamedTuple):
    """A provider and model that wrote variants of a release, with their number by type."""

    provider: str
    model: str
    types: Mapping[str, int]

    @property
    def is_language_model(self) -> bool:
        """Whether this is a language model, or a corpus written by one."""
        return self.provider not in (PERSON, IMPORTED, RULES)

    @property
    def creator(self) -> str:
        """The Hub's term for the kind of author."""
        kinds = {PERSON: "expert-generated", IMPORTED: "found"}
        return kinds.get(self.provider, "machine-generated")


def writers_of(session: Session, release: Release) -> list[Writer]:
    """Count the variants of a release in the database by provider and model."""
    provenance = col(ReleaseItem.provenance)
    by = (
        provenance["provider"].as_string(),
        provenance["model"].as_string(),
        col(ReleaseItem.type_id),
    )
    query = select(*by, func.count()).where(col(ReleaseItem.release_id) == release.id).group_by(*by)
    found: dict[tuple[str, str], Counter[str]] = {}
    for provider, model, type_id, count in session.execute(query):
        found.setdefault((provider or "", model or ""), Counter())[type_id] += count
    return [Writer(*key, types) for key, types in sorted(found.items())]


def writers_table(release: Release, writers: Sequence[Writer]) -> str:
    """Tabulate the number of variants by writer and type, in the taxonomy's order."""
    there = {type_id for writer in writers for type_id in writer.types}
    types = [type_id for type_id in ordered_types(release) if type_id in there]
    rows = [
        [w.provider, w.model, *(w.types.get(t, 0) for t in types), sum(w.types.values())]
        for w in writers
    ]
    return markdown_table(["provider", "model", *types, "all"], rows)


def weak_spots_of(writers: Sequence[Writer]) -> list[str]:
    """Return the limitations of texts by these writers."""
    spots = [WRITTEN_BY_MODELS] if any(w.is_language_model for w in writers) else []
    return [*spots, WRITTEN_BY_RULES] if any(w.provider == RULES for w in writers) else spots


def ordered_types(release: Release) -> list[str]:
    """Return the types in a release's taxonomy, in order."""
    return sorted(release.taxonomy, key=lambda key: (release.taxonomy[key]["ordinal"], key))


def review_statement(summary: Mapping[str, Any]) -> str:
    """State who accepted the variants of the release."""
    total, decided = summary["variants"], summary["decided_by"]
    people, models = decided.get("person", 0), decided.get("model", 0)
    ruled = ""
    if rules := decided.get("rule", 0):
        ruled = (
            f" {rules:,} ({percent(rules / total)}) were accepted by a rule over their "
            "measurements, which a person applied **without reading the variants**."
        )
    if not people:
        return (
            f"**No person has reviewed this data.** {models:,} of the {total:,} accepted variants "
            f"were accepted only by a model reviewer.{ruled}"
        )
    return (
        f"Of the {total:,} accepted variants, a person accepted {people:,} "
        f"({percent(people / total)}). {models:,} ({percent(models / total)}) were accepted only "
        f"by a model reviewer and **were not reviewed by a person**.{ruled} "
        f"{summary['adjudicated']:,} were settled by adjudication."
    )
