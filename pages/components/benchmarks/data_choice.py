"""Choosing benchmarks and their data: files, releases, data sets, or an own suite."""

from typing import Any

import pandas as pd
import streamlit as st

from curation.formatting import counted
from curation.release.freezing import release_numbers
from db.models import Split
from pages.components.shared import links, scores
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.catalogue import BENCHMARKS, installed_plug_ins
from training.benchmarks.definition import Benchmark
from training.benchmarks.file_reading import LARGEST_FILE
from training.benchmarks.sources import DataChoice, keep_data, kept_data, no_file
from training.benchmarks.tasks.excluir import ExcluIR
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import (
    EXPECTS,
    SemAntoNeg,
    lines_of,
    of_release,
    written,
    written_forms,
)
from training.benchmarks.tasks.suite_sentences import Built, at_least_one_turned, build
from training.evaluation.held_out import Forms

_PROBLEM, _ADDED = "bench_data_problem", "bench_data_added"


def choose() -> list[DataChoice]:
    """Draw the benchmarks, and the data of the ticked ones below; returns those that have data."""
    plug_ins = installed_plug_ins()
    for number, problem in enumerate(plug_ins.problems):
        error_messages.show(problem, key=f"bench-benchmark-plug-in-{number}")
    with st.container(horizontal=True, key="bench-fields"):
        kinds = (*BENCHMARKS, *plug_ins.classes.values())
        ticked = [kind for kind in kinds if _card(kind)]
    found = [choice for kind in ticked for choice in _data(kind)]
    read_over(f"{_PROBLEM}-{SemAntoNeg.id}")
    return found


def _card(kind: type[Benchmark[Any]]) -> bool:
    """What the benchmark measures, and whether it is ticked. All cards are about equally high."""
    with st.container(border=True, height="stretch", key=f"bench-of-{kind.id}"):
        ticked = st.checkbox(
            kind.title,
            value=kind is Hedgerow and bool(open_project.ask(release_numbers)),
            key=f"bench-tick-{kind.id}",
            persist_state="session",
        )
        chance = f" (chance: {kind.chance:.0f} points)" if kind.chance else ""
        st.caption(
            f"{kind.measures} Metric: {scores.METRICS.get(kind.metric, kind.metric)}{chance}."
        )
    return ticked


def _data(kind: type[Benchmark[Any]]) -> list[DataChoice]:
    with st.container(border=True, key=f"bench-data-of-{kind.id}"):
        st.text(f"Data for {kind.title}")
        return _own() if kind is Hedgerow else _public(kind)


def _own() -> list[DataChoice]:
    """The families of a release."""
    numbers = open_project.ask(release_numbers)
    if not numbers:
        links.no_release("There is no release yet.")
        return []
    row = st.container(horizontal=True)
    number = row.selectbox("Release", numbers, key="bench-release", persist_state="session")
    split = row.selectbox(
        "Split",
        [Split.TEST.value, Split.VALIDATION.value, Split.TRAIN.value],
        key="bench-split",
        persist_state="session",
        help="A model trained on this release has seen its train split.",
    )
    return [DataChoice(benchmark=Hedgerow.id, release=number, split=Split(split))]


def _public(kind: type[Benchmark[Any]]) -> list[DataChoice]:
    """A stored file, or the model hub."""
    kept = kept_data(open_project.settings().data_folder, kind.id)
    names = scores.data_names(kind, kept)
    choice: list[DataChoice] = []
    if names:
        # A new widget after a file was added, so that this file comes first.
        key = f"bench-data-{kind.id}-{len(kept)}"
        choice = [names[st.selectbox("Data", list(names), key=key)]]
    else:
        st.text(str(no_file(kind)))
    with st.expander("Add a file", icon=":material/upload_file:", expanded=not names):
        _uploader(kind)
    if kind is SemAntoNeg:
        own_suite(f"{_PROBLEM}-{kind.id}")
    error_messages.show_kept(f"{_PROBLEM}-{kind.id}")
    return choice


def _uploader(kind: type[Benchmark[Any]]) -> None:
    both = kind is ExcluIR
    key = f"bench-file-{kind.id}-{st.session_state.get(_ADDED, 0)}"
    own = f" Or your own sentences: {EXPECTS}." if kind is SemAntoNeg else ""
    st.file_uploader(
        "Both files" if both else "File",
        type=scores.FILE_TYPES,
        key=key,
        on_change=_keep,
        args=(kind.id, key, both),
        accept_multiple_files=both,
        max_upload_size=LARGEST_FILE >> 20,
        help=f"Expected: {kind.expects}.{own}",
    )


