"""Release & export: freeze the accepted variants and download releases as data sets."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.decisions.assignment_progress import count_accepted_unfinished
from curation.decisions.reviewers import reviewer_names
from curation.formatting import counted
from curation.release.contents import Changes, Contents, contents_of
from curation.release.creating import CREATE_RELEASE, CreateRelease, planned_in
from curation.release.export.export_formats import installed_formats
from curation.release.freezing import MAX_NAME, list_releases
from curation.release.report.writing import ENDINGS, Form, report_text
from curation.release.selection import Selection, default_selection, selection_of
from curation.release.upcoming import changes_since_newest
from curation.upkeep.facts import size_text
from db.errors import HedgerowError
from db.models import Release, Run, RunState, Split
from db.runs import UNFINISHED, list_runs
from pages.components.shared import formatting, hub, links, page_runs, tables
from pages.components.shared.shell import (
    count_cache,
    current_user,
    error_messages,
    frame,
    open_project,
)
from training.benchmarks.contamination import EXPORT_KIND as EXPORT
from training.hub.push_run import Subject

SPLITS = {Split.TRAIN: "Training", Split.VALIDATION: "Validation", Split.TEST: "Test"}
HASH_SHOWN = 12
EXPORTS_INSPECTED = 200
_SAID, _CHOSEN = "release-said", "release-chosen"


def _counts(
    contents: Contents, labels: Mapping[str, str], changes: Changes | None = None
) -> list[dict[str, Any]]:
    """Table rows, with a column per split: each type, all variants, and the triples."""
    there = {*contents.types_by_split, *(changes.added if changes else ())}
    there |= {*(changes.gone if changes else ())}
    types = [*(key for key in labels if key in there), *sorted(there - labels.keys())]
    names = open_project.type_names()
    rows = []
    for type_id in types:
        splits = contents.types_by_split.get(type_id, {})
        row = _row(names.get(type_id, type_id), splits)
        if changes is not None:
            row |= {"Added": changes.added.get(type_id, 0), "Removed": changes.gone.get(type_id, 0)}
        rows.append(row)
    columns = [name for name in rows[0] if name != "Type"]
    rows.append({"Type": "All variants"} | {c: sum(row[c] for row in rows) for c in columns})
    rows.append(_row("Triples", contents.triples_by_split))
    return rows


def _row(title: str, splits: Mapping[str, int]) -> dict[str, Any]:
    by_split = {name: splits.get(split, 0) for split, name in SPLITS.items()}
    return {"Type": title, "All": sum(by_split.values()), **by_split}


def _show_counts(rows: list[dict[str, Any]], *, key: str) -> None:
    st.dataframe(
        rows,
        hide_index=True,
        key=key,
        height="content",
        column_config=tables.counts(name for name in rows[0] if name != "Type"),
        placeholder="–",
    )


def _freeze(newest: Release | None, counts: count_cache.CachedCounts) -> None:
    """Show what a release would contain now, and the button that creates one."""
    st.header("Freeze a release", anchor=False)
    may_freeze = current_user.only_leads("freeze releases")
    usual = open_project.ask(default_selection)
    request, planned = CreateRelease(), counts.get(planned_in, CreateRelease())
    if planned and planned.contents.variants and may_freeze:
        request = _selected(usual)
        planned = counts.get(planned_in, request)
    if planned is None:
        return
    selection, now = planned.selection, planned.contents
    if counts.empty:
        links.no_variants()
        return
    if not now.variants:
        st.write(" ".join(planned.sentences()))
        if not any(planned.left_out.values()):
            st.page_link("pages/review.py", label="Review", icon=":material/rate_review:")
        return
    changes = None
    if newest and selection == selection_of(newest):  # its changes are those of its selection
        changes = counts.get(changes_since_newest)
    st.write(" ".join([*planned.sentences(), _since(newest, selection, changes)]))
    if unfinished := open_project.ask(count_accepted_unfinished):
        st.caption(
            "Accepted variants that still need verdicts from other people (Team › Assignment): "
            f"{unfinished:,}. A release includes them as they are now."
        )
    if not now.triples:
        st.write(
            "A triple needs an accepted hedge or paraphrase and an accepted negation of the same "
            "anchor."
        )
    if may_freeze:
        _name_it(request)
    with st.expander("Contents by type and split", expanded=newest is None):
        labels = {entry.id: entry.label for entry in open_project.types()}
        _show_counts(_counts(now, labels, changes), key="counts-now")


def _name_it(request: CreateRelease) -> None:
    with st.form("freeze", border=False, enter_to_submit=False):
        name = st.text_input("Name", max_chars=MAX_NAME, key="release-name", placeholder="Optional")
        asked = st.form_submit_button("Freeze a release", type="primary", key="freeze-button")
    if asked:
        _create(request.model_copy(update={"name": name}))


def _selected(usual: Selection) -> CreateRelease:
    """Choose which accepted variants to include."""
    names = list(open_project.ask(sources_in_use).values())
    sources: list[str] = []
    if len(names) > 1:
        sources = st.multiselect(
            "Sources",
            names,
            key="release-sources",
            placeholder=links.ALL_SOURCES,
            help="The release records which sources it includes. Its hash depends only on its "
            "contents.",
        )
    near = st.checkbox(
        f"Leave out variants above the Levenshtein threshold ({usual.max_distance} characters)",
        value=True,
        key="release-near",
        help="As in the paper (§3.1.3). Free-form types have no threshold. You can see the "
        "distances and change the threshold on the Diagnostics page.",
    )
    complete = st.checkbox(
        "Leave out incomplete families",
        key="release-complete",
        help="Keeps only anchors with an accepted variant of each of the paper's six types (four "
        "negations and two hedges). Of the corpora that come with Hedgerow, only the starter "
        "corpus has all six, so this leaves the others out.",
    )
    return CreateRelease(sources=tuple(sources), any_distance=not near, complete=complete)


def _since(newest: Release | None, selection: Selection, changes: Changes | None) -> str:
    if newest is None:
        return "There is no release yet."
    if selection != selection_of(newest):
        return f"Release {newest.number} used a different selection."
    if changes is None:
        return f"The changes since release {newest.number} are being counted."
    added, gone = sum(changes.added.values()), sum(changes.gone.values())
    if not added and not gone:
        return (
            f"The variants are the same as in release {newest.number}. Freeze them again only if "
            "the taxonomy or their provenance (such as who accepted them) has changed."
        )
    return f"Since release {newest.number}: {added:,} added, {gone:,} removed."


def _create(request: CreateRelease) -> None:
    try:
        with st.spinner("Freezing the accepted variants …"):
            release, created = CREATE_RELEASE.perform(current_user.project(), request)
    except HedgerowError as error:
        error_messages.show(str(error))
        return
    count_cache.forget()
    if created:
        message = f"Release {release.number} is frozen."
    else:
        message = (
            f"Nothing has changed since release {release.number}, so no new release was created."
        )
    st.session_state[_SAID] = message
    st.session_state[_CHOSEN] = release.number
    st.rerun()


def _list(releases: list[Release], authors: Mapping[int | None, str]) -> None:
    st.header("Releases", anchor=False)
    rows = [
        {
            "Release": release.number,
            "Created": release.created_at,
            "Variants": release.summary["variants"],
            "Triples": release.summary["triples"],
            "Name": release.name,
            "By": authors.get(release.author_id, ""),
            "Hash": release.content_hash[:HASH_SHOWN],
        }
        for release in releases
    ]
    columns = {
        "Variants": tables.COUNT,
        "Triples": tables.COUNT,
        "Created": tables.times(),
        "Name": st.column_config.TextColumn(width="medium"),
        "Hash": st.column_config.TextColumn(
            help="SHA-256 of anchors, variants, types, cues and splits. Two releases with the same "
            "content have the same hash."
        ),
    }
    st.dataframe(rows, hide_index=True, key="releases", column_config=columns)


def _contents(release: Release) -> None:
    summary = release.summary
    st.text(
        f"Release {release.number}{f', “{release.name}”' if release.name else ''}: "
        f"{counted(summary['variants'], 'variant')} of {counted(summary['anchors'], 'anchor')}, "
        f"{counted(summary['triples'], 'triple')}. Accepted: {_deciders(summary['decided_by'])}."
    )
    if selected := selection_of(release).sentences():
        left_out = summary.get("left_out")
        st.text(f"{selected} {'' if left_out is None else f'Accepted but left out: {left_out:,}.'}")
    with st.expander("Contents by type and split"):
        labels = {
            type_id: entry["label"]
            for type_id, entry in sorted(
                release.taxonomy.items(), key=lambda item: item[1]["ordinal"]
            )
        }
        _show_counts(_counts(contents_of(release), labels), key="counts-chosen")
        st.text("Content hash (SHA-256)")
        st.code(release.content_hash, language=None, wrap_lines=True)


def _deciders(counts: Mapping[str, int]) -> str:
    kinds = {
        "person": "by people",
        "rule": "by a rule",
        "model": "by a model only",
        "unrecorded": "with no decision on record",
    }
    return "; ".join(f"{counts[kind]:,} {by}" for kind, by in kinds.items() if counts.get(kind))


@error_messages.fragment  # choosing a format does not rerun the counts above
def _download(release: Release) -> None:
    """Prepare one format of the release for download;

    an export prepared earlier is offered at once.
    """
    st.header(f"Download release {release.number}", anchor=False)
    formats = installed_formats()
    for number, problem in enumerate(formats.problems):
        error_messages.show(problem, key=f"export-plug-in-{number}")
    labels = {name: kind.label or name for name, kind in formats.classes.items()}
    format = st.radio(
        "Format",
        list(labels),
        format_func=lambda key: formatting.plain(labels.get(key, key)),
        captions=[formatting.plain(kind.purpose) for kind in formats.classes.values()],
        key="export-format",
    )
    run = _export(release.number, format)
    if run is None:
        if not current_user.only_leads("prepare downloads"):
            return
        st.button(
            "Prepare the download", key="export", on_click=_start, args=(release.number, format)
        )
    elif run.state in UNFINISHED:
        page_runs.follow(run, title=f"Export release {release.number} as {labels[format]}")
    elif run.state != RunState.DONE:
        page_runs.stopped(run, again=lambda: _start(release.number, format))
    else:
        _ready(run, format)


def _start(number: int, format: str) -> None:
    if (run := _export(number, format)) is None or run.state not in UNFINISHED:
        page_runs.start(EXPORT, {"release": number, "format": format})


def _export(number: int, format: str) -> Run | None:
    """The export to show: one that is running, else one with files left, else the last one."""
    runs = [
        run
        for run in open_project.ask(list_runs, kind=EXPORT, limit=EXPORTS_INSPECTED)
        if (run.parameters.get("release"), run.parameters.get("format")) == (number, format)
        and "folder" not in run.parameters
    ]
    under_way = [run for run in runs if run.state in UNFINISHED]
    there = [run for run in runs if run.state == RunState.DONE and _place(run, "zip").is_file()]
    ended = [run for run in runs[:1] if run.state != RunState.DONE]
    return next(iter(under_way + there + ended), None)


def _place(run: Run, which: str) -> Path:
    """Path of the run's ``zip`` or ``folder``."""
    return open_project.settings().data_folder / run.result[which]


