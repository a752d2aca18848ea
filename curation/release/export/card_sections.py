"""What data cards, reports and model cards say about a release: tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.coefficients import Estimate
from curation.decisions.variant_rows import PERSON, RULES
from curation.decisions.variant_rows import PROVIDER as IMPORTED
from curation.formatting import markdown_table, percent
from curation.release.overlap import SIDES
from curation.release.summary import acceptance
from curation.review.agreement.figures import as_text
from db.models import Release, ReleaseItem

METHOD = """\
Affirmative sentences (anchors), each with variants that negate it and variants that hedge or
paraphrase it, for training text encoders that understand *not*. The method is that of *Learning
Robust Negation Text Representations* (HedgeTriple): the positive of a contrastive triple is a
hedged variant of the anchor, the negative a negated one, both written by a language model according
to a linguistic taxonomy (sections 3.1 and 3.2). The type `negated_antonym`, if present, is the kind
of paraphrase that is the right answer in SemAntoNeg: two reversals that cancel out."""

BIBTEX = """\
@misc{truong2025learning,
  title         = {Learning Robust Negation Text Representations},
  author        = {Truong, Thinh Hung and Verspoor, Karin and Cohn, Trevor and Baldwin, Timothy},
  year          = {2025},
  eprint        = {2507.12782},
  archivePrefix = {arXiv},
  primaryClass  = {cs.CL}
}"""
"""The paper that introduced the method."""

CITATION = f"""\
```bibtex
{BIBTEX}
```"""


def acceptance_text(counts: Mapping[str, int]) -> str:
    """The acceptance of a type's variants as a percentage; '–' if none has been decided."""
    share = acceptance(counts)
    return "–" if share is None else percent(share)


def reasons_of(summary: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Reason, rejected and edited variants, the most frequent reason first."""
    rejected, edited = (Counter(summary["reasons"][key]) for key in ("rejected", "edited"))
    counts = rejected + edited
    ordered = sorted(counts, key=lambda reason: (-counts[reason], reason))
    return [(reason, rejected[reason], edited[reason]) for reason in ordered]


AGREEMENT_COLUMNS = ("type", "variants", "agreement", "alpha", "kappa", "accepted")


def agreement_rows(release: Release) -> list[list[str | int]]:
    """The agreement by type and over all types, with the columns ``AGREEMENT_COLUMNS``.

    There are no rows without verdicts of several people.
    """
    found = release.summary.get("agreement")
    if not found or not found["variants"]:
        return []
    by_type = found["types"]
    rows = [(key, by_type[key]) for key in ordered_types(release) if key in by_type]
    return [
        [name, its["variants"], *_estimates(its), percent(its["accepted"])]
        for name, its in (*rows, ("all", found))
    ]


def _estimates(found: Mapping[str, Any]) -> list[str]:
    """Agreement, alpha and kappa of a group, with their intervals."""
    agreement, alpha, kappa = (
        Estimate(found[key], found[f"{key}_low"], found[f"{key}_high"])
        for key in ("agreement", "alpha", "kappa")
    )
    return [as_text(agreement, as_percent=True), as_text(alpha), as_text(kappa)]


# -- The section of a data card on benchmark texts that a release contains ------------------------


NOT_CHECKED = (
    "The overlap with public benchmarks has not been checked. Check it before you report scores."
)

HOW = """\
Texts of all splits of the release, compared with those of benchmarks. An item overlaps if one of
its texts shares this many consecutive words with a text of the release, ignoring case and
punctuation. *Identical*: items with a text that is identical to a text of the release, however
short."""

BY_FIELD = """\
By field: overlapping items, with identical ones in brackets, counted separately for each field of
the release. *Query* is the text that a benchmark asks or compares, *document* is the text it is
compared with."""


def overlap_section(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the comparisons as a table, or a sentence that there were none.

    Args:
        found: from ``curation.release.overlap_results.OverlapWithTest.facts``.
    """
    rows = [_overlap_row(facts) for facts in found if not facts.get("problem")]
    if not rows:
        return NOT_CHECKED
    head = ["benchmark", "data", "items", "consecutive words", "overlapping", "share", "identical"]
    section = f"{' '.join(HOW.split())}\n\n{markdown_table(head, rows)}"
    by_field = [row for facts in found for row in _by_field(facts)]
    if not by_field:
        return section
    head = ["benchmark", "data", "field of the release", *SIDES]
    return f"{section}\n\n{' '.join(BY_FIELD.split())}\n\n{markdown_table(head, by_field)}"


def _by_field(facts: Mapping[str, Any]) -> list[list[object]]:
    """Return a row for each field that shares anything with the benchmark."""
    found = {(part["field"], part["side"]): part for part in facts.get("fields") or ()}
    fields = dict.fromkeys(field for field, _ in found)
    rows = [[found[field, side] for side in SIDES] for field in fields]
    return [
        [facts["title"], facts["data"], parts[0]["field"], *map(_cell, parts)]
        for parts in rows
        if any(part["overlapping"] or part["exact"] for part in parts)
    ]


def _cell(part: Mapping[str, Any]) -> str:
    whole = f" ({int(part['exact']):,})" if part["exact"] else ""
    return f"{int(part['overlapping']):,}{whole}"


def _overlap_row(facts: Mapping[str, Any]) -> list[object]:
    items, overlapping = int(facts["items"]), int(facts["overlapping"])
    share = percent(overlapping / items) if items else "–"
    return [
        facts["title"],
        facts["data"],
        items,
        int(facts["n"]),
        overlapping,
        share,
        int(facts["exact"]),
    ]


# -- The parts of a data card on who wrote and accepted the variants of a release -----------------


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
