"""The counts that a release's card needs, computed once when the release is created.

Counting then, and not on export, freezes the card along with the release.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from curation.anchors.revisions import of_sources
from curation.decisions.storing import counts_still
from curation.review.agreement.figures import By, figures, figures_by, sentences
from curation.review.agreement.overlap import overlap
from curation.taxonomy.project_types import IMPORTED, OWN
from db.columns import Columns
from db.models import (
    Anchor,
    Decision,
    Polarity,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    TypeRow,
    TypeVersion,
    Variant,
    Verdict,
)

_OUTCOMES = {
    Status.ACCEPTED: "as_written",
    Status.SUPERSEDED: "edited",
    Status.REJECTED: "rejected",
    Status.CONFLICT: "conflict",
    Status.PENDING: "pending",
}
OUTCOMES = tuple(_OUTCOMES.values())
"""Review outcomes of a type's variants as they were written (see ``review_summary``)."""


class Tally:
    """Counts over the items of a release, added one by one.

    Attributes:
        variants: number of items so far.
    """

    def __init__(self) -> None:
        self.variants = 0
        self._types: dict[str, Counter[str]] = defaultdict(Counter)
        self._languages: Counter[str] = Counter()
        self._genres: Counter[str] = Counter()
        self._sources: Counter[tuple[str, str]] = Counter()
        self._writers: Counter[tuple[str, str]] = Counter()
        self._deciders: Counter[str] = Counter()
        self._adjudicated = 0
        self._by_several = 0
        self._editors: Counter[str] = Counter()
        self._words: dict[str, Counter[int]] = defaultdict(Counter)
        self._polarities: dict[str, Polarity] = {}
        # Anchor uid → its words, split, and variants by type.
        self._families: dict[str, tuple[int, str, Counter[str]]] = {}

    def add(self, item: dict[str, Any]) -> None:
        """Count one item, given by the columns of ``ReleaseItem``."""
        self.variants += 1
        origin = item["provenance"]
        self._types[item["type_id"]][item["split"]] += 1
        self._languages[item["language"]] += 1
        self._genres[item["genre"]] += 1
        self._sources[(item["source"], item["licence"])] += 1
        self._writers[(origin["provider"], origin["model"])] += 1
        self._deciders[origin["decided_by"] or "unrecorded"] += 1
        self._adjudicated += origin["adjudicated"]
        self._by_several += origin["persons"] > 1
        if origin["author_kind"] and origin["parent_uid"]:
            self._editors[origin["author_kind"]] += 1
        self._words[item["type_id"]][_words(item["text"])] += 1
        uid = item["anchor_uid"]
        if uid not in self._families:
            self._families[uid] = (_words(item["anchor"]), item["split"], Counter())
        self._families[uid][2][item["type_id"]] += 1
        self._polarities[item["type_id"]] = item["polarity"]

    def as_json(self) -> dict[str, Any]:
        """Return the counts for storing as JSON.

        ``words`` gives lengths in words (split at white space) for the anchors and for each type's
        variants. In ``triples_by_type``, each triple counts under both of its types.
        """
        anchor_words = Counter(words for words, _, _ in self._families.values())
        splits = self._splits()
        return {
            "anchors": len(self._families),
            "variants": self.variants,
            "triples": sum(split["triples"] for split in splits.values()),
            "anchors_without_triples": sum(split["without_triples"] for split in splits.values()),
            "types": {type_id: splits.total() for type_id, splits in self._types.items()},
            "types_by_split": {type_id: dict(splits) for type_id, splits in self._types.items()},
            "splits": splits,
            "triples_by_type": self._triples_by_type(),
            "languages": dict(self._languages),
            "genres": dict(self._genres),
            "sources": [
                {"name": name, "licence": licence, "variants": count}
                for (name, licence), count in sorted(self._sources.items())
            ],
            "writers": [
                {"provider": provider, "model": model, "variants": count}
                for (provider, model), count in sorted(self._writers.items())
            ],
            "decided_by": dict(self._deciders),
            "adjudicated": self._adjudicated,
            "by_several": self._by_several,
            "edited_by": dict(self._editors),
            "words": {
                "anchors": _lengths(anchor_words),
                "types": {type_id: _lengths(words) for type_id, words in self._words.items()},
            },
        }

    def _splits(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for _, split, types in self._families.values():
            counts = found.setdefault(
                split, {"anchors": 0, "variants": 0, "triples": 0, "without_triples": 0}
            )
            positives, negatives = self._sides(types)
            triples = positives * negatives
            counts["anchors"] += 1
            counts["variants"] += types.total()
            counts["triples"] += triples
            counts["without_triples"] += not triples
        return found

    def _triples_by_type(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for _, _, types in self._families.values():
            positives, negatives = self._sides(types)
            for type_id, number in types.items():
                partners = {Polarity.POSITIVE: negatives, Polarity.NEGATIVE: positives}
                found[type_id] += number * partners.get(self._polarities[type_id], 0)
        return {type_id: found[type_id] for type_id in self._types}

    def _sides(self, types: Counter[str]) -> tuple[int, int]:
        """Return a family's number of positives and of negatives."""
        sides: Counter[Polarity] = Counter()
        for key, number in types.items():
            sides[self._polarities[key]] += number
        return sides[Polarity.POSITIVE], sides[Polarity.NEGATIVE]


def _words(text: str) -> int:
    return len(text.split())


def _lengths(words: Counter[int]) -> dict[str, Any]:
    """Return median, extremes, and the two shares that the paper gives for anchors (§3.1.1)."""
    return {
        "shortest": min(words),
        "median": statistics.median(words.elements()),
        "longest": max(words),
        "under_15": sum(count for length, count in words.items() if length < 15) / words.total(),
        "over_30": sum(count for length, count in words.items() if length > 30) / words.total(),
    }


def release_summary(
    connection: Connection, tally: Tally, sources: Collection[str] = ()
) -> dict[str, Any]:
    """Return everything stored with a release: the tally, the anchors' sources, and the review.

    Args:
        sources: names of the sources to include; empty means all.
    """
    counts = tally.as_json()
    names = {source["name"] for source in counts["sources"]}
    return (
        counts
        | {"source_notes": source_notes(connection, names)}
        | review_summary(connection, sources)
        | {"agreement": agreement_summary(connection, sources)}
    )


def review_summary(connection: Connection, sources: Collection[str] = ()) -> dict[str, Any]:
    """Count the review outcomes of variants as written, except for reviewers' own texts.

    Returns:
        ``review``: type → outcome → count, with ``edited`` for superseded variants (including
        changes of type); ``reasons``: ``rejected`` or ``edited`` → reason → number of variants with
        that outcome and a valid verdict with the reason. A variant that two reviewers rejected for
        different reasons counts under both.
    """
    review: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(OUTCOMES, 0))
    counted = select(col(Variant.type_id), col(Variant.status), func.count())
    outcomes = _as_written(counted, sources).group_by(col(Variant.type_id), col(Variant.status))
    for type_id, status, count in connection.execute(outcomes):
        review[type_id][_OUTCOMES[status]] = count
    reasons: dict[str, dict[str, int]] = {"rejected": {}, "edited": {}}
    retract = aliased(Decision)
    with_reason = select(
        col(Variant.status), col(Decision.reason), func.count(col(Variant.id).distinct())
    )
    query = (
        _as_written(with_reason, sources)
        .join(Decision, col(Decision.variant_id) == Variant.id)
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .outerjoin(retract, col(retract.retracts_id) == Decision.id)
        .where(
            col(retract.id).is_(None),
            or_(col(Reviewer.kind) == ReviewerKind.PERSON, col(Reviewer.counts)),
            or_(
                (col(Variant.status) == Status.REJECTED)
                & (Decision.verdict == Verdict.REJECT)
                & counts_still(),
                (col(Variant.status) == Status.SUPERSEDED) & (Decision.verdict == Verdict.EDIT),
            ),
        )
        .group_by(col(Variant.status), col(Decision.reason))
    )
    for status, reason, count in connection.execute(query):
        reasons[_OUTCOMES[status]][reason] = count
    return {"review": dict(review), "reasons": reasons}


def acceptance(counts: Mapping[str, int]) -> float | None:
    """The share accepted as written among variants decided without a conflict, or None.

    Args:
        counts: the counts of a type, as in ``review_summary``.
    """
    decided = counts["as_written"] + counts["edited"] + counts["rejected"]
    return counts["as_written"] / decided if decided else None


def _as_written(query: Select[*Columns], sources: Collection[str]) -> Select[*Columns]:
    """Restrict ``query``, a select from variants, to those in use that no reviewer wrote."""
    return (
        query.select_from(Variant)
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .where(
            col(Variant.retired).is_(False),
            col(Variant.author_id).is_(None),
            col(Anchor.retired_at).is_(None),
            of_sources(sources),
        )
    )


def source_notes(connection: Connection, names: Collection[str]) -> dict[str, dict[str, str]]:
    """Map the names of these sources to address and note."""
    query = select(col(Source.name), col(Source.url), col(Source.note))
    return {
        name: {"url": url, "note": note}
        for name, url, note in connection.execute(query)
        if name in names
    }


def taxonomy_snapshot(connection: Connection) -> dict[str, Any]:
    """Return every variant type in use in its current version; own types have an ``origin``."""
    query = select(
        col(TypeRow.id),
        col(TypeRow.version),
        col(TypeRow.polarity),
        col(TypeRow.group),
        col(TypeRow.ordinal),
        col(TypeVersion.label),
        col(TypeVersion.definition),
        col(TypeVersion.example_anchor),
        col(TypeVersion.example),
        col(TypeRow.origin),
    ).join(
        TypeVersion,
        (col(TypeVersion.type_id) == TypeRow.id) & (col(TypeVersion.version) == TypeRow.version),
    )
    in_use = query.where(col(TypeRow.retired_at).is_(None))
    entries = [dict(row) for row in connection.execute(in_use).mappings()]
    for entry in entries:
        if entry["origin"] not in (
            OWN,
            IMPORTED,
        ):  # earlier releases have no such key, and must stay equal
            del entry["origin"]
    return {entry.pop("id"): entry for entry in entries}


# -- Agreement among the people who reviewed the variants behind a release ------------------------


def agreement_summary(connection: Connection, sources: Collection[str] = ()) -> dict[str, Any]:
    """Return agreement figures over all variants that several people decided independently.

    Rejected variants count too: people mostly agree on released variants, because release selects
    for agreement.

    Args:
        sources: names of the sources of the release; empty means all.

    Returns:
        The figures, their meaning, and the figures by type.
    """
    found = overlap(connection, sources).narrowed(independent=True)
    together = figures(found)
    return together.facts() | {
        "meaning": sentences(together),
        "types": {key: its.facts() for key, its in figures_by(found, By.TYPE).items()},
    }