def _keep(name: str, key: str, both: bool) -> None:
    """Store an uploaded file; an invalid one is refused and nothing is stored."""
    uploaded = st.session_state.get(key)
    files = uploaded if isinstance(uploaded, list) else [uploaded] if uploaded else []
    if not files or (both and len(files) < 2):
        return
    with error_messages.kept_for(f"{_PROBLEM}-{name}"):
        content = {file.name: file.getvalue() for file in files}
        keep_data(open_project.settings().data_folder, name, content)
    st.session_state[_ADDED] = st.session_state.get(_ADDED, 0) + 1  # empties the box


# -- own suite ------------------------------------------------------------------------------------


LONGEST = 200_000
"""Most characters that can be typed in; use the command line for a longer list."""

_TEXT, _BUILT, _MADE = "bench-suite-text", "bench-suite-built", "bench-suite-made"


def own_suite(problem: str) -> None:
    """A suite from the newest release, or from typed sentences.

    Args:
        problem: key of the place that shows errors.
    """
    with st.expander("Create a suite from your own sentences", icon=":material/edit_note:"):
        for number in open_project.ask(release_numbers)[:1]:
            st.button(
                f"Create from release {number}",
                key="bench-suite",
                on_click=_keep_release,
                args=(number, problem),
                help="A suite like SemAntoNeg from the test split: anchors with a negation, an "
                "antonym, and a negated antonym. You can also upload a file with the columns "
                f"{', '.join(Forms._fields)}.",
            )
        st.text_area(
            "Sentences with “not” before an adjective, one per line",
            key=_TEXT,
            max_chars=LONGEST,
            placeholder="The soup is not hot.",
            help="Builds the same forms as SemAntoNeg: without the negator, with the adjective's "
            "antonym from WordNet, and both. A line with two tab-separated sentences is a "
            "paraphrase pair, of which one must be negated.",
        )
        st.button("Create forms", key="bench-suite-turn", on_click=_turn, args=(problem,))


def read_over(problem: str) -> None:
    """The forms to proofread and use, and the sentences without forms; nothing before they exist.

    Args:
        problem: key of the place that shows errors.
    """
    built: Built | None = st.session_state.get(_BUILT)
    if built is not None:
        with st.container(border=True, key="bench-suite-made-forms"):
            _forms(built, problem)


def _forms(built: Built, problem: str) -> None:
    st.header("The forms of your sentences", anchor=False)
    st.caption(
        "Proofread the forms: an antonym may not fit its sentence. Correct cells or delete rows."
    )
    edited = st.data_editor(
        pd.DataFrame(built.forms, columns=list(Forms._fields)),
        num_rows="dynamic",
        hide_index=True,
        key=f"bench-suite-forms-{st.session_state.get(_MADE, 0)}",
    )
    st.button(
        "Use as data",
        key="bench-suite-use",
        type="primary",
        on_click=_keep_forms,
        args=(edited, problem),
    )
    if built.unturned:
        st.text(f"No forms for {counted(len(built.unturned), 'sentence')}:")
        st.dataframe(
            [{"Sentence": one.sentence, "Reason": one.description} for one in built.unturned],
            hide_index=True,
            key="bench-suite-unturned",
        )


def _turn(problem: str) -> None:
    st.session_state.pop(_BUILT, None)
    with error_messages.kept_for(problem):
        built = at_least_one_turned(build(lines_of(str(st.session_state.get(_TEXT, "")))))
        st.session_state[_BUILT] = built
        st.session_state[_MADE] = st.session_state.get(_MADE, 0) + 1  # a new table


def _keep_release(number: int, problem: str) -> None:
    with error_messages.kept_for(problem):
        _keep_suite(f"release-{number}-suite.jsonl", written(open_project.ask(of_release, number)))


def _keep_forms(edited: pd.DataFrame, problem: str) -> None:
    with error_messages.kept_for(problem):
        rows: list[list[Any]] = edited.fillna("").to_numpy().tolist()
        forms = [Forms(*map(str, row)) for row in rows if any(str(cell).strip() for cell in row)]
        _keep_suite("own-sentences.jsonl", written_forms(forms))
        st.session_state.pop(_BUILT, None)


def _keep_suite(name: str, content: bytes) -> None:
    keep_data(open_project.settings().data_folder, SemAntoNeg.id, {name: content})