def _ready(run: Run, format: str) -> None:
    packed, folder = _place(run, "zip"), _place(run, "folder")
    for note in run.result.get("notes", []):
        st.text(note)
    st.download_button(
        f"Download the zip ({size_text(packed.stat().st_size)})",
        data=lambda: packed.open("rb"),  # read on click, not on every rerun
        file_name=packed.name,
        mime="application/zip",
        type="primary",
        icon=":material/download:",
        on_click="ignore",
        key="download",
    )
    if format == "hf":
        st.text("To open it on this machine:")
        st.code(
            f'import datasets\n\ndatasets.load_dataset({json.dumps(str(folder))}, "triples")',
            language=None,
            wrap_lines=True,
        )
    else:
        st.text("Stored on this machine in")
        st.code(str(folder), language=None, wrap_lines=True)


def _describe(number: int) -> None:
    """Offer the data section of a paper; the text is written on click."""
    st.header(f"Describe release {number} in a paper", anchor=False)
    st.text(
        "A data section with tables: counts, types with definitions and examples, who wrote the "
        "variants and at what cost, thresholds and rules, review, agreement, licences, and a "
        "citation."
    )
    with st.container(horizontal=True, key="report"):
        for form, label in {Form.LATEX: "LaTeX", Form.MARKDOWN: "Markdown"}.items():
            st.download_button(
                label,
                partial(open_project.ask, report_text, number, form),
                f"hedgerow-release-{number}.{ENDINGS[form]}",
                "text/plain",
                key=f"report-{form}",
                icon=":material/download:",
                on_click="ignore",
            )


frame.begin(
    "Release & export",
    "Freeze the accepted variants as a numbered data set that later edits do not change, and "
    "download it.",
)
if message := st.session_state.pop(_SAID, ""):
    st.success(message, icon=":material/inventory_2:")
counts = count_cache.CachedCounts()
known = {release.number: release for release in open_project.ask(list_releases)}
_freeze(next(iter(known.values()), None), counts)
if known:
    _list(list(known.values()), open_project.ask(reviewer_names))
    if st.session_state.get(_CHOSEN) not in known:
        st.session_state[_CHOSEN] = max(known)
    number = st.selectbox(
        "Show release",
        list(known),
        key=_CHOSEN,
        width=260,
        format_func=lambda number: f"Release {number}",
    )
    _contents(known[number])
    _download(known[number])
    _describe(number)
    st.header(f"Publish release {number}", anchor=False)
    hub.push_box(Subject(release=number), what="the data set")
counts.follow()
