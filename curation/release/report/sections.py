"""The sections of a report, from the release's own data and the database."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from curation.formatting import counted, escaped, one_line, percent
from curation.release.export.card_sections import (
    AGREEMENT_COLUMNS,
    BIBTEX,
    METHOD,
    WRITERS,
    acceptance_text,
    agreement_rows,
    ordered_types,
    reasons_of,
    review_statement,
)
from curation.release.report import facts
from curation.release.report.facts import (
    Block,
    Code,
    Report,
    Section,
    Settled,
    Table,
    Written,
)
from curation.release.selection import selection_of
from curation.release.summary import OUTCOMES
from db.models import Release, Split, Verdict

_DECIDERS = {
    "person": "a person",
    "rule": "a rule over measures, which a person applied",
    "model": "a model alone",
    "unrecorded": "nobody on record",
}


def report(session: Session, release: Release) -> Report:
    """Return the data section about a release. Decisions after the release are left out."""
    sections = {
        "Size": _size(release),
        "Taxonomy": _taxonomy(release),
        "How the variants were written": _writing(facts.written(session, release), release),
        "Thresholds and rules": _filters(release, facts.rules(session, release)),
        "Review": _review(release),
        "Reviewers and agreement": _reviewers(session, release),
        "Sources and licences": _sources(release.summary),
        "Release and citation": _citation(release),
    }
    return Report(
        release.number,
        release.content_hash,
        [Section(title, list(blocks)) for title, blocks in sections.items()],
    )


def _size(release: Release) -> Iterator[Block]:
    summary = release.summary
    splits = [split.value for split in Split if split in summary["splits"]]
    yield " ".join(METHOD.replace("*not*", "‘not’").replace("*", "").replace("`", "").split())
    yield (
        f"The release has {counted(summary['anchors'], 'anchor')} with "
        f"{counted(summary['variants'], 'accepted variant')}, which form "
        f"{counted(summary['triples'], 'triple')}: each accepted positive of an anchor "
        f"with each accepted negative. {counted(summary['anchors_without_triples'], 'anchor')} "
        "have no triples because they lack a positive or a negative. All variants of "
        "an anchor are in the same split."
    )
    parts = ("anchors", "variants", "triples")
    yield Table(
        "splits",
        "Anchors, variants and triples by split.",
        ["split", *parts],
        [
            *([split, *(summary["splits"][split][part] for part in parts)] for split in splits),
            ["all", *(summary[part] for part in parts)],
        ],
    )
    by_split, triples = summary["types_by_split"], summary.get("triples_by_type", {})
    yield Table(
        "types",
        "Released variants by type and split, and the triples that they are part of.",
        ["type", *splits, "all", "triples"],
        [
            [
                type_id,
                *(by_split[type_id].get(split, 0) for split in splits),
                sum(by_split[type_id].values()),
                triples.get(type_id, "–"),
            ]
            for type_id in ordered_types(release)
            if type_id in by_split
        ],
    )


def _taxonomy(release: Release) -> Iterator[Block]:
    there = [t for t in ordered_types(release) if t in release.summary["types"]]
    entries = [(type_id, release.taxonomy[type_id]) for type_id in there]
    yield Table(
        "taxonomy",
        "The types of variants in the release, with the definitions that reviewers used.",
        ["type", "polarity", "definition", "anchor", "example"],
        [
            [
                f"{entry['label']} ({type_id})",
                entry["polarity"],
                *(entry[key] for key in ("definition", "example_anchor", "example")),
            ]
            for type_id, entry in entries
        ],
        wide=("type", "definition", "anchor", "example"),
    )


def _writing(found: Sequence[Written], release: Release) -> Iterator[Block]:
    yield WRITERS.replace("`", "")
    yield Table(
        "writers",
        "Who wrote the released variants. Calls and cost include all calls with the "
        "prompt and the model, whatever their outcome; ≈ marks a cost that was "
        "estimated from the texts.",
        ["provider", "model", "prompt", "variants", "calls", "cost (USD)"],
        [
            [row.provider, row.model or "–", row.prompt or "–", row.variants, row.calls, _cost(row)]
            for row in found
        ],
    )
    if any(row.cost is not None for row in found):
        total = sum(row.cost or 0.0 for row in found)
        yield f"Writing the variants cost {_dollars(total)} US dollars in total."
    edited = release.summary["edited_by"]
    yield (
        f"Of the released texts, {edited.get('person', 0):,} were edited by a person and "
        f"{edited.get('model', 0):,} by a model."
    )


def _cost(row: Written) -> str:
    if row.cost is None:
        return "–"
    return f"{'≈ ' if row.is_estimate else ''}{_dollars(row.cost)}"


def _dollars(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.4f}"


def _filters(release: Release, rules: Sequence[tuple[str, str, int]]) -> Iterator[Block]:
    selected = selection_of(release).sentences()
    yield selected or "The release includes all accepted variants."
    if (left_out := release.summary.get("left_out")) is not None:
        yield f"Left out: {counted(left_out, 'accepted variant')}."
    if not rules:
        yield "No variant was decided by a rule over measures."
        return
    yield Table(
        "rules",
        "Rules over measures that people applied to many variants without reading them.",
        ["rule", "verdict", "variants"],
        [list(rule) for rule in rules],
        wide=("rule",),
    )


def _review(release: Release) -> Iterator[Block]:
    summary = release.summary
    yield review_statement(summary).replace("**", "")
    decided = summary["decided_by"]
    yield Table(
        "accepted-by",
        "Who accepted the released variants.",
        ["accepted by", "variants", "share"],
        [
            [by, decided[kind], percent(decided[kind] / summary["variants"])]
            for kind, by in _DECIDERS.items()
            if decided.get(kind)
        ],
    )
    review = summary["review"]
    yield Table(
        "review",
        "Review outcomes of all variants as they were written, by type. Acceptance is "
        "the share accepted as written among those decided without a conflict.",
        ["type", *(outcome.replace("_", " ") for outcome in OUTCOMES), "acceptance"],
        [
            [type_id, *(review[type_id][o] for o in OUTCOMES), acceptance_text(review[type_id])]
            for type_id in ordered_types(release)
            if type_id in review
        ],
    )
    yield _reasons(summary)


def _reasons(summary: Mapping[str, Any]) -> Block:
    rows = reasons_of(summary)
    if not rows:
        return "No variant was rejected or edited."
    return Table(
        "reasons",
        "Reasons for rejecting or editing variants. A variant that two people rejected "
        "for different reasons counts under both.",
        ["reason", "rejected", "edited"],
        [[reason.replace("_", " ") or "none given", *counts] for reason, *counts in rows],
    )


def _reviewers(session: Session, release: Release) -> Iterator[Block]:
    people = facts.people(session, release)
    if people:
        yield Table(
            "reviewers",
            "The verdicts of each person on texts written by others, without retracted "
            "verdicts, verdicts by rule, and verdicts that settled a conflict.",
            ["reviewer", "accepted", "rejected", "edited", "all"],
            [
                [
                    f"Reviewer {number}",
                    *(verdicts.get(v, 0) for v in (Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT)),
                    sum(verdicts.values()),
                ]
                for number, verdicts in enumerate(people, start=1)
            ],
        )
    else:
        yield "No person read any of the variants."
    settled = facts.settled(session, release)
    left = sum(counts["conflict"] for counts in release.summary["review"].values())
    yield _conflicts(settled, left, release.summary["adjudicated"])
    yield from _agreement(release)


def _agreement(release: Release) -> Iterator[Block]:
    summary = release.summary
    found = summary.get("agreement")
    if found is None:
        yield (
            "This release was created before Hedgerow stored agreement figures. Create a "
            "new release to get them."
        )
        return
    if not found["variants"]:
        yield (
            "No two people decided on the same variant independently, so their agreement "
            "is unknown."
        )
        return
    yield (
        f"Several people decided on {counted(found['variants'], 'variant')}, each "
        f"without knowing the other verdicts. {' '.join(found['meaning'])}"
    )
    yield Table(
        "agreement",
        "Agreement on the variants that several people decided on independently, "
        "released or not: the share of pairs of verdicts that agree, Krippendorff's "
        "alpha, and Cohen's kappa for two people. An edit counts as a rejection. "
        "Brackets show 95% bootstrap intervals over variants.",
        AGREEMENT_COLUMNS,
        agreement_rows(release),
    )
    yield (
        f"Two or more people accepted {summary['by_several']:,} of the "
        f"{counted(summary['variants'], 'released variant')}."
    )


def _conflicts(settled: Settled, left: int, released: int) -> str:
    if not settled.variants + left:
        return "There were no disagreements between reviewers."
    disagreed = f"Reviewers disagreed about {counted(settled.variants + left, 'variant')}"
    if not settled.variants:
        return f"{disagreed}; none of these conflicts has been settled."
    by = "1 person" if settled.people == 1 else f"{settled.people:,} people"
    return (
        f"{disagreed}: {settled.variants:,} settled by {by}, {left:,} still in conflict. The "
        f"release has {counted(released, 'settled variant')}."
    )


def _sources(summary: Mapping[str, Any]) -> Iterator[Block]:
    notes = summary["source_notes"]
    yield Table(
        "sources",
        "The anchors' sources and their licences.",
        ["source", "licence", "variants", "address", "note"],
        [
            [
                source["name"],
                source["licence"] or "not recorded",
                source["variants"],
                *(notes[source["name"]][key] or "–" for key in ("url", "note")),
            ]
            for source in summary["sources"]
        ],
        wide=("source", "address", "note"),
    )


def _citation(release: Release) -> Iterator[Block]:
    made = release.created_at.date()
    yield (
        f"This section describes release {release.number} of {made.isoformat()}. Its content hash "
        "(SHA-256) identifies its texts, types, cues and splits:"
    )
    yield Code(release.content_hash)
    yield "Cite the paper on the method, and the release by its number and content hash:"
    title = escaped(one_line(release.name) or f"Hedgerow release {release.number}")
    entry = [
        f"@misc{{hedgerow-release-{release.number},",
        f"  title = {{{title}}},",
        f"  year  = {{{made.year}}},",
        f"  note  = {{Release {release.number}, SHA-256 {release.content_hash}}}",
        "}",
    ]
    yield Code("\n".join([BIBTEX, "", *entry]))
