"""The data set card of every export: a Markdown page with a YAML header.

Everything in it comes from the release and its overlap results, so that the same inputs give the
same card. Names, notes and definitions are untrusted: they are written to YAML with ``safe_dump``
and to Markdown with ``escape``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from curation.formatting import counted, escape, markdown_table, one_line, percent
from curation.release.export.card_sections import (
    WRITERS,
    Writer,
    agreement_section,
    ordered_types,
    overlap_section,
    review_statement,
    weak_spots_of,
    writers_table,
)
from curation.release.export.data_card_header import filled_tables, header
from curation.release.export.data_card_text import (
    CITATION,
    JSONL_USE,
    METHOD,
    PAIRS_USE,
    PLACE,
    QUESTION_USE,
    QUESTIONS,
    WEAK_SPOTS,
    hf_use,
    whole_use,
)
from curation.release.export.export_formats import ExportFormat
from curation.release.export.table_rows import TABLES, Rows, Table
from curation.release.overlap_results import OverlapWithTest
from curation.release.selection import selection_of
from curation.release.summary import OUTCOMES, acceptance
from curation.taxonomy.project_types import IMPORTED, OWN
from db.models import Release, Split


def card(
    release: Release,
    *,
    form: ExportFormat,
    rows: Rows,
    writers: Sequence[Writer],
    notes: Sequence[str] = (),
    compared: Sequence[OverlapWithTest] = (),
    place: str = PLACE,
) -> str:
    """Return the card of an export.

    Args:
        rows: table → split → number of rows written; tables and splits without rows are left out.
        writers: the writers of the release's variants.
        notes: sentences about the files.
        compared: comparisons of the release with benchmarks.
        place: the argument for ``load_dataset``: a folder, or a name on the Hub if it is published.
    """
    title = one_line(release.name) or f"Hedgerow release {release.number}"
    head = yaml.safe_dump(
        header(release, title=title, format=form.name, rows=rows, writers=writers),
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
    )
    sections = [
        f"# {escape(title)}",
        f"{METHOD}\n\n{_identity(release)}",
        f"## Contents\n\n{_contents(release, form, rows, notes, place)}",
        f"## Creation\n\n{_making(release, writers)}",
        f"## Taxonomy\n\n{_taxonomy(release)}",
        f"## Licence\n\n{_licences(release.summary)}",
        f"## Overlap with benchmarks\n\n{overlap_section([c.facts for c in compared])}",
        f"## Known limitations\n\n{_weak_spots(release.summary, writers)}",
        f"## Citation\n\n{_citation(release)}",
    ]
    return f"---\n{head}---\n\n" + "\n\n".join(sections) + "\n"


def _identity(release: Release) -> str:
    return markdown_table(
        ["release", "created on", "content hash (SHA-256)"],
        [[release.number, release.created_at.date().isoformat(), release.content_hash]],
    )


def _contents(
    release: Release, form: ExportFormat, rows: Rows, notes: Sequence[str], place: str
) -> str:
    summary, sentences = release.summary, selection_of(release).sentences()
    filled = filled_tables(rows)
    parts = [
        f"{summary['anchors']:,} anchors with {summary['variants']:,} accepted variants, which "
        f"form {summary['triples']:,} triples: each accepted positive of an anchor with each "
        f"accepted negative. {summary['anchors_without_triples']:,} anchors have no triples "
        "because they lack a positive or a negative. All variants of an anchor are in the same "
        "split.",
        *([escape(f"{sentences} {_left_out(summary)}".strip())] if sentences else []),
        *map(escape, map(one_line, notes)),
        *_use(form, filled, place),
    ]
    if form.name == "hf" and "triples" not in filled:
        parts.append("No anchor has both a positive and a negative, so there is no `triples`.")
    parts += [_split_counts(summary), _type_counts(release)]
    for name in filled:
        described = [[column.name, column.meaning] for column in TABLES[name]]
        parts.append(
            f"### Columns of {name}\n\n" + markdown_table(["column", "meaning"], described)
        )
    return "\n\n".join([*parts, f"### Lengths\n\n{_lengths(release)}"])


def _left_out(summary: Mapping[str, Any]) -> str:
    left_out = summary.get("left_out", 0)
    return f"{counted(left_out, 'accepted variant')} left out." if left_out else ""


def _use(form: ExportFormat, filled: Iterable[Table], place: str) -> list[str]:
    """Say how to open the export; '' for a table without rows."""
    tables = list(filled)
    if form.name == "hf":
        return [hf_use(tables, place)]
    if form.name in QUESTION_USE:
        return [QUESTIONS, QUESTION_USE[form.name], hf_use(tables, place)]
    usage = {"jsonl": JSONL_USE, "pairs": PAIRS_USE}.get(form.name)
    if usage is None:  # a plug-in's files have their own format
        sentences = f"The format is {form.label or form.name}. {form.purpose}"
        return [escape(one_line(sentences))]
    return [usage, whole_use(tables, place)] if tables else [usage]


def _splits(summary: Mapping[str, Any]) -> list[str]:
    return [split.value for split in Split if split in summary["splits"]]


def _split_counts(summary: Mapping[str, Any]) -> str:
    columns = ("anchors", "variants", "triples")
    return markdown_table(
        ["split", *columns],
        [[s, *(summary["splits"][s][key] for key in columns)] for s in _splits(summary)],
    )


def _type_counts(release: Release) -> str:
    splits, counts = _splits(release.summary), release.summary["types_by_split"]
    return markdown_table(
        ["type", *splits, "all"],
        [
            [type_id, *(counts[type_id].get(s, 0) for s in splits), sum(counts[type_id].values())]
            for type_id in ordered_types(release)
            if type_id in counts
        ],
    )


def _lengths(release: Release) -> str:
    words = release.summary["words"]
    kinds = {"anchors": words["anchors"]} | {
        type_id: words["types"][type_id]
        for type_id in ordered_types(release)
        if type_id in words["types"]
    }
    return "Lengths in words; the last two columns are shares.\n\n" + markdown_table(
        ["", "shortest", "median", "longest", "under 15", "over 30"],
        [
            [
                kind,
                w["shortest"],
                f"{w['median']:g}",
                w["longest"],
                *map(percent, (w["under_15"], w["over_30"])),
            ]
            for kind, w in kinds.items()
        ],
    )


def _making(release: Release, writers: Sequence[Writer]) -> str:
    summary = release.summary
    edited = summary["edited_by"]
    outcomes = [
        [type_id, *(counts[outcome] for outcome in OUTCOMES), _acceptance(counts)]
        for type_id in ordered_types(release)
        if (counts := summary["review"].get(type_id))
    ]
    return "\n\n".join(
        [
            f"Who wrote the variants of each type, by provider and model. {WRITERS}",
            writers_table(release, writers),
            f"Of these texts, {edited.get('person', 0):,} were edited by a person and "
            f"{edited.get('model', 0):,} by a model.",
            review_statement(summary),
            "Review of all variants as they were written. Acceptance is the share of variants "
            "accepted as written, among those decided without a conflict:",
            markdown_table(
                ["type", *(o.replace("_", " ") for o in OUTCOMES), "acceptance"], outcomes
            ),
            _reasons(summary["reasons"]),
            *agreement_section(summary, ordered_types(release)),
        ]
    )


def _reasons(reasons: Mapping[str, Mapping[str, int]]) -> str:
    counts = Counter(reasons["rejected"]) + Counter(reasons["edited"])
    if not counts:
        return "No variant was rejected or edited."
    return "Reasons for rejecting or editing variants:\n\n" + markdown_table(
        ["reason", "rejected", "edited"],
        [
            [reason or "none given", *(reasons[k].get(reason, 0) for k in ("rejected", "edited"))]
            for reason in sorted(counts, key=lambda reason: (-counts[reason], reason))
        ],
    )


def _acceptance(counts: Mapping[str, int]) -> str:
    share = acceptance(counts)
    return "–" if share is None else percent(share)


def _taxonomy(release: Release) -> str:
    parts = [_type_table(release)]
    for origin, label in _ORIGINS.items():
        names = [
            f"`{name}`"
            for name in ordered_types(release)
            if release.taxonomy[name].get("origin") == origin
        ]
        if names:
            parts.append(f"{label}: {', '.join(names)}.")
    return "\n\n".join(parts)


_ORIGINS = {
    OWN: "Added by this project, not from the paper",
    IMPORTED: "From the data set of the anchors",
}


def _type_table(release: Release) -> str:
    return markdown_table(
        ["type", "version", "polarity", "name", "definition", "example anchor", "example"],
        [
            [
                type_id,
                *(
                    release.taxonomy[type_id][key]
                    for key in (
                        "version",
                        "polarity",
                        "label",
                        "definition",
                        "example_anchor",
                        "example",
                    )
                ),
            ]
            for type_id in ordered_types(release)
        ],
    )


def _licences(summary: Mapping[str, Any]) -> str:
    notes = summary["source_notes"]
    return "The anchors' sources and their licences:\n\n" + markdown_table(
        ["source", "licence", "variants", "address", "note"],
        [
            [
                s["name"],
                s["licence"] or "not recorded",
                s["variants"],
                *(notes[s["name"]][k] for k in ("url", "note")),
            ]
            for s in summary["sources"]
        ],
    )


def _weak_spots(summary: Mapping[str, Any], writers: Sequence[Writer]) -> str:
    spots = [*weak_spots_of(writers), *WEAK_SPOTS]
    if summary["decided_by"].get("model", 0):
        spots.insert(
            0, "Some variants were accepted only by language models, and models share blind spots."
        )
    return "\n".join(f"- {spot}" for spot in spots)


def _citation(release: Release) -> str:
    return (
        f"Cite the paper, and this release by its number ({release.number}) and content hash "
        f"(`{release.content_hash[:16]}…`), which identifies its texts, types, cues and splits.\n\n"
        f"{CITATION}"
    )
