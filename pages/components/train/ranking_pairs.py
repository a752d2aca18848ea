"""Choosing the pairs for training and the pairs for evaluation."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.shared import scores
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.file_reading import HUB, LARGEST_FILE
from training.benchmarks.sources import KeptData, kept_data
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

A_FIFTH = "a held-out fifth"

_PROBLEM, _MESSAGE = "nevir_file_problem", "nevir_file_told"
_ADDED, _NAMED = "nevir_files_added", "nevir_files_named"


def choose() -> tuple[dict[str, Any], str]:
    """Draw the choice: values of a `RankingRequest` ({} without a file), and what is wrong with
    them.
    """
    kept = kept_pairs(open_project.settings().data_folder)
    names = _names(kept)
    chosen: dict[str, Any] = {}
    obstacle = ""
    if names:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            # A new widget after a file was added, so that this file comes first.
            number = f"{len(kept)}-{st.session_state.get(_NAMED, 0)}"
            train = st.selectbox("Training pairs", list(names), key=f"nevir-data-{number}")
            others = [name for name in names if name != train]
            measured = st.selectbox(
                "Evaluated on",
                [A_FIFTH, *others],
                key=f"nevir-validation-{number}-{train}",
                help=f"“{A_FIFTH.capitalize()}” is a fifth of the source passages. All pairs made "
                "from a passage are used either for training or for evaluation.",
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
    error_messages.show_once(_MESSAGE)
    error_messages.show_kept(_PROBLEM)
    return chosen, obstacle


def _obstacle(request: RankingRequest) -> str:
    """Say why these pairs can't be used for training, if so, and offer a solution."""
    folder = open_project.settings().data_folder
    tests = tuple(kept.file for kept in kept_data(folder, NevIR.id))
    tested, other = _problems(str(folder), request.model_dump_json(), tests)
    if tested or other:
        error_messages.show(tested or other, key="nevir-pairs")
    if tested:
        st.button(
            "Leave these pairs out",
            key="nevir-untested",
            icon=":material/filter_alt:",
            on_click=_add_file,
            args=(partial(keep_untested, folder, request.data, name=request.data_name),),
            help="Adds a file with the remaining pairs to the project and selects it.",
        )
    return tested or other


@st.cache_data(show_spinner=False, max_entries=8)
def _problems(data_folder: str, request: str, tests: tuple[str, ...]) -> tuple[str, str]:
    """What is wrong with the pairs: a test contains them, or anything else.

    Args:
        tests: the benchmark's data in the project; none of these files ever changes.
    """
    asked, folder = RankingRequest.model_validate_json(request), Path(data_folder)
    try:
        train, held_out = files_of(folder, asked)
    except HedgerowError as error:
        return "", str(error)
    tested = _description(lambda: require_untested(folder, train))
    return tested, _description(lambda: parts_of(train, held_out))


def _description(check: Callable[[], object]) -> str:
    """The problem that a check found; '' for none."""
    try:
        check()
    except HedgerowError as error:
        return str(error)
    return ""


def _show(request: RankingRequest) -> None:
    """Every pair, and whether it is used for training or evaluation."""
    try:
        rows = _rows(str(open_project.settings().data_folder), request.model_dump_json())
    except HedgerowError as error:
        st.text(str(error))
        return
    st.dataframe(rows, hide_index=True, key="nevir-pairs")


@st.cache_data(show_spinner=False, max_entries=4)
def _rows(data_folder: str, request: str) -> list[dict[str, str]]:
    """One row per pair. A file's name contains its hash, so it never changes."""
    parts = parts_asked(Path(data_folder), RankingRequest.model_validate_json(request))
    return [
        {"Part": part, "Id": pair.key}
        | dict(zip(("q1", "q2", "doc1", "doc2"), pair.queries + pair.documents, strict=True))
        for part, pairs in (("training", parts.train), ("measured", parts.held_out))
        for pair in pairs
    ]


def _names(kept: Sequence[KeptData]) -> dict[str, KeptData]:
    """The files by name; files with equal names get part of their hash."""
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
        type=scores.FILE_TYPES,
        key=key,
        on_change=_keep,
        args=(key,),
        max_upload_size=LARGEST_FILE >> 20,
        help=f"Expected: {NevIR.expects}; CSV and Parquet files with these columns work, too.",
    )
    st.button(
        "Get NevIR's train split",
        key="nevir-published",
        icon=":material/cloud_download:",
        on_click=_add_file,
        args=(partial(keep_pairs_of, open_project.settings().data_folder, PUBLISHED),),
        help=f"948 pairs, from {PUBLISHED.removeprefix(HUB)} on the model hub.",
    )


def _keep(key: str) -> None:
    """Store an uploaded file; an invalid one is refused and nothing is stored."""
    uploaded = st.session_state.get(key)
    if uploaded is None:
        return
    folder = open_project.settings().data_folder
    _add_file(partial(keep_pairs, folder, uploaded.name, uploaded.getvalue()))
    st.session_state[_ADDED] = st.session_state.get(_ADDED, 0) + 1  # empties the box


def _add_file(keep: Callable[[], KeptData]) -> None:
    """Store a file, select it, and say whether it is new."""
    folder = open_project.settings().data_folder
    with error_messages.kept_for(_PROBLEM):
        before = {kept.file for kept in kept_pairs(folder)}
        kept = keep()
        pairs = counted(len(read_pairs(folder, kept.file).pairs), "pair")
        done = "was already there" if kept.file in before else "was added"
        st.session_state[_MESSAGE] = f"{kept.name} {done}: {pairs}. It is selected above."
        st.session_state[_NAMED] = st.session_state.get(_NAMED, 0) + 1
