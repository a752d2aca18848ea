"""Choosing the pairs that a model is trained on, and those that it is measured on."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from curation.plurals import counted
from db.errors import HedgerowError
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.data.file_reading import HUB, LARGEST_FILE
from training.benchmarks.data.sources import KeptData, kept_data
from training.benchmarks.tasks.nevir import NevIR
from training.ranking.pairs import (
    PUBLISHED,
    keep_pairs,
    keep_pairs_of,
    keep_untested,
    kept_pairs,
    parts_of,
    read_pairs,
    require_untested,
)
from training.ranking.request import RankingRequest, files_of, parts_asked

FILE_TYPES = ["json", "jsonl", "tsv", "csv", "tab", "parquet"]

A_FIFTH = "a fifth of the passages"

_PROBLEM, _TOLD = "nevir_file_problem", "nevir_file_told"
_ADDED, _NAMED = "nevir_files_added", "nevir_files_named"


def choose() -> tuple[dict[str, Any], str]:
    """Draw the choice: the values of a `RankingRequest`, none of them without a file; and why they
    can't be used, '' where they can."""
    kept = kept_pairs(open_project.settings().data_folder)
    names = _names(kept)
    chosen: dict[str, Any] = {}
    obstacle = ""
    if names:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            # A new widget where a file was named, which then comes first.
            number = f"{len(kept)}-{st.session_state.get(_NAMED, 0)}"
            train = st.selectbox("Pairs to train on", list(names), key=f"nevir-data-{number}")
            others = [name for name in names if name != train]
            measured = st.selectbox(
                "Measured on",
                [A_FIFTH, *others],
                key=f"nevir-validation-{number}-{train}",
                help="No passage is both trained on and measured.",
            )
        chosen = {"data": names[train].file, "data_name": names[train].name}
        if measured in names:
            found = names[measured]
            chosen |= {"validation": found.file, "validation_name": found.name}
        obstacle = _obstacle(RankingRequest(**chosen))
        if st.toggle("Show the pairs", key="nevir-show-pairs"):
            _show(RankingRequest(**chosen))
    with st.expander("Add a file of pairs", icon=":material/upload_file:", expanded=not names):
        _add()
    if told := st.session_state.pop(_TOLD, ""):
        st.text(told)
    error_messages.show_kept(_PROBLEM)
    return chosen, obstacle


def _obstacle(request: RankingRequest) -> str:
    """Say why these pairs can't be trained on, if they can't, and offer a way on."""
    folder = open_project.settings().data_folder
    tests = tuple(kept.file for kept in kept_data(folder, NevIR.id))
    tested, other = _problems(str(folder), request.model_dump_json(), tests)
    if tested or other:
        error_messages.show(tested or other, key="nevir-pairs")
    if tested:
        st.button(
            "Leave those pairs out",
            key="nevir-untested",
            icon=":material/filter_alt:",
            on_click=_leave_out,
            args=(request,),
            help="Adds a file with the other pairs to the project and chooses it.",
        )
    return tested or other


@st.cache_data(show_spinner=False, max_entries=8)
def _problems(data_folder: str, request: str, tests: tuple[str, ...]) -> tuple[str, str]:
    """What is wrong with pairs: that a test has them, and anything else.

    Args:
        tests: the data of the benchmark that there are; a file of either never changes.
    """
    asked, folder = RankingRequest.model_validate_json(request), Path(data_folder)
    try:
        train, held_out = files_of(folder, asked)
    except HedgerowError as error:
        return "", str(error)
    tested = _said(lambda: require_untested(folder, train))
    return tested, _said(lambda: parts_of(train, held_out))


def _said(check: Callable[[], object]) -> str:
    """What is wrong by a check; '' where nothing is."""
    try:
        check()
    except HedgerowError as error:
        return str(error)
    return ""


def _leave_out(request: RankingRequest) -> None:
    folder = open_project.settings().data_folder
    with error_messages.kept_for(_PROBLEM):
        _told_of(lambda: keep_untested(folder, request.data, name=request.data_name))


def _show(request: RankingRequest) -> None:
    """Every pair, and whether it is trained on or measured."""
    try:
        rows = _rows(str(open_project.settings().data_folder), request.model_dump_json())
    except HedgerowError as error:
        st.text(str(error))
        return
    st.dataframe(rows, hide_index=True, key="nevir-pairs")


@st.cache_data(show_spinner=False, max_entries=4)
def _rows(data_folder: str, request: str) -> list[dict[str, str]]:
    """A line a pair. A file is known by its name, which holds its hash, and never changes."""
    parts = parts_asked(Path(data_folder), RankingRequest.model_validate_json(request))
    return [
        {"Part": part, "Id": pair.key}
        | dict(zip(("q1", "q2", "doc1", "doc2"), pair.queries + pair.documents, strict=True))
        for part, pairs in (("trained on", parts.train), ("measured", parts.held_out))
        for pair in pairs
    ]


def _names(kept: Sequence[KeptData]) -> dict[str, KeptData]:
    """By name; of files that are called alike, each with a part of its hash."""
    found: dict[str, KeptData] = {}
    for entry in kept:
        name = entry.name
        if name in found or name == A_FIFTH:
            name = f"{name} ({entry.file.rpartition('/')[2][:6]})"
        found[name] = entry
    return found


def _add() -> None:
    key = f"nevir-file-{st.session_state.get(_ADDED, 0)}"
    st.file_uploader(
        "File",
        type=FILE_TYPES,
        key=key,
        on_change=_keep,
        args=(key,),
        max_upload_size=LARGEST_FILE >> 20,
        help=f"Expected: {NevIR.expects}; CSV and Parquet with these columns, too.",
    )
    st.button(
        "Get NevIR's train split",
        key="nevir-published",
        icon=":material/cloud_download:",
        on_click=_download,
        help=f"948 pairs, from {PUBLISHED.removeprefix(HUB)} on the model hub.",
    )


def _keep(key: str) -> None:
    """Store what was uploaded; a wrong file is refused and nothing is kept of it."""
    uploaded = st.session_state.get(key)
    if uploaded is None:
        return
    with error_messages.kept_for(_PROBLEM):
        folder = open_project.settings().data_folder
        _told_of(lambda: keep_pairs(folder, uploaded.name, uploaded.getvalue()))
    st.session_state[_ADDED] = st.session_state.get(_ADDED, 0) + 1  # an empty box again


def _download() -> None:
    with error_messages.kept_for(_PROBLEM):
        _told_of(lambda: keep_pairs_of(open_project.settings().data_folder, PUBLISHED))


def _told_of(keep: Callable[[], KeptData]) -> None:
    """Keep a file, choose it, and say whether it is new here."""
    folder = open_project.settings().data_folder
    before = {kept.file for kept in kept_pairs(folder)}
    kept = keep()
    pairs = counted(len(read_pairs(folder, kept.file).pairs), "pair")
    done = "was here already" if kept.file in before else "is added"
    st.session_state[_TOLD] = f"{kept.name} {done}: {pairs}. It is chosen above."
    st.session_state[_NAMED] = st.session_state.get(_NAMED, 0) + 1
